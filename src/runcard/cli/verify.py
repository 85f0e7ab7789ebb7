"""runcard verify"""

import sys
from typing import TYPE_CHECKING

import click

from runcard.cli.options import PATH, json_option

if TYPE_CHECKING:
    from runcard.operations.verify import Verified
    from runcard.store.verification import Discrepancy, Verdict

_EVIDENCE = (
    "Unsigned: this holds against accidents and against people who cannot write here,"
    " not against somebody who rewrites everything."
)


@click.command("verify", short_help="Check that records are what they were when closed.")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...", type=PATH)
@json_option
def command(paths: tuple[str, ...], as_json: bool) -> int:
    """Hash every file of the records at PATH (a run, a session, an archive, or a folder with records at any depth) and
    compare it with the record.

    Two verdicts: intact (nothing was changed, or only amended in the open) and complete (nothing is missing).

    Exit codes: 0 intact and complete, 1 not so, 2 something to know.
    """
    from runcard.cli.printing import say, say_json  # noqa: PLC0415
    from runcard.cli.progress import Progress  # noqa: PLC0415
    from runcard.errors import ExitCode  # noqa: PLC0415
    from runcard.operations.verify import summary, verify, worst  # noqa: PLC0415
    from runcard.settings import read_settings  # noqa: PLC0415

    results = []
    progress = Progress("records")
    for result in progress.over(verify(*paths, progress=progress.files, limits=read_settings().limits)):
        results.append(result)
        if not as_json and result.verdict.exit_code != ExitCode.FAILED:
            progress.wipe()
            _approve(result)
    if as_json:
        say_json(summary(results))
        return worst(results)
    if any(result.verdict.exit_code != ExitCode.FAILED for result in results):
        say(_EVIDENCE)
    sys.stdout.flush()
    # What is wrong comes first, so that the first word on stderr tells the exit code.
    for result in sorted(results, key=lambda result: result.verdict.exit_code != ExitCode.FAILED):
        _complain(result)
    return worst(results)


def _approve(result: "Verified") -> None:
    """The verdict on a record with which nothing is wrong, and what there is to know about it."""
    from runcard.cli.printing import say  # noqa: PLC0415
    from runcard.errors import ExitCode  # noqa: PLC0415

    if result.verdict.records:
        say(f"{result.path}: {_words(result.verdict)}")
    for found in result.verdict.findings:
        if found.exit_code == ExitCode.OK:
            say(f"  {_told(found, result)}")


def _complain(result: "Verified") -> None:
    """What is wrong with a record, all of it below its verdict; or a warning for each thing to know."""
    from runcard.cli.printing import colour, complain  # noqa: PLC0415
    from runcard.errors import ExitCode  # noqa: PLC0415
    from runcard.files import printable  # noqa: PLC0415

    verdict = result.verdict
    if verdict.exit_code != ExitCode.FAILED:
        for found in verdict.findings:
            if found.exit_code == ExitCode.WARNINGS:
                complain("Warning", f"{result.path}: {_told(found, result)}")
        return
    if [found.kind for found in verdict.findings] == ["missing"] and not verdict.records:
        complain("Error", verdict.findings[0].message, hint="name a run or a session, or a folder of them")
        return
    complain("Error", f"{result.path}: {_words(verdict)}")
    for found in sorted(verdict.findings, key=lambda found: found.exit_code != ExitCode.FAILED):
        click.echo(f"  {printable(_told(found, result))}", err=True, color=colour())


def _told(found: "Discrepancy", result: "Verified") -> str:
    """A finding about a store names the record, one about a file that file, and one about a whole record neither."""
    place = found.path if found.kind not in {"open", "ledger"} else ""
    if not result.verdict.records:
        place = found.record
    return f"{place}: {found.message} [{found.kind}]" if place else f"{found.message} [{found.kind}]"


def _words(verdict: "Verdict") -> str:
    intact = "intact" if verdict.intact else "not intact"
    whole = "complete" if verdict.complete else "not complete"
    return f"{intact}, {whole}" if verdict.records else f"the store is {intact}, {whole}"
