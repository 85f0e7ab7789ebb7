"""Which model names an entry of a price table matches: exact ids, and clauses from the source of the table.

Case is ignored. Nothing is guessed: a name that no clause matches is unknown.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

Test = Callable[[str, str], bool]

TESTS: dict[str, Test] = {
    "equals": lambda name, text: name == text,
    "starts_with": lambda name, text: name.startswith(text),
    "ends_with": lambda name, text: name.endswith(text),
    "contains": lambda name, text: text in name,
    "regex": lambda name, pattern: re.search(pattern, name) is not None,
}
COMBINATIONS: dict[str, Callable[..., bool]] = {"or": any, "and": all}

_DATE = re.compile(r"-(20\d\d)(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])(?=-|:|$)")


@dataclass(frozen=True, slots=True)
class Clause:
    """A test of a name, or several combined."""

    kind: str
    text: str = ""
    parts: tuple["Clause", ...] = ()

    def matches(self, name: str) -> bool:
        """Whether a name, in lower case, matches."""
        if self.kind in COMBINATIONS:
            return COMBINATIONS[self.kind](part.matches(name) for part in self.parts)
        return TESTS[self.kind](name, self.text)


def spellings(model: str) -> tuple[str, ...]:
    """The name itself, then with a date as `-2025-12-11` where it has `-20251211`: some gateways write it so."""
    name = model.lower()
    dashed = _DATE.sub(r"-\1-\2-\3", name)
    return (name,) if dashed == name else (name, dashed)
