"""Copy files of any size in threads, one file at a time in each.

While a block is read, hashed or written the interpreter's lock is free, so threads use all cores. Searching a text for
secrets holds the lock: a thread that has searched a lot of text starts a helper process, which searches for it.

Invariants: every file has a result, or an error is raised; an interrupt or a full disk stops all threads at their next
block.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from runcard.masking.secret_scanner import is_suspect, scan_patterns
from runcard.parallel import cores
from runcard.parallel.chunks import HelperTask
from runcard.parallel.progress import ProgressCounter
from runcard.parallel.threads import JobThreads
from runcard.parallel.worker import MATCH, DirectoryCursor
from runcard.store.sessions.copying.file_transfer import TransferOptions, TransferResult, copy_file
from runcard.store.sessions.copying.omission_reasons import NotCopiedError, read_failure

if TYPE_CHECKING:
    from runcard.parallel.helper_pool import HelperProcess

_SEARCHED_HERE = 8 * 1024 * 1024  # bytes that take as long to search as a helper takes to start


class LargeFile(NamedTuple):
    """A file, its size a moment ago, and whether it is searched for secrets if the options say so."""

    path: str
    size: int
    scan: bool = True


class LargeFileCopier:
    """Copies files from one open directory to another; `results` has the result of each by its path."""

    def __init__(
        self,
        source: int,
        target: int,
        files: Iterable[LargeFile],
        options: TransferOptions,
        progress: ProgressCounter,
    ) -> None:
        self.results: dict[str, TransferResult] = {}
        self._source, self._target, self._options, self._progress = source, target, options, progress
        largest_first = sorted(files, key=lambda file: file.size, reverse=True)
        self._threads = JobThreads(largest_first, self._open_worker, progress)

    def run(self, count: int) -> None:
        """Copy all files; raises an error that ends the work, such as a full disk or a failed thread."""
        self._threads.run(count)

    @contextmanager
    def _open_worker(self) -> Iterator[Callable[[LargeFile], None]]:
        source, target, searcher = (
            DirectoryCursor(self._source),
            DirectoryCursor(self._target),
            SecretSearcher(),
        )
        options = self._options._replace(is_suspect=searcher.is_suspect)
        try:
            yield partial(self._copy, source, target, options)
        finally:
            source.close()
            target.close()
            searcher.close()

    def _copy(
        self, source: DirectoryCursor, target: DirectoryCursor, options: TransferOptions, file: LargeFile
    ) -> None:
        options = options._replace(scan=options.scan and file.scan)
        try:
            result = copy_file(source, target, file.path, file.size, options, self._threads.count_block)
        except NotCopiedError as error:
            self.results[file.path] = TransferResult(None, remark=str(error))
        except OSError as error:
            self.results[file.path] = TransferResult(None, remark=read_failure(error))
        else:
            self._progress.add(1, 0)
            self.results[file.path] = result


class SecretSearcher:
    """Searches the texts of one thread for clues to secrets, in a helper process once that pays.

    A helper that cannot be started or dies costs only time: its text is searched here.
    """

    def __init__(self) -> None:
        self._helper: HelperProcess | None = None
        self._searched = 0
        self._may_start = cores() > 1

    def is_suspect(self, text: bytes) -> bool:
        """Whether `text` may contain a secret."""
        self._searched += len(text)
        if self._may_start and self._searched > _SEARCHED_HERE:
            self._may_start = False
            self._start()
        if self._helper is not None:
            reply = self._helper.ask(text, len(MATCH))
            if reply is not None:
                return reply == MATCH
            self.close()
        return is_suspect(text)

    def close(self) -> None:
        if self._helper is not None:
            self._helper.kill()
            self._helper.close()
            self._helper = None

    def _start(self) -> None:
        from runcard.parallel.helper_pool import HelperProcess, can_start_helpers  # noqa: PLC0415 - rarely needed

        if can_start_helpers():
            patterns = tuple(clue.pattern.decode("ascii") for clue in scan_patterns())
            with suppress(OSError):
                self._helper = HelperProcess(HelperTask("search", patterns))
