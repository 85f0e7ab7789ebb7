"""The files of a session that are stored with it: their digests, and what is stored of them.

A file is read as long as it was when its digest was computed: a session that is still at work may grow meanwhile.
"""

import os
from collections.abc import Iterable, Iterator
from functools import partial
from hashlib import sha256

from runcard.files import is_safe_id, open_regular
from runcard.store.sessions.instance_copies import TranscriptSource
from runcard.transcripts.activity import SessionFiles
from runcard.transcripts.content import UnreadPart

_BLOCK = 1 << 18


def transcript_sources(files: SessionFiles) -> tuple[list[TranscriptSource], list[UnreadPart]]:
    """The files of a session, in order, and those that cannot be read."""
    sources: list[TranscriptSource] = []
    unread: list[UnreadPart] = []
    names: set[str] = set()
    for path in files.paths:
        try:
            size, digest = _digest(path)
        except OSError as error:
            unread.append(UnreadPart(path, None, error.strerror or str(error)))
            continue
        name = _free_name(os.path.basename(path), path, names)
        sources.append(
            TranscriptSource(os.path.abspath(path), name, size, digest, partial(_blocks, path, size))
        )
    return sources, unread


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


def _digest(path: str) -> tuple[int, str]:
    hasher, size = sha256(), 0
    with open(open_regular(path, follow=True), "rb", buffering=0) as file:
        length = os.fstat(file.fileno()).st_size
        while size < length and (block := file.read(min(_BLOCK, length - size))):
            hasher.update(block)
            size += len(block)
    return size, hasher.hexdigest()


def _blocks(path: str, size: int) -> Iterator[bytes]:
    with open(open_regular(path, follow=True), "rb", buffering=0) as file:
        while size > 0 and (block := file.read(min(_BLOCK, size))):
            size -= len(block)
            yield block
