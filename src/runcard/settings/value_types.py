"""The forms that values have: how each is written as text (a variable, an option) and in a TOML file.

Invariant: a form either gives a value of its type or raises NotAllowed; it never guesses.
"""

import os
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

if TYPE_CHECKING:
    from runcard.masking import UserPattern

T = TypeVar("T")

_YES = frozenset({"true", "1", "yes", "on"})
_NO = frozenset({"false", "0", "no", "off"})
_NOTHING = frozenset({"", "null", "none"})
# Patterns are compiled when they are first used: most commands read the defaults only.
_SIZE = r"(?ai)([0-9][0-9_]*(?:\.[0-9]+)?)\s*([kmgt]?)(i?)b?"
_POWERS = "kmgt"
_MODE = "(?:0o?)?([0-7]{3})"
_LONGEST_NAME = 64  # of a pattern of secrets


class NotAllowedError(ValueError):
    """A value that a setting cannot have."""


class ValueType(NamedTuple, Generic[T]):
    """One form of value."""

    allowed: str  # in words, for whoever wrote something else
    from_text: Callable[[str], T]
    from_file: Callable[[Any], T]  # what a TOML file can say
    show: Callable[[T], str] = str
    nothing: bool = False  # whether "none" is a value; otherwise it means that nothing was said
    is_path: bool = False  # relative to the file that it stands in


def is_nothing(text: str) -> bool:
    """Whether a text says that there is no value."""
    return text.strip().lower() in _NOTHING


def optional(form: ValueType[T], meaning: str) -> "ValueType[T | None]":
    """The same form, with `none` as a value."""

    def from_text(text: str) -> T | None:
        return None if is_nothing(text) else form.from_text(text)

    def from_file(value: object) -> T | None:
        return None if isinstance(value, str) and is_nothing(value) else form.from_file(value)

    def show(value: T | None) -> str:
        return "none" if value is None else form.show(value)

    allowed = f"{form.allowed}; or none: {meaning}"
    return ValueType(allowed, from_text, from_file, show, nothing=True, is_path=form.is_path)


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise NotAllowedError
    return value


def _path(value: object) -> str:
    text = _text(value)
    if not text or "\0" in text:
        raise NotAllowedError
    return os.path.expanduser(text)


def _bool_of_text(text: str) -> bool:
    word = text.strip().lower()
    if word not in _YES | _NO:
        raise NotAllowedError
    return word in _YES


def _bool(value: object) -> bool:
    if not isinstance(value, bool):
        raise NotAllowedError
    return value


def _size_of_text(text: str) -> int:
    match = re.fullmatch(_SIZE, text.strip())
    if match is None or (match[3] and not match[2]):
        raise NotAllowedError
    power = _POWERS.index(match[2].lower()) + 1 if match[2] else 0
    number = float(match[1]) if "." in match[1] else int(match[1])
    return _at_least_one(int(number * (1024 if match[3] else 1000) ** power))


def _size(value: object) -> int:
    return _size_of_text(value) if isinstance(value, str) else _count(value)


def _size_shown(size: int) -> str:
    """The shortest text that is exact."""
    for base, unit in ((1024, "iB"), (1000, "B")):
        for power, letter in reversed(list(enumerate("kMGT" if base == 1000 else "KMGT", 1))):
            if size % base**power == 0:
                return f"{size // base**power} {letter}{unit}"
    return f"{size} B"


def _count_of_text(text: str) -> int:
    try:
        return _at_least_one(int(text))
    except ValueError:
        raise NotAllowedError from None


def _count(value: object) -> int:
    if type(value) is not int:  # true is none
        raise NotAllowedError
    return _at_least_one(value)


def _at_least_one(number: int) -> int:
    if number < 1:
        raise NotAllowedError
    return number


def _mode(value: object) -> int:
    match = re.fullmatch(_MODE, _text(value).strip())
    if match is None or int(match[1], 8) & 0o600 != 0o600:  # what its owner cannot read cannot be checked
        raise NotAllowedError
    return int(match[1], 8)


def _patterns_of_text(text: str) -> tuple[str, ...]:
    """A list in JSON, or one with commas; a pattern may begin with a bracket as well."""
    if is_nothing(text):
        return ()
    from json import loads  # noqa: PLC0415 - where somebody says something

    try:
        listed = loads(text) if text.lstrip().startswith("[") else None
    except ValueError:
        listed = None
    if isinstance(listed, list) and all(isinstance(item, str) for item in listed):
        return _patterns(listed)
    return _patterns([part.strip() for part in text.split(",")])


def _patterns(value: object) -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or not all(isinstance(item, str) for item in value):
        raise NotAllowedError
    for pattern in value:
        if (reason := _malformed(pattern)) is not None:
            raise NotAllowedError(f"the pattern '{pattern}' {reason}")
    return tuple(value)


def _malformed(pattern: str) -> str | None:
    """Why a pattern means nothing, if so."""
    if not pattern.removeprefix("!").strip():
        return "is empty"
    if "\0" in pattern or "\n" in pattern:
        return "has a character that no pattern can have"
    plain = re.sub(r"\\.", "", pattern)
    if plain.endswith("\\"):
        return "ends with a backslash"
    if "[" in re.sub(r"\[[!^]?\]?[^\]]*\]", "", plain):
        return "has a [ without its ]"
    return None


def _secrets_of_text(text: str) -> "tuple[UserPattern, ...]":
    if is_nothing(text):
        return ()
    from json import loads  # noqa: PLC0415 - where somebody says something

    try:
        return _secrets(loads(text))
    except ValueError as error:
        raise NotAllowedError(*error.args if isinstance(error, NotAllowedError) else ()) from None


def _secrets(value: object) -> "tuple[UserPattern, ...]":
    from runcard.masking import UserPattern  # noqa: PLC0415 - where somebody says something

    if not isinstance(value, list | tuple):
        raise NotAllowedError
    patterns: dict[str, UserPattern] = {}
    for item in value:
        if not isinstance(item, dict) or set(item) != {"name", "pattern"}:
            raise NotAllowedError("each entry has a name and a pattern")
        own = UserPattern(_text(item["name"]), _text(item["pattern"]))
        if (reason := _no_secret(own, patterns)) is not None:
            raise NotAllowedError(f"'{own.name}': {reason}")
        patterns[own.name] = own
    return tuple(patterns.values())


def _no_secret(own: "UserPattern", others: "dict[str, UserPattern]") -> str | None:
    """Why a pattern of secrets is refused, if so."""
    from runcard.files import is_safe_id  # noqa: PLC0415
    from runcard.masking import RULES  # noqa: PLC0415
    from runcard.masking.pattern_safety import UnsafePatternError, safe  # noqa: PLC0415

    if not is_safe_id(own.name) or len(own.name) > _LONGEST_NAME:
        return f"a name has letters, digits, dots, dashes and underscores, at most {_LONGEST_NAME}"
    if own.name in RULES or own.name in others:
        return "the name is taken"
    try:
        safe(own.pattern)
    except UnsafePatternError as error:
        return f"the pattern is refused: {error}"
    return None


def _number_of_text(text: str) -> float:
    try:
        return _number(float(text))
    except ValueError:
        raise NotAllowedError from None


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 1 <= value < float("inf"):
        raise NotAllowedError
    return float(value)


def _number_shown(value: float) -> str:
    return f"{value:g}"


def _bool_shown(value: bool) -> str:  # noqa: FBT001 - the value itself
    return "true" if value else "false"


def _mode_shown(mode: int) -> str:
    return f"0{mode:o}"


def _patterns_shown(patterns: tuple[str, ...]) -> str:
    return ", ".join(patterns) or "none"


def _secrets_shown(patterns: "tuple[UserPattern, ...]") -> str:
    return ", ".join(own.name for own in patterns) or "none"


PATH: ValueType[str] = ValueType("a path", _path, _path, is_path=True)
BOOL: ValueType[bool] = ValueType("true, 1, yes, on, false, 0, no or off", _bool_of_text, _bool, _bool_shown)
SIZE: ValueType[int] = ValueType(
    "a number of bytes from 1 on, also as 500 MB or 4 GiB", _size_of_text, _size, _size_shown
)
COUNT: ValueType[int] = ValueType("a whole number from 1 on", _count_of_text, _count)
NUMBER: ValueType[float] = ValueType("a number from 1 on", _number_of_text, _number, _number_shown)
MODE: ValueType[int] = ValueType(
    "three octal digits that let the owner read and write, such as 0700", _mode, _mode, _mode_shown
)
PATTERNS: ValueType[tuple[str, ...]] = ValueType(
    "patterns as .gitignore has them, with commas between them or as a list",
    _patterns_of_text,
    _patterns,
    _patterns_shown,
    nothing=True,
)
SECRETS: "ValueType[tuple[UserPattern, ...]]" = ValueType(
    'a list such as [{name = "acme-token", pattern = "acme_[a-z0-9]{20}"}], in a variable as JSON',
    _secrets_of_text,
    _secrets,
    _secrets_shown,
    nothing=True,
)
