"""Whether an input of a run is still the file that was read."""

from typing import Literal, NamedTuple

from runcard.encoding import JsonObject

EQUAL: Literal["equal"] = "equal"
CHANGED: Literal["changed"] = "changed"
GONE: Literal["gone"] = "gone"
UNCHECKED: Literal["unchecked"] = "unchecked"


class InputState(NamedTuple):
    """One input: whether it is the file that was read."""

    path: str
    state: Literal["equal", "changed", "gone", "unchecked"]
    expected: str | None = None  # the digest that was recorded
    found: str | None = None  # that of today
    reason: str | None = None  # why it is unchecked

    def to_dict(self) -> JsonObject:
        reason = {} if self.reason is None else {"reason": self.reason}
        return {
            "path": self.path,
            "state": self.state,
            "expected": self.expected,
            "found": self.found,
            **reason,
        }

    def describe(self) -> str:
        """A sentence about an input that is not known to be equal."""
        if self.state == CHANGED:
            return f"the input {self.path} is not the file that was read: its content was changed"
        if self.state == GONE:
            return f"the input {self.path} is gone"
        return f"the input {self.path} cannot be checked: {self.reason}"
