"""Reading many session files, on all cores, into one table of calls."""

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from runcard.files import open_regular
from runcard.parallel.forks import work_in_order
from runcard.parallel.progress import Progress
from runcard.transcripts import codex
from runcard.transcripts.calls import CallTable
from runcard.transcripts.content import FileContent, TranscriptFile, UnreadPart
from runcard.transcripts.line_reader import open_lines
from runcard.transcripts.session_file import ZSTD, failure_reason
from runcard.transcripts.sources import SESSION_TOOLS
from runcard.transcripts.zstd_file import UnpackError, unpacked

if TYPE_CHECKING:
    from runcard.parallel.shard import ItemPlace


@dataclass
class TranscriptCalls:
    """The calls of many files, and what could not be read."""

    table: CallTable = field(default_factory=CallTable)
    unread: list[UnreadPart] = field(default_factory=list)
    unknown_types: "Counter[str]" = field(default_factory=Counter)
    files: int = 0


def read_files(files: Sequence[TranscriptFile], progress: Progress | None = None) -> TranscriptCalls:
    """Read session files. `progress` gets the number of files and bytes that are done."""
    result = TranscriptCalls()
    threads: list[codex.Thread] = []
    in_database: frozenset[str] = frozenset()
    ordered = sorted(files, key=lambda file: not file.path.endswith(".db"))  # databases before older files
    lines_before = done = 0
    for file, content in zip(ordered, work_in_order(ordered, _read, _no_progress, place=_place), strict=True):
        lines_before = lines_before if file.start else 0
        is_old = file.tool == "opencode" and not file.path.endswith(".db")
        result.table.merge(content.calls, in_database if is_old else frozenset())
        in_database |= content.sessions
        result.unread += content.unread_parts(file.path, lines_before)
        result.unknown_types += content.unknown_types
        result.files += not file.start
        threads += [content.thread] if content.thread is not None else []
        lines_before += content.lines
        done += file.size if file.end is None else file.end - file.start
        if progress is not None:
            progress(result.files, done)
    codex.add_events(result.table, threads)
    result.table.settle()
    return result


def _place(file: TranscriptFile) -> "ItemPlace":
    """Where a file is, and its size, for the workers of a cluster."""
    from runcard.parallel.shard import ItemPlace  # noqa: PLC0415 - only with a cluster

    return ItemPlace(file.path, file.size if file.end is None else file.end - file.start)


def _no_progress(files: int, size: int) -> None:
    """What is done is counted by whole files."""


def _read(file: TranscriptFile, _: Progress) -> FileContent:
    """Read one file, in a fork or here. Whatever is wrong with it is noted in its content."""
    content = FileContent()
    try:
        with open_lines(open_regular(file.path, follow=True)) as raw:
            if file.path.endswith(ZSTD):
                return SESSION_TOOLS[file.tool].read(file.path, unpacked(raw))
            end = os.fstat(raw.fileno()).st_size if file.end is None else file.end
            return SESSION_TOOLS[file.tool].read(file.path, raw, file.start, end)
    except (OSError, UnpackError) as error:
        content.add_unread(None, failure_reason(error))
    return content
