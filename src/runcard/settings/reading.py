"""Asking for settings: options over the environment over a file over the default, each answer with its origin."""

import os
from collections.abc import Iterator, Mapping
from typing import Any, Generic, NamedTuple, TypeVar

from runcard.encoding.limits import Limits
from runcard.errors import ExitCode, UsageError
from runcard.files import printable
from runcard.settings import files
from runcard.settings.forms import NotAllowedError, is_nothing
from runcard.settings.known import (
    ALL,
    LIMITS_DEPTH,
    LIMITS_DIGITS,
    LIMITS_EXPANSION,
    LIMITS_SIZE,
    Setting,
)

T = TypeVar("T")

OPTION, VARIABLE, FILE, DEFAULT = "option", "variable", "file", "default"


class SettingsError(UsageError):
    """A setting with a value that it cannot have."""

    def __init__(self, message: str, *, hint: str, exit_code: ExitCode) -> None:
        super().__init__(message, hint=hint)
        self.exit_code = exit_code


class Origin(NamedTuple):
    """Where a value comes from."""

    kind: str
    name: str | None = None  # of the option, the variable or the file
    line: int | None = None

    def __str__(self) -> str:
        place = self.name or self.kind
        return f"{place}:{self.line}" if self.line else place


class Found(NamedTuple, Generic[T]):
    """A value and where it comes from."""

    value: T
    origin: Origin


class Settings:
    """All settings as they are here and now; `settings[OUTPUTS]` is a value."""

    def __init__(
        self,
        options: Mapping[Setting[Any], Any],
        environ: Mapping[str, str],
        file: files.SettingsFile | None,
    ) -> None:
        self._options, self._environ, self.file = options, environ, file

    def __getitem__(self, setting: Setting[T]) -> T:
        return self.find(setting).value

    @property
    def limits(self) -> Limits:
        """The limits of reading a document."""
        return Limits(self[LIMITS_SIZE], self[LIMITS_DEPTH], self[LIMITS_DIGITS], self[LIMITS_EXPANSION])

    def find(self, setting: Setting[T]) -> Found[T]:
        """The value of a setting; raises SettingsError for one that it cannot have."""
        for given, origin in self._said(setting):
            try:
                return Found(self._read(setting, given, origin), origin)
            except NotAllowedError as error:
                raise _wrong(setting, given, origin, str(error)) from None
        return Found(setting.default, Origin(DEFAULT))

    def checked(self, setting: Setting[T]) -> T:
        """The value of a setting that is about to be used: a directory can be written to, a file be read."""
        value, origin = self.find(setting)
        reason = _unusable(str(value), setting.use) if value is not None else None
        if reason is not None and origin.kind != DEFAULT:
            raise _wrong(setting, value, origin, reason)
        return value

    def _said(self, setting: Setting[Any]) -> Iterator[tuple[Any, Origin]]:
        """What was said about a setting, what counts first."""
        given = self._options.get(setting)
        if given is not None and given != ():
            yield given, Origin(OPTION, setting.option)
        for name in setting.variables:
            text = self._environ.get(name)
            if text is not None and (setting.form.nothing or not is_nothing(text)):
                yield text, Origin(VARIABLE, name)
        if self.file is not None and setting.key in self.file.entries:
            entry = self.file.entries[setting.key]
            yield entry.value, Origin(FILE, self.file.path, entry.line)

    def _read(self, setting: Setting[T], given: Any, origin: Origin) -> T:  # noqa: ANN401 - text, or what TOML holds
        form = setting.form
        if origin.kind != FILE and isinstance(given, str):
            return form.from_text(given)
        value = form.from_file(given)
        if form.is_path and isinstance(value, str) and origin.kind == FILE and self.file is not None:
            is_here = os.path.basename(self.file.path) == self.file.path
            return value if is_here else os.path.join(self.file.folder, value)  # type: ignore[return-value]
        return value

    def warnings(self) -> Iterator[tuple[str, str]]:
        """What stands in the file and nobody will read, and what to do about it."""
        if self.file is None:
            return
        if self.file.ignored:
            yield (
                f"{printable(self.file.path)} counts, and [tool.runcard] in {self.file.ignored} does not",
                "keep the settings in one of the two",
            )
        known = {setting.key for setting in ALL}
        for key, entry in self.file.entries.items():
            if key not in known:
                place = Origin(FILE, printable(self.file.path), entry.line)
                yield f"{place}: there is no setting {printable(key)}", _meant(key, known)


def read_settings(
    options: Mapping[Setting[Any], Any] | None = None,
    *,
    directory: str = ".",
    environ: Mapping[str, str] | None = None,
) -> Settings:
    """The settings that count in a directory; `options` are those of the command line, by setting.

    An option that was not given is None, or an empty list.
    """
    environment = os.environ if environ is None else environ
    return Settings(options or {}, environment, files.find_file(directory))


def _wrong(setting: Setting[Any], given: object, origin: Origin, reason: str) -> SettingsError:
    place = printable(str(origin)) + (f": {setting.key}" if origin.kind == FILE else "")
    because = f": {printable(reason)}" if reason else ""
    without = {OPTION: "leave it out", VARIABLE: "unset it", FILE: "remove the line"}[origin.kind]
    return SettingsError(
        f"{place} is '{printable(str(given))}'{because}; allowed: {setting.form.allowed}",
        hint=f"correct it, or {without} for the default: {setting.form.show(setting.default)}",
        exit_code=ExitCode.USAGE if origin.kind == OPTION else ExitCode.FAILED,
    )


def _unusable(path: str, use: str | None) -> str | None:
    if use == "read":
        return None if os.access(path, os.R_OK) and os.path.isfile(path) else "there is no file to be read"
    if use == "write":
        folder = os.path.abspath(path)
        while not os.path.lexists(folder):
            folder = os.path.dirname(folder)
        if not os.path.isdir(folder):
            return f"{folder} is no directory"
        if not os.access(folder, os.W_OK | os.X_OK):
            return f"the directory {folder} cannot be written to"
    return None


def _meant(key: str, known: set[str]) -> str:
    from difflib import get_close_matches  # noqa: PLC0415 - only for a file that is wrong

    near = get_close_matches(key[:100], sorted(known), 1, 0.5)
    return f"did you mean {near[0]}?" if near else "`runcard config` lists all there are"
