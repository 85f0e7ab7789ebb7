"""The sessions of Gemini CLI: the file of the main agent and those of its sub-agents, by their metadata."""

import os
from collections.abc import Sequence
from itertools import islice

from runcard.transcripts.activity import SessionFiles
from runcard.transcripts.calls import MAIN
from runcard.transcripts.content import TranscriptFile, UnreadPart, decode_record
from runcard.transcripts.gemini.chat_meta import NAME, ChatMeta, chat_of
from runcard.transcripts.session_file import failure_reason, file_lines, read_document

_FIRST_LINES = 50  # in which the metadata must be


def sessions(files: Sequence[TranscriptFile]) -> tuple[list[SessionFiles], list[UnreadPart]]:
    """The sessions that these files are of, and the files that cannot be read."""
    unread: list[UnreadPart] = []
    chats: dict[str, ChatMeta] = {}  # by path
    modified: dict[str, int] = {}
    paths: dict[str, list[str]] = {}  # by session
    for file in files:
        try:
            modified[file.path] = os.stat(file.path).st_mtime_ns // 1_000_000
        except OSError as error:
            unread.append(UnreadPart(file.path, None, failure_reason(error)))
            continue
        chat = chats[file.path] = read_chat(file.path, unread)
        paths.setdefault(chat.session, []).append(file.path)
    found = []
    for session, own in paths.items():
        own.sort(key=lambda path: (chats[path].agent != MAIN, path))
        latest = max(modified[path] for path in own)
        found.append(SessionFiles(NAME, session, tuple(own), latest, chats[own[0]].folder))
    return found, unread


def read_chat(path: str, unread: list[UnreadPart]) -> ChatMeta:
    """Whose chat a file is; by its name where its first records do not say it."""
    if path.endswith(".json"):
        return chat_of(path, read_document(path, unread))
    for _, line, is_complete in islice(file_lines(path, unread), _FIRST_LINES):
        try:
            record = decode_record(line) if is_complete else {}
        except ValueError:
            continue
        if "type" not in record and ("sessionId" in record or "projectHash" in record):
            return chat_of(path, record)
    return chat_of(path, {})
