"""Copying small files in passing, by this process and its helpers, while the directories are still walked through.

Whatever is not a small file that can be copied at once is handed back, and so is a text in which a secret may be. So is
everything when the limit for all files comes so near that each has to be looked at.

Invariant: every path given is among the copied files or in the rest, and of the rest nothing is in the target.
"""

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from runcard.checksums.helper_pool import Crew, Task, cores
from runcard.files import encode_name, failure
from runcard.store.sessions.copying import worker
from runcard.store.sessions.copying.limits import Limits
from runcard.store.sessions.copying.progress import Tally
from runcard.store.sessions.copying.results import CopiedFile
from runcard.store.sessions.copying.worker import ELSEWHERE, RECORD, SMALL, Folder, copy_small

_CHUNK = 256  # files: some milliseconds of work
_NO_DIGEST = RECORD.unpack(ELSEWHERE)[1]


@dataclass(slots=True, eq=False)
class _Chunk:
    """Some small files, and what became of each."""

    paths: list[str]
    tally: Tally
    limits: Limits
    reply: bytes | None = None

    @property
    def question(self) -> bytes:
        return encode_name("\0".join(self.paths))

    @property
    def length(self) -> int:
        return len(self.paths) * RECORD.size

    @property
    def most(self) -> int:
        """So many bytes at most; whoever hands it out has taken them from the limits."""
        return len(self.paths) * SMALL

    def answer(self, reply: bytes) -> None:
        records = list(RECORD.iter_unpack(reply))
        size = sum(size for size, _ in records)
        self.reply = reply
        self.limits.give_back(self.most - size)
        self.tally.add(sum(1 for _, digest in records if digest != _NO_DIGEST), size)


class Passing:
    """The small files of one workspace; `files` and `rest` have the outcome."""

    def __init__(
        self,
        top: int,
        bottom: int,
        kept_mode: int,
        limits: Limits,
        tally: Tally,
        clues: Sequence[re.Pattern[bytes]],
    ) -> None:
        self.files: list[CopiedFile] = []
        self.rest: list[str] = []
        self._source, self._target, self._kept_mode = Folder(top), Folder(bottom), kept_mode
        self._limits, self._tally, self._clues = limits, tally, clues
        patterns = (clue.pattern.decode("ascii") for clue in clues)
        arguments = (str(top), str(bottom), str(kept_mode), *patterns)
        self._task = Task(worker.__file__, arguments, (top, bottom))

    def run(self, paths: Iterable[str]) -> None:
        chunks: list[_Chunk] = []
        try:
            self._share(paths, chunks)
            for chunk in chunks:
                if chunk.reply is None:
                    self._copy_again(chunk)
        finally:
            self._source.close()
            self._target.close()
        for chunk in chunks:
            self._sort_out(chunk)

    def _share(self, paths: Iterable[str], chunks: list[_Chunk]) -> None:
        with Crew[_Chunk](self._task, cores()) as crew:
            for some in _split(paths):
                chunk = _Chunk(some, self._tally, self._limits)
                if not self._limits.take(chunk.most):
                    self.rest += some
                    continue
                chunks.append(chunk)
                if not crew.offer(chunk):
                    self._copy(chunk)
                self._tally.tell()
            while (waiting := crew.take_back()) is not None:
                self._copy(waiting)

    def _copy(self, chunk: _Chunk) -> None:
        chunk.answer(copy_small(self._source, self._target, chunk.question, self._kept_mode, self._clues))

    def _copy_again(self, chunk: _Chunk) -> None:
        """Its helper died, and may have left a part of it."""
        for path in chunk.paths:
            parent, _, name = encode_name(path).rpartition(b"/")
            try:
                os.unlink(name, dir_fd=self._target.enter(parent))
            except FileNotFoundError:
                pass
            except OSError as error:
                raise failure(error, path, "remove the incomplete copy of") from error
        self._copy(chunk)

    def _sort_out(self, chunk: _Chunk) -> None:
        for path, (size, digest) in zip(chunk.paths, RECORD.iter_unpack(chunk.reply or b""), strict=True):
            if digest == _NO_DIGEST:
                self.rest.append(path)
            else:
                self.files.append(CopiedFile(path, size, digest.hex()))


def _split(paths: Iterable[str]) -> Iterator[list[str]]:
    source = iter(paths)
    while some := list(islice(source, _CHUNK)):
        yield some
