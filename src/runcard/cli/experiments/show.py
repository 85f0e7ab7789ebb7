"""runcard experiment show"""

import sys

import click

from runcard.cli.options import PATH, json_option


@click.command("show", short_help="Sum up the runs of an experiment.")
@click.argument("name", metavar="NAME")
@click.option(
    "--outputs",
    "stores",
    multiple=True,
    metavar="DIR",
    type=PATH,
    help="A store that may have runs of it; the setting `outputs` unless given. Can be repeated.",
)
@json_option
def command(name: str, stores: tuple[str, ...], as_json: bool) -> int:
    """Sum up the runs of the experiment NAME: how they ended, what they cost, how long they took, which models they used.

    These are the runs below experiments/NAME, and those in other stores that belong to it. What is not known of a run is
    counted, never taken for zero.

    Exit codes: 0 shown, 1 there is no such experiment, 2 some of its runs cannot be read.
    """
    from runcard.cli.printing import complain, say, say_json  # noqa: PLC0415
    from runcard.cli.progress import Progress  # noqa: PLC0415
    from runcard.errors import ExitCode  # noqa: PLC0415
    from runcard.operations.experiments.show import show_experiment  # noqa: PLC0415
    from runcard.settings import OUTPUTS, read_settings  # noqa: PLC0415
    from runcard.views.experiment_screen import experiment_screen  # noqa: PLC0415

    summary = show_experiment(name, stores or (read_settings()[OUTPUTS],), Progress("runs").over)
    if as_json:
        say_json(summary.to_dict())
    else:
        for line in experiment_screen(summary.to_dict()):
            say(line)
    sys.stdout.flush()
    for path, why in summary.unreadable:
        complain("Warning", f"{path} is left out: {why}", hint=f"see: runcard validate {path}")
    return ExitCode.WARNINGS if summary.unreadable else ExitCode.OK
