"""runcard config"""

import sys
from typing import TYPE_CHECKING

import click

from runcard.cli.options import json_option

if TYPE_CHECKING:
    from runcard.operations.config import Configured


@click.command("config", short_help="Show every setting and where it comes from.")
@json_option
def command(as_json: bool) -> int:
    """Show every setting, its value, and where that comes from.

    An option of a command counts before a variable of the environment, that before runcard.toml (or [tool.runcard] in
    pyproject.toml) of the nearest directory upwards, and that before the default.

    Exit codes: 0 good, 1 a value is wrong, 2 the file has settings that do not exist.
    """
    from runcard.cli.printing import complain, say, say_json  # noqa: PLC0415
    from runcard.errors import ExitCode  # noqa: PLC0415
    from runcard.operations.config import config, summary  # noqa: PLC0415
    from runcard.settings import read_settings  # noqa: PLC0415

    settings = read_settings()
    found, warnings = config(settings)
    errors = [one.error for one in found if one.error is not None]
    if as_json:
        say_json(summary(found, warnings, settings.file.path if settings.file else None))
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
