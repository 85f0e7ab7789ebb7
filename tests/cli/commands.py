"""Every command there is, those of groups included, by what the user types after `runcard`."""

import re

import click

from runcard.cli.app import root


def _below(group: click.Group, prefix: str = "") -> dict[str, click.Command]:
    context = click.Context(group)
    found: dict[str, click.Command] = {}
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        found[prefix + name] = command
        if isinstance(command, click.Group):
            found |= _below(command, f"{prefix}{name} ")
    return found


EVERY_COMMAND = _below(root)

_COMMAND = re.compile(r"`runcard ([a-z-][^`]*)`|(?:: |^)runcard ([a-z].*?)(?=$|; |, or |, and |, too)")


def commands_in(hint: str) -> list[str]:
    """The commands that a hint names, without `runcard`: in backticks, or after a colon."""
    return [quoted or plain for quoted, plain in _COMMAND.findall(hint)]
