"""Which session files must be read to count the calls of one session: a user has thousands of them, and hooks import often."""

import os
from collections.abc import Iterable, Sequence

from runcard.transcripts.calls import NO_TIME
from runcard.transcripts.content import TranscriptFile
from runcard.transcripts.reading import read_files
from runcard.transcripts.sources import SESSION_TOOLS

_MARGIN = 86_400_000  # milliseconds by which clocks may differ


def files_for_session(tool: str, files: Sequence[TranscriptFile], session: str) -> list[TranscriptFile]:
    """Those of a session, and all others that can have its calls too: forks, and what it was forked from.

    A call is written after it was made. So a file that was last changed before the first call of the session has none of its
    calls. All files, if it is not known when that was.
    """
    groups, _ = SESSION_TOOLS[tool].sessions([file for file in files if not file.start])
    own = {path for each in groups if each.session == session for path in (*each.paths, *each.earlier)}
    first = _first_call(file for file in files if file.path in own)
    if first is None:
        return list(files)
    return [file for file in files if file.path in own or _changed(file.path) >= first - _MARGIN]


def _first_call(files: Iterable[TranscriptFile]) -> int | None:
    times = {call.time for call in read_files([limited(file) for file in files]).table}
    return None if not times or NO_TIME in times else min(times)


def _changed(path: str) -> int:
    try:
        return os.stat(path).st_mtime_ns // 1_000_000
    except OSError:
        return 1 << 62  # what is wrong with it is found when it is read


def limited(file: TranscriptFile) -> TranscriptFile:
    """The same file, as long as it is now."""
    return file._replace(end=file.size) if file.end is None and file.path.endswith(".jsonl") else file
