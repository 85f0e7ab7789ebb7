"""runcard import"""

import sys
from collections import Counter
from datetime import datetime
from typing import TYPE_CHECKING, Any

import click

from runcard.cli.exit_codes import ExitCode
from runcard.cli.options import PATH, SINCE, artifacts_option, json_option, progress_option
from runcard.cli.printing import complain, say, say_json, say_note
from runcard.cli.verbosity import is_quiet

if TYPE_CHECKING:
    from runcard.operations.sessions.import_sessions import ImportReport

_TOOLS = ("claude-code", "codex", "gemini", "opencode", "madrox")  # a test compares them with the operation's
_MOST_NAMED = 10  # unread places in a warning


class _Tool(click.Choice[str]):
    """The name of a tool; the error for another has the one that is probably meant."""

    def get_invalid_choice_message(self, value: object, ctx: click.Context | None) -> str:
        from difflib import get_close_matches  # noqa: PLC0415 - only for this message

        message = super().get_invalid_choice_message(value, ctx)
        near = [tool for tool in _TOOLS if tool.startswith(str(value).lower())]
        near = near or get_close_matches(str(value)[:100].lower(), _TOOLS, 1)
        return f"{message} Did you mean {near[0]}?" if near else message


@click.command("import")
@click.argument("tool", type=_Tool(_TOOLS), metavar="TOOL")
@click.argument("paths", nargs=-1, metavar="[PATH]...", type=PATH)
@click.option("--session", metavar="ID", help="Import only this session: its id, or the beginning of it.")
@click.option(
    "--since", type=SINCE, help="Leave out sessions that ended before: 7d, 12h, 2026-11-01 (local midnight)."
)
@click.option(
    "--all", "everywhere", is_flag=True, help="Also import sessions that were started in other directories."
)
@click.option("--workspaces", is_flag=True, help="Also copy the folder of each session, as it is now.")
@artifacts_option
@click.option(
    "--schema",
    type=click.Choice(["1.0.0", "2.0.0"]),
    default="2.0.0",
    show_default=True,
    help="Version of the documents.",
)
@click.option("--keep-secrets", is_flag=True, help="Do not mask secrets. The record says so.")
@click.option("--again", is_flag=True, help="Store sessions even if they are stored already.")
@progress_option
@json_option
def command(
    tool: str,
    paths: tuple[str, ...],
    since: datetime | None,
    shows_progress: bool,
    as_json: bool,
    **options: Any,  # noqa: ANN401 - as click has them
) -> int:
    """Import the sessions of TOOL: claude-code, codex, gemini, opencode or madrox.

    Each becomes a session of its own, with the transcripts, a readable log, the tokens and the costs of each agent. Secrets
    are masked. The files of the tool are not changed. Prints the path of each session that is stored.

    Without PATH, the sessions in the tool's own folders that were started in this directory or below are imported; with PATH,
    all sessions in these files and folders. Costs are marked with ≥: tools do not write all calls to their files.

    Exit codes: 0 imported, 1 nothing found or not all imported, 2 imported with warnings.
    """
    from runcard.cli.progress import ImportBar  # noqa: PLC0415
    from runcard.operations.sessions.collect import CollectingIsOffError  # noqa: PLC0415
    from runcard.operations.sessions.import_sessions import import_sessions  # noqa: PLC0415

    bar = ImportBar(everywhere=shows_progress)
    try:
        report = import_sessions(tool, paths, since=since, progress=bar.advance, **options)
    except CollectingIsOffError as error:
        bar.wipe()
        complain("Warning", error.message, hint=error.hint)
        return ExitCode.WARNINGS
    finally:
        bar.wipe()
    if as_json:
        say_json(report.to_dict())
    else:
        for session in report.sessions:
            if session.is_stored:
                say(str(session.path))
    sys.stdout.flush()
    if not as_json and not is_quiet():
        click.echo(_summary(report), err=True)
    return _warn(report, paths)


def _summary(report: "ImportReport") -> str:
    """One line: what became of the sessions, and what they cost."""
    from runcard.views.formats import counted, money_at_least  # noqa: PLC0415

    actions = Counter(session.action for session in report.sessions)
    parts = [f"{counted(actions['imported'], 'session')} imported"]
    parts += [f"{count:,} {action}" for action, count in sorted(actions.items()) if action != "imported"]
    parts += [f"{report.empty:,} empty"] if report.empty else []
    is_any_new = any(session.is_stored for session in report.sessions)
    return ", ".join(parts) + (
        f"; {money_at_least(report.known_cost)}" if is_any_new and report.known_cost else ""
    )


def _warn(report: "ImportReport", paths: tuple[str, ...]) -> ExitCode:
    """Name what was not imported, or only in part; the exit code."""
    from runcard.files import printable, shell_word  # noqa: PLC0415
    from runcard.views.formats import counted  # noqa: PLC0415

    code = ExitCode.OK
    for session in report.sessions:
        for text in session.warnings:
            code = ExitCode.WARNINGS
            complain("Warning", f"{printable(session.session)}: {text}")
    for session_id, path in report.elsewhere:
        say_note(f"{session_id} is also in {path}")
    for text in report.remarks:
        code = ExitCode.WARNINGS
        complain("Warning", text)
    if report.unread:
        code = ExitCode.WARNINGS
        places = [
            f"{printable(path)}{'' if line is None else f':{line}'}: {reason}"
            for path, line, reason in report.unread[:_MOST_NAMED]
        ]
        more = len(report.unread) - len(places)
        details = [*places, *([f"and {more:,} more: see --json"] if more else [])]
        complain("Warning", f"{counted(len(report.unread), 'place')} could not be read", details=details)
    if report.unknown_types:
        code = ExitCode.WARNINGS
        names = ", ".join(f"{printable(name)} ({count:,})" for name, count in report.unknown_types.items())
        words = " ".join(map(shell_word, (report.other_tool or "", *paths)))
        hint = f"these look like files of {report.other_tool}: runcard import {words}"
        complain(
            "Warning",
            f"unknown types of records, which are not read: {names}",
            hint=hint if report.other_tool else None,
        )
    for session in report.sessions:
        if session.error is not None:
            code = ExitCode.FAILED
            complain("Error", f"{printable(session.session)} was not imported: {session.error}")
    return code
