"""Hash many files below a directory, on all cores.

Small files are hashed first, shared with helper processes when there are many. Large files and those that could not be
hashed at once follow in threads; see `large_files`. It hashes the files that it is given: which files belong to a record
is up to the caller.

Invariant: every path has a digest in the result, or an error that names it.
"""

import os
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing
from functools import partial
from itertools import chain, islice

from runcard.checksums.listing import Listing
from runcard.files import OnError, PathTable, encode_name, failure
from runcard.parallel import cores
from runcard.parallel.chunks import CHUNK_FILES, FileChunk, HelperTask, process_chunks, split_paths
from runcard.parallel.progress import ProgressCounter
from runcard.parallel.worker import HASH_TOTALS, NOT_HASHED, DirectoryCursor, hash_small

Progress = Callable[[int, int], object]  # (files, bytes) so far

_MOST_REMAINING = 8192  # files that threads hash together


def hash_files(
    root: str | os.PathLike[str],
    paths: Iterable[str],
    *,
    progress: Progress | None = None,
    on_error: OnError | None = None,
) -> Listing:
    """The digests of regular files below `root`, by the plain relative paths that `walk` and `read` return.

    A file that cannot be hashed raises StoreError (VanishedError, NotRegularError, UnsteadyError) or MachineError. With
    `on_error`, that is called with the path and the error instead, and the file is not in the listing. `progress` is
    called with the files and bytes so far, at most ten times a second and once at the end.
    """
    hexes: PathTable[str] = PathTable()
    for some in hash_in_parts(root, paths, progress=progress, on_error=on_error):
        hexes.update(some)
    return Listing.from_hex(hexes)


def hash_in_parts(
    root: str | os.PathLike[str],
    paths: Iterable[str],
    *,
    progress: Progress | None = None,
    on_error: OnError | None = None,
) -> Iterator[dict[str, str]]:
    """The same, as digests in hex of some files after the other: in the order of the paths, but large files later.

    Only some of the paths are in memory at a time.
    """
    try:
        top = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise failure(error, os.fspath(root), "read the directory") from error
    counter = ProgressCounter(progress and (lambda amount: progress(amount.files, amount.bytes)))
    remaining: list[str] = []
    source = iter(paths)
    try:
        first = list(islice(source, CHUNK_FILES))
        if len(first) < CHUNK_FILES:
            yield _hash_few(top, first, counter, remaining)
        else:
            with closing(_hash_small_files(top, chain(first, source), counter)) as chunks:
                for chunk in chunks:
                    yield _split_reply(chunk.paths, chunk.reply or b"", remaining)
                    if len(remaining) >= _MOST_REMAINING:
                        yield _hash_remaining(top, remaining, counter, on_error)
                        remaining = []
        if remaining:
            yield _hash_remaining(top, remaining, counter, on_error)
    finally:
        os.close(top)
    counter.finish()


def _hash_few(top: int, paths: list[str], counter: ProgressCounter, remaining: list[str]) -> dict[str, str]:
    """The digests of files that are too few for chunks, as in most directories."""
    if not paths:
        return {}
    cursor = DirectoryCursor(top)
    try:
        reply = hash_small(cursor, encode_name("\0".join(paths)))
    finally:
        cursor.close()
    counter.add(*HASH_TOTALS.unpack_from(reply))
    return _split_reply(paths, reply, remaining)


def _hash_small_files(
    top: int, paths: Iterable[str], counter: ProgressCounter
) -> Generator[FileChunk, None, None]:
    def count(reply: bytes) -> None:
        counter.add(*HASH_TOTALS.unpack_from(reply))

    chunks = (
        FileChunk(some, HASH_TOTALS.size + len(some) * len(NOT_HASHED), count) for some in split_paths(paths)
    )
    cursor = DirectoryCursor(top)
    try:
        yield from process_chunks(
            chunks, HelperTask("hash", (str(top),), (top,)), partial(hash_small, cursor), counter
        )
    finally:
        cursor.close()


def _hash_remaining(
    top: int, paths: list[str], counter: ProgressCounter, on_error: OnError | None
) -> dict[str, str]:
    from runcard.checksums.large_files import LargeFileHasher  # noqa: PLC0415 - few directories need it

    hasher = LargeFileHasher(top, paths, counter, stop_at_error=on_error is None)
    hasher.run(cores())
    for path, problem in sorted(hasher.errors.items()):
        if on_error is None:
            raise problem
        on_error(path, problem)
    return {path: digest.hex for path, digest in hasher.digests.items()}


def _split_reply(paths: list[str], reply: bytes, remaining: list[str]) -> dict[str, str]:
    """The digests by path; paths that have none yet are added to those that remain."""
    hexes = reply[HASH_TOTALS.size :].hex()
    each = [hexes[start : start + 64] for start in range(0, len(hexes), 64)]
    digests = dict(zip(paths, each, strict=True))
    not_hashed = NOT_HASHED.hex()
    if not_hashed in each:
        without = [path for path, digest in digests.items() if digest == not_hashed]
        for path in without:
            del digests[path]
        remaining += without
    return digests
