"""Options that the commands about plans share."""

from collections.abc import Callable
from typing import TypeVar

import click

Decorated = TypeVar("Decorated", bound=Callable[..., object])

METHOD_TYPES = ("instance", "class")

root_option = click.option(
    "--root",
    metavar="DIR",
    type=click.Path(),
    help="The project; by default the nearest directory above with .git or a Gemfile.",
)
progress_option = click.option(
    "--progress", "shows_progress", is_flag=True, help="Show progress also where stderr is no terminal."
)


def target_options(command: Decorated) -> Decorated:
    """Name one of several methods of a source."""
    for option in (
        click.option(
            "--type", "method_type", type=click.Choice(METHOD_TYPES), help="The type of the method."
        ),
        click.option("--method", metavar="NAME", help="The method, where a source has plans for several."),
        click.option("--class", "class_name", metavar="NAME", help="The class of the method."),
    ):
        command = option(command)
    return command
