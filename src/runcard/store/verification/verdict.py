"""The verdict on a record: findings, and whether it is intact and complete."""

from typing import NamedTuple

from runcard.documents.findings import (
    COMPLETE,
    ERROR,
    INTACT,
    NOTE,
    WARNING,
    Finding,
    Severity,
    record_finding,
)
from runcard.errors import RuncardError
from runcard.files import printable


class Verdict(NamedTuple):
    """The findings about one record, or about a whole store."""

    findings: tuple[Finding, ...]
    records: int = 1

    @property
    def intact(self) -> bool:
        return not any(finding.breaks == INTACT for finding in self.findings)

    @property
    def complete(self) -> bool:
        return not any(finding.breaks == COMPLETE for finding in self.findings)

    @property
    def severity(self) -> Severity:
        """That of the worst finding; a note when there is none."""
        severities = {finding.severity for finding in self.findings}
        return next((severity for severity in (ERROR, WARNING) if severity in severities), NOTE)

    @property
    def exit_code(self) -> int:
        """As `runcard verify` exits for this alone: 1 for an error, 2 for a warning."""
        return {ERROR: 1, WARNING: 2, NOTE: 0}[self.severity]


def unreadable(record: str, error: RuncardError) -> Verdict:
    """The verdict on a record that cannot be read."""
    return Verdict((record_finding("missing", printable(record), "", error.message),))
