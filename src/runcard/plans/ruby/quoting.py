"""Names and texts in Ruby code that is written: string literals, symbols, method calls. Whatever the text, it is valid Ruby."""

import re

_INTERPOLATES = re.compile(r"#(?=[{$@])")
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}


def quoted(text: str) -> str:
    """A Ruby string literal: in single quotes, unless it has invisible characters or `#{`, which linters reject there."""
    if text.isprintable() and "#{" not in text:
        return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
    return '"' + _INTERPOLATES.sub(r"\#", "".join(map(_escaped, text))) + '"'


def _escaped(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    if character.isprintable():
        return character
    code = ord(character)
    return "\ufffd" if 0xD800 <= code <= 0xDFFF else f"\\u{{{code:x}}}"  # a lone surrogate


_CALLABLE_NAME = re.compile(r"(?:[a-z_]|[^\W\d])\w*[?!]?", re.IGNORECASE)
_PLAIN_SYMBOL = re.compile(r"[a-z_]\w*", re.IGNORECASE | re.ASCII)
_RESERVED_CONSTANTS = {"BEGIN", "END"}  # keywords that look like a class


def call(method: str, arguments: list[str]) -> str:
    """A method call after the receiver; with `public_send` for names that cannot follow a dot."""
    if _CALLABLE_NAME.fullmatch(method):
        return f".{method}({', '.join(arguments)})" if arguments else f".{method}"
    return f".public_send({', '.join([quoted(method), *arguments])})"


def constant(name: str) -> str:
    """The name of a class; as a string if Ruby would not read it as a constant."""
    return quoted(name) if _RESERVED_CONSTANTS & set(name.split("::")) else name


def is_symbol(name: str) -> bool:
    """Whether `:name` is a symbol without quotes."""
    return _PLAIN_SYMBOL.fullmatch(name) is not None
