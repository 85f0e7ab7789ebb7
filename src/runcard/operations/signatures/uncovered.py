"""What the signatures of a record do not cover: said to those who just amended it."""

from contextlib import suppress
from typing import NamedTuple

from runcard.documents.signed_statement import StatementError, read_statement
from runcard.encoding import Limits
from runcard.errors import RuncardError
from runcard.files import printable, shell_word
from runcard.settings import SIGNING_KEY, read_settings
from runcard.signing.envelope import Envelope, parse_lines
from runcard.store import layout
from runcard.store.amendments.read import MIGRATION, FileChange, Remark
from runcard.store.find_record import open_record


class Uncovered(NamedTuple):
    """The amendments of a record after its signatures."""

    record: str
    changes: int
    remarks: int
    has_key: bool  # whether the settings name a key to sign with

    @property
    def message(self) -> str:
        place = printable(self.record)
        if self.changes:
            what = "this change" if self.changes == 1 else f"{self.changes:,} changes"
            return f"{place} was signed before {what}: its signature does not cover the record as it is now"
        what = "this remark" if self.remarks == 1 else f"the last {self.remarks:,} remarks"
        return f"the signature of {place} does not cover {what}"

    @property
    def hint(self) -> str:
        key = "" if self.has_key else " --key FILE"
        return f"to sign it as it is now: runcard sign {shell_word(self.record)}{key}"


def uncovered_amendments(path: str) -> Uncovered | None:
    """The amendments that no signature of a record states; None without any, or without a signature.

    What the signatures state is not checked. Migrations that dropped nothing need none: they can be repeated.
    """
    with suppress(RuncardError, OSError):
        record = open_record(path)
        if not (record.has_file(layout.SIGNATURE) and record.has_file(layout.AMENDMENTS)):
            return None
        covered = max(_stated(record.read(layout.SIGNATURE) or b""), default=0)
        later = record.amendments().entries[covered:]
        remarks = sum(isinstance(entry, Remark) for entry in later)
        changes = sum(isinstance(entry, FileChange) and not _is_repeatable(entry) for entry in later)
        if changes or remarks:
            return Uncovered(path, changes, remarks, read_settings()[SIGNING_KEY] is not None)
    return None


def _stated(signatures: bytes) -> list[int]:
    """How many amendments each signature covers, as it says."""
    counts = []
    for envelope in parse_lines(signatures, Limits()):
        if isinstance(envelope, Envelope):
            with suppress(StatementError):
                counts.append(read_statement(envelope.payload, Limits()).amendments)
    return counts


def _is_repeatable(change: FileChange) -> bool:
    return change.kind == MIGRATION and not change.payload.get("dropped")
