"""runcard experiment show"""

import shutil
import sys

import click

from runcard.cli.exit_codes import ExitCode
from runcard.cli.options import PATH, json_option
from runcard.cli.printing import complain, say, say_json

_INDENT = 2  # columns before a line of a section


@click.command("show")
@click.argument("name", metavar="NAME")
@click.option(
    "--outputs",
    "stores",
    multiple=True,
    metavar="DIR",
    type=PATH,
    help="Store to search for its runs. Default: the setting `outputs`. Repeatable.",
)
@json_option
def command(name: str, stores: tuple[str, ...], as_json: bool) -> int:
    """Summarize the runs of the experiment NAME: their results, cost, duration and models.

    The table of the last runs has the values of the configuration and the metrics by which the runs differ.
    Includes the runs below experiments/NAME, and runs in other stores that belong to it. Unknown values are counted,
    never treated as zero.

    Exit codes: 0 shown, 1 no such experiment, 2 some of its runs cannot be read.
    """
    from runcard.cli.progress import Progress  # noqa: PLC0415
    from runcard.operations.experiments.show import show_experiment  # noqa: PLC0415
    from runcard.settings import OUTPUTS, read_settings  # noqa: PLC0415
    from runcard.views.experiment_screen import experiment_screen  # noqa: PLC0415
    from runcard.views.record_table import experiment_runs  # noqa: PLC0415

    summary = show_experiment(name, stores or (read_settings()[OUTPUTS],), Progress("runs").over)
    if as_json:
        say_json(summary.to_dict())
    else:
        width = shutil.get_terminal_size().columns - _INDENT if sys.stdout.isatty() else None
        for line in experiment_screen(summary.to_dict(), experiment_runs(name, *summary.table, width)):
            say(line)
    sys.stdout.flush()
    for path, why in summary.unreadable:
        complain("Warning", f"skipped {path}: {why}", hint=f"for details: runcard validate {path}")
    return ExitCode.WARNINGS if summary.unreadable else ExitCode.OK
