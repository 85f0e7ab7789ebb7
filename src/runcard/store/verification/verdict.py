"""What a check of a record says: findings, and the two verdicts that follow from them."""

from dataclasses import dataclass

from runcard.encoding import JsonObject
from runcard.errors import ExitCode, RuncardError
from runcard.files import json_name, printable

INTACT, COMPLETE = "intact", "complete"

# What a finding of each kind breaks, and what it makes of the exit code. Those about a ledger say it themselves.
EFFECTS: dict[str, tuple[str | None, ExitCode]] = {
    **dict.fromkeys(
        ("changed", "unexpected", "link", "chain", "document", "signature"), (INTACT, ExitCode.FAILED)
    ),
    **dict.fromkeys(("missing", "tail"), (COMPLETE, ExitCode.FAILED)),
    "open": (COMPLETE, ExitCode.WARNINGS),
    **dict.fromkeys(("amended", "withheld", "limits"), (None, ExitCode.OK)),
}


@dataclass(frozen=True, slots=True)
class Discrepancy:
    """One thing that is not as it was, or cannot be told."""

    kind: str
    record: str
    path: str
    message: str
    expected: str | None = None
    found: str | None = None
    breaks: str | None = None
    exit_code: ExitCode = ExitCode.OK

    def to_dict(self) -> JsonObject:
        said = ("kind", "record", "path", "expected", "found", "message")
        return {key: getattr(self, key) for key in said}


def said(kind: str, record: str, path: str, message: str, **facts: str | None) -> Discrepancy:
    """A finding with the effect that its kind has."""
    breaks, code = EFFECTS[kind]
    return Discrepancy(kind, record, json_name(path).text, message, breaks=breaks, exit_code=code, **facts)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is known of one record, or of a whole store."""

    findings: tuple[Discrepancy, ...]
    records: int = 1

    @property
    def intact(self) -> bool:
        return not any(found.breaks == INTACT for found in self.findings)

    @property
    def complete(self) -> bool:
        return not any(found.breaks == COMPLETE for found in self.findings)

    @property
    def exit_code(self) -> ExitCode:
        codes = {found.exit_code for found in self.findings}
        return next((code for code in (ExitCode.FAILED, ExitCode.WARNINGS) if code in codes), ExitCode.OK)


def unreadable(record: str, error: RuncardError) -> Verdict:
    """The verdict on a record that cannot be looked at."""
    return Verdict((said("missing", printable(record), "", error.message),))
