"""The types of values: how each is parsed from text (a variable, an option) and from a TOML file.

Invariant: parsing gives a value of the type or raises NotAllowedError; it never guesses.
"""

import os
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from runcard.documents.kinds import TESTPLAN

if TYPE_CHECKING:
    from runcard.masking import UserPattern

T = TypeVar("T")

_YES = frozenset({"true", "1", "yes", "on"})
_NO = frozenset({"false", "0", "no", "off"})
_NONE = frozenset({"", "null", "none"})
# Patterns are compiled on first use: most commands read the defaults only.
_SIZE = r"(?ai)([0-9][0-9_]*(?:\.[0-9]+)?)\s*([kmgt]?)(i?)b?"
_POWERS = "kmgt"
_MODE = "(?:0o?)?([0-7]{3})"
_MAX_NAME = 64  # characters of the name of a secret pattern


class NotAllowedError(ValueError):
    """A value that is not allowed."""


class ValueType(NamedTuple, Generic[T]):
    """One type of value."""

    allowed: str  # for error messages
    from_text: Callable[[str], T]
    from_file: Callable[[Any], T]  # from a TOML value
    show: Callable[[T], str] = str
    accepts_none: bool = False  # whether "none" is a value; otherwise it means unset
    is_path: bool = False  # relative to the settings file


def is_none(text: str) -> bool:
    """Whether a text means no value."""
    return text.strip().lower() in _NONE


def optional(value_type: ValueType[T], meaning: str) -> "ValueType[T | None]":
    """The same type, with `none` as a value."""

    def from_text(text: str) -> T | None:
        return None if is_none(text) else value_type.from_text(text)

    def from_file(value: object) -> T | None:
        return None if isinstance(value, str) and is_none(value) else value_type.from_file(value)

    def show(value: T | None) -> str:
        return "none" if value is None else value_type.show(value)

    allowed = f"{value_type.allowed}; or none: {meaning}"
    return ValueType(allowed, from_text, from_file, show, accepts_none=True, is_path=value_type.is_path)


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise NotAllowedError
    return value


def _line(value: object) -> str:
    text = _text(value).strip()
    if not text or not text.isprintable():
        raise NotAllowedError
    return text


def _path(value: object) -> str:
    text = _text(value)
    is_url_like = re.match(r"[A-Za-z][A-Za-z0-9+.-]+://", text)  # a folder called `s3:` is not what is meant
    if not text or "\0" in text or is_url_like:
        raise NotAllowedError
    return os.path.expanduser(text)


def _always(value: object) -> bool:
    text = _text(value).strip().lower()
    if text not in {"always", "never"}:
        raise NotAllowedError
    return text == "always"


def _format_always(value: bool) -> str:  # noqa: FBT001 - the value
    return "always" if value else "never"


def _plan_format(value: object) -> str:
    """A version of test plans; in a file it may be a number."""
    text = f"{value:.1f}" if isinstance(value, float) else _text(value).strip()
    if text not in TESTPLAN.versions:
        raise NotAllowedError
    return text


def _web_address(value: object) -> str:
    text = _text(value)
    if not text.startswith(("http://", "https://")) or not text.isprintable() or " " in text:
        raise NotAllowedError
    return text


def _format_web_address(url: str) -> str:
    """The address without a password."""
    scheme, _, rest = url.partition("://")
    host, slash, path = rest.partition("/")
    return f"{scheme}://{host.rpartition('@')[2]}{slash}{path.partition('?')[0]}"


def _object_url(value: object) -> str:
    text = _text(value)
    if re.fullmatch(r"(?:s3|gs|az)://[A-Za-z0-9][A-Za-z0-9._-]+(?:/[^@?#\x00-\x20]*)?", text) is None:
        raise NotAllowedError
    return text.rstrip("/")


def _object_lock(value: object) -> tuple[str, int]:
    match = re.fullmatch(r"(governance|compliance) ([1-9][0-9]{0,4})d", _text(value).strip().lower())
    if match is None:
        raise NotAllowedError
    return match[1].upper(), int(match[2])


def _format_lock(lock: tuple[str, int]) -> str:
    return f"{lock[0].lower()} {lock[1]}d"


def is_server_url(place: object) -> bool:
    """Whether this is the URL of a server, and not the path of a file."""
    return isinstance(place, str) and place.startswith(("postgresql://", "postgres://"))


def is_url(place: object) -> bool:
    """Whether this is any URL: it may have a password in it."""
    return isinstance(place, str) and "://" in place


def _path_or_server(value: object) -> str:
    return str(value) if is_url(value) else _path(value)


def _format_place(place: str) -> str:
    from runcard.settings.server_urls import shown_url  # noqa: PLC0415 - few have a server

    return shown_url(place) if is_url(place) else place


def _parse_bool(text: str) -> bool:
    word = text.strip().lower()
    if word not in _YES | _NO:
        raise NotAllowedError
    return word in _YES


def _bool(value: object) -> bool:
    if not isinstance(value, bool):
        raise NotAllowedError
    return value


def _parse_size(text: str) -> int:
    match = re.fullmatch(_SIZE, text.strip())
    if match is None or (match[3] and not match[2]):
        raise NotAllowedError
    power = _POWERS.index(match[2].lower()) + 1 if match[2] else 0
    number = float(match[1]) if "." in match[1] else int(match[1])
    return _at_least_one(int(number * (1024 if match[3] else 1000) ** power))


def _size(value: object) -> int:
    return _parse_size(value) if isinstance(value, str) else _count(value)


def _format_size(size: int) -> str:
    """The shortest exact text."""
    for base, unit in ((1024, "iB"), (1000, "B")):
        for power, letter in reversed(list(enumerate("kMGT" if base == 1000 else "KMGT", 1))):
            if size % base**power == 0:
                return f"{size // base**power} {letter}{unit}"
    return f"{size} B"


def _parse_count(text: str) -> int:
    try:
        return _at_least_one(int(text))
    except ValueError:
        raise NotAllowedError from None


def _count(value: object) -> int:
    if type(value) is not int:  # excludes true
        raise NotAllowedError
    return _at_least_one(value)


def _at_least_one(number: int) -> int:
    if number < 1:
        raise NotAllowedError
    return number


def _mode(value: object) -> int:
    match = re.fullmatch(_MODE, _text(value).strip())
    if match is None or int(match[1], 8) & 0o600 != 0o600:  # its owner must be able to read and write it
        raise NotAllowedError
    return int(match[1], 8)


def _parse_patterns(text: str) -> tuple[str, ...]:
    """A list in JSON, or separated by commas; a pattern may start with a bracket as well."""
    if is_none(text):
        return ()
    from json import loads  # noqa: PLC0415 - rarely needed

    try:
        items = loads(text) if text.lstrip().startswith("[") else None
    except ValueError:
        items = None
    if isinstance(items, list) and all(isinstance(item, str) for item in items):
        return _patterns(items)
    return _patterns([part.strip() for part in text.split(",")])


def _patterns(value: object) -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or not all(isinstance(item, str) for item in value):
        raise NotAllowedError
    for pattern in value:
        if (reason := _pattern_problem(pattern)) is not None:
            raise NotAllowedError(f"the pattern '{pattern}' {reason}")
    return tuple(value)


def _pattern_problem(pattern: str) -> str | None:
    """What is wrong with a pattern, if anything."""
    if not pattern.removeprefix("!").strip():
        return "is empty"
    if "\0" in pattern or "\n" in pattern:
        return "has a NUL or a line break"
    plain = re.sub(r"\\.", "", pattern)
    if plain.endswith("\\"):
        return "ends with a backslash"
    if "[" in re.sub(r"\[[!^]?\]?[^\]]*\]", "", plain):
        return "has a [ without its ]"
    return None


def _parse_secret_patterns(text: str) -> "tuple[UserPattern, ...]":
    if is_none(text):
        return ()
    from json import loads  # noqa: PLC0415 - rarely needed

    try:
        return _secret_patterns(loads(text))
    except ValueError as error:
        raise NotAllowedError(*error.args if isinstance(error, NotAllowedError) else ()) from None


def _secret_patterns(value: object) -> "tuple[UserPattern, ...]":
    from runcard.masking import UserPattern  # noqa: PLC0415 - rarely needed

    if not isinstance(value, list | tuple):
        raise NotAllowedError
    patterns: dict[str, UserPattern] = {}
    for item in value:
        if not isinstance(item, dict) or set(item) != {"name", "pattern"}:
            raise NotAllowedError("each entry needs a name and a pattern, and nothing else")
        entry = UserPattern(_text(item["name"]), _text(item["pattern"]))
        if (reason := _secret_pattern_problem(entry, patterns)) is not None:
            raise NotAllowedError(f"'{entry.name}': {reason}")
        patterns[entry.name] = entry
    return tuple(patterns.values())


def _secret_pattern_problem(entry: "UserPattern", others: "dict[str, UserPattern]") -> str | None:
    """What is wrong with a secret pattern, if anything."""
    from runcard.files import is_safe_id  # noqa: PLC0415
    from runcard.masking import RULES  # noqa: PLC0415
    from runcard.masking.pattern_safety import UnsafePatternError, safe_pattern  # noqa: PLC0415

    if not is_safe_id(entry.name) or len(entry.name) > _MAX_NAME:
        return f"a name has letters, digits, dots, dashes and underscores, at most {_MAX_NAME}"
    if entry.name in RULES or entry.name in others:
        return "the name is already used"
    try:
        safe_pattern(entry.pattern)
    except UnsafePatternError as error:
        return f"the pattern is refused: {error}"
    return None


def _parse_number(text: str) -> float:
    try:
        return _number(float(text))
    except ValueError:
        raise NotAllowedError from None


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 1 <= value < float("inf"):
        raise NotAllowedError
    return float(value)


def _format_number(value: float) -> str:
    return f"{value:g}"


def _format_bool(value: bool) -> str:  # noqa: FBT001 - the value itself
    return "true" if value else "false"


def _format_mode(mode: int) -> str:
    return f"0{mode:o}"


def _format_patterns(patterns: tuple[str, ...]) -> str:
    return ", ".join(patterns) or "none"


def _format_secret_patterns(patterns: "tuple[UserPattern, ...]") -> str:
    return ", ".join(entry.name for entry in patterns) or "none"


TEXT: ValueType[str] = ValueType("a text", _line, _line)
PATH: ValueType[str] = ValueType("a path", _path, _path, is_path=True)
PATH_OR_SERVER: ValueType[str] = ValueType(
    "a path, or a URL such as postgresql://USER@HOST/DATABASE",
    _path_or_server,
    _path_or_server,
    _format_place,
    is_path=True,
)
ALWAYS: ValueType[bool] = ValueType("always or never", _always, _always, _format_always)
PLAN_FORMAT: ValueType[str] = ValueType(" or ".join(TESTPLAN.versions), _plan_format, _plan_format)
WEB_ADDRESS: ValueType[str] = ValueType(
    "a URL such as https://HOST/PATH", _web_address, _web_address, _format_web_address
)
OBJECT_URL: ValueType[str] = ValueType(
    "the URL of a folder in object storage, such as s3://BUCKET/FOLDER, without credentials",
    _object_url,
    _object_url,
)
OBJECT_LOCK: ValueType[tuple[str, int]] = ValueType(
    "governance or compliance and a number of days, such as `governance 365d`",
    _object_lock,
    _object_lock,
    _format_lock,
)
BOOL: ValueType[bool] = ValueType("true, 1, yes, on, false, 0, no or off", _parse_bool, _bool, _format_bool)
SIZE: ValueType[int] = ValueType(
    "a size of at least 1 byte, such as 500 MB or 4 GiB", _parse_size, _size, _format_size
)
COUNT: ValueType[int] = ValueType("a whole number of at least 1", _parse_count, _count)
NUMBER: ValueType[float] = ValueType("a number of at least 1", _parse_number, _number, _format_number)
MODE: ValueType[int] = ValueType(
    "three octal digits that let the owner read and write, such as 0700", _mode, _mode, _format_mode
)
PATTERNS: ValueType[tuple[str, ...]] = ValueType(
    "patterns like in .gitignore, separated by commas or as a list",
    _parse_patterns,
    _patterns,
    _format_patterns,
    accepts_none=True,
)
SECRET_PATTERNS: "ValueType[tuple[UserPattern, ...]]" = ValueType(
    'a list such as [{name = "acme-token", pattern = "acme_[a-z0-9]{20}"}], as JSON in a variable',
    _parse_secret_patterns,
    _secret_patterns,
    _format_secret_patterns,
    accepts_none=True,
)
