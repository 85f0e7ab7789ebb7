"""Import the sessions that hooks of agent tools have noted.

Each session is imported by a process of its own, in the folder where its agent was started, as `runcard import` there would do it: the
settings of one project do not reach another. One process at a time works on a session; before it ends it looks for a newer note.
"""

import contextlib
import os
import subprocess
import sys
import time
from dataclasses import dataclass, field

from runcard.agent_setup.notes import (
    HookNote,
    HookResult,
    forget_old_notes,
    is_open_run,
    is_pending,
    is_too_soon,
    locked_note,
    read_note,
    read_notes,
    read_result,
    write_result,
)
from runcard.errors import RuncardError, StoreError
from runcard.files import printable

_LONGEST = 3600  # seconds for one session


@dataclass
class CatchUpReport:
    """What became of the sessions that hooks have noted."""

    imported: list[str] = field(default_factory=list)  # ids of sessions with a new record
    failed: list[tuple[str, str]] = field(default_factory=list)  # ids, and why


def catch_up(*, retry: bool = False) -> CatchUpReport:
    """Import all sessions that hooks have left; with `retry`, also those that failed."""
    report = CatchUpReport()
    for note in [note for note in read_notes() if is_pending(note, read_result(note.name), retry=retry)]:
        before = read_result(note.name)
        command = [sys.executable, "-P", "-m", "runcard", "hook", "--catch-up", "--only", note.name]
        with contextlib.suppress(OSError, subprocess.SubprocessError):
            subprocess.run(  # noqa: S603 - the names of notes are our own
                [*command, "--now"],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=_LONGEST,
                check=False,
            )
        result = read_result(note.name)
        if result is None or result == before:
            continue
        if result.action in {"imported", "replaced"}:
            report.imported.append(note.session)
        elif result.action == "failed":
            report.failed.append((note.session, result.error))
    forget_old_notes()
    return report


def catch_up_session(name: str, *, now: bool = False) -> None:
    """Import the session of one note, unless another process does so; `now`, however recent its last import is."""
    while (note := read_note(name)) is not None:
        with locked_note(name) as is_locked:
            result = read_result(name)
            if (
                not is_locked
                or not is_pending(note, result, retry=True)
                or (is_too_soon(note, result) and not now)
            ):
                return
            write_result(name, _import(note, result))
        newer = read_note(name)
        if newer is None or newer.digest == note.digest:
            return


def _import(note: HookNote, before: HookResult | None) -> HookResult:
    """Import a session, and say what became of it."""
    from runcard.operations.sessions.collect import CollectingIsOffError  # noqa: PLC0415 - most hooks find nothing to do
    from runcard.operations.sessions.import_sessions import import_sessions  # noqa: PLC0415
    from runcard.transcripts.sources import NoSessionsError  # noqa: PLC0415

    files, began = note.files_digest(), time.time()
    run = note.run if note.run and is_open_run(note.run) else ""
    action, error, store = "nothing", "", ""
    try:
        store = _enter(note, before)
        report = import_sessions(note.tool, session=note.session, artifacts=store, recorded_by="hook")
        for session in report.sessions:
            action, error = session.action, session.error or ""
    except CollectingIsOffError:
        action = "off"
    except NoSessionsError:
        action = "nothing"  # it has no call and no message yet
    except RuncardError as problem:
        action, error = "failed", problem.message
    ended = time.time()
    return HookResult(note.digest, files, ended, ended - began, action, store, error, run)


def _enter(note: HookNote, before: HookResult | None) -> str:
    """Change to the folder of a session; the store to use: the one in which it is, or else the one that settings name there."""
    from runcard.settings import ARTIFACTS_DIR, read_settings  # noqa: PLC0415

    store = before.store if before is not None and os.path.isdir(before.store) else ""
    try:
        os.chdir(note.folder or os.path.expanduser("~"))
    except (OSError, ValueError) as error:
        if not store:
            raise StoreError(f"the folder of the session is gone: {printable(note.folder)}") from error
        os.chdir(store)
    return store or os.path.abspath(read_settings()[ARTIFACTS_DIR])
