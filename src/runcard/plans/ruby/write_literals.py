"""Writing Ruby: texts as literals that mean that text and nothing else."""

import re

_INTERPOLATES = re.compile(r"#(?=[{$@])")
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}


def quoted(text: str) -> str:
    """A string literal: in single quotes, unless it holds what cannot be seen, or what linters take for a mistake there."""
    if text.isprintable() and "#{" not in text:
        return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
    return '"' + _INTERPOLATES.sub(r"\#", "".join(map(_escaped, text))) + '"'


def _escaped(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    if character.isprintable():
        return character
    code = ord(character)
    return "\ufffd" if 0xD800 <= code <= 0xDFFF else f"\\u{{{code:x}}}"  # half a character is none
