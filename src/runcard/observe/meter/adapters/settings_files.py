"""Settings files of other programs: JSON, also with comments and trailing commas. Whatever is in them, reading never fails."""

import os
import re
from typing import Any

from runcard.encoding import JsonObject, decode_json
from runcard.errors import EncodingError
from runcard.files import read_regular

_LARGEST = 16 << 20
_TRUE = frozenset({"1", "true", "yes", "on"})

# A text, a comment, or a comma in front of a closing bracket. What has no end goes to the end of the file: else the search for
# it would begin again and again.
_JSONC = re.compile(
    rb'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)|//[^\n]*|/\*.*?(?:\*/|(?P<open>\Z))|,(?=\s*[}\]])', re.DOTALL
)
_DOTENV = re.compile(
    r"""^[ \t]*(?:export[ \t]+)?(?P<name>[\w.-]+)[ \t]*=[ \t]*"""
    r"""(?:'(?P<single>[^']*)'|"(?P<double>[^"]*)"|(?P<bare>[^#\r\n]*))""",
    re.MULTILINE,
)


def read_settings_file(path: str) -> JsonObject:
    """The object in a JSON file; empty if there is none."""
    return parse_settings(_read(path))


def read_json_file(path: str) -> JsonObject:
    """The object in a file of a program that ignores JSON with comments; empty if there is none."""
    try:
        value = decode_json(_read(path))
    except EncodingError:
        return {}
    return value if isinstance(value, dict) else {}


def parse_settings(data: bytes) -> JsonObject:
    """The object in a JSON text; empty if it is none."""
    try:
        value = decode_json(data)
    except EncodingError:
        try:
            value = decode_json(_JSONC.sub(_keep_text, _JSONC.sub(_keep_text, data)))
        except EncodingError:
            return {}
    return value if isinstance(value, dict) else {}


def _keep_text(match: re.Match[bytes]) -> bytes:
    """Only texts are kept, and comments without an end. A comma may be in front of a comment, so this is done twice."""
    return match[0] if match[0].startswith(b'"') or match["open"] is not None else b" "


def read_toml_file(path: str) -> JsonObject:
    """The tables in a TOML file; empty if there is none."""
    return parse_toml(_read(path))


def parse_toml(data: bytes) -> JsonObject:
    import tomllib  # noqa: PLC0415 - one program has such files

    try:
        return tomllib.loads(data.decode("utf-8"))
    except (ValueError, RecursionError):
        return {}


def read_dotenv(path: str) -> dict[str, str]:
    """The variables in a `.env` file."""
    text = _read(path).decode("utf-8", "replace")
    return {
        match["name"]: next(
            value
            for value in (match["single"], match["double"], (match["bare"] or "").strip())
            if value is not None
        )
        for match in _DOTENV.finditer(text)
    }


def _read(path: str) -> bytes:
    try:
        if os.path.getsize(path) > _LARGEST:
            return b""
        return read_regular(os.path.realpath(path)) or b""
    except OSError:
        return b""


def object_at(value: Any, *names: str) -> JsonObject:  # noqa: ANN401 - whatever the file holds
    """The object under these names; empty if there is none."""
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def text_at(value: Any, *names: str) -> str | None:  # noqa: ANN401
    """The text under these names, if there is one that is not empty."""
    found = object_at(value, *names[:-1]).get(names[-1])
    return found if isinstance(found, str) and found else None


def is_on(value: str | None) -> bool:
    """Whether a variable is set to yes, as programs understand it."""
    return (value or "").strip().lower() in _TRUE


def home_of(environment: dict[str, str]) -> str:
    return environment.get("HOME") or os.path.expanduser("~")
