"""runcard show"""

import sys
from typing import TYPE_CHECKING

import click

from runcard.cli.options import PATH, json_option
from runcard.encoding import JsonObject

if TYPE_CHECKING:
    from runcard.encoding import Limits
    from runcard.operations.checks.show import ShownRun
    from runcard.operations.checks.show_session import ShownSession


@click.command("show", short_help="Show a run or a session on one screen.")
@click.argument("record", metavar="RECORD", type=PATH)
@click.option("--instance", metavar="NAME", help="Of a session, show the agent with this name or id.")
@json_option
def command(record: str, instance: str | None, as_json: bool) -> int:
    """Show the run or the session in the directory RECORD, or one that was archived, by its name, its id or its archive.

    Of a run: what was made, from what, with what, for how much. Of a session: the team as a tree, what each agent used
    and cost, when it worked, and which of them failed and why.

    Exit codes: 0 shown, 1 it is no record, 2 it is not closed and its process is gone, on another host or nobody can tell
    where, or the document is of a newer version than this runcard knows.
    """
    from runcard.errors import ExitCode, UsageError  # noqa: PLC0415
    from runcard.operations.checks.show import ShownRun, show_record  # noqa: PLC0415
    from runcard.settings import read_settings  # noqa: PLC0415

    limits = read_settings().limits
    shown = show_record(record, limits)
    if not isinstance(shown, ShownRun):
        _say(*_session(shown, instance, limits), as_json=as_json)
        return ExitCode.OK
    if instance is not None:
        raise UsageError("a run has no instances", hint="leave out --instance, or name a session")
    _say(shown.to_dict(), _run(shown), as_json=as_json)
    return _warn(shown)


def _say(data: JsonObject, lines: list[str], *, as_json: bool) -> None:
    from runcard.cli.printing import say, say_json  # noqa: PLC0415

    if as_json:
        say_json(data)
        return
    for line in lines:
        say(line)


def _run(shown: "ShownRun") -> list[str]:
    from runcard.views.run_screen import run_screen  # noqa: PLC0415

    return run_screen(shown.path, shown.document, shown.status, shown.files, shown.amendments.told)


def _session(shown: "ShownSession", name: str | None, limits: "Limits") -> tuple[JsonObject, list[str]]:
    from runcard.operations.checks.show_session import show_instance  # noqa: PLC0415
    from runcard.views.session_screen import instance_screen, team_screen  # noqa: PLC0415

    if name is None:
        return shown.to_dict(), team_screen(shown.path, shown.document, shown.amendments.told)
    one = show_instance(shown, name, limits)
    return one.to_dict(), instance_screen(one.session, one.document, one.names, one.files)


def _warn(shown: "ShownRun") -> int:
    """Say what there is to say about a run that is not closed, or that a newer runcard wrote."""
    from runcard.cli.printing import complain  # noqa: PLC0415
    from runcard.errors import ExitCode  # noqa: PLC0415
    from runcard.files import printable  # noqa: PLC0415

    sys.stdout.flush()
    if shown.newer is not None:
        complain("Warning", shown.newer, hint="a newer runcard may know more of its fields")
    if shown.remark is None:
        return ExitCode.OK if shown.newer is None else ExitCode.WARNINGS
    mend = f"close it with: runcard close {printable(shown.path)}" if shown.status == "interrupted" else None
    complain("Warning", f"the run is not closed: {shown.remark}", hint=mend)
    return ExitCode.WARNINGS
