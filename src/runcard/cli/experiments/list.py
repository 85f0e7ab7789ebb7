"""runcard experiment list"""

import sys

import click

from runcard.cli.options import json_option


@click.command("list", short_help="List the experiments here.")
@json_option
def command(as_json: bool) -> int:
    """List the experiments in the folder `experiments`: how many runs each has, and when the last was started.

    Exit codes: 0 listed, 2 something is wrong with one of them.
    """
    from runcard.cli.printing import complain, say, say_json  # noqa: PLC0415
    from runcard.errors import ExitCode  # noqa: PLC0415
    from runcard.operations.experiments.delete import unfinished  # noqa: PLC0415
    from runcard.operations.experiments.list import list_experiments  # noqa: PLC0415
    from runcard.views.experiment_screen import experiment_table  # noqa: PLC0415

    found, half = list_experiments(), unfinished()
    if as_json:
        say_json({"experiments": [one.to_dict() for one in found], "half_deleted": half})
    else:
        for line in experiment_table([one.to_dict() for one in found]):
            say(line)
    sys.stdout.flush()
    for one in found:
        if one.problem:
            complain("Warning", one.problem)
    for name in half:
        complain(
            "Warning",
            f"the deletion of {name} was not finished",
            hint=f"finish it with: runcard experiment delete {name}",
        )
    return ExitCode.WARNINGS if half or any(one.problem for one in found) else ExitCode.OK
