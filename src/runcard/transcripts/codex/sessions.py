"""The sessions of Codex: the file of the main thread and those of its sub-agents, by the first records of the files."""

import os
from collections.abc import Sequence
from itertools import islice

from runcard.transcripts.activity import SessionFiles
from runcard.transcripts.codex.record_types import NAME, is_old_header
from runcard.transcripts.codex.thread_meta import (
    ThreadMeta,
    session_of,
    thread_of_file,
    thread_of_header,
    thread_of_meta,
)
from runcard.transcripts.content import TranscriptFile, UnreadPart, decode_record, milliseconds, object_of
from runcard.transcripts.session_file import failure_reason, file_lines, read_document

_FIRST_LINES = 50  # in which the record that names the thread must be


def sessions(files: Sequence[TranscriptFile]) -> tuple[list[SessionFiles], list[UnreadPart]]:
    """The sessions that these files are of, and the files that cannot be read."""
    unread: list[UnreadPart] = []
    threads: dict[str, ThreadMeta] = {}  # by path
    modified: dict[str, int] = {}
    for file in files:
        try:
            modified[file.path] = os.stat(file.path).st_mtime_ns // 1_000_000
        except OSError as error:
            unread.append(UnreadPart(file.path, None, failure_reason(error)))
            continue
        threads[file.path] = read_thread(file.path, unread)
    by_id = {thread.id: thread for thread in threads.values()}
    paths: dict[str, list[str]] = {}  # by session
    of_thread: dict[str, list[str]] = {}
    for path, thread in threads.items():
        paths.setdefault(session_of(thread, by_id), []).append(path)
        of_thread.setdefault(thread.id, []).append(path)
    sizes = {file.path: file.size for file in files}

    def place(path: str) -> tuple[bool, int, int, str]:
        thread = threads[path]
        return (thread.is_subagent, thread.created, -sizes[path], path)

    found = []
    for session, own in paths.items():
        own.sort(key=place)
        parents = dict.fromkeys(threads[path].fork_of for path in own)
        earlier = tuple(
            path for name in parents if name for path in of_thread.get(name, ()) if path not in own
        )
        latest = max(modified[path] for path in own)
        found.append(SessionFiles(NAME, session, tuple(own), latest, threads[own[0]].cwd, earlier))
    return found, unread


def read_thread(path: str, unread: list[UnreadPart]) -> ThreadMeta:
    """The thread that a file is of; by the name of the file where its first records do not say it."""
    thread = thread_of_file(path)
    if path.endswith(".json"):
        header = object_of(read_document(path, unread).get("session"))
        return thread_of_header(header, thread.id) if header else thread
    for _, line, is_complete in islice(file_lines(path, unread), _FIRST_LINES):
        try:
            record = decode_record(line) if is_complete else {}
        except ValueError:
            continue
        if record.get("type") == "session_meta":
            time = milliseconds(record.get("timestamp"))
            return thread_of_meta(object_of(record.get("payload")), time, thread.id)
        if "type" not in record and is_old_header(record):
            return thread_of_header(record, thread.id)
    return thread
