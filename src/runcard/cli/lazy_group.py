"""A group of commands. Each command is imported when it is called, and gets what all commands share."""

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any

import click

from runcard.cli.declare import DeclaredCommand
from runcard.cli.help_examples import EXAMPLES
from runcard.cli.options import click_decorator, verbosity_options


class LazyGroup(click.Group):
    """Commands by name, with a line about each; `module_of` names the module that has the `command`."""

    def __init__(
        self,
        *,
        module_of: Callable[[str], str],
        table: dict[str, str],
        synonyms: dict[str, str] | None = None,  # other words for commands, for the hint
        **options: Any,  # noqa: ANN401
    ) -> None:
        super().__init__(**options)
        self._module_of = module_of
        self._table = table
        self._synonyms = synonyms or {}

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(self._table)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in self._table:
            return None
        command: click.Command | DeclaredCommand = import_module(self._module_of(cmd_name)).command
        if isinstance(command, DeclaredCommand):
            command = _click_command(command)
        command.short_help = self._table[cmd_name]
        command.epilog = command.epilog or _example(f"{self.name} {cmd_name}".removeprefix("runcard "))
        if not any("--quiet" in option.opts for option in command.params):
            command.params.extend(verbosity_options())
        return command

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        is_alone = all(argument in {"-q", "--quiet", "-v", "--verbose"} for argument in args)
        if is_alone and not self.invoke_without_command and not ctx.resilient_parsing:
            args = ["--help"]
        return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name not in self._table and not name.startswith("-") and not ctx.resilient_parsing:
            raise click.UsageError(f"No such command '{name}'.{self._suggestion(name)}", ctx)
        return super().resolve_command(ctx, args)

    def _suggestion(self, name: str) -> str:
        from difflib import get_close_matches  # noqa: PLC0415 - only for a wrong command

        meant = self._synonyms.get(name)
        close = [meant] if meant else get_close_matches(name, self._table, n=1)
        return f" Did you mean '{close[0]}'?" if close else ""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """The list that click would print, without importing every command for it."""
        with formatter.section("Commands"):
            formatter.write_dl(list(self._table.items()))


@cache
def _click_command(declared: DeclaredCommand) -> click.Command:
    function = declared.function
    for parameter in reversed(declared.parameters):
        function = click_decorator(parameter)(function)
    return click.command(declared.name)(function)


def _example(command: str) -> str | None:
    """The end of a command's help; each line of an example is kept as it is."""
    lines = EXAMPLES.get(command)
    if lines is None:
        return None
    title = "Example:" if len(lines) == 1 else "Examples:"
    return "\n".join(["\b", title, *(f"  {line}" for line in lines)])
