"""runcard verify"""

import sys
from typing import TYPE_CHECKING

import click

from runcard.cli.options import json_option

if TYPE_CHECKING:
    from runcard.store.verification import Verdict

_EVIDENCE = (
    "Unsigned: this holds against accidents and against people who cannot write here,"
    " not against somebody who rewrites everything."
)


@click.command("verify", short_help="Check that records are what they were when closed.")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...", type=click.Path())
@json_option
def command(paths: tuple[str, ...], as_json: bool) -> int:
    """Hash every file of the runs at PATH (a run, or a folder of runs) and compare it with the record.

    Two verdicts: intact (nothing was changed, or only amended in the open) and complete (nothing is missing).

    Exit codes: 0 intact and complete, 1 not so, 2 something to know.
    """
    from runcard.cli.printing import complain, say, say_json  # noqa: PLC0415
    from runcard.errors import ExitCode  # noqa: PLC0415
    from runcard.files import printable  # noqa: PLC0415
    from runcard.operations.verify import summary, verify, worst  # noqa: PLC0415

    results = []
    for result in verify(*paths):
        results.append(result)
        if not as_json and result.verdict.exit_code != ExitCode.FAILED:
            say(f"{printable(result.path)}: {_verdict(result.verdict)}")
    code = worst(results)
    if as_json:
        say_json(summary(results))
        return code
    if code != ExitCode.FAILED:
        say(_EVIDENCE)
    sys.stdout.flush()
    for result in sorted(results, key=lambda result: result.verdict.exit_code != ExitCode.FAILED):
        for found in sorted(result.verdict.findings, key=lambda found: found.exit_code != ExitCode.FAILED):
            word = {ExitCode.FAILED: "Error", ExitCode.WARNINGS: "Warning"}.get(found.exit_code)
            place = "/".join(part for part in (printable(result.path), printable(found.path)) if part)
            if word:
                complain(word, f"{place}: {found.message} [{found.kind}]")
            else:
                say(f"  {place}: {found.message} [{found.kind}]")
    return code


def _verdict(verdict: "Verdict") -> str:
    intact = "intact" if verdict.intact else "not intact"
    return f"{intact}, {'complete' if verdict.complete else 'not complete'}"
