"""What Ruby takes for the name of a class and of a method."""

import re

_LETTER = r"[A-Za-z_]|[^\x00-\x7f]"  # Ruby takes every character beyond ASCII
_WORD = rf"(?:{_LETTER})(?:{_LETTER}|[0-9])*"
_CLASS = re.compile(rf"(?:::)?{_WORD}(?:::{_WORD})*")
_METHOD = re.compile(rf"{_WORD}[?!=]?")
_OPERATORS = frozenset(
    [
        "!",
        "!=",
        "!~",
        "%",
        "&",
        "*",
        "**",
        "+",
        "+@",
        "-",
        "-@",
        "/",
        "<",
        "<<",
        "<=",
        "<=>",
        "==",
        "===",
        "=~",
        ">",
        ">=",
        ">>",
        "[]",
        "[]=",
        "^",
        "`",
        "|",
        "~",
        "!@",
        "~@",
    ]
)


def is_class_name(text: str) -> bool:
    """Whether this is a constant, perhaps with the modules it lies in: `Foo`, `::Foo::Bar`."""
    return _CLASS.fullmatch(text) is not None and all(
        part[0].isupper() or part[0].istitle() for part in text.removeprefix("::").split("::")
    )


def is_method_name(text: str) -> bool:
    """Whether a method can have this name: a word, perhaps with `?`, `!` or `=`, or an operator."""
    return text in _OPERATORS or _METHOD.fullmatch(text) is not None
