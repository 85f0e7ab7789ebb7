"""The older files of OpenCode, below `storage`: one for each session, message and part.

`session/<project>/<session>.json`, `message/<session>/<message>.json`, `part/<message>/<part>.json`; before that the same below `session`,
with `info` in place of a project, and the parts of a message in `part/<session>/<message>`.
"""

import os
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

from runcard.files import NotRegularFileError, open_regular, read_stream
from runcard.transcripts.content import decode_record
from runcard.transcripts.opencode.records import LARGEST, TOO_LARGE, SessionFacts, StoredRecord, facts_of

_BOM = b"\xef\xbb\xbf"


def session_of(path: str) -> str | None:
    """The session of a message, from the folder that its file is in."""
    folder = os.path.dirname(path)
    return os.path.basename(folder) if os.path.basename(os.path.dirname(folder)) == "message" else None


def read_json(path: str) -> tuple[bytes | None, str | None]:
    """The bytes of a file, or the reason why it cannot be read."""
    try:
        with open(open_regular(path), "rb", buffering=0) as file:
            os.set_blocking(file.fileno(), True)
            data = read_stream(file, LARGEST)
    except NotRegularFileError as error:
        return None, error.strerror or "not a regular file"
    except OSError as error:
        return None, os.strerror(error.errno) if error.errno else str(error)
    return (None, TOO_LARGE) if len(data) > LARGEST else (data.removeprefix(_BOM), None)


class MessageFiles:
    """The files of some messages, with those that belong to them."""

    def __init__(self, paths: Sequence[str]) -> None:
        self._messages: dict[str, list[str]] = {}
        for path in sorted(paths):
            self._messages.setdefault(session_of(path) or session_in(path), []).append(path)
        self._children: dict[str | None, list[str]] = {}
        facts = {session: self.facts(session) or SessionFacts() for session in self._messages}
        for session in sorted(facts, key=lambda name: (facts[name].created, name)):
            self._children.setdefault(facts[session].parent, []).append(session)

    def facts(self, session: str) -> SessionFacts | None:
        row = self.row(session)
        return facts_of(row) if row else None

    def row(self, session: str) -> dict[str, Any]:
        """What the file of a session has. That of a session without messages is beside that of any other."""
        for paths in [self._messages[session]] if session in self._messages else self._messages.values():
            if row := session_row(paths[0], session):
                return row
        return {}

    def children(self, session: str) -> list[str]:
        return self._children.get(session, [])

    def records(self, session: str) -> Iterator[StoredRecord]:
        for path in self._messages.get(session, ()):
            name = os.path.basename(path).removesuffix(".json")
            data, reason = read_json(path)
            yield StoredRecord("message", name, session, -1, None, data, reason)
            for part in _part_files(path, session, name):
                data, reason = read_json(part)
                part_name = os.path.basename(part).removesuffix(".json")
                yield StoredRecord("part", part_name, session, -1, None, data, reason)

    def sessions_with(self, session: str, created: int) -> set[str]:  # noqa: ARG002 - as of a database
        return set()


def session_in(path: str) -> str:
    """The session that a message names itself: for a file that is not in a folder of OpenCode."""
    data, _ = read_json(path)
    try:
        name = decode_record(data or b"").get("sessionID")
    except ValueError:
        name = None
    return name if isinstance(name, str) and name else os.path.basename(os.path.dirname(path))


def session_row(message_path: str, session: str) -> dict[str, Any]:
    """What the file of a session has; nothing where there is no such file."""
    if not session or "/" in session or "\0" in session or session.startswith("."):
        return {}
    base = os.path.dirname(os.path.dirname(os.path.dirname(message_path)))
    for folder in (os.path.join(base, "session"), base):
        for project in _folders_in(folder):
            path = os.path.join(project, f"{session}.json")
            try:
                status = os.lstat(path)
            except (OSError, ValueError):
                continue
            if row := _row(path, status.st_mtime_ns, status.st_size):
                return row
    return {}


def _folders_in(folder: str) -> tuple[str, ...]:
    try:
        return _listed_folders(folder, os.stat(folder).st_mtime_ns)
    except OSError:
        return ()


@lru_cache(maxsize=64)
def _listed_folders(folder: str, modified: int) -> tuple[str, ...]:  # noqa: ARG001 - a change makes a new entry
    with os.scandir(folder) as entries:
        return tuple(sorted(entry.path for entry in entries if entry.is_dir(follow_symlinks=False)))


@lru_cache(maxsize=256)
def _row(path: str, modified: int, size: int) -> dict[str, Any]:  # noqa: ARG001 - a change makes a new entry
    data, _ = read_json(path)
    try:
        return decode_record(data or b"")
    except ValueError:
        return {}


def _part_files(message_path: str, session: str, name: str) -> list[str]:
    if session_of(message_path) is None:
        return []
    base = os.path.dirname(os.path.dirname(os.path.dirname(message_path)))
    for folder in (os.path.join(base, "part", name), os.path.join(base, "part", session, name)):
        try:
            if os.path.islink(folder):
                continue
            with os.scandir(folder) as entries:
                return sorted(entry.path for entry in entries if entry.name.endswith(".json"))
        except OSError:
            continue
    return []
