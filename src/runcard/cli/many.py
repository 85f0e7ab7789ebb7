"""One command about many paths: the good ones print in their order, what is wrong follows, the worst decides."""

import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol, TypeVar

from runcard.cli.printing import complain, say_json
from runcard.cli.progress import Progress
from runcard.encoding import JsonObject
from runcard.errors import ExitCode, RuncardError
from runcard.files import json_name


class Result(Protocol):
    """What an operation says about one path."""

    @property
    def warnings(self) -> Sequence[str]: ...

    def to_dict(self) -> JsonObject: ...


R = TypeVar("R", bound=Result)


class Many:
    """The paths of one command, worked on one after the other."""

    def __init__(self, what: str, key: str | None, *, as_json: bool, shows_progress: bool = False) -> None:
        self._key = (
            key  # how the path is called in JSON; None: results alone are said, nothing of what was refused
        )
        self._as_json = as_json
        self._progress = Progress(what, everywhere=shows_progress)
        self._errors: list[tuple[str, str | None]] = []
        self._warnings: list[tuple[str, str | None]] = []

    def each(self, paths: Iterable[str], work: Callable[[str], R], show: Callable[[str, R], object]) -> None:
        """Do the work for each path and show its result; an error stops nothing but its own path."""
        for path in self._progress.over(paths):
            try:
                result = work(path)
            except RuncardError as error:
                self.refuse(path, error)
                continue
            self._progress.wipe()
            if self._as_json:
                say_json(self._named(path) | result.to_dict(), on_one_line=True)
            else:
                show(path, result)
            for warning in result.warnings:
                self.warn(f"{path}: {warning}")

    def refuse(self, path: str, error: RuncardError) -> None:
        if self._as_json:
            reason = {"error": error.message, "hint": error.hint} if self._key else {}
            say_json(self._named(path) | reason, on_one_line=True)
        self.complain(error.message, error.hint)

    def _named(self, path: str) -> JsonObject:
        return {self._key: json_name(path).text} if self._key else {}

    def complain(self, message: str, hint: str | None = None) -> None:
        self._errors.append((message, hint))

    def warn(self, message: str, hint: str | None = None) -> None:
        self._warnings.append((message, hint))

    def finish(self) -> int:
        """Say what is wrong, errors first, so that the first word on stderr tells the exit code."""
        sys.stdout.flush()
        for message, hint in self._errors:
            complain("Error", message, hint=hint)
        for message, hint in self._warnings:
            complain("Warning", message, hint=hint)
        if self._errors:
            return ExitCode.FAILED
        return ExitCode.WARNINGS if self._warnings else ExitCode.OK
