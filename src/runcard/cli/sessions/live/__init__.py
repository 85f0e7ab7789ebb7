"""runcard session: record a session from a shell, a file for each command."""

import click

from runcard.cli.lazy_group import LazyGroup

COMMANDS: dict[str, str] = {
    "start": "Start a session.",
    "instance": "Record that an agent starts.",
    "event": "Write an event.",
    "log": "Add to the output of an agent.",
    "usage": "Record a call of a model.",
    "finish": "End an agent, or the session.",
}


@click.group(
    "session",
    cls=LazyGroup,
    module_of=lambda name: f"{__name__}.{name}",
    table=COMMANDS,
    synonyms={
        **dict.fromkeys(("list", "ls"), "runcard ls sessions"),
        "show": "runcard show",
        "close": "finish",
    },
    no_args_is_help=False,
)
def command() -> None:
    """Record a session of a team of agents while it works, from a shell or a program in any language.

    Such a session belongs to no process: each command adds to it and returns, and `finish` closes it. Python programs use
    `runcard.Session`.
    """
