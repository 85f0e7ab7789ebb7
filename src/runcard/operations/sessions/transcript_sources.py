"""The files of a session that are stored with it: their digests, and what is stored of them.

A session may be at work while it is imported. The digest of a file is that of its state before its calls were read, so that
the next import finds what was added later: of a file that only grows, its length is kept for this, else its digest.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, suppress
from functools import partial
from hashlib import sha256
from typing import NamedTuple

from runcard.errors import RuncardError
from runcard.files import is_safe_id, open_regular
from runcard.store.sessions.copying import MAX_FILE_SIZE
from runcard.store.sessions.copying.omission_reasons import NotCopiedError
from runcard.store.sessions.instance_copies import TranscriptSource
from runcard.transcripts.activity import SessionFiles
from runcard.transcripts.content import TranscriptFile, UnreadPart
from runcard.transcripts.session_file import ZSTD, failure_reason
from runcard.transcripts.zstd_file import UnpackError, unpacked

_BLOCK = 1 << 18
_GROWING = ".jsonl"  # of files that only grow
_DATABASE = ".db"  # read in one transaction

Export = Callable[[SessionFiles], Iterator[bytes]]  # the records of a session as JSON lines


class FileState(NamedTuple):
    """What a file was before its calls were read."""

    size: int
    sha256: str | None = None  # of a file that is written anew each time


class ExportState(NamedTuple):
    """What stood for the files of a session before their calls were read."""

    size: int
    sha256: str
    lines: int


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


def exports_before(sessions: Iterable[SessionFiles], export: Export) -> dict[str, ExportState]:
    """The states of what stands for the files of sessions, by the id of the session; of those that cannot be read, none."""
    states: dict[str, ExportState] = {}
    for files in sessions:
        with suppress(RuncardError, OSError):
            states[files.session] = _export_state(files, export)
    return states


def transcript_sources(
    files: SessionFiles,
    states: Mapping[str, FileState],
    export: Export | None = None,
    is_exported: Callable[[str], bool] | None = None,
    exported: ExportState | None = None,
) -> tuple[list[TranscriptSource], list[UnreadPart]]:
    """The files of a session, in order, as they were before, and those that cannot be read.

    With `export`, what it gives stands for the files, or for those for which `is_exported` is true; `exported` is what it gave
    before.
    """
    sources = [_exported(files, export, exported)] if export is not None and files.paths else []
    unread: list[UnreadPart] = []
    names = {source.name for source in sources}
    for path in files.paths:
        if export is not None and (is_exported is None or is_exported(path)):
            continue
        try:
            size, digest = _state_of(path, states.get(path))
        except OSError as error:
            unread.append(UnreadPart(path, None, failure_reason(error)))
            continue
        is_packed = path.endswith(ZSTD)
        name = _free_name(os.path.basename(path).removesuffix(ZSTD), path, names)
        read = partial(_unpacked_blocks if is_packed else _blocks, path, size)
        source = TranscriptSource(os.path.abspath(path), name, size, digest, read, is_same=not is_packed)
        sources.append(source)
    return sources, unread


def _exported(files: SessionFiles, export: Export, before: ExportState | None) -> TranscriptSource:
    """The lines that stand for the files of a session: where several sessions share a file, those of this one."""
    size, digest, lines = before or _export_state(files, export)
    path, name = os.path.abspath(files.paths[0]), f"{files.tool}.jsonl"
    return TranscriptSource(path, name, size, digest, partial(export, files), lines)


def _export_state(files: SessionFiles, export: Export) -> ExportState:
    hasher, size, lines = sha256(), 0, 0
    for line in export(files):
        hasher.update(line)
        size += len(line)
        lines += 1
    return ExportState(size, hasher.hexdigest(), lines)


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


def _unpacked_blocks(path: str, _: int) -> Iterator[bytes]:
    """What a compressed file holds: secrets in it could not be masked otherwise. No more than the largest file."""
    done = 0
    try:
        with open(open_regular(path, follow=True), "rb") as raw, closing(unpacked(raw)) as file:
            while block := file.read(_BLOCK):
                done += len(block)
                if done > MAX_FILE_SIZE:
                    raise NotCopiedError(f"larger than {MAX_FILE_SIZE:,} bytes when it is unpacked")
                yield block
    except UnpackError as error:
        raise NotCopiedError(str(error)) from error
