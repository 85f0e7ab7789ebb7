"""runcard plan: the commands about test plans, one module each."""

import click

from runcard.cli.lazy_group import LazyGroup

COMMANDS: dict[str, str] = {
    "analyze": "Analyze a Ruby method and make its test plan.",
    "begin": "Check whether an agent may begin.",
    "check": "Check that specs cover the methods that changed.",
    "diff": "Show what changed between two plans.",
    "extract": "Print the structure of spec files.",
    "factories": "List the factories of a project with their traits.",
    "guide": "Print the instructions for an agent.",
    "list": "List the plans of a project and the next agent of each.",
    "mark": "Write an agent's report into a plan.",
    "optimize": "Compare plans with their factories.",
    "path": "Print the path of the plan of a source.",
    "pipeline": "Run analyze, validate and skeleton for a source.",
    "review": "Compare specs with a plan.",
    "skeleton": "Write the skeleton of a spec from its plan.",
    "status": "Check whether the plan of a source is fresh.",
    "targets": "List the methods in Ruby files.",
    "validate": "Check plans and write the findings into them.",
}


@click.group(
    "plan",
    cls=LazyGroup,
    module_of=lambda name: f"{__name__}.{name}",
    table=COMMANDS,
    no_args_is_help=False,
    short_help="Read and check test plans, and the Ruby they are about.",
)
def command() -> None:
    """Test plans: what the tests of a Ruby method must cover, handed from agent to agent."""
