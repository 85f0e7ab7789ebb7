"""Conditions as users write them, `cost > 0.5 and status = failed`, as SQL with parameters.

    condition   = term {"or" term}
    term        = factor {"and" factor}
    factor      = "not" factor | "(" condition ")" | comparison
    comparison  = column operator value
    operator    = "=" "==" "!=" "<" "<=" ">" ">=" "~" (contains)
    value       = a number, a word, a text in quotes, null

A number is compared with the number of a fact, a text with its text. Times are dates, times in ISO 8601, or ages such as 7d.
"""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from runcard.catalog.columns import Column, Columns
from runcard.catalog.cost_units import cost_units
from runcard.catalog.tables import COST_UNIT
from runcard.documents.times import parse_time
from runcard.errors import UsageError

_TOKEN = re.compile(
    r"""\s*(?:(?P<quoted>'(?:[^']|'')*'|"(?:[^"]|"")*")|(?P<operator><=|>=|!=|==|=|<|>|~)|(?P<paren>[()])"""
    r"""|(?P<word>[^\s()<>=!~'"]+))"""
)
_AGE = re.compile(r"(\d{1,6})([smhdw])")
_FIRST_YEAR, _LAST_YEAR = 1900, 9000  # in every time zone these are years that exist
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_SQL_OPERATORS = {"=": "=", "==": "=", "!=": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
_DEEPEST = 100  # parentheses and nots
_MOST_COMPARISONS = 200  # a database takes no more than so deep a tree of them


class Token(NamedTuple):
    """One token of a condition."""

    kind: str  # quoted, operator, paren or word
    text: str


class Condition(NamedTuple):
    """A condition as SQL, and its parameters."""

    sql: str
    parameters: tuple[object, ...]
    records: str = ""  # the SELECT of the records of the catalog that it holds for, each once; empty if it is not that simple
    parts: "tuple[Condition, ...]" = ()  # conditions that are joined by `and` to this one

    @property
    def each(self) -> "tuple[Condition, ...]":
        """The conditions of which all must hold."""
        return self.parts or (self,)


def parse_condition(text: str, columns: Columns, now: Callable[[], datetime] | None = None) -> Condition:
    """The SQL of a condition; raises UsageError that says where it is wrong."""
    parser = _ConditionParser(_tokens(text), columns, now or (lambda: datetime.now(UTC)))
    condition = parser.condition(0)
    parser.expect_end()
    return condition


def comparison(column: Column, operator: str, value: str, columns: Columns, now: datetime) -> Condition:
    """The SQL of `column operator value`."""
    if columns.is_fact(column):
        return _fact_comparison(column.name, operator, value, columns)
    if _is_null(operator, value):
        return Condition(f"{column.sql} IS {'NOT ' if operator == '!=' else ''}NULL", ())
    if operator == "~":
        return Condition(f"instr(lower({column.sql}), ?) > 0", (lower_ascii(value),))
    return Condition(f"{column.sql} {_SQL_OPERATORS[operator]} ?", (_literal(column, value, now),))


def lower_ascii(text: str) -> str:
    """A text with small letters, as `lower` in the database: only those of ASCII change."""
    return text if text.islower() else "".join(one.lower() if one.isascii() else one for one in text)


def _is_null(operator: str, value: str) -> bool:
    return value.lower() == "null" and operator in {"=", "==", "!="}


def _fact_comparison(name: str, operator: str, value: str, columns: Columns) -> Condition:
    """The records that have a fact with such a value."""
    number = _number(value)
    sign = _SQL_OPERATORS.get(operator)
    parameters: tuple[object, ...]
    if _is_null(operator, value):
        test, parameters = "", ()
    elif sign is None:
        test, parameters = "AND instr(lower(coalesce(number, text)), ?) > 0", (lower_ascii(value),)
    elif number is None:
        test, parameters = f"AND text {sign} ?", (value,)
    elif sign == "=":
        test, parameters = "AND (number = ? OR text = ?)", (number, value)
    elif sign == "!=":
        test, parameters = "AND coalesce(number != ?, text != ?)", (number, value)
    else:
        test, parameters = f"AND number {sign} ?", (number,)
    records = f"SELECT record FROM facts WHERE key = ? {test}"  # noqa: S608 - text of our own
    found = Condition(columns.record_in(records, (name, *parameters)), (name, *parameters), records)
    is_absent = _is_null(operator, value) and operator != "!="
    return Condition(f"NOT ({found.sql})", found.parameters) if is_absent else found


def _literal(column: Column, value: str, now: datetime) -> object:
    """A value in the unit of a column."""
    if column.type == "text":
        return value
    if column.type == "time":
        return time_value(value, now)
    if column.type == "flag":
        if value.lower() not in {"true", "false", "yes", "no", "1", "0"}:
            raise UsageError(f"{value!r} is neither true nor false", hint=f"write {column.name} = true")
        return int(value.lower() in {"true", "yes", "1"})
    number = _number(value.removeprefix("$"))
    if number is None:
        raise UsageError(f"{value!r} is not a number", hint=f"compare {column.name} with a number")
    if column.type != "cost":
        return number
    units = cost_units(number)
    return number * COST_UNIT if units is None else units  # negative, or more than any cost


def time_value(text: str, now: datetime) -> int:
    """A time in milliseconds: as `time_of`."""
    return round(time_of(text, now).timestamp() * 1000)


def time_of(text: str, now: datetime) -> datetime:
    """A time: an age (7d), a day or a month in the local time zone, or a time with its zone."""
    date = re.fullmatch(r"(\d{4})-(\d{2})(?:-(\d{2}))?", text)
    moment: datetime | None
    try:
        if (age := _AGE.fullmatch(text)) is not None:
            moment = now - timedelta(seconds=int(age[1]) * _UNITS[age[2]])
        elif date is not None:
            moment = _local_midnight(int(date[1]), int(date[2]), int(date[3] or 1))
        else:
            moment = parse_time(text)
    except (ValueError, OverflowError):
        moment = None
    if moment is None or not _FIRST_YEAR <= moment.year <= _LAST_YEAR:
        raise UsageError(
            f"{text!r} is not a time", hint="write an age such as 7d, a date, or 2026-11-15T10:00:00Z"
        )
    return moment


def _local_midnight(year: int, month: int, day: int) -> datetime:
    return datetime(year, month, day).astimezone()


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if abs(number) < 1e300 else None


def _tokens(text: str) -> list[Token]:
    tokens, at = [], 0
    text = text.rstrip()
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise _wrong(f"{text[at : at + 20]!r} is not understood")
        tokens.append(Token(str(match.lastgroup), match[match.lastgroup or 0]))
        at = match.end()
    return tokens


class _ConditionParser:
    def __init__(self, tokens: list[Token], columns: Columns, now: Callable[[], datetime]) -> None:
        self._tokens, self._columns, self._now = tokens, columns, now()
        self._at = 0
        self._comparisons = 0

    def condition(self, depth: int) -> Condition:
        return self._joined("or", self._term, depth)

    def _term(self, depth: int) -> Condition:
        return self._joined("and", self._factor, depth)

    def _joined(self, word: str, part: Callable[[int], Condition], depth: int) -> Condition:
        parts = [part(depth)]
        while self._is_word(word):
            self._at += 1
            parts.append(part(depth))
        if len(parts) == 1:
            return parts[0]
        sql = f" {word.upper()} ".join(one.sql for one in parts)
        each = tuple(one for part in parts for one in part.each) if word == "and" else ()
        return Condition(f"({sql})", tuple(value for one in parts for value in one.parameters), parts=each)

    def _factor(self, depth: int) -> Condition:
        if depth > _DEEPEST:
            raise _wrong("it is nested too deeply")
        if self._is_word("not"):
            self._at += 1
            inner = self._factor(depth + 1)
            return Condition(f"({inner.sql}) IS NOT TRUE", inner.parameters)
        if self._peek() == Token("paren", "("):
            self._at += 1
            inner = self.condition(depth + 1)
            if self._next() != Token("paren", ")"):
                raise _wrong("a ')' is missing")
            return inner
        return self._comparison()

    def _comparison(self) -> Condition:
        name, operator, value = self._next(), self._next(), self._next()
        if name is None or name.kind not in {"word", "quoted"}:
            raise _wrong("the name of a column is missing")
        if operator is None or operator.kind != "operator":
            raise _wrong(f"after {name.text!r} an operator is missing")
        if value is None or value.kind not in {"word", "quoted"}:
            raise _wrong(f"after {name.text} {operator.text} a value is missing")
        self._comparisons += 1
        if self._comparisons > _MOST_COMPARISONS:
            raise _wrong(f"there are more than {_MOST_COMPARISONS} comparisons")
        column = self._columns.find(_unquoted(name))
        return comparison(column, operator.text, _unquoted(value), self._columns, self._now)

    def expect_end(self) -> None:
        if (token := self._peek()) is not None:
            raise _wrong(f"{token.text!r} is not expected")

    def _is_word(self, word: str) -> bool:
        token = self._peek()
        return token is not None and token.kind == "word" and token.text.lower() == word

    def _peek(self) -> Token | None:
        return self._tokens[self._at] if self._at < len(self._tokens) else None

    def _next(self) -> Token | None:
        token = self._peek()
        self._at += 1
        return token


def _unquoted(token: Token) -> str:
    if token.kind != "quoted":
        return token.text
    quote = token.text[0]
    return token.text[1:-1].replace(quote * 2, quote)


def _wrong(message: str) -> UsageError:
    return UsageError(f"in the condition, {message}", hint="write it as: cost > 0.5 and status = failed")
