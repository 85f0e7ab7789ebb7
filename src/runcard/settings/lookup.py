"""Looking up settings: options over the environment over files over the default, each value with its origin.

The project's file is used before the user's own. But a value in it that the setting's guard refuses is ignored unless the
user trusts the file; see `runcard.settings.guards`.
"""

import os
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any, Generic, NamedTuple, TypeVar

from runcard.encoding.limits import Limits
from runcard.errors import UsageError
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
from runcard.settings.value_types import NotAllowedError, is_none, is_url

T = TypeVar("T")

OPTION, VARIABLE, FILE, USER_FILE, DEFAULT = "option", "variable", "file", "user-file", "default"

_MAX_UNKNOWN = 10  # keys that are reported one by one
# Warnings about refused values that were looked up, each with its hint, or with None once it was reported.
_refused: dict[str, str | None] = {}


class SettingsError(UsageError):
    """A setting with an invalid value."""

    def __init__(self, message: str, *, hint: str, is_in_command_line: bool) -> None:
        super().__init__(message, hint=hint)
        self.is_in_command_line = is_in_command_line


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
    """All settings in a directory; `settings[OUTPUTS]` is a value."""

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
        """Whether the user trusts the project's file; needed only for a value that a guard refuses."""
        from runcard.settings.trust import is_trusted  # noqa: PLC0415 - hardly any file needs it

        return self.file is not None and is_trusted(self.file)

    def __getitem__(self, setting: Setting[T]) -> T:
        return self.find(setting).value

    @property
    def limits(self) -> Limits:
        """The limits for reading a document."""
        return Limits(self[LIMITS_SIZE], self[LIMITS_DEPTH], self[LIMITS_DIGITS], self[LIMITS_EXPANSION])

    def find(self, setting: Setting[T]) -> SettingValue[T]:
        """The value of a setting; raises SettingsError for an invalid one."""
        if setting.accumulates:
            return self._accumulated(setting)
        explicit = self._explicit(setting)
        if explicit is not None:
            return explicit
        of_project = self._of_project(setting)
        if of_project is None:
            return self._without_project(setting)
        if self._is_refused(setting, of_project.value):
            message, hint = self._refusal(setting, of_project.origin)
            _refused.setdefault(message, hint)
            return self._without_project(setting)
        return of_project

    def _accumulated(self, setting: Setting[Any]) -> SettingValue[Any]:
        """The lists of all origins as one, the user's own first; the origin is that of the last list with items."""
        values = [self._without_project(setting), self._of_project(setting), self._explicit(setting)]
        lists = [value for value in values if value is not None]
        items = dict.fromkeys(item for value in lists for item in value.value)
        return SettingValue(
            tuple(items), next((value for value in reversed(lists) if value.value), lists[0]).origin
        )

    def refused_value(self, setting: Setting[T]) -> SettingValue[T] | None:
        """The value in the project's file, if it is ignored because the file is not trusted."""
        try:
            if self._explicit(setting) is not None:
                return None
            value = self._of_project(setting)
            return value if value is not None and self._is_refused(setting, value.value) else None
        except SettingsError:
            return None

    def values_needing_trust(self) -> Iterator[tuple[Setting[Any], SettingValue[Any]]]:
        """The values in the project's file that are used only if the file is trusted."""
        for setting in ALL:
            value = self._of_project(setting)
            if value is not None and self._needs_trust(setting, value.value):
                yield setting, value

    def _explicit(self, setting: Setting[T]) -> SettingValue[T] | None:
        """The value of an option or a variable."""
        option = self._options.get(setting)
        if option is not None and option != ():
            return self._parse(setting, option, Origin(OPTION, setting.option))
        for name in setting.variables:
            text = self._environ.get(name)
            if text is not None and (setting.value_type.accepts_none or not is_none(text)):
                return self._parse(setting, text, Origin(VARIABLE, name))
        return None

    def _of_project(self, setting: Setting[T]) -> SettingValue[T] | None:
        if self.file is None or setting.key not in self.file.entries:
            return None
        entry = self.file.entries[setting.key]
        value: SettingValue[Any] = self._parse(setting, entry.value, Origin(FILE, self.file.path, entry.line))
        is_here = os.path.basename(self.file.path) == self.file.path
        if (
            setting.value_type.is_path
            and isinstance(value.value, str)
            and not is_here
            and not is_url(value.value)
        ):
            return SettingValue(os.path.join(self.file.folder, value.value), value.origin)  # type: ignore[arg-type]
        return value

    def _without_project(self, setting: Setting[T]) -> SettingValue[T]:
        """The value in the user's own file, or else the default."""
        if self.user_file is None or setting.key not in self.user_file.entries:
            return SettingValue(setting.default, Origin(DEFAULT))
        entry = self.user_file.entries[setting.key]
        return self._parse(setting, entry.value, Origin(USER_FILE, self.user_file.path, entry.line))

    def _needs_trust(self, setting: Setting[T], value: T) -> bool:
        if setting.guard is None or self.file is None:
            return False
        without = self._without_project(setting).value
        return value != without and setting.guard.refuses(value, without, self.file.folder)

    def _is_refused(self, setting: Setting[T], value: T) -> bool:
        return self._needs_trust(setting, value) and not self.is_trusted

    def _parse(self, setting: Setting[T], raw: Any, origin: Origin) -> SettingValue[T]:  # noqa: ANN401 - text, or what TOML holds
        is_text = origin.kind in {OPTION, VARIABLE} and isinstance(raw, str)
        try:
            return SettingValue(
                (setting.value_type.from_text if is_text else setting.value_type.from_file)(raw), origin
            )
        except NotAllowedError as error:
            raise _invalid_value(setting, raw, origin, str(error)) from None

    def checked(self, setting: Setting[T]) -> T:
        """The value of a path that is about to be used: a directory must be writable, a file readable."""
        value, origin = self.find(setting)
        is_path = value is not None and not is_url(value)
        reason = _path_problem(str(value), setting.use) if is_path else None
        if reason is not None and origin.kind != DEFAULT:
            raise _invalid_value(setting, value, origin, reason)
        return value

    def warnings(self, *used: Setting[Any]) -> Iterator[tuple[str, str]]:
        """Warnings with hints: a file that is not used, unknown keys, and values of the `used` settings that are refused."""
        if self.file is not None and self.file.ignored:
            yield (
                f"{printable(self.file.path)} is used; [tool.runcard] in {self.file.ignored} is ignored",
                "keep the settings in one of them",
            )
        for file in (self.file, self.user_file):
            if file is not None:
                yield from _unknown_keys(file)
        yield from self.refusals(*used)

    def refusals(self, *used: Setting[Any]) -> Iterator[tuple[str, str]]:
        """A warning for each of these settings whose value in the project's file is refused."""
        for setting in used if self.file is not None else ():
            value = self.refused_value(setting)
            if value is not None:
                message, hint = self._refusal(setting, value.origin)
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
    """The settings in a directory; `options` are those of the command line, by setting.

    An option that was not passed is None, or an empty list.
    """
    environment = os.environ if environ is None else environ
    return Settings(options or {}, environment, files.find_file(directory))


def take_unreported() -> list[tuple[str, str]]:
    """The warnings about refused values that were looked up since the last call and not reported yet."""
    warnings = [(message, hint) for message, hint in _refused.items() if hint is not None]
    _refused.clear()
    return warnings


def _unknown_keys(file: files.SettingsFile) -> Iterator[tuple[str, str]]:
    """Warnings about unknown keys; a hostile file can have a hundred thousand."""
    known = {setting.key for setting in ALL}
    unknown = [key for key in file.entries if key not in known]
    for key in unknown[:_MAX_UNKNOWN]:
        origin = Origin(FILE, printable(file.path), file.entries[key].line)
        yield f"{origin}: unknown setting {printable(key[:100])}", _suggestion(key, known)
    if (more := len(unknown) - _MAX_UNKNOWN) > 0:
        yield f"{printable(file.path)}: {more:,} more unknown settings", "remove them"


def _invalid_value(setting: Setting[Any], raw: object, origin: Origin, reason: str) -> SettingsError:
    place = printable(str(origin)) + (f": {setting.key}" if origin.kind in {FILE, USER_FILE} else "")
    because = f": {printable(reason)}" if reason else ""
    remove = {OPTION: "leave it out", VARIABLE: "unset it"}.get(origin.kind, "remove the line")
    text = f"{str(raw).partition('://')[0]}://…" if is_url(raw) else str(raw)  # it may have a password in it
    value, allowed = f"'{printable(text)}'", setting.value_type.allowed
    if not isinstance(raw, str):  # as a configuration file writes it
        value = printable(str(raw)).lower() if isinstance(raw, bool) else printable(str(raw))
        allowed = allowed.replace("a path", "a path in quotes", 1)
    return SettingsError(
        f"{place} is {value}{because}; allowed: {allowed}",
        hint=f"correct it, or {remove} for the default: {setting.value_type.show(setting.default)}",
        is_in_command_line=origin.kind == OPTION,
    )


def _path_problem(path: str, use: str | None) -> str | None:
    if use == "read":
        return None if os.access(path, os.R_OK) and os.path.isfile(path) else "not a readable file"
    if use == "write":
        folder = os.path.abspath(path)
        while not os.path.lexists(folder):
            folder = os.path.dirname(folder)
        if not os.path.isdir(folder):
            return f"{folder} is not a directory"
        if not os.access(folder, os.W_OK | os.X_OK):
            return f"the directory {folder} is not writable"
    return None


def _suggestion(key: str, known: set[str]) -> str:
    from difflib import get_close_matches  # noqa: PLC0415 - rarely needed

    near = get_close_matches(key[:100], sorted(known), 1, 0.5)
    return f"did you mean {near[0]}?" if near else "run `runcard config` for a list of all settings"
