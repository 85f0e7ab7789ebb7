"""The options that choose records in the catalog, for commands that list or export them."""

from collections.abc import Callable
from typing import TypeVar

import click

Decorated = TypeVar("Decorated", bound=Callable[..., object])


def _statuses(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
    known = (
        "running",
        "completed",
        "failed",
        "interrupted",
        "error",
        "terminated",
        "fresh",
        "stale",
        "invalid",
    )
    return [status for status in known if status.startswith(incomplete)]


_OPTIONS = (
    click.option("--model", metavar="TEXT", help="Only those of a model whose name contains TEXT."),
    click.option(
        "--status",
        metavar="STATUS",
        shell_complete=_statuses,
        help="Only those with this status, such as failed.",
    ),
    click.option("--since", metavar="WHEN", help="Only those that started since: 7d, 12h, 2026-11-01."),
    click.option("--until", metavar="WHEN", help="Only those that started before."),
    click.option("--experiment", metavar="NAME", help="Only those of an experiment."),
    click.option("--tag", "tags", metavar="TAG", multiple=True, help="Only those with this tag. Repeatable."),
    click.option("--where", metavar="CONDITION", help="Only those for which this is true: 'cost > 0.5'."),
    click.option(
        "--text", metavar="WORDS", help="Only those with these words in names, errors, labels or values."
    ),
)


def filter_options(command: Decorated) -> Decorated:
    """Add the options; their values are the arguments of `Filters`."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command
