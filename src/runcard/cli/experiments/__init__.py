"""runcard experiment: the commands about experiments, a file for each."""

import click

from runcard.cli.lazy_group import LazyGroup

COMMANDS: dict[str, str] = {
    "create": "Create the folder of an experiment.",
    "delete": "Delete an experiment and its runs.",
    "list": "List the experiments of this project.",
    "show": "Summarize the runs of an experiment.",
}


@click.group(
    "experiment",
    cls=LazyGroup,
    module_of=lambda name: f"{__name__}.{name}",
    table=COMMANDS,
    no_args_is_help=False,
)
def command() -> None:
    """Create, list, show and delete experiments.

    An experiment is a folder experiments/NAME with a configuration, data and all runs that belong together.
    """
