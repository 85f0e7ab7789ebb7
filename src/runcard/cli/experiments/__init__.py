"""runcard experiment: the commands about experiments, a file for each."""

import click

from runcard.cli.groups import Group

COMMANDS: dict[str, str] = {
    "create": "Make the folder of an experiment.",
    "delete": "Delete an experiment and its runs.",
    "list": "List the experiments here.",
    "show": "Sum up the runs of an experiment.",
}


@click.group(
    "experiment",
    cls=Group,
    module_of=lambda name: f"{__name__}.{name}",
    table=COMMANDS,
    no_args_is_help=False,
    short_help="Make experiments, and see what came of them.",
)
def command() -> None:
    """Experiments: runs that belong together, in a folder experiments/NAME with their configuration and data."""
