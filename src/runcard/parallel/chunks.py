"""Split work on many small files into chunks, and share them between this process and helper processes.

The first chunk is always done here, so that a small directory never loads or starts a helper.

Invariants: every chunk has a reply in the end, whatever happens to the helpers; only a few chunks are in memory at a time.
"""

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from runcard.files import encode_name
from runcard.parallel import cores
from runcard.parallel.progress import ProgressCounter

if TYPE_CHECKING:
    from runcard.parallel.helper_pool import HelperPool

CHUNK_FILES = 256  # some milliseconds of work
_MOST_STARTED = 64  # chunks in memory; more only wait for a helper that is slow


class HelperTask(NamedTuple):
    """The job of `worker` that helpers do, with its arguments and the descriptors that they inherit."""

    job: str
    arguments: tuple[str, ...]
    descriptors: tuple[int, ...] = ()


class FileChunk:
    """Some small files, and what the worker replied about them: None until then.

    A chunk is lost when its helper died: it will get no reply from there.
    """

    __slots__ = ("_on_reply", "is_lost", "paths", "reply", "reply_size")

    def __init__(self, paths: list[str], reply_size: int, on_reply: Callable[[bytes], object]) -> None:
        self.paths, self.reply_size, self._on_reply = paths, reply_size, on_reply
        self.reply: bytes | None = None
        self.is_lost = False

    @property
    def question(self) -> bytes:
        return encode_name("\0".join(self.paths))

    def set_reply(self, reply: bytes) -> None:
        self.reply = reply
        self._on_reply(reply)


def split_paths(paths: Iterable[str]) -> Iterator[list[str]]:
    """The paths of one chunk after the other."""
    source = iter(paths)
    while some := list(islice(source, CHUNK_FILES)):
        yield some


def process_chunks(
    chunks: Iterable[FileChunk],
    task: HelperTask,
    work: Callable[[bytes], bytes],
    progress: ProgressCounter,
    *,
    clean_up: Callable[[FileChunk], object] | None = None,
) -> Generator[FileChunk, None, None]:
    """Get a reply for every chunk, from a helper or from `work`, which does the same here; yields them in their order.

    `clean_up` is called for a chunk whose helper died, before the chunk is done here.
    """

    def do_here(chunk: FileChunk) -> None:
        if chunk.is_lost and clean_up is not None:
            clean_up(chunk)
        chunk.set_reply(work(chunk.question))

    source = iter(chunks)
    for first in islice(source, 1):
        do_here(first)
        yield first
        if len(first.paths) == CHUNK_FILES:
            yield from _share(source, task, do_here, progress)


def _share(
    chunks: Iterator[FileChunk],
    task: HelperTask,
    do_here: Callable[[FileChunk], object],
    progress: ProgressCounter,
) -> Iterator[FileChunk]:
    from runcard.parallel.helper_pool import HelperPool  # noqa: PLC0415 - most directories do not need it

    started: deque[FileChunk] = deque()  # in their order, with the replies that came early
    with HelperPool(task, cores()) as pool:
        for chunk in chunks:
            started.append(chunk)
            if not pool.offer(chunk):
                do_here(chunk)
            progress.report()
            while started and _is_finished(started[0], pool, do_here, wait=len(started) > _MOST_STARTED):
                yield started.popleft()
        while (waiting := pool.take_back()) is not None:
            do_here(waiting)
    for chunk in started:
        if chunk.reply is None:
            chunk.is_lost = True
            do_here(chunk)
        yield chunk


def _is_finished(
    chunk: FileChunk, pool: "HelperPool", do_here: Callable[[FileChunk], object], *, wait: bool
) -> bool:
    """Whether a chunk has a reply; one that its helper has lost is done here, and so are others in the time of waiting."""
    if wait:
        while (waiting := pool.take_back()) is not None:
            do_here(waiting)
        pool.wait_for(chunk)
    if chunk.is_lost and chunk.reply is None:
        do_here(chunk)
    return chunk.reply is not None
