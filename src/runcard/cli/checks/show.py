"""runcard show"""

import sys
from typing import TYPE_CHECKING

from runcard.cli import declare
from runcard.cli.exit_codes import ExitCode
from runcard.cli.printing import complain, say, say_json
from runcard.encoding import JsonObject
from runcard.errors import UsageError

if TYPE_CHECKING:
    from runcard.documents.run.input_state import InputState
    from runcard.encoding import Limits
    from runcard.operations.checks.show import ShownRun
    from runcard.operations.checks.show_session import ShownSession


@declare.command("show")
@declare.argument("record", metavar="RECORD", type="RECORD")
@declare.option("--instance", metavar="NAME", help="Show this agent of a session, by name or id.")
@declare.json_option
def command(record: str, instance: str | None, as_json: bool) -> int:
    """Show the run or session RECORD, archived or not.

    RECORD is a path, an id, a prefix of an id, a name, or @latest (@latest~1 is the one before).

    For a run: its command, configuration, cost, inputs and files; signatures are listed, not checked. For a session: the team as a tree, the tokens, cost
    and time of each agent, a timeline, and failures with their reasons.

    Inputs that are not the files that were read are named, as far as 64 MiB of them can tell: all of them are for runcard
    verify --inputs.

    A run or session that is not closed is shown as far as its journals go; nothing is written.

    Exit codes: 0 shown, 1 not a record, 2 a run or session whose process died or is on another host, an open
    run with an unreadable journal, a document of a newer version than this runcard supports, or a document or a list of
    checksums that was changed since closing. Other files are not checked: that is for runcard verify.
    """
    from runcard.operations.checks.show import ShownRun, show_record  # noqa: PLC0415
    from runcard.settings import read_settings  # noqa: PLC0415

    limits = read_settings().limits
    shown = show_record(record, limits)
    if not isinstance(shown, ShownRun):
        _print(*_session(shown, instance, limits), as_json=as_json)
        return max(_warn_of_open_session(shown), _warn_of_damage(shown))
    if instance is not None:
        raise UsageError(
            f"{shown.path} is a run, and only sessions have instances",
            hint="leave out --instance, or name a session",
        )
    inputs = shown.inputs()
    _print(shown.to_dict(inputs), _run(shown, inputs), as_json=as_json)
    return max(_warn(shown), _warn_of_damage(shown))


def _warn_of_damage(shown: "ShownRun | ShownSession") -> int:
    """Warn about a closed record whose document is not the one that was closed."""
    from runcard.operations.checks.shown_damage import shown_damage  # noqa: PLC0415

    if shown.is_open or (damage := shown_damage(shown.record, shown.document, shown.amendments)) is None:
        return ExitCode.OK
    sys.stdout.flush()
    complain("Warning", damage, hint="see all of it with `runcard verify`")
    return ExitCode.WARNINGS


def _print(data: JsonObject, lines: list[str], *, as_json: bool) -> None:
    if as_json:
        say_json(data)
        return
    for line in lines:
        say(line)


def _run(shown: "ShownRun", inputs: "list[InputState]") -> list[str]:
    from runcard.operations.checks.show import signatures_of  # noqa: PLC0415
    from runcard.views.run_screen import run_screen  # noqa: PLC0415

    return run_screen(
        shown.path,
        shown.document,
        shown.status,
        shown.files,
        shown.amendments.descriptions,
        [str(signature) for signature in signatures_of(shown.record)],
        inputs,
        so_far=shown.is_open,
        cut_texts=sys.stdout.isatty(),
    )


def _session(shown: "ShownSession", name: str | None, limits: "Limits") -> tuple[JsonObject, list[str]]:
    from runcard.operations.checks.show import signatures_of  # noqa: PLC0415
    from runcard.operations.checks.show_session import show_instance  # noqa: PLC0415
    from runcard.views.imported_figures import is_lower_bound  # noqa: PLC0415
    from runcard.views.session_screen import instance_screen, team_screen  # noqa: PLC0415

    if name is None:
        signatures = [str(signature) for signature in signatures_of(shown.record)]
        screen = team_screen(
            shown.path, shown.document, shown.amendments.descriptions, signatures, status=shown.status
        )
        return shown.to_dict(), screen
    instance = show_instance(shown, name, limits)
    screen = instance_screen(
        instance.session,
        instance.document,
        instance.names,
        instance.files,
        at_least=is_lower_bound(shown.document),
    )
    return instance.to_dict(), screen


def _warn_of_open_session(shown: "ShownSession") -> int:
    """Warn about a session that is not closed, unless its process is alive, or it belongs to none."""
    if shown.status is None:
        return ExitCode.OK
    from runcard.files import printable  # noqa: PLC0415
    from runcard.store.sessions.live import DETACHED  # noqa: PLC0415

    if shown.remark in {None, DETACHED}:
        return ExitCode.OK
    sys.stdout.flush()
    name = printable(shown.record.id)
    hint = f"to close it: runcard close {name}" if shown.status == "interrupted" else None
    complain("Warning", f"the session is not closed: {shown.remark}", hint=hint)
    return ExitCode.WARNINGS


def _warn(shown: "ShownRun") -> int:
    """Warn about a run that is not closed, or that a newer runcard wrote."""
    from runcard.files import printable  # noqa: PLC0415

    sys.stdout.flush()
    if shown.newer is not None:
        complain("Warning", shown.newer, hint="a newer runcard can show all of its fields")
    if shown.has_unreadable_journal:
        message = (
            "there is no journal that can be read: what was recorded since the run started is missing here"
        )
        complain("Warning", message)
    if shown.remark is None:
        is_complete = shown.newer is None and not shown.has_unreadable_journal
        return ExitCode.OK if is_complete else ExitCode.WARNINGS
    hint = f"to close it: runcard close {printable(shown.path)}" if shown.status == "interrupted" else None
    complain("Warning", f"the run is not closed: {shown.remark}", hint=hint)
    return ExitCode.WARNINGS
