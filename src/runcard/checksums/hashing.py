"""Hashing many files below a directory, on all cores.

Each file is first tried in passing, which is all that a small one needs; helper processes share that work when it
lasts. What is large or odd is left for threads that look closely. The caller sees none of this.

It hashes what it is told to: which files belong to a record, and what a difference means, is decided elsewhere.

Invariant: every path given has a digest in the result, or an error that names it.
"""

import os
from collections.abc import Iterable, Iterator
from itertools import islice

from runcard.checksums import worker
from runcard.checksums.listing import Listing
from runcard.checksums.progress import Progress, Tally
from runcard.checksums.worker import ANSWER, ELSEWHERE, Folder, hash_small
from runcard.files import OnError, encode_name, failure

_CHUNK = 256  # files: some milliseconds of work


class _Chunk:
    """Some files, and their digests one after the other."""

    __slots__ = ("_tally", "digests", "paths")

    def __init__(self, paths: list[str], tally: Tally) -> None:
        self.paths, self._tally = paths, tally
        self.digests: bytes | None = None

    @property
    def question(self) -> bytes:
        return encode_name("\0".join(self.paths))

    @property
    def length(self) -> int:
        return ANSWER.size + len(self.paths) * len(ELSEWHERE)

    def answer(self, reply: bytes) -> None:
        files, size = ANSWER.unpack_from(reply)
        self.digests = reply[ANSWER.size :]
        self._tally.add(files, size)


def hash_files(
    root: str | os.PathLike[str],
    paths: Iterable[str],
    *,
    progress: Progress | None = None,
    on_error: OnError | None = None,
) -> Listing:
    """The digests of regular files below `root`, by the plain relative paths that `walk` and `read` give.

    A file that cannot be hashed raises StoreError (VanishedError, NotRegularError, UnsteadyError) or MachineError; with
    `on_error` that is called with the path and the error instead, and the listing lacks the file. `progress` is called
    with the files and bytes so far, at most ten times a second and once at the end.
    """
    try:
        top = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise failure(error, os.fspath(root), "read the directory") from error
    tally = Tally(progress)
    try:
        digests, rest = _sort_out(_in_passing(top, paths, tally))
        if rest:
            digests |= _thoroughly(top, rest, tally, on_error)
    finally:
        os.close(top)
    tally.finish()
    return Listing.from_hex(digests)


def _in_passing(top: int, paths: Iterable[str], tally: Tally) -> list[_Chunk]:
    folder, source = Folder(top), _chunks(paths, tally)
    try:
        chunks = list(islice(source, 1))
        for first in chunks:
            first.answer(hash_small(folder, first.question))
        if chunks and len(chunks[0].paths) == _CHUNK:
            chunks += _with_help(top, folder, source, tally)
    finally:
        folder.close()
    return chunks


def _with_help(top: int, folder: Folder, source: Iterator[_Chunk], tally: Tally) -> list[_Chunk]:
    from runcard.checksums.helper_pool import Crew, Task, cores  # noqa: PLC0415 - few directories need it

    chunks: list[_Chunk] = []
    with Crew[_Chunk](Task(worker.__file__, (str(top),), (top,)), cores()) as crew:
        for chunk in source:
            chunks.append(chunk)
            if not crew.offer(chunk):
                chunk.answer(hash_small(folder, chunk.question))
            tally.tell()
        while (waiting := crew.take_back()) is not None:
            waiting.answer(hash_small(folder, waiting.question))
    for chunk in chunks:
        if chunk.digests is None:  # its helper died
            chunk.answer(hash_small(folder, chunk.question))
    return chunks


def _thoroughly(top: int, paths: list[str], tally: Tally, on_error: OnError | None) -> dict[str, str]:
    from runcard.checksums.helper_pool import cores  # noqa: PLC0415 - few directories need it
    from runcard.checksums.large_files import Thorough  # noqa: PLC0415

    thorough = Thorough(top, paths, tally, stop_at_error=on_error is None)
    thorough.run(cores())
    for path, problem in sorted(thorough.errors.items()):
        if on_error is None:
            raise problem
        on_error(path, problem)
    return {path: digest.hex for path, digest in thorough.digests.items()}


def _chunks(paths: Iterable[str], tally: Tally) -> Iterator[_Chunk]:
    source = iter(paths)
    while some := list(islice(source, _CHUNK)):
        yield _Chunk(some, tally)


def _sort_out(chunks: list[_Chunk]) -> tuple[dict[str, str], list[str]]:
    """The digests there are, and the paths still to do."""
    digests: dict[str, str] = {}
    for chunk in chunks:
        hexes = (chunk.digests or b"").hex()
        each = [hexes[start : start + 64] for start in range(0, len(hexes), 64)]
        digests.update(zip(chunk.paths, each, strict=True))
    elsewhere = ELSEWHERE.hex()
    rest = [path for path, digest in digests.items() if digest == elsewhere]
    for path in rest:
        del digests[path]
    return digests, rest
