"""Asking for settings: options over the environment over files over the default, each answer with its origin.

Of the files the project's counts before the user's own. But a value of the project's that its setting's guard refuses
counts only when the user trusts the file; see `runcard.settings.guards`.
"""

import os
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any, Generic, NamedTuple, TypeVar

from runcard.encoding.limits import Limits
from runcard.errors import ExitCode, UsageError
from runcard.files import printable
from runcard.settings import files
from runcard.settings.definitions import (
    ALL,
    LIMITS_DEPTH,
    LIMITS_DIGITS,
    LIMITS_EXPANSION,
    LIMITS_SIZE,
    Setting,
)
from runcard.settings.value_types import NotAllowedError, is_nothing

T = TypeVar("T")

OPTION, VARIABLE, FILE, USER_FILE, DEFAULT = "option", "variable", "file", "user-file", "default"

_MOST_UNKNOWN = 10  # keys that are reported one by one
# Warnings about refused values that were asked for, each with its hint, or with None once it was reported.
_refused: dict[str, str | None] = {}


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


class SettingValue(NamedTuple, Generic[T]):
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

    @cached_property
    def user_file(self) -> files.SettingsFile | None:
        """The user's own file."""
        return files.user_file(self._environ)

    @cached_property
    def is_trusted(self) -> bool:
        """Whether the user trusts the project's file; asked only for a value that a guard refuses."""
        from runcard.settings.trust import is_trusted  # noqa: PLC0415 - hardly any file needs it

        return self.file is not None and is_trusted(self.file)

    def __getitem__(self, setting: Setting[T]) -> T:
        return self.find(setting).value

    @property
    def limits(self) -> Limits:
        """The limits of reading a document."""
        return Limits(self[LIMITS_SIZE], self[LIMITS_DEPTH], self[LIMITS_DIGITS], self[LIMITS_EXPANSION])

    def find(self, setting: Setting[T]) -> SettingValue[T]:
        """The value of a setting; raises SettingsError for one that it cannot have."""
        if setting.adds_up:
            return self._added_up(setting)
        found = self._given(setting)
        if found is not None:
            return found
        found = self._of_project(setting)
        if found is None:
            return self._without_project(setting)
        if self._is_refused(setting, found.value):
            message, hint = self._refusal(setting, found.origin)
            _refused.setdefault(message, hint)
            return self._without_project(setting)
        return found

    def _added_up(self, setting: Setting[Any]) -> SettingValue[Any]:
        """The lists of all places as one: the user's own first; the origin is that of the last one that adds to it."""
        places = [self._without_project(setting), self._of_project(setting), self._given(setting)]
        found = [place for place in places if place is not None]
        items = dict.fromkeys(item for place in found for item in place.value)
        return SettingValue(
            tuple(items), next((place for place in reversed(found) if place.value), found[0]).origin
        )

    def refused(self, setting: Setting[T]) -> SettingValue[T] | None:
        """What the project's file says about a setting, if that does not count because the file is not trusted."""
        try:
            if self._given(setting) is not None:
                return None
            found = self._of_project(setting)
            return found if found is not None and self._is_refused(setting, found.value) else None
        except SettingsError:
            return None

    def guarded(self) -> Iterator[tuple[Setting[Any], SettingValue[Any]]]:
        """What the project's file says that counts only if the file is trusted."""
        for setting in ALL:
            found = self._of_project(setting)
            if found is not None and self._needs_trust(setting, found.value):
                yield setting, found

    def _given(self, setting: Setting[T]) -> SettingValue[T] | None:
        """What an option or a variable says."""
        given = self._options.get(setting)
        if given is not None and given != ():
            return self._read(setting, given, Origin(OPTION, setting.option))
        for name in setting.variables:
            text = self._environ.get(name)
            if text is not None and (setting.value_type.nothing or not is_nothing(text)):
                return self._read(setting, text, Origin(VARIABLE, name))
        return None

    def _of_project(self, setting: Setting[T]) -> SettingValue[T] | None:
        if self.file is None or setting.key not in self.file.entries:
            return None
        entry = self.file.entries[setting.key]
        found: SettingValue[Any] = self._read(setting, entry.value, Origin(FILE, self.file.path, entry.line))
        is_here = os.path.basename(self.file.path) == self.file.path
        if setting.value_type.is_path and isinstance(found.value, str) and not is_here:
            return SettingValue(os.path.join(self.file.folder, found.value), found.origin)  # type: ignore[arg-type]
        return found

    def _without_project(self, setting: Setting[T]) -> SettingValue[T]:
        """What the user's own file says, or else the default."""
        if self.user_file is None or setting.key not in self.user_file.entries:
            return SettingValue(setting.default, Origin(DEFAULT))
        entry = self.user_file.entries[setting.key]
        return self._read(setting, entry.value, Origin(USER_FILE, self.user_file.path, entry.line))

    def _needs_trust(self, setting: Setting[T], value: T) -> bool:
        if setting.guard is None or self.file is None:
            return False
        without = self._without_project(setting).value
        return value != without and setting.guard.refuses(value, without, self.file.folder)

    def _is_refused(self, setting: Setting[T], value: T) -> bool:
        return self._needs_trust(setting, value) and not self.is_trusted

    def _read(self, setting: Setting[T], given: Any, origin: Origin) -> SettingValue[T]:  # noqa: ANN401 - text, or what TOML holds
        is_text = origin.kind in {OPTION, VARIABLE} and isinstance(given, str)
        try:
            return SettingValue(
                (setting.value_type.from_text if is_text else setting.value_type.from_file)(given), origin
            )
        except NotAllowedError as error:
            raise _wrong(setting, given, origin, str(error)) from None

    def checked(self, setting: Setting[T]) -> T:
        """The value of a setting that is about to be used: a directory can be written to, a file be read."""
        value, origin = self.find(setting)
        reason = _unusable(str(value), setting.use) if value is not None else None
        if reason is not None and origin.kind != DEFAULT:
            raise _wrong(setting, value, origin, reason)
        return value

    def warnings(self, *asked: Setting[Any]) -> Iterator[tuple[str, str]]:
        """What the files say that nobody reads, what they say about `asked` and is refused, and what to do about it."""
        if self.file is not None and self.file.ignored:
            yield (
                f"{printable(self.file.path)} counts, and [tool.runcard] in {self.file.ignored} does not",
                "keep the settings in one of the two",
            )
        for file in (self.file, self.user_file):
            if file is not None:
                yield from _unknown(file)
        yield from self.refusals(*asked)

    def refusals(self, *asked: Setting[Any]) -> Iterator[tuple[str, str]]:
        """A warning for each of these settings whose value in the project's file is refused."""
        for setting in asked if self.file is not None else ():
            found = self.refused(setting)
            if found is not None:
                message, hint = self._refusal(setting, found.origin)
                _refused[message] = None
                yield message, hint

    def _refusal(self, setting: Setting[Any], origin: Origin) -> tuple[str, str]:
        reason = setting.guard.reason if setting.guard else ""
        ways = [*setting.variables[:1], *([setting.option] if setting.option else [])]
        return (
            f"{printable(str(origin))}: {setting.key} is ignored: it {reason}, and the file is not trusted",
            f"allow it with `runcard config trust`, or set {' or '.join(ways)}",
        )


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


def take_unreported() -> list[tuple[str, str]]:
    """The warnings about refused values that were asked for since the last call, and that nobody has reported."""
    warnings = [(message, hint) for message, hint in _refused.items() if hint is not None]
    _refused.clear()
    return warnings


def _unknown(file: files.SettingsFile) -> Iterator[tuple[str, str]]:
    """Keys that are no settings; a hostile file can have a hundred thousand."""
    known = {setting.key for setting in ALL}
    unknown = [key for key in file.entries if key not in known]
    for key in unknown[:_MOST_UNKNOWN]:
        place = Origin(FILE, printable(file.path), file.entries[key].line)
        yield f"{place}: there is no setting {printable(key[:100])}", _meant(key, known)
    if (more := len(unknown) - _MOST_UNKNOWN) > 0:
        yield f"{printable(file.path)}: {more:,} more keys are no settings", "remove them"


def _wrong(setting: Setting[Any], given: object, origin: Origin, reason: str) -> SettingsError:
    place = printable(str(origin)) + (f": {setting.key}" if origin.kind in {FILE, USER_FILE} else "")
    because = f": {printable(reason)}" if reason else ""
    without = {OPTION: "leave it out", VARIABLE: "unset it"}.get(origin.kind, "remove the line")
    return SettingsError(
        f"{place} is '{printable(str(given))}'{because}; allowed: {setting.value_type.allowed}",
        hint=f"correct it, or {without} for the default: {setting.value_type.show(setting.default)}",
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
