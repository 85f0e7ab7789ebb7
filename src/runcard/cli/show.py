"""runcard show"""

import click

from runcard.cli.options import json_option


@click.command("show", short_help="Show a run on one screen.")
@click.argument("run", metavar="RUN", type=click.Path())
@json_option
def command(run: str, as_json: bool) -> int:
    """Show the run in the directory RUN: what was made, from what, with what, for how much."""
    from runcard.cli.printing import complain, say, say_json  # noqa: PLC0415
    from runcard.errors import ExitCode  # noqa: PLC0415
    from runcard.operations.show import show  # noqa: PLC0415
    from runcard.views.terminal import run_screen  # noqa: PLC0415

    shown = show(run)
    if as_json:
        say_json(shown.to_dict())
    else:
        for line in run_screen(shown.path, shown.document, shown.status, shown.files):
            say(line)
    stated = shown.document["generation"].get("status")
    if stated == "running" and shown.status == "interrupted":
        complain("Warning", "the process of this run is gone", hint=f"close it with: runcard close {run}")
        return ExitCode.WARNINGS
    return ExitCode.OK
