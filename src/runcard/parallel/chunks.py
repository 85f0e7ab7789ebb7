"""Split work on many small files into chunks, and share them between this process and helper processes.

The first chunk is always done here, so that a small directory never loads or starts a helper.

Invariant: every chunk has a reply in the end, whatever happens to the helpers.
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import NamedTuple

from runcard.files import encode_name
from runcard.parallel import cores
from runcard.parallel.progress import ProgressCounter

CHUNK_FILES = 256  # some milliseconds of work


class HelperTask(NamedTuple):
    """The job of `worker` that helpers do, with its arguments and the descriptors that they inherit."""

    job: str
    arguments: tuple[str, ...]
    descriptors: tuple[int, ...] = ()


class FileChunk:
    """Some small files, and what the worker replied about them: None until then."""

    __slots__ = ("_on_reply", "paths", "reply", "reply_size")

    def __init__(self, paths: list[str], reply_size: int, on_reply: Callable[[bytes], object]) -> None:
        self.paths, self.reply_size, self._on_reply = paths, reply_size, on_reply
        self.reply: bytes | None = None

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
) -> list[FileChunk]:
    """Get a reply for every chunk, from a helper or from `work`, which does the same here.

    `clean_up` is called for a chunk whose helper died, before the chunk is done here.
    """
    source = iter(chunks)
    finished = list(islice(source, 1))
    for chunk in finished:
        chunk.set_reply(work(chunk.question))
    if not finished or len(finished[0].paths) < CHUNK_FILES:
        return finished
    finished += _share(source, task, work, progress)
    for chunk in finished:
        if chunk.reply is None:
            if clean_up is not None:
                clean_up(chunk)
            chunk.set_reply(work(chunk.question))
    return finished


def _share(
    chunks: Iterator[FileChunk], task: HelperTask, work: Callable[[bytes], bytes], progress: ProgressCounter
) -> list[FileChunk]:
    from runcard.parallel.helper_pool import HelperPool  # noqa: PLC0415 - most directories do not need it

    shared: list[FileChunk] = []
    with HelperPool(task, cores()) as pool:
        for chunk in chunks:
            shared.append(chunk)
            if not pool.offer(chunk):
                chunk.set_reply(work(chunk.question))
            progress.report()
        while (waiting := pool.take_back()) is not None:
            waiting.set_reply(work(waiting.question))
    return shared
