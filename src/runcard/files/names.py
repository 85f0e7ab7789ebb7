"""File names as text: for a terminal, for a table, for JSON.

A name on POSIX is any bytes without NUL and `/`. Here it is a `str` in which bytes that are not UTF-8 are lone surrogates
(`surrogateescape`), in every locale. Nothing here opens a file or decides whether a name is allowed.

Invariants: `printable` text moves no cursor and reorders no text; two names never have the same `json_name`.
"""

import re
from typing import NamedTuple

# Compiled only if there is something to escape, which is rare.
_UNPRINTABLE = (
    "["
    "\x00-\x1f\x7f-\x9f"  # control characters
    "\u061c\u200e\u200f\u202a-\u202e"  # marks that change the direction of text; the isolates are below
    "\u200b-\u200d\ufeff"  # characters without width
    "\u2028\u2029"  # line and paragraph separators
    "\u2060-\u206f"  # more characters without width or with a direction
    "\ud800-\udfff"  # surrogates: bytes that are not UTF-8
    "\U000e0000-\U000e007f"  # tags: invisible letters
    "]"
)
_SHORT = {"\n": r"\n", "\r": r"\r", "\t": r"\t"}
_RAW_BYTES = range(0xDC80, 0xDD00)  # where surrogateescape puts the bytes 0x80 to 0xff


class JsonName(NamedTuple):
    """A name for JSON; `base64` has the bytes if they are not UTF-8."""

    text: str
    base64: str | None


def encode_name(name: str) -> bytes:
    """The bytes of a name, as the file system has them."""
    return name.encode("utf-8", "surrogateescape")


def decode_name(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")


def printable(text: str) -> str:
    r"""`text` with everything escaped that is not safe on a terminal: a newline as `\n`, ESC as `\x1b`, and so on."""
    if text.isprintable():  # none of the characters above is
        return text
    return re.sub(_UNPRINTABLE, lambda match: _escaped(match[0]), text)


def shell_word(text: str) -> str:
    """`text` as a word of a command that is to be pasted into a shell: printable, in quotes where it needs them."""
    from shlex import quote  # noqa: PLC0415 - for messages

    return quote(printable(text))


def json_name(name: str) -> JsonName:
    r"""A name for JSON: itself if it is UTF-8, otherwise with `\xNN` for its stray bytes and `\\` for a backslash."""
    raw = encode_name(name)
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError:
        from base64 import b64encode  # noqa: PLC0415 - hardly any name needs it

        text = raw.replace(b"\\", rb"\\").decode("utf-8", "backslashreplace")
        return JsonName(text, b64encode(raw).decode("ascii"))
    return JsonName(name, None)


def file_type(path: str) -> str:
    """The last suffix of a file's name, in lower case with its dot; empty for a name without one.

    It is written into documents: if it is not UTF-8, as `json_name` writes it.
    """
    name = path[path.rfind("/") + 1 :]
    dot = name.rfind(".")
    suffix = name[dot:].lower() if 0 < dot < len(name) - 1 else ""
    return suffix if suffix.isascii() else json_name(suffix).text


def _escaped(character: str) -> str:
    code = ord(character)
    if code in _RAW_BYTES:
        code -= 0xDC00
    if code < 0x100:
        return _SHORT.get(character, f"\\x{code:02x}")
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
