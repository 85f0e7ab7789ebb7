"""runcard config: show the settings; its subcommands change which of them count."""

import sys

import click

from runcard.cli.exit_codes import ExitCode
from runcard.cli.lazy_group import LazyGroup
from runcard.cli.options import json_option
from runcard.cli.printing import complain, say, say_json

COMMANDS: dict[str, str] = {"trust": "Trust the settings file of a project."}


@click.group(
    "config",
    cls=LazyGroup,
    module_of=lambda name: f"{__name__}.{name}",
    table=COMMANDS,
    no_args_is_help=False,
    invoke_without_command=True,
    subcommand_metavar="[COMMAND]",
)
@json_option
@click.pass_context
def command(context: click.Context, as_json: bool) -> int:
    """Show every setting, its value and its source.

    The first of these that has a value wins: an option of a command, an environment variable, runcard.toml (or
    [tool.runcard] in pyproject.toml) in the nearest directory upwards, your own settings in
    ~/.config/runcard/config.toml, the default. Until you trust it, the file of a project cannot loosen a setting.

    Exit codes: 0 success, 1 invalid value, 2 warnings: unknown keys or ignored values.
    """
    return 0 if context.invoked_subcommand else _show(as_json=as_json)


def _show(*, as_json: bool) -> int:
    from runcard.operations.checks.config import config, summary  # noqa: PLC0415
    from runcard.settings import read_settings  # noqa: PLC0415

    settings = read_settings()
    values, warnings = config(settings)
    errors = [value.error for value in values if value.error is not None]
    if as_json:
        say_json(summary(values, warnings, settings))
    else:
        valid = [value for value in values if value.error is None]
        key_width = max((len(value.setting.key) for value in valid), default=0)
        value_width = min(max((len(value.text) for value in valid), default=0), 24)
        for value in valid:
            say(f"{value.setting.key:<{key_width}}  {value.text:<{value_width}}  {value.origin}")
        sys.stdout.flush()
        for error in errors:
            complain("Error", error.message, hint=error.hint)
        for message, hint in warnings:
            complain("Warning", message, hint=hint)
    if errors:
        return ExitCode.FAILED
    return ExitCode.WARNINGS if warnings else ExitCode.OK
