"""What hooks leave behind: a note for each session, and what became of it.

`<name>.note` is written by a hook (see `hook_note`), `<name>.done` by the process that imported the session, which holds `<name>.lock`.
A session is pending if its note or its files changed since. Notes have no prompts and no replies.
"""

import contextlib
import fcntl
import json
import os
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from itertools import islice
from typing import Any

from runcard.agent_setup.hook_note import notes_folder
from runcard.agent_setup.tools import END_EVENTS
from runcard.digests import sha256_bytes
from runcard.errors import RuncardError
from runcard.files import FileKind, read_regular, walk, write_atomic

_NOTE, _DONE, _LOCK = ".note", ".done", ".lock"
_LARGEST = 1 << 16
_LONGEST_ERROR = 2000
_MOST_FILES = 10_000  # of a session that are looked at; every event changes the first of them
_SHARE = 20  # an import may take a twentieth of the time
_RETRY = 3600.0  # seconds after which a failed import is tried again
_KEPT = 30 * 86400.0  # seconds after which a note that is done is removed
_FIELDS = ("tool", "session", "event", "folder", "transcript", "run", "time")


@dataclass(frozen=True)
class HookNote:
    """The last event of a session."""

    name: str
    tool: str
    session: str
    event: str
    folder: str  # where the agent was started; empty if not known
    transcript: str  # its session file; empty if not known
    run: str  # the directory of the run that recorded the agent; empty if there was none
    time: float
    digest: str

    @property
    def is_end(self) -> bool:
        return self.event in END_EVENTS

    def files_digest(self) -> str:
        """A digest of the names, sizes and times of its session files, as far as the note tells which they are."""
        states: list[list[str | int]] = []
        for path in islice(self._files(), _MOST_FILES) if self.transcript else ():
            with contextlib.suppress(OSError, ValueError):
                status = os.lstat(path)
                states.append([path, status.st_size, status.st_mtime_ns])
        return sha256_bytes(json.dumps(states).encode()).hex

    def _files(self) -> Iterator[str]:
        """The session file, and what is in the folder beside it. A link in place of that can lead anywhere."""
        yield self.transcript
        folder = self.transcript.removesuffix(".jsonl")
        if folder == self.transcript or os.path.islink(folder):
            return
        with contextlib.suppress(RuncardError):  # most sessions have no folder
            for path, kind in walk(folder, on_error=lambda *_: None):
                if kind is not FileKind.DIRECTORY:
                    yield os.path.join(folder, path)


@dataclass(frozen=True)
class HookResult:
    """What became of a note."""

    digest: str  # of the note
    files_digest: str = ""
    time: float = 0.0  # when the import ended
    seconds: float = 0.0  # how long it took
    action: str = ""  # imported, replaced, unchanged, kept, failed, or nothing
    store: str = ""
    error: str = ""
    open_run: str = ""  # a run that metered the session and was not closed yet


def folder_of_notes() -> str | None:
    """Where notes are, whether the folder exists or not."""
    return notes_folder(os.environ)


def read_notes() -> Iterator[HookNote]:
    """All notes, the oldest first."""
    folder = folder_of_notes()
    names: list[str] = []
    with contextlib.suppress(OSError):
        names = [name for name in os.listdir(folder or "") if name.endswith(_NOTE)]
    notes = (read_note(name.removesuffix(_NOTE)) for name in names)
    yield from sorted((note for note in notes if note is not None), key=lambda note: note.time)


def read_note(name: str) -> HookNote | None:
    """A note; None if there is none, or if it is not one of ours."""
    data = _read(name, _NOTE)
    facts: dict[str, str] = {}
    for line in data.decode("utf-8", "surrogateescape").split("\n") if data else ():
        key, _, value = line.partition(" ")
        facts[key] = _unescaped(value)
    if not facts.get("tool") or not facts.get("session"):
        return None
    texts = {key: facts.get(key, "") for key in _FIELDS if key != "time"}
    try:
        moment = float(facts.get("time", "0"))
    except ValueError:
        moment = 0.0
    return HookNote(name=name, time=moment, digest=sha256_bytes(data).hex, **texts)


def _unescaped(text: str) -> str:
    parts = text.split("\\\\")
    return "\\".join(part.replace("\\n", "\n").replace("\\r", "\r") for part in parts)


def read_result(name: str) -> HookResult | None:
    """What became of a note; None if it was not worked on."""
    try:
        data: Any = json.loads(_read(name, _DONE) or b"null")
        names = {each.name for each in fields(HookResult)}  # another version may have others
        return HookResult(**{key: data[key] for key in names & data.keys()})
    except (ValueError, TypeError, AttributeError):  # cut, or not an object
        return None


def write_result(name: str, result: HookResult) -> None:
    """Keep what became of a note; only the process that has its lock."""
    path = _path(name, _DONE)
    if path is not None:
        data = asdict(result) | {"error": result.error[:_LONGEST_ERROR]}
        write_atomic(path, json.dumps(data).encode(), mode=0o600)


def is_pending(note: HookNote, result: HookResult | None, *, retry: bool = False) -> bool:
    """Whether there is something to import; with `retry`, also what failed before."""
    if note.transcript and not os.path.lexists(note.transcript):
        return False  # nothing was written yet, or it is deleted
    if result is None:
        return True
    if result.action == "failed":
        return retry or time.time() - result.time > _RETRY or result.digest != note.digest
    if result.open_run and not is_open_run(result.open_run):
        return True
    return result.files_digest != note.files_digest() or result.digest != note.digest


def is_too_soon(note: HookNote, result: HookResult | None) -> bool:
    """Whether the last import was so recent that this one waits for the next event: a long session is read as a whole."""
    if result is None or note.is_end or result.action == "failed":
        return False
    return 0 <= time.time() - result.time < _SHARE * result.seconds


def is_open_run(path: str) -> bool:
    """Whether a run is not closed yet."""
    return os.path.isdir(path) and not os.path.lexists(os.path.join(path, "SHA256SUMS"))


def forget_old_notes() -> None:
    """Remove notes that are done and whose sessions have been at rest for a month."""
    for note in read_notes():
        result = read_result(note.name)
        if time.time() - note.time > _KEPT and not is_pending(note, result):
            for suffix in (_NOTE, _DONE, _LOCK):
                with contextlib.suppress(OSError):
                    os.unlink(_path(note.name, suffix) or "")


@contextlib.contextmanager
def locked_note(name: str) -> Iterator[bool]:
    """Whether this process may work on a session; the lock ends with the process."""
    path = _path(name, _LOCK)
    if path is None:
        yield False
        return
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        yield False
        return
    try:
        yield True
    finally:
        os.close(descriptor)


def _read(name: str, suffix: str) -> bytes:
    path = _path(name, suffix)
    try:
        data = read_regular(path) if path is not None and os.path.getsize(path) <= _LARGEST else None
    except OSError:
        return b""
    return data or b""


def _path(name: str, suffix: str) -> str | None:
    folder = folder_of_notes()
    return None if folder is None or "/" in name else os.path.join(folder, f"{name}{suffix}")
