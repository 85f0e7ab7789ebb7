"""Copy small files, in this process and in helper processes, while the workspace is still being walked.

A file that is not small, cannot be copied at once or may contain a secret is returned, for `large_files` to copy. So are
all files once the limit for the whole session is near.

Invariant: every given path is among the copied files or the remaining ones, and of those nothing is in the target.
"""

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from functools import partial

from runcard.files import PathTable, encode_name, failure
from runcard.parallel.chunks import FileChunk, HelperTask, process_chunks, split_paths
from runcard.parallel.progress import ProgressCounter
from runcard.parallel.worker import COPY_RESULT, NOT_COPIED, SMALL_FILE, DirectoryCursor, copy_small
from runcard.store.sessions.copying.copy_rules import SizeLimits
from runcard.store.sessions.copying.results import CopiedFile, CopiedFiles

_NO_DIGEST = COPY_RESULT.unpack(NOT_COPIED)[1]


class SmallFileCopier:
    """Copies the small files of one workspace; `files` and `remaining` are the result."""

    def __init__(
        self,
        source: int,
        target: int,
        kept_mode: int,
        limits: SizeLimits,
        progress: ProgressCounter,
        clues: Sequence[re.Pattern[bytes]],
    ) -> None:
        self.files = CopiedFiles()
        self.remaining: PathTable[bool] = PathTable()  # with True, as the paths of a set
        self._source, self._target = DirectoryCursor(source), DirectoryCursor(target)
        self._limits, self._progress = limits, progress
        self._copy = partial(copy_small, self._source, self._target, kept_mode, clues)
        patterns = (clue.pattern.decode("ascii") for clue in clues)
        arguments = (str(source), str(target), str(kept_mode), *patterns)
        self._task = HelperTask("copy", arguments, (source, target))

    def run(self, paths: Iterable[str]) -> None:
        try:
            with closing(
                process_chunks(
                    self._chunks(paths), self._task, self._copy, self._progress, clean_up=self._remove_copies
                )
            ) as chunks:
                for chunk in chunks:
                    self._add_results(chunk)
        finally:
            self._source.close()
            self._target.close()

    def _chunks(self, paths: Iterable[str]) -> Iterator[FileChunk]:
        """The chunks for which there is room within the limits, even if all their files are as large as possible."""
        for some in split_paths(paths):
            reserved = len(some) * SMALL_FILE
            if self._limits.reserve(reserved):
                yield FileChunk(some, len(some) * COPY_RESULT.size, partial(self._count, reserved))
            else:
                self.remaining.update(dict.fromkeys(some, True))

    def _count(self, reserved: int, reply: bytes) -> None:
        results = list(COPY_RESULT.iter_unpack(reply))
        size = sum(size for size, _ in results)
        self._limits.give_back(reserved - size)
        self._progress.add(sum(1 for _, digest in results if digest != _NO_DIGEST), size)

    def _remove_copies(self, chunk: FileChunk) -> None:
        """Remove what a helper may have copied before it died."""
        for path in chunk.paths:
            parent, _, name = encode_name(path).rpartition(b"/")
            try:
                os.unlink(name, dir_fd=self._target.enter(parent))
            except FileNotFoundError:
                pass
            except OSError as error:
                raise failure(error, path, "remove the incomplete copy of") from error

    def _add_results(self, chunk: FileChunk) -> None:
        results = COPY_RESULT.iter_unpack(chunk.reply or b"")
        files = []
        for path, (size, digest) in zip(chunk.paths, results, strict=True):
            if digest == _NO_DIGEST:
                self.remaining[path] = True
            else:
                files.append(CopiedFile(path, size, digest.hex()))
        self.files.add(files)
