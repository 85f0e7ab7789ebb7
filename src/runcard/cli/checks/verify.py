"""runcard verify"""

import sys
from typing import TYPE_CHECKING

import click

from runcard.cli.exit_codes import ExitCode, code_for_severity, worst
from runcard.cli.options import PATH, json_option

if TYPE_CHECKING:
    from runcard.documents.findings import Finding
    from runcard.operations.checks.pin import PinCheck
    from runcard.operations.checks.verify_result import Verified
    from runcard.store.verification import Verdict

_EVIDENCE = (
    "Unsigned: this holds against accidents and against people who cannot write here,"
    " not against somebody who rewrites everything."
)


@click.command("verify", short_help="Check that records are what they were when closed.")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...", type=PATH)
@click.option(
    "--pin",
    metavar="FILE",
    type=PATH,
    help="Compare the ledgers with FILE, which holds where they ended at the last check, and update it. Keep it elsewhere.",
)
@json_option
def command(paths: tuple[str, ...], pin: str | None, as_json: bool) -> int:
    """Hash every file of the records at PATH (a run, a session, an archive, or a folder with records at any depth) and
    compare it with the record.

    Two verdicts: intact (nothing was changed, or only amended in the open) and complete (nothing is missing).

    Exit codes: 0 intact and complete, 1 problems found, 2 warnings.
    """
    from runcard.cli.printing import say, say_json  # noqa: PLC0415
    from runcard.cli.progress import Progress  # noqa: PLC0415
    from runcard.operations.checks.verify import summary, verify  # noqa: PLC0415
    from runcard.settings import read_settings  # noqa: PLC0415

    if pin is not None:
        _read_pins(pin)
    results = []
    progress = Progress("records")
    for result in progress.over(verify(*paths, progress=progress.files, limits=read_settings().limits)):
        results.append(result)
        if not as_json and _code_of(result.verdict) != ExitCode.FAILED:
            progress.wipe()
            _approve(result)
    pinned = None if pin is None else _check_pins(pin, paths, results)
    results += pinned.results if pinned else ()
    if as_json:
        say_json(summary(results, pinned))
        return _code(results, pinned)
    if any(_code_of(result.verdict) != ExitCode.FAILED for result in results):
        say(_EVIDENCE)
    if pinned is not None and pinned.is_updated and pinned.ledgers:
        say(str(pinned))
    sys.stdout.flush()
    # What is wrong comes first, so that the first word on stderr tells the exit code.
    for result in sorted(results, key=lambda result: _code_of(result.verdict) != ExitCode.FAILED):
        _complain(result)
    if pinned is not None:
        _complain_of_pins(pinned)
    return _code(results, pinned)


def _complain_of_pins(pinned: "PinCheck") -> None:
    from runcard.cli.printing import complain  # noqa: PLC0415

    if not pinned.is_updated:
        complain(
            "Error",
            f"{pinned.file} was not updated: a ledger is not what it was, or its chain is broken",
            hint="find out why; to accept the ledgers as they are now, delete the file and pin again",
        )
    elif not pinned.ledgers:
        complain("Warning", f"{pinned.file}: nothing was pinned: what was named has no ledger")


def _read_pins(file: str) -> None:
    """A pin file that cannot be read stops the work before it begins."""
    from runcard.operations.checks.pin import read_pins  # noqa: PLC0415

    read_pins(file)


def _check_pins(file: str, paths: tuple[str, ...], results: "list[Verified]") -> "PinCheck":
    from runcard.operations.checks.pin import check_pins  # noqa: PLC0415

    return check_pins(file, paths, results)


def _code(results: "list[Verified]", pinned: "PinCheck | None") -> int:
    if pinned is not None and not pinned.is_updated:
        return ExitCode.FAILED
    code = worst(_code_of(result.verdict) for result in results)
    return ExitCode.WARNINGS if pinned is not None and not pinned.ledgers and code == ExitCode.OK else code


def _code_of(verdict: "Verdict") -> ExitCode:
    """The exit code of one verdict: that of its worst finding."""
    return code_for_severity(verdict.severity)


def _approve(result: "Verified") -> None:
    """The verdict on a record with which nothing is wrong, and what there is to know about it."""
    from runcard.cli.printing import say  # noqa: PLC0415

    if result.verdict.records:
        say(f"{result.path}: {_words(result.verdict)}")
    for found in result.verdict.findings:
        if code_for_severity(found.severity) == ExitCode.OK:
            say(f"  {_told(found, result)}")


def _complain(result: "Verified") -> None:
    """What is wrong with a record, all of it below its verdict; or a warning for each thing to know."""
    from runcard.cli.printing import colour, complain  # noqa: PLC0415
    from runcard.files import printable  # noqa: PLC0415

    verdict = result.verdict
    if _code_of(verdict) != ExitCode.FAILED:
        for found in verdict.findings:
            if code_for_severity(found.severity) == ExitCode.WARNINGS:
                complain("Warning", f"{result.path}: {_told(found, result)}")
        return
    only = verdict.findings[0] if len(verdict.findings) == 1 and not verdict.records else None
    if only is not None and only.kind == "missing" and only.record == printable(result.path):
        complain("Error", only.message, hint=result.hint or "name a run or a session, or a folder of them")
        return
    complain("Error", f"{result.path}: {_words(verdict)}")
    for found in sorted(
        verdict.findings, key=lambda found: code_for_severity(found.severity) != ExitCode.FAILED
    ):
        click.echo(f"  {printable(_told(found, result))}", err=True, color=colour())


def _told(found: "Finding", result: "Verified") -> str:
    """A finding about a store names the record, one about a file that file, and one about a whole record neither."""
    place = found.path if found.kind not in {"open", "ledger"} else ""
    if not result.verdict.records:
        place = found.record or ""
    return f"{place}: {found.message} [{found.kind}]" if place else f"{found.message} [{found.kind}]"


def _words(verdict: "Verdict") -> str:
    intact = "intact" if verdict.intact else "not intact"
    whole = "complete" if verdict.complete else "not complete"
    return f"{intact}, {whole}" if verdict.records else f"the store is {intact}, {whole}"
