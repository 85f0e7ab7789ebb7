"""The loop over many records, documents or plans, for every command that takes several.

Good results are printed in order as they come. Errors follow at the end, then warnings, so that the first word on stderr
matches the exit code. An error stops its own item only; the worst one decides the exit code.
"""

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple, Protocol, TypeVar

from runcard.cli.exit_codes import ExitCode
from runcard.cli.printing import complain, say, say_done, say_json
from runcard.cli.progress import ByteProgress, Progress
from runcard.cli.verbosity import is_verbose, show_traceback
from runcard.encoding import JsonObject
from runcard.errors import RuncardError, UsageError
from runcard.files import json_name


class ItemResult(Protocol):
    """The result of an operation for one item. Its `warnings`, if it has any, are printed at the end."""

    def to_dict(self) -> JsonObject: ...


class _Message(NamedTuple):
    text: str
    hint: str | None
    details: Sequence[str]  # lines below it
    error: RuncardError | None = None
    is_reported: bool = False  # a part of what was asked for, and so for stdout


R = TypeVar("R", bound=ItemResult)
T = TypeVar("T")


class Batch:
    """The items that one command works on, with their results, errors and warnings.

    As JSON, each result is one line; with `json_list`, all of them are one object with this key. `key` is the name of an
    item in JSON; without it results stand alone. `refusal` makes the JSON of an error.
    """

    def __init__(
        self,
        unit: str,
        key: str | None,
        *,
        as_json: bool,
        shows_progress: bool = False,
        progress: ByteProgress | None = None,
        json_list: str | None = None,
        refusal: Callable[[str, RuncardError], JsonObject] | None = None,
    ) -> None:
        self._key = key
        self._as_json = as_json
        self._progress = progress or Progress(unit, everywhere=shows_progress)
        self._json_list = json_list
        self._refusal = refusal
        self._collected: list[JsonObject] = []
        self._errors: list[_Message] = []
        self._warnings: list[_Message] = []
        self._is_misused = False

    def each(self, items: Iterable[str], work: Callable[[str], R], show: Callable[[str, R], object]) -> None:
        """Do the work for each item and show its result."""
        for item in self.over(items):
            with self.catching(item):
                self.add(item, work(item), show)

    def over(self, items: Iterable[T]) -> Iterator[T]:
        """The same items, with progress."""
        return self._progress.over(items)

    @contextmanager
    def catching(self, item: str) -> Iterator[None]:
        """Keep an error for the end."""
        try:
            yield
        except RuncardError as error:
            self.refuse(item, error)

    def add(self, item: str, result: R, show: Callable[[str, R], object]) -> None:
        """Show one result."""
        self._progress.wipe()
        if self._as_json:
            self._add_json(self._named(item) | result.to_dict())
        else:
            show(item, result)
            self._say_amount()
        for warning in getattr(result, "warnings", ()):
            self.warn(f"{item}: {warning}")

    def done(self, text: str, details: Sequence[str] = ()) -> None:
        """Print a line about success, with lines of details below it."""
        self._progress.wipe()
        if not self._as_json:
            say_done(text)
            self._say_amount()
            for line in details:
                say_done(f"  {line}")

    def _say_amount(self) -> None:
        """With --verbose, how much was read for the last result."""
        if is_verbose() and isinstance(self._progress, ByteProgress):
            from runcard.views.formats import byte_size  # noqa: PLC0415

            files, count = self._progress.record
            say(f"  {files:,} files, {byte_size(count)}")

    def refuse(
        self, item: str, error: RuncardError, messages: Iterable[tuple[str, str | None]] | None = None
    ) -> None:
        """Keep an error for the end; `messages` with their hints replace its own."""
        if self._as_json and self._refusal:
            self._add_json(self._refusal(item, error))
        elif self._as_json:
            reason = {"error": error.message, "hint": error.hint} if self._key else {}
            self._add_json(self._named(item) | reason)
        for text, hint in messages or [(error.message, error.hint)]:
            self._errors.append(_Message(text, hint, error.details, error))
        self._is_misused |= isinstance(error, UsageError)

    def _add_json(self, data: JsonObject) -> None:
        if self._json_list:
            self._collected.append(data)
        else:
            say_json(data, on_one_line=True)

    def _named(self, item: str) -> JsonObject:
        return {self._key: json_name(item).text} if self._key else {}

    def complain(self, message: str, hint: str | None = None, details: Sequence[str] = ()) -> None:
        self._errors.append(_Message(message, hint, details))

    def warn(self, message: str, hint: str | None = None) -> None:
        self._warnings.append(_Message(message, hint, ()))

    def report_error(self, message: str, hint: str | None = None, details: Sequence[str] = ()) -> None:
        """Keep an error for the end that is the result of a check, and no failure of the command."""
        self._errors.append(_Message(message, hint, details, is_reported=True))

    def report_warning(self, message: str) -> None:
        """The same for a warning."""
        self._warnings.append(_Message(message, None, (), is_reported=True))

    def finish(
        self, *, wrong_usage: ExitCode = ExitCode.FAILED, totals: JsonObject | None = None
    ) -> ExitCode:
        """Print the errors and the warnings; the exit code.

        `wrong_usage` is that of a UsageError about an item. With `json_list`, `totals` are printed beside the list.
        """
        if self._as_json and self._json_list:
            say_json({**(totals or {}), self._json_list: self._collected})
        sys.stdout.flush()
        for label, messages in (("Error", self._errors), ("Warning", self._warnings)):
            for message in messages:
                complain(
                    label,
                    message.text,
                    hint=message.hint,
                    details=message.details,
                    on_stdout=message.is_reported,
                )
                if message.error is not None:
                    show_traceback(message.error)
        if self._is_misused:
            return wrong_usage
        if self._errors:
            return ExitCode.FAILED
        return ExitCode.WARNINGS if self._warnings else ExitCode.OK
