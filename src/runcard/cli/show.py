"""runcard show"""

import sys

import click

from runcard.cli.options import json_option


@click.command("show", short_help="Show a run on one screen.")
@click.argument("run", metavar="RUN", type=click.Path())
@json_option
def command(run: str, as_json: bool) -> int:
    """Show the run in the directory RUN: what was made, from what, with what, for how much.

    Exit codes: 0 shown, 1 it is no run, 2 it is not closed and its process is gone, or is on another host.
    """
    from runcard.cli.printing import complain, say, say_json  # noqa: PLC0415
    from runcard.errors import ExitCode  # noqa: PLC0415
    from runcard.files import printable  # noqa: PLC0415
    from runcard.operations.show import show  # noqa: PLC0415
    from runcard.views.terminal import run_screen  # noqa: PLC0415

    shown = show(run)
    if as_json:
        say_json(shown.to_dict())
    else:
        for line in run_screen(shown.path, shown.document, shown.status, shown.files, shown.amended):
            say(line)
    if shown.remark is None:
        return ExitCode.OK
    sys.stdout.flush()
    mend = f"close it with: runcard close {printable(shown.path)}" if shown.status == "interrupted" else None
    complain("Warning", f"the run is not closed: {shown.remark}", hint=mend)
    return ExitCode.WARNINGS
