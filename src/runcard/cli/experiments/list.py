"""runcard experiment list"""

import sys

import click

from runcard.cli.exit_codes import ExitCode
from runcard.cli.options import json_option
from runcard.cli.printing import complain, say, say_json, say_note


@click.command("list")
@json_option
def command(as_json: bool) -> int:
    """List the experiments in the folder `experiments`, with the number of runs and the start of the last one.

    Exit codes: 0 listed, 2 one of them has a problem.
    """
    from runcard.operations.experiments.delete import unfinished  # noqa: PLC0415
    from runcard.operations.experiments.list import list_experiments  # noqa: PLC0415
    from runcard.views.experiment_screen import experiment_table  # noqa: PLC0415

    summaries, half_deleted = list_experiments(), unfinished()
    if as_json:
        say_json({"experiments": [summary.to_dict() for summary in summaries], "half_deleted": half_deleted})
    elif summaries:
        for line in experiment_table([summary.to_dict() for summary in summaries]):
            say(line)
    else:
        say_note("no experiments yet; to make one: runcard experiment create personas")
    sys.stdout.flush()
    problems = [summary.problem for summary in summaries if summary.problem]
    for problem in problems:
        complain("Warning", problem)
    for name in half_deleted:
        complain(
            "Warning",
            f"the deletion of {name} was interrupted",
            hint=f"to finish it: runcard experiment delete {name}",
        )
    return ExitCode.WARNINGS if half_deleted or problems else ExitCode.OK
