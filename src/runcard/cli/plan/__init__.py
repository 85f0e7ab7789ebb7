"""runcard plan: the commands about test plans, a file for each."""

import click

from runcard.cli.groups import Group

COMMANDS: dict[str, str] = {}


@click.group(
    "plan",
    cls=Group,
    package=__name__,
    table=COMMANDS,
    no_args_is_help=False,
    short_help="Read and check test plans, and the Ruby they are about.",
)
def command() -> None:
    """Test plans: what the tests of a Ruby method must cover, handed from agent to agent."""
