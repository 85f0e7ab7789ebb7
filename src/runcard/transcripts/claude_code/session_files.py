"""The files of each session.

The file of a session has its id as its name, and the ids in its lines are the same. A file with another name (a copy that
somebody made) belongs to the session that its first lines name. The sub-agents of older versions have their files beside
those of the sessions, and their lines name the session.
"""

import os
from collections.abc import Sequence
from re import compile as regex
from typing import NamedTuple

from runcard.files import open_regular
from runcard.transcripts.activity import SessionFiles
from runcard.transcripts.calls import NO_TIME
from runcard.transcripts.claude_code.call_reader import NAME
from runcard.transcripts.claude_code.file_names import agent_of, session_of, started_in
from runcard.transcripts.content import TranscriptFile, UnreadPart, decode_record, text_of
from runcard.transcripts.line_reader import read_lines

_HEAD = 1 << 20  # bytes at the beginning of a file in which its session and its folder are looked for
_BLOCK = 1 << 14
_UUID = regex(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


class _FileHead(NamedTuple):
    """What the first lines of a file say."""

    session: str | None = None
    cwd: str | None = None


def sessions(files: Sequence[TranscriptFile]) -> tuple[list[SessionFiles], list[UnreadPart]]:
    """Group files by session, the main file first; a sub-agent whose session has no file is a session by itself."""
    groups: dict[str, list[tuple[tuple[bool, bool, str], int, str | None]]] = {}
    unread: list[UnreadPart] = []
    for path in dict.fromkeys(file.path for file in files):
        try:
            modified = os.stat(path).st_mtime_ns // 1_000_000
            head = _read_head(path)
        except OSError as error:
            unread.append(UnreadPart(path, None, error.strerror or str(error)))
            continue
        session = _session(path, head)
        order = (agent_of(path) is not None, session_of(path) != session, path)
        folder = None if head.cwd is None else started_in(head.cwd, path)
        groups.setdefault(session, []).append((order, max(modified, NO_TIME), folder))
    return [_session_files(session, found) for session, found in groups.items()], unread


def _session(path: str, head: _FileHead) -> str:
    by_path = session_of(path)
    if by_path is not None and agent_of(path) is None and _UUID.fullmatch(by_path):
        return by_path  # its first lines may be copies of those of another session
    return head.session or by_path or os.path.basename(path)


def _session_files(session: str, found: list[tuple[tuple[bool, bool, str], int, str | None]]) -> SessionFiles:
    ordered = sorted(found, key=lambda file: file[0])
    folder = next((folder for _, _, folder in ordered if folder is not None), None)
    modified = max(time for _, time, _ in ordered)
    return SessionFiles(NAME, session, tuple(order[2] for order, _, _ in ordered), modified, folder)


def _read_head(path: str) -> _FileHead:
    """The session and the folder that the first lines name."""
    head = _FileHead()
    with open(open_regular(path, follow=True), "rb", buffering=_BLOCK) as file:
        for _, line, is_complete in read_lines(file, 0, _HEAD):
            try:
                record = decode_record(line) if is_complete else {}
            except ValueError:
                continue
            head = _FileHead(
                head.session or text_of(record.get("sessionId")), head.cwd or text_of(record.get("cwd"))
            )
            if None not in head:
                break
    return head
