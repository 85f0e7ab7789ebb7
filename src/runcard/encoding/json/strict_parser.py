"""A strict JSON parser that reports where a text is wrong. It does not recurse, so no depth is too much for it."""

import json
import math
import re
import sys
from typing import Any, NoReturn

from runcard.encoding.json.positions import position
from runcard.encoding.json.types import JsonObject
from runcard.encoding.limits import Limits
from runcard.errors import EncodingError

# A surrogate pair, then (in the group) a lone surrogate, then any other escape.
_ESCAPES = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(\\u[dD][89a-fA-F][0-9a-fA-F]{2})|\\."
)
_SPACE = re.compile(r"[ \t\n\r]*+")
_STRING_START = r'"(?:[^"\\\x00-\x1f]++|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*+'
_STRING = re.compile(_STRING_START + '"')
_UNFINISHED_STRING = re.compile(_STRING_START)
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*+)(\.[0-9]++)?([eE][+-]?[0-9]++)?")
_WORD = re.compile(r"[-+.\w]++")
_LITERALS = {"true": True, "false": False, "null": None}


class StrictParser:
    """Parses one text, with a list of the open containers instead of recursion."""

    def __init__(self, text: str, limits: Limits) -> None:
        self.text = text
        self.limits = limits
        self.at = 0
        self.open: list[tuple[JsonObject | list[Any], int]] = []  # with the offset where each began
        self.keys: list[str] = []  # for each open object, the key whose value comes next

    def read(self) -> Any:  # noqa: ANN401
        self._skip_space()
        while True:
            value = self._value()
            if isinstance(value, dict | list) and self._entered(value):
                continue
            while self.open:
                value = self._put(value)
                if value is _MORE:
                    break
            else:
                if self.at < len(self.text):
                    self._fail(f"{self._shown()} after the end of the document")
                return value

    def _value(self) -> Any:  # noqa: ANN401
        character = self.text[self.at : self.at + 1]
        if character == '"':
            return self._string()
        if character == "{":
            return self._enter({})
        if character == "[":
            return self._enter([])
        if number := _NUMBER.match(self.text, self.at):
            return self._number(number)
        word = _WORD.match(self.text, self.at)
        if word and word[0] in _LITERALS:
            self._advance(word.end())
            return _LITERALS[word[0]]
        if word and word[0].lstrip("+-").lower() in {"nan", "infinity", "inf"}:
            self._fail(
                f"{word[0]} is not a JSON number",
                rule="json.not-finite",
                hint="leave the field out, or write null",
            )
        self._fail(f"expected a value, found {self._shown()}")

    def _enter(self, container: JsonObject | list[Any]) -> JsonObject | list[Any]:
        if len(self.open) >= self.limits.depth:
            self._fail(f"nested deeper than {self.limits.depth:,} levels", rule="json.too-deep")
        self.open.append((container, self.at))
        self._advance(self.at + 1)
        return container

    def _entered(self, container: JsonObject | list[Any]) -> bool:
        """Go to the first value inside; false if the container is empty and closed."""
        closing = "}" if isinstance(container, dict) else "]"
        if self.text.startswith(closing, self.at):
            self._advance(self.at + 1)
            self.open.pop()
            return False
        if isinstance(container, dict):
            self._key(container)
        return True

    def _key(self, container: JsonObject) -> None:
        start = self.at
        if self.text[start : start + 1] != '"':
            self._fail(f"expected a key in double quotes, found {self._shown()}")
        key = self._string()
        if key in container:
            self._fail(
                f"the key {_short(key)} occurs twice in one object",
                at=start,
                rule="json.duplicate-key",
                hint="keep one of the two",
            )
        if self.text[self.at : self.at + 1] != ":":
            self._fail(f"expected ':' after a key, found {self._shown()}")
        self._advance(self.at + 1)
        self.keys.append(key)

    def _put(self, value: object) -> object:
        """Add a complete value to its container; returns the container if that is complete as well."""
        container, _ = self.open[-1]
        if isinstance(container, dict):
            container[self.keys.pop()] = value
        else:
            container.append(value)
        closing = "}" if isinstance(container, dict) else "]"
        character = self.text[self.at : self.at + 1]
        if character == ",":
            self._advance(self.at + 1)
            if isinstance(container, dict):
                self._key(container)
            return _MORE
        if character == closing:
            self._advance(self.at + 1)
            self.open.pop()
            return container
        self._fail(f"expected ',' or '{closing}', found {self._shown()}")

    def _string(self) -> str:
        match = _STRING.match(self.text, self.at)
        if match is None:
            self._bad_string()
        value: str = json.loads(match[0])
        try:
            value.encode()
        except UnicodeEncodeError:
            halves = (found for found in _ESCAPES.finditer(self.text, self.at) if found[1])
            self._fail(
                "a lone surrogate: half of a pair is not a character",
                at=next(halves).start(),
                rule="json.lone-surrogate",
                hint="write the character itself, or both halves of its escape",
            )
        self._advance(match.end())
        return value

    def _bad_string(self) -> NoReturn:
        # After the valid part of the string: a control character, an unknown escape, or the end of the text.
        valid = _UNFINISHED_STRING.match(self.text, self.at)
        at = valid.end() if valid else self.at
        character = self.text[at : at + 1]
        if not character:
            self._fail("the document ends inside a string")
        if character == "\\":
            self._fail(f"unknown escape {_short(self.text[at : at + 2])} in a string", at=at)
        self._fail(f"control character {_short(character)} in a string", at=at, hint="write it as an escape")

    def _number(self, match: re.Match[str]) -> int | float:
        word = _WORD.match(self.text, self.at)
        if word and word.end() > match.end():
            self._fail(f"{_short(word[0])} is not a JSON number")
        if match[1] or match[2]:
            value: int | float = float(match[0])
            if math.isinf(value):
                self._fail(f"{_short(match[0])} is too large for a number", rule="json.not-finite")
        else:
            value = self._integer(match[0])
        self._advance(match.end())
        return value

    def _integer(self, digits: str) -> int:
        count = len(digits.removeprefix("-"))
        limit = min(self.limits.digits, sys.get_int_max_str_digits() or count)
        if count <= limit:
            return int(digits)
        self._fail(
            f"an integer of {count:,} digits; the limit is {limit:,}",
            rule="json.too-many-digits",
            hint="write it as a string",
        )

    def _advance(self, at: int) -> None:
        self.at = at
        self._skip_space()

    def _skip_space(self) -> None:
        if match := _SPACE.match(self.text, self.at):
            self.at = match.end()

    def _shown(self) -> str:
        if self.at < len(self.text):
            return _short(self.text[self.at])
        if self.open:
            began = position(self.text, self.open[-1][1])
            return f"the end of the document (open since line {began.line}, column {began.column})"
        return "the end of the document" if self.text else "an empty document"

    def _fail(
        self, message: str, *, at: int | None = None, rule: str = "json.syntax", hint: str | None = None
    ) -> NoReturn:
        where = position(self.text, self.at if at is None else at)
        raise EncodingError(rule, message, line=where.line, column=where.column, hint=hint)


_MORE = object()


def _short(text: str) -> str:
    return ascii(text if len(text) <= 40 else text[:37] + "...")
