"""runcard log-metric"""

import click

from runcard.cli.options import json_option
from runcard.cli.printing import say_json


@click.command("log-metric", context_settings={"ignore_unknown_options": True})
@click.argument("name", metavar="NAME")
@click.argument("value", metavar="VALUE")
@click.option("--step", type=int, metavar="N", help="The step that the value belongs to.")
@json_option
def command(name: str, value: str, step: int | None, as_json: bool) -> int:
    """Log VALUE of the metric NAME, from a command or script that `runcard run` records.

    For programs in any language; Python programs call `run.log_metric`. The document of the run has the last value, the
    smallest and the largest of each metric, its journal all of them. NaN and infinity are recorded as unknown values.

    Exit codes: 0 logged, 1 not inside a recorded command, or the run is closed.
    """
    from runcard.operations.runs.log_metric import log_metric  # noqa: PLC0415

    run_id = log_metric(name, value, step)
    if as_json:
        say_json({"run_id": run_id, "name": name})
    return 0
