"""How the files of a session have changed since it was imported.

An import names its files with their sizes and digests (`sources`). Tools add lines to a file, so the bytes that were imported
are the beginning of a file that has grown. What a tool writes anew each time has grown if it still has every message of the
import. Anything else was rewritten. A file at another path may be anybody's: if it has more, the import stays.

The lines of a session may be in files of other sessions as well, which were resumed from it. Its own files have its id in
their names; where these are gone, such copies say nothing new, unless they have messages that the import has not.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import IntEnum
from hashlib import sha256
from typing import Any, BinaryIO, NamedTuple

from runcard.files import NotRegularFileError, json_name, open_regular, printable
from runcard.masking import mask_text
from runcard.operations.sessions.message_records import CopiedRecords, has_all, lines_of
from runcard.store.sessions.instance_copies import TranscriptSource

_BLOCK = 1 << 18  # bytes that are read at once
_SHORT_ID = 8  # characters of an id that are in the names of files

StoredSource = Mapping[str, Any]  # an entry of `sources`
OpenCopy = Callable[[StoredSource], BinaryIO | None]  # None where the import has no copy of a file


class Change(IntEnum):
    """What became of files that were imported; of several files, the highest counts."""

    SAME = 0
    GROWN = 1
    AHEAD = (
        2  # the import has more than was read now: the file grew meanwhile, and another process was faster
    )
    REWRITTEN = 3


class SourceChange(NamedTuple):
    """What became of files that were imported."""

    change: Change
    reason: str | None = None  # why they count as rewritten
    elsewhere: str | None = None  # the name of a file that has grown, and that is at another path than before


_SAME, _GROWN, _AHEAD = map(SourceChange, (Change.SAME, Change.GROWN, Change.AHEAD))


def _no_copy(entry: StoredSource) -> None:
    pass


def compare_sources(
    stored: Sequence[StoredSource],
    now: Sequence[TranscriptSource],
    session_id: str,
    open_copy: OpenCopy = _no_copy,
) -> SourceChange:
    """Compare the `sources` of an import with the files of the session as they are now."""
    pairs = list(_pairs(stored, now))
    if all(source is None for _, source in pairs):
        is_own, was_own = (
            _has_own(session_id, map(_path_of, now)),
            _has_own(session_id, map(_path_in, stored)),
        )
        if not now:
            return _SAME
        if was_own and not is_own:
            return _compare_copies(stored, now, session_id, open_copy)
        if is_own and not was_own:
            return _grown_elsewhere(now[0])
    changes = [_compare(entry, source, open_copy) for entry, source in pairs]
    if len(now) > len(stored):
        known = {path for source in now for path in _paths(source)}
        is_here = not stored or any(_path_in(entry) in known for entry in stored)
        changes.append(_GROWN if is_here else _grown_elsewhere(now[0]))
    return max(changes, key=lambda each: (each.change, each.elsewhere is not None), default=_SAME)


def _compare_copies(
    stored: Sequence[StoredSource], now: Sequence[TranscriptSource], session_id: str, open_copy: OpenCopy
) -> SourceChange:
    """Compare lines that are in files of other sessions with an import whose own files are gone."""
    if any(entry.get("path") is None for entry in stored):
        return _SAME  # there is nothing to compare them with
    lines = (line for entry in stored for line in _copied_lines(entry, open_copy))
    copied = CopiedRecords(session_id, lines)
    for source in now:
        try:
            if not all(map(copied.have, lines_of(source.read()))):
                return _grown_elsewhere(source)
        except (OSError, NotRegularFileError):
            continue  # it is named as a file that cannot be read
    return _SAME


def _copied_lines(entry: StoredSource, open_copy: OpenCopy) -> Iterator[bytes]:
    copy = open_copy(entry)
    if copy is not None:
        with copy:
            yield from copy


def _grown_elsewhere(source: TranscriptSource) -> SourceChange:
    return SourceChange(Change.GROWN, elsewhere=printable(os.path.basename(source.source)))


def _has_own(session_id: str, paths: Iterable[str]) -> bool:
    """Whether one of these files is the session's own, by its name."""
    return any(session_id[:_SHORT_ID] in os.path.basename(path) for path in paths)


def _pairs(
    stored: Sequence[StoredSource], now: Sequence[TranscriptSource]
) -> Iterator[tuple[StoredSource, TranscriptSource | None]]:
    """Each file of an import with the file that it is now: by its path, or else by its name, as a tool may move it."""
    pairs: dict[int, TranscriptSource] = {}
    left = {id(source): source for source in now}
    for of_entry, of_source in ((_path_in, _paths), (file_name, _names), (_export_in, _exports)):
        by_name: dict[str | None, list[TranscriptSource]] = {}
        for source in left.values():
            for name in of_source(source):
                by_name.setdefault(name, []).append(source)
        for number, entry in enumerate(stored):
            known = [source for source in by_name.get(of_entry(entry), ()) if id(source) in left]
            if known and number not in pairs:
                same = (source for source in known if source.sha256 == entry["sha256"])
                pairs[number] = next(same, known[0])
                del left[id(pairs[number])]
    return ((entry, pairs.get(number)) for number, entry in enumerate(stored))


def _path_in(entry: StoredSource) -> str:
    return str(entry["source"])


def file_name(entry: StoredSource) -> str:
    """The name of a file without its suffixes: a tool may pack it."""
    return _stem(_path_in(entry))


def _export_in(entry: StoredSource) -> str | None:
    return None if entry.get("messages") is None else "export"


def _path_of(source: TranscriptSource) -> str:
    return json_name(source.source).text


def _paths(source: TranscriptSource) -> set[str]:
    """The path of a file as an import has it, with its secrets masked or not."""
    path = _path_of(source)
    return {path, mask_text(path).value}


def _names(source: TranscriptSource) -> set[str]:
    return set(map(_stem, _paths(source)))


def _exports(source: TranscriptSource) -> set[str]:
    """The records of a session that its tool keeps elsewhere than before, such as in a database."""
    return set() if source.messages is None else {"export"}


def _stem(path: str) -> str:
    return os.path.basename(path).partition(".")[0]


def _compare(entry: StoredSource, source: TranscriptSource | None, open_copy: OpenCopy) -> SourceChange:
    """What became of one file."""
    if source is None:
        return SourceChange(Change.REWRITTEN, f"{printable(os.path.basename(entry['source']))} is gone")
    found = _compare_content(entry, source, open_copy)
    is_elsewhere = found.change is Change.GROWN and _path_in(entry) not in _paths(source)
    return _grown_elsewhere(source) if is_elsewhere else found


def _compare_content(entry: StoredSource, source: TranscriptSource, open_copy: OpenCopy) -> SourceChange:
    name = printable(os.path.basename(entry["source"]))
    if source.sha256 == entry["sha256"]:
        return _SAME
    try:
        if source.messages is not None and entry.get("messages") is not None:
            return _compare_messages(entry, source, source.messages, open_copy)
        return _compare_bytes(entry, source, name)
    except (OSError, NotRegularFileError) as error:
        return SourceChange(Change.REWRITTEN, f"{name} could not be read: {error.strerror or error}")


def _compare_messages(
    entry: StoredSource, source: TranscriptSource, count: int, open_copy: OpenCopy
) -> SourceChange:
    name = printable(os.path.basename(entry["source"]))
    if count < entry["messages"]:
        return SourceChange(Change.REWRITTEN, f"{name} has fewer messages")
    if entry.get("path") is None:  # no messages are stored that could get lost
        is_grown = count > entry["messages"]
    else:
        is_grown = has_all(lambda: _copied_lines(entry, open_copy), lambda: lines_of(source.read()))
    return _GROWN if is_grown else SourceChange(Change.REWRITTEN, f"{name} has other messages")


def _compare_bytes(entry: StoredSource, source: TranscriptSource, name: str) -> SourceChange:
    size: int = entry["bytes"]
    if source.is_same and source.size < size:
        with open(open_regular(source.source, follow=True), "rb", buffering=0) as file:
            length, digest = _beginning(iter(lambda: file.read(_BLOCK), b""), size)
        is_ahead = length >= size and digest == entry["sha256"]
        return _AHEAD if is_ahead else SourceChange(Change.REWRITTEN, f"{name} is shorter")
    length, digest = _beginning(source.read(), size)
    if digest != entry["sha256"]:
        return SourceChange(Change.REWRITTEN, f"the beginning of {name} was changed")
    return _GROWN if length > size else _SAME


def _beginning(blocks: Iterable[bytes], size: int) -> tuple[int, str]:
    """The digest of the first bytes of a file, and its length, as far as it was read: to one byte more at least."""
    hasher, length = sha256(), 0
    for block in blocks:
        hasher.update(block[: max(0, size - length)])
        length += len(block)
        if length > size:
            break
    return length, hasher.hexdigest()
