"""Which names of models an entry of a price table means: exact ids, and clauses as its source wrote them.

Letters count the same in both cases. Nothing is guessed: a name that no clause accepts is not known.
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
JOINED: dict[str, Callable[..., bool]] = {"or": any, "and": all}

_DATE = re.compile(r"-(20\d\d)(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])(?=-|:|$)")


@dataclass(frozen=True, slots=True)
class Clause:
    """A test of a name, or several joined."""

    kind: str
    text: str = ""
    parts: tuple["Clause", ...] = ()

    def accepts(self, name: str) -> bool:
        """Whether this names the model; the name is given in lower case."""
        if self.kind in JOINED:
            return JOINED[self.kind](part.accepts(name) for part in self.parts)
        return TESTS[self.kind](name, self.text)


def spellings(model: str) -> tuple[str, ...]:
    """The name as it is, then with a date as `-2025-12-11` where it has `-20251211`: some gateways write that."""
    name = model.lower()
    dashed = _DATE.sub(r"-\1-\2-\3", name)
    return (name,) if dashed == name else (name, dashed)
