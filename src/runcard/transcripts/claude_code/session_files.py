"""The files of each session.

The file of a session has its id as its name, and the ids in its lines are the same. A file with another name (a copy that
somebody made) belongs to the session that its first lines name. The sub-agents of older versions have their files beside
those of the sessions, and their lines name the session.

Older versions resumed a session in a new file, which begins with the lines of the first one. Where the file of the first one is
gone, its lines in the other file are all that is left of it.

A fork is a new session that begins with the records of another one, under its own id. Both begin with the same message, so that
the session it was made from is known where only one other began before it.
"""

import os
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from runcard.files import open_regular
from runcard.transcripts.activity import SessionFiles
from runcard.transcripts.calls import NO_TIME
from runcard.transcripts.claude_code.call_reader import NAME
from runcard.transcripts.claude_code.file_names import agent_of, session_of, started_in
from runcard.transcripts.content import TranscriptFile, UnreadPart, decode_record, milliseconds, text_of
from runcard.transcripts.line_reader import open_lines, read_lines

_HEAD = 1 << 20  # bytes at the beginning of a file in which its session and its folder are looked for
_BLOCK = 1 << 14
_MOST_SESSIONS = 1000  # in one file
_SESSION = re.compile(rb'"sessionId"\s*:\s*"([^"\\]{1,200})"')


class _FoundFile(NamedTuple):
    """A file, and what its first lines say. Files are sorted: first that of the session, sub-agents last."""

    is_sub_agent: bool
    is_named_otherwise: bool
    path: str
    modified: int
    folder: str | None
    head: "_FileHead"


class _FileHead(NamedTuple):
    """What the first lines of a file say."""

    session: str | None = None
    cwd: str | None = None
    first: str | None = None  # the id of the first message
    began: int = NO_TIME  # when the first record was written
    is_fork: bool = False  # the first message is older

    def with_record(self, record: dict[str, Any]) -> "_FileHead":
        """The same with what another record says."""
        time = milliseconds(record.get("timestamp"))
        began = self.began if self.began >= 0 else time
        first, is_fork = self.first, self.is_fork
        if first is None and record.get("type") == "user":
            first, is_fork = text_of(record.get("uuid")), 0 <= time < began
        session, cwd = text_of(record.get("sessionId")), text_of(record.get("cwd"))
        return _FileHead(self.session or session, self.cwd or cwd, first, began, is_fork)


def sessions(files: Sequence[TranscriptFile]) -> tuple[list[SessionFiles], list[UnreadPart]]:
    """Group files by session, the main file first; a sub-agent whose session has no file is a session by itself."""
    groups: dict[str, list[_FoundFile]] = {}
    copies: dict[str, list[_FoundFile]] = {}  # files with lines of a session that is not theirs
    unread: list[UnreadPart] = []
    for path in dict.fromkeys(file.path for file in files):
        try:
            modified = os.stat(path).st_mtime_ns // 1_000_000
            head = _read_head(path)
            session, others = _sessions_of(path, head)
        except OSError as error:
            unread.append(UnreadPart(path, None, error.strerror or str(error)))
            continue
        folder = None if head.cwd is None else started_in(head.cwd, path)
        is_other = session_of(path) != session
        found = _FoundFile(agent_of(path) is not None, is_other, path, max(modified, NO_TIME), folder, head)
        groups.setdefault(session, []).append(found)
        for other in others:
            copies.setdefault(other, []).append(found)
    groups |= {session: found for session, found in copies.items() if session not in groups}
    found_files = [_session_files(session, sorted(found)) for session, found in groups.items()]
    return _with_earlier(
        found_files, {each.path: each.head for found in groups.values() for each in found}
    ), unread


def _with_earlier(found: list[SessionFiles], heads: dict[str, _FileHead]) -> list[SessionFiles]:
    """The same, with the file of the session that each fork was made from."""
    with_same: dict[str, list[tuple[int, str]]] = {}  # when files began, by their first message
    for files in found:
        if (first := heads[files.paths[0]].first) is not None:
            with_same.setdefault(first, []).append((heads[files.paths[0]].began, files.paths[0]))
    result = []
    for files in found:
        head = heads[files.paths[0]]
        others = with_same.get(head.first or "", []) if head.is_fork else []
        before = [path for began, path in others if 0 <= began < head.began]
        result.append(files._replace(earlier=tuple(before)) if len(before) == 1 else files)
    return result


def _sessions_of(path: str, head: _FileHead) -> tuple[str, set[str]]:
    """The session of a file, and others that it has lines of."""
    by_path = session_of(path)
    if agent_of(path) is not None or head.session is None or head.session == by_path:
        return head.session or by_path or os.path.basename(path), set()
    named = _sessions_in(path)
    session = by_path if by_path in named else head.session
    return session, named - {session}


def _sessions_in(path: str) -> set[str]:
    """All sessions that the lines of a file name."""
    named: set[str] = set()
    with open_lines(open_regular(path, follow=True)) as file:
        for _, line, _ in read_lines(file, 0, os.fstat(file.fileno()).st_size):
            named.update(match.decode("utf-8", "replace") for match in _SESSION.findall(line))
            if len(named) >= _MOST_SESSIONS:
                break
    return named


def _session_files(session: str, found: Sequence[_FoundFile]) -> SessionFiles:
    folder = next((file.folder for file in found if file.folder is not None), None)
    modified = max(file.modified for file in found)
    return SessionFiles(NAME, session, tuple(file.path for file in found), modified, folder)


def _read_head(path: str) -> _FileHead:
    """The session and the folder that the first lines name."""
    head = _FileHead()
    with open(open_regular(path, follow=True), "rb", buffering=_BLOCK) as file:
        for _, line, is_complete in read_lines(file, 0, _HEAD):
            try:
                record = decode_record(line) if is_complete else {}
            except ValueError:
                continue
            head = head.with_record(record)
            if None not in head:
                break
    return head
