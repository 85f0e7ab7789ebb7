"""The files of a session that are stored with it: their digests, and what is stored of them.

A session may be at work while it is imported. The digest of a file is that of its state before its calls were read, so that
the next import finds what was added later: of a file that only grows, its length is kept for this, else its digest.
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from hashlib import sha256
from typing import NamedTuple

from runcard.files import is_safe_id, open_regular
from runcard.store.sessions.instance_copies import TranscriptSource
from runcard.transcripts.activity import SessionFiles
from runcard.transcripts.content import TranscriptFile, UnreadPart

_BLOCK = 1 << 18
_GROWING = ".jsonl"  # of files that only grow
_DATABASE = ".db"  # read in one transaction


class FileState(NamedTuple):
    """What a file was before its calls were read."""

    size: int
    sha256: str | None = None  # of a file that is written anew each time


def states_before(files: Iterable[TranscriptFile]) -> dict[str, FileState]:
    """The states of files that are to be read; of those that cannot be read, none."""
    states: dict[str, FileState] = {}
    for file in files:
        if file.path.endswith((_GROWING, _DATABASE)):
            states[file.path] = FileState(file.size)
            continue
        with suppress(OSError):
            states[file.path] = FileState(*_digest(file.path))
    return states


def transcript_sources(
    files: SessionFiles, states: Mapping[str, FileState]
) -> tuple[list[TranscriptSource], list[UnreadPart]]:
    """The files of a session, in order, as they were before, and those that cannot be read."""
    sources: list[TranscriptSource] = []
    unread: list[UnreadPart] = []
    names: set[str] = set()
    for path in files.paths:
        try:
            size, digest = _state_of(path, states.get(path))
        except OSError as error:
            unread.append(UnreadPart(path, None, error.strerror or str(error)))
            continue
        name = _free_name(os.path.basename(path), path, names)
        sources.append(
            TranscriptSource(os.path.abspath(path), name, size, digest, partial(_blocks, path, size))
        )
    return sources, unread


def _state_of(path: str, before: FileState | None) -> tuple[int, str]:
    if before is not None and before.sha256 is not None:
        return before.size, before.sha256
    return _digest(path, None if before is None else before.size)


def sources_digest(sources: Iterable[TranscriptSource]) -> str:
    """One digest for all files of a session."""
    return sha256("".join(source.sha256 for source in sources).encode()).hexdigest()


def _free_name(name: str, path: str, names: set[str]) -> str:
    """The name of a copy: that of the file, where it can be one and is not in use."""
    if not is_safe_id(name) or name in names:
        name = f"{sha256(os.fsencode(path)).hexdigest()[:16]}{_suffix(name)}"
    names.add(name)
    return name


def _suffix(name: str) -> str:
    suffix = os.path.splitext(name)[1]
    return suffix if is_safe_id(suffix[1:]) and len(suffix) < 10 else ""


def _digest(path: str, most: int | None = None) -> tuple[int, str]:
    """The length and the digest of a file, or of its first bytes."""
    hasher, size = sha256(), 0
    with open(open_regular(path, follow=True), "rb", buffering=0) as file:
        length = os.fstat(file.fileno()).st_size
        length = length if most is None else min(length, most)
        while size < length and (block := file.read(min(_BLOCK, length - size))):
            hasher.update(block)
            size += len(block)
    return size, hasher.hexdigest()


def _blocks(path: str, size: int) -> Iterator[bytes]:
    with open(open_regular(path, follow=True), "rb", buffering=0) as file:
        while size > 0 and (block := file.read(min(_BLOCK, size))):
            size -= len(block)
            yield block
