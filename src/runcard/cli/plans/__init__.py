"""runcard plan: the commands about test plans, a file for each."""

import click

from runcard.cli.groups import Group

COMMANDS: dict[str, str] = {
    "analyze": "Find what the tests of a Ruby method must cover.",
    "begin": "Check whether an agent may begin.",
    "diff": "Say what changed between two plans.",
    "extract": "Print the structure of spec files.",
    "factories": "List the factories of a project, with their traits.",
    "guide": "Print what an agent reads, may write and must do.",
    "list": "List the plans of a project, and whose turn it is.",
    "mark": "Write what an agent reports about its work.",
    "optimize": "Compare plans with the factories they have.",
    "path": "Print where the plan of a source lies.",
    "pipeline": "Go from a source to the skeleton of its spec.",
    "review": "Compare a spec with its plan.",
    "skeleton": "Write the skeleton of a spec by its plan.",
    "status": "Say whether the plan of a source can still be used.",
    "targets": "List what there is to test in Ruby files.",
    "validate": "Check plans by every rule, and write down what was found.",
}


@click.group(
    "plan",
    cls=Group,
    module_of=lambda name: f"{__name__}.{name}",
    table=COMMANDS,
    no_args_is_help=False,
    short_help="Read and check test plans, and the Ruby they are about.",
)
def command() -> None:
    """Test plans: what the tests of a Ruby method must cover, handed from agent to agent."""
