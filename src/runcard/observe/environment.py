"""The environment of a run: versions, timezone, git, packages, lock files, container; and the version of its program.

Each fact has its own module beside this one. To add a fact, add a row to `_QUICK_FACTS` or `_SLOW_FACTS`. They are gathered in
that order, from cheap to expensive, so that a gathering that is cut short lacks only what takes long.

Invariants: the keys are always the same, but for that of the program, and an unknown value is None. Gathering raises no error because of an unusual
machine. `EnvironmentGatherer` never blocks its caller longer than the given timeout.
"""

import contextlib
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from runcard.encoding import JsonObject
from runcard.errors import RuncardError
from runcard.observe.background_thread import PATIENCE, BackgroundThread
from runcard.observe.paths import absolute_path, repository_root
from runcard.version import __version__


def environment(
    directory: str | os.PathLike[str], *, ignore: Sequence[str | os.PathLike[str]] = ()
) -> JsonObject:
    """All facts about the environment of a run that starts in a directory.

    Paths of `ignore`, such as the store that the run is written to, do not make its repository dirty.
    """
    gathering = _Gathering(directory, ignore)
    gathering.gather()
    return gathering.facts


class EnvironmentGatherer:
    """The same, gathered in a background thread that starts at once and ends with the program."""

    def __init__(
        self,
        directory: str | os.PathLike[str],
        *,
        ignore: Sequence[str | os.PathLike[str]] = (),
        on_complete: Callable[[JsonObject], object] | None = None,
        program: str | None = None,
    ) -> None:
        """`on_complete` is called in the thread with the facts when all are known; it may raise RuncardError.

        `program` is a file of the program whose version is wanted: if it belongs to an installed distribution, its version
        is a fact, too.
        """
        self.delivered = False  # whether `on_complete` has the facts
        self._on_complete = on_complete
        self._gathering = _Gathering(directory, ignore, program)
        self._process = os.getpid()
        self._thread = BackgroundThread(self._work, "runcard-environment")
        try:
            self._thread.start()
        except RuntimeError:  # no more threads, or the interpreter is ending
            self._gathering.gather_quickly()

    def _work(self) -> None:
        self._gathering.gather()
        if (on_complete := self._on_complete) is not None:
            with contextlib.suppress(RuncardError, OSError):  # then `result` still has the facts
                on_complete(dict(self._gathering.facts))
                self.delivered = True

    def result(self, timeout: float = PATIENCE) -> JsonObject:
        """The facts; those still unknown after so many seconds are None, and are not delivered later.

        A forked child has no such thread: it gets what was known when it was forked.
        """
        if os.getpid() == self._process and self._thread.ident is not None:
            self._thread.wait(timeout)
            if self._thread.is_alive():
                self._on_complete = None  # the caller keeps these facts; later ones would contradict them
        return dict(self._gathering.facts)


class _Gathering:
    """The facts, and the state they are taken from: a program may change its directory, path and variables meanwhile."""

    def __init__(
        self,
        directory: str | os.PathLike[str],
        ignore: Sequence[str | os.PathLike[str]],
        program: str | None = None,
    ) -> None:
        self.facts: JsonObject = dict.fromkeys(_KEYS)
        self.directory = absolute_path(directory)
        self.ignore = ignore
        self.variables = dict(os.environ)
        self.path = list(sys.path)
        self.program = program

    def gather(self) -> None:
        # Too many open files, or code that cannot be loaded any more: the rest stays unknown.
        with contextlib.suppress(OSError, ImportError):
            self._gather(_QUICK_FACTS)
            self.facts |= _program_version(self)
            self._gather(_SLOW_FACTS)

    def gather_quickly(self) -> None:
        """Only what takes a few system calls."""
        self._gather(_QUICK_FACTS)

    def _gather(self, facts: dict[str, "_Fact"]) -> None:
        for key, observe in facts.items():
            for value in observe(self):
                self.facts[key] = value  # can be read at any time


_Fact = Callable[[_Gathering], Iterator[Any]]  # one value, or better ones in turn


# The modules are imported when they are needed, so that they are loaded in the thread.
def _timezone(gathering: _Gathering) -> Iterator[str | None]:
    from runcard.observe.timezone import timezone  # noqa: PLC0415

    yield timezone(gathering.variables)


def _container(gathering: _Gathering) -> Iterator[JsonObject | None]:
    from runcard.observe.container import own_container  # noqa: PLC0415

    yield own_container(gathering.variables)


def _packages(gathering: _Gathering) -> Iterator[JsonObject]:
    from runcard.observe.packages import packages  # noqa: PLC0415

    yield packages(gathering.path)


def _lockfiles(gathering: _Gathering) -> Iterator[JsonObject | None]:
    from runcard.observe.lockfiles import lockfiles  # noqa: PLC0415

    yield lockfiles(gathering.directory)


def _git(gathering: _Gathering) -> Iterator[JsonObject]:
    if repository_root(gathering.directory) is not None:
        from runcard.observe.git import git_states  # noqa: PLC0415

        yield from git_states(gathering.directory, gathering.variables, ignore=gathering.ignore)


def _program_version(gathering: _Gathering) -> JsonObject:
    """The version of the program under its own key; empty if it is unknown."""
    if gathering.program is None:
        return {}
    from runcard.documents.run.application import version_key  # noqa: PLC0415
    from runcard.observe.program_distribution import distribution_of  # noqa: PLC0415

    found = distribution_of(gathering.program, gathering.path)
    if found is None:
        return {}
    name, version = found
    key = version_key(name)
    return {} if key is None else {key: version}


_QUICK_FACTS: dict[str, _Fact] = {
    "runcard_version": lambda _: iter([__version__]),
    "python_version": lambda _: iter([sys.version.split()[0]]),
    "platform": lambda _: iter([sys.platform]),
    "timezone": _timezone,
    "container": _container,
    "packages": _packages,
}
_SLOW_FACTS: dict[str, _Fact] = {"lockfiles": _lockfiles, "git": _git}
_KEYS = (
    *("runcard_version", "python_version", "platform", "timezone"),
    *("git", "packages", "lockfiles", "container"),
)  # in the order of a document
