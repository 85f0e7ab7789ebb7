"""runcard config: shows the settings; its subcommands change which of them count."""

import sys
from typing import TYPE_CHECKING

import click

from runcard.cli.groups import Group
from runcard.cli.options import json_option

if TYPE_CHECKING:
    from runcard.operations.checks.config import Configured


COMMANDS: dict[str, str] = {"trust": "Let the project's file set anything."}


@click.group(
    "config",
    cls=Group,
    module_of=lambda name: f"{__name__}.{name}",
    table=COMMANDS,
    no_args_is_help=False,
    invoke_without_command=True,
    subcommand_metavar="[COMMAND]",
    short_help="Show every setting and where it comes from.",
)
@json_option
@click.pass_context
def command(context: click.Context, as_json: bool) -> int:
    """Show every setting, its value, and where that comes from.

    The first of these that has a value counts: an option of a command, a variable of the environment, runcard.toml (or
    [tool.runcard] in pyproject.toml) of the nearest directory upwards, your own settings in
    ~/.config/runcard/config.toml, the default. The project's file may not loosen anything before you trust it.

    Exit codes: 0 good, 1 a value is wrong, 2 warnings: unknown keys, or values that do not count.
    """
    return 0 if context.invoked_subcommand else _show(as_json=as_json)


def _show(*, as_json: bool) -> int:
    from runcard.cli.printing import complain, say, say_json  # noqa: PLC0415
    from runcard.errors import ExitCode  # noqa: PLC0415
    from runcard.operations.checks.config import config, summary  # noqa: PLC0415
    from runcard.settings import read_settings  # noqa: PLC0415

    settings = read_settings()
    found, warnings = config(settings)
    errors = [one.error for one in found if one.error is not None]
    if as_json:
        say_json(summary(found, warnings, settings))
    else:
        good = [one for one in found if one.error is None]
        keys, values = (max(map(len, texts), default=0) for texts in _columns(good))
        for one in good:
            say(f"{one.setting.key:<{keys}}  {one.text:<{min(values, 24)}}  {one.origin}")
        sys.stdout.flush()
        for error in errors:
            complain("Error", error.message, hint=error.hint)
        for message, hint in warnings:
            complain("Warning", message, hint=hint)
    if errors:
        return ExitCode.FAILED
    return ExitCode.WARNINGS if warnings else ExitCode.OK


def _columns(found: "list[Configured]") -> tuple[list[str], list[str]]:
    return [one.setting.key for one in found], [one.text for one in found]
