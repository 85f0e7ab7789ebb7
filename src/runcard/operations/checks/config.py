"""All settings: their effective values, the origin of each, and values that are ignored."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from runcard.encoding import JsonObject
from runcard.files import printable
from runcard.settings import ALL, Origin, Setting, Settings, SettingsError, SettingValue, read_settings
from runcard.settings.value_types import MODE, is_url


@dataclass(frozen=True, slots=True)
class Configured:
    """One setting: its value and origin, or the error in it."""

    setting: Setting[Any]
    value: Any = None
    origin: Origin | None = None
    error: SettingsError | None = None
    refused: SettingValue[Any] | None = None  # the value in the project's file, which is ignored

    @property
    def text(self) -> str:
        """The value as a person would write it."""
        return printable(self.setting.value_type.show(self.value))

    def to_dict(self) -> JsonObject:
        setting, origin = self.setting, self.origin
        return {
            "key": setting.key,
            "value": None if self.error else _as_data(setting, self.value),
            "origin": origin._asdict() if origin else None,
            "about": setting.about,
            "allowed": setting.value_type.allowed,
            "variables": list(setting.variables),
            "option": setting.option,
            "error": {"message": self.error.message, "hint": self.error.hint} if self.error else None,
            "refused": _refused(setting, self.refused) if self.refused else None,
        }


def _refused(setting: Setting[Any], refused: SettingValue[Any]) -> JsonObject:
    return {"value": _as_data(setting, refused.value), "origin": refused.origin._asdict()}


def _as_data(setting: Setting[Any], value: Any) -> Any:  # noqa: ANN401 - whatever the setting holds
    is_text = setting.value_type is MODE or is_url(value)  # a password is not shown
    return printable(setting.value_type.show(value)) if is_text else value


def config(settings: Settings | None = None) -> tuple[list[Configured], list[tuple[str, str]]]:
    """All settings, and a warning with a hint for each value in the files that is ignored."""
    settings = settings or read_settings()
    return [_configured(settings, setting) for setting in ALL], list(settings.warnings(*ALL))


def _configured(settings: Settings, setting: Setting[Any]) -> Configured:
    try:
        settings.checked(setting)
        value, origin = settings.find(setting)
    except SettingsError as error:
        return Configured(setting, error=error)
    return Configured(setting, value, origin, refused=settings.refused_value(setting))


def summary(
    configured: Iterable[Configured], warnings: Iterable[tuple[str, str]], settings: Settings
) -> JsonObject:
    """Settings and warnings as data."""
    return {
        "file": settings.file.path if settings.file else None,
        "trusted": settings.is_trusted if settings.file else None,
        "user_file": settings.user_file.path if settings.user_file else None,
        "settings": [setting.to_dict() for setting in configured],
        "warnings": [{"message": message, "hint": hint} for message, hint in warnings],
    }
