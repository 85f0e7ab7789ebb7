"""The environment of a run: versions, zone, git, packages, lock files, container.

Each fact has a module of its own beside this one; here they are put together, in the order of what they cost, so that a
gathering that is cut short lacks only what takes long.

Invariants: the keys are always the same, and what is not known is None. Gathering raises nothing because the world is
odd. `EnvironmentGatherer` never keeps its caller waiting longer than it is told.
"""

import contextlib
import os
import sys
from collections.abc import Callable, Sequence

from runcard.encoding import JsonObject
from runcard.errors import RuncardError
from runcard.observe.background_thread import PATIENCE, BackgroundThread
from runcard.observe.paths import absolute_path, repository_root
from runcard.version import __version__

_KEYS = (
    *("runcard_version", "python_version", "platform", "timezone"),
    *("git", "packages", "lockfiles", "container"),
)


def environment(
    directory: str | os.PathLike[str], *, ignore: Sequence[str | os.PathLike[str]] = ()
) -> JsonObject:
    """All facts about the environment of a run that starts in a directory.

    Paths of `ignore`, such as the store that the run is written to, do not make its repository dirty.
    """
    circumstances = _Circumstances(directory, ignore)
    circumstances.gather()
    return circumstances.facts


class EnvironmentGatherer:
    """The same, gathered in a thread that starts at once and ends with the program."""

    def __init__(
        self,
        directory: str | os.PathLike[str],
        *,
        ignore: Sequence[str | os.PathLike[str]] = (),
        on_complete: Callable[[JsonObject], object] | None = None,
    ) -> None:
        """`on_complete` is called in the thread with the facts when all are known; it may raise RuncardError."""
        self.delivered = False  # whether `on_complete` has them
        self._on_complete = on_complete
        self._circumstances = _Circumstances(directory, ignore)
        self._process = os.getpid()
        self._thread = BackgroundThread(self._work, "runcard-environment")
        try:
            self._thread.start()
        except RuntimeError:  # no more threads, or the interpreter is ending
            self._circumstances.gather_quickly()

    def _work(self) -> None:
        self._circumstances.gather()
        if (on_complete := self._on_complete) is not None:
            with contextlib.suppress(RuncardError, OSError):  # then they are still here to be asked for
                on_complete(dict(self._circumstances.facts))
                self.delivered = True

    def result(self, timeout: float = PATIENCE) -> JsonObject:
        """The facts; those still unknown after so many seconds are None, and nobody is told of them later.

        A forked child has no such thread: it gets what was known when it was forked.
        """
        if os.getpid() == self._process and self._thread.ident is not None:
            self._thread.wait(timeout)
            if self._thread.is_alive():
                self._on_complete = (
                    None  # the caller keeps what is known now, perhaps after more would have been told
                )
        return dict(self._circumstances.facts)


class _Circumstances:
    """What is looked at, as it was when it began: a program may change its directory, path and variables meanwhile."""

    def __init__(self, directory: str | os.PathLike[str], ignore: Sequence[str | os.PathLike[str]]) -> None:
        self.facts: JsonObject = dict.fromkeys(_KEYS)
        self._directory = absolute_path(directory)
        self._ignored = ignore
        self._variables = dict(os.environ)
        self._path = list(sys.path)

    def gather(self) -> None:
        # Too many files are open, or the code is out of reach by now: what is not known then stays unknown.
        with contextlib.suppress(OSError, ImportError):
            self.gather_quickly()
            self._gather_rest()

    def _gather_rest(self) -> None:
        # Here and below, so that they are loaded in the thread.
        from runcard.observe import lockfiles  # noqa: PLC0415

        self.facts["lockfiles"] = lockfiles.lockfiles(self._directory)
        if repository_root(self._directory) is None:
            return
        from runcard.observe import git  # noqa: PLC0415 - long to load, like what it starts

        for state in git.growing(self._directory, self._variables, ignore=self._ignored):
            self.facts["git"] = state  # what is known so far can be read at any time

    def gather_quickly(self) -> None:
        """What takes no more than a few system calls."""
        self.facts["runcard_version"] = __version__
        self.facts["python_version"] = sys.version.split()[0]
        self.facts["platform"] = sys.platform
        from runcard.observe import container, packages, timezone  # noqa: PLC0415

        self.facts["timezone"] = timezone.timezone(self._variables)
        self.facts["container"] = container.container(self._variables)
        self.facts["packages"] = packages.packages(self._path)
