"""Every setting as it counts here, with where it comes from."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from runcard.files import printable
from runcard.settings import ALL, Origin, Setting, Settings, SettingsError, read_settings
from runcard.settings.forms import MODE


@dataclass(frozen=True, slots=True)
class Configured:
    """One setting: its value and where that comes from, or what is wrong with it."""

    setting: Setting[Any]
    value: Any = None
    origin: Origin | None = None
    error: SettingsError | None = None

    @property
    def text(self) -> str:
        """The value as a person would write it."""
        return printable(self.setting.form.show(self.value))

    def to_dict(self) -> dict[str, Any]:
        setting, origin = self.setting, self.origin
        return {
            "key": setting.key,
            "value": self.text if setting.form is MODE else self.value,
            "origin": origin._asdict() if origin else None,
            "about": setting.about,
            "allowed": setting.form.allowed,
            "variables": list(setting.variables),
            "option": setting.option,
            "error": {"message": self.error.message, "hint": self.error.hint} if self.error else None,
        }


def config(settings: Settings | None = None) -> tuple[list[Configured], list[tuple[str, str]]]:
    """All settings, and what the file of settings says that nobody reads: each with what to do about it."""
    settings = settings or read_settings()
    return [_configured(settings, setting) for setting in ALL], list(settings.warnings())


def _configured(settings: Settings, setting: Setting[Any]) -> Configured:
    try:
        settings.checked(setting)
        value, origin = settings.find(setting)
    except SettingsError as error:
        return Configured(setting, error=error)
    return Configured(setting, value, origin)


def summary(
    found: Iterable[Configured], warnings: Iterable[tuple[str, str]], file: str | None
) -> dict[str, Any]:
    """All of it as data."""
    return {
        "file": file,
        "settings": [one.to_dict() for one in found],
        "warnings": [{"message": message, "hint": hint} for message, hint in warnings],
    }
