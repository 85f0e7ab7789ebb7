"""The text of a Ruby file: its bytes within the limit, decode by its magic comment.

It does not look at the language beyond the magic comment and `__END__`. Invariant: the text is UTF-8 with `\n` as the
end of a line, and has as many lines as the file.
"""

import re
from dataclasses import dataclass

from runcard.encoding import Limits
from runcard.errors import DocumentError
from runcard.files import printable, read_file

_MAGIC = re.compile(rb"\A(?:#!.*\n)?[ \t]*#.*?coding[:=][ \t]*([\w.-]+)", re.IGNORECASE)
_END = re.compile(rb"^__END__\r?$", re.MULTILINE)
MAX_SIZE = 16 * 1024 * 1024  # bytes; a syntax tree takes a hundred times the memory of its text
_BOM = b"\xef\xbb\xbf"
_RUBY_NAMES = {"ascii-8bit": "utf-8", "binary": "utf-8", "windows-31j": "cp932", "utf8-mac": "utf-8"}
_RUBY_NAMES |= {"utf-8-mac": "utf-8", "locale": "utf-8", "filesystem": "utf-8", "external": "utf-8"}


@dataclass(frozen=True, slots=True)
class ReadWarning:
    """A part of a file that could not be read."""

    line: int
    message: str


@dataclass(frozen=True, slots=True)
class RubySource:
    """The text of a Ruby file."""

    text: bytes
    warnings: tuple[ReadWarning, ...] = ()


def read_source(path: str, limits: Limits | None = None) -> RubySource:
    """Read a Ruby file; raises RuncardError if it is not text or too large."""
    limit = limits.size if limits else MAX_SIZE
    data = read_file(path, limit, only_regular=True)
    if len(data) > limit:
        raise DocumentError(f"{printable(path)} is larger than {limit:,} bytes", hint="split the file")
    return source_of(data, path)


def source_of(data: bytes, path: str) -> RubySource:
    """The text in the bytes of a file; raises RuncardError if they are not text."""
    if b"\0" in data:
        end = _END.search(data)  # binary data may follow it
        data = data[: end.start()] if end else data
        if b"\0" in data:
            raise DocumentError(
                f"{printable(path)} is not text: it has NUL bytes",
                hint="pass a Ruby file, preferably in UTF-8",
            )
    return decode(data)


def encoding_of(data: bytes) -> str:
    """The encoding that the magic comment names; UTF-8 without one."""
    magic = _MAGIC.match(data.removeprefix(_BOM).replace(b"\r\n", b"\n"))
    name = magic[1].decode("ascii", "replace").lower() if magic else "utf-8"
    return re.sub("-(unix|dos|mac)$", "", name) if name not in _RUBY_NAMES else _RUBY_NAMES[name]


def decode(data: bytes) -> RubySource:
    """Decode bytes as Ruby does."""
    data = data.removeprefix(_BOM).replace(b"\r\n", b"\n")
    name = encoding_of(data)
    try:
        return RubySource(data.decode(name).encode())
    except LookupError:
        return _as_utf8(data, f"unknown encoding {name}")
    except UnicodeError as error:
        at = error.start if isinstance(error, UnicodeDecodeError) else 0
        return _as_utf8(data, f"bytes that are not valid {name}", data.count(b"\n", 0, at) + 1)


def _as_utf8(data: bytes, problem: str, line: int = 1) -> RubySource:
    """The text, with a replacement character for each byte that is not UTF-8."""
    return RubySource(
        data.decode("utf-8", "replace").encode(), (ReadWarning(line, f"{problem}: read as UTF-8"),)
    )
