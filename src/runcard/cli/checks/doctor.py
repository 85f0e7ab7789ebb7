"""runcard doctor"""

import sys

import click

from runcard.cli.exit_codes import ExitCode
from runcard.cli.options import json_option
from runcard.cli.printing import complain, say_json, say_text


@click.command("doctor")
@json_option
def command(as_json: bool) -> int:
    """Show what needs attention: sessions that agent tools delete soon, dead runs, settings, disk space.

    Lists the sessions of Claude Code, Codex, Gemini CLI and OpenCode on this machine, how many are not imported into the
    default stores, and when their tool deletes them, with the command that keeps them. Then the stores, the settings, the
    agent tools in PATH and the optional parts of runcard.

    Imports first what the hooks of `runcard install` have left, such as the session of an agent that was killed. Changes nothing
    else.

    Exit codes: 0 nothing to do, 2 warnings, such as sessions that are not imported and will be deleted within seven days.
    """
    from runcard.operations.agents.catch_up import catch_up  # noqa: PLC0415
    from runcard.operations.checks.doctor import doctor  # noqa: PLC0415
    from runcard.views.doctor_screen import doctor_screen  # noqa: PLC0415

    caught_up = catch_up(retry=True)
    report = doctor()
    data = report.to_dict()
    data["hooks"]["imported"] = caught_up.imported
    if as_json:
        say_json(data)
    else:
        say_text("\n".join(doctor_screen(data)))
    sys.stdout.flush()
    for warning in data["warnings"]:
        complain("Warning", warning["message"], hint=warning["hint"])
    return ExitCode.WARNINGS if data["warnings"] else ExitCode.OK
