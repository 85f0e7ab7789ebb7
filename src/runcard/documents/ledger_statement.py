"""What a signature of a store covers: an in-toto Statement about the ledgers of a store, at one moment.

Its subjects are the entries of each ledger so far, as `head -n COUNT LEDGER | sha256sum` hashes them. Entries that are added
later are allowed. The ledger names every record that was closed with its digest, so a store that was written afresh, or that a
record was removed from together with its entry, does not agree with what was signed.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from runcard.documents.signed_statement import (
    SignedStatement,
    StatementFault,
    in_toto_statement,
)
from runcard.encoding import COMPACT, encode_json
from runcard.version import __version__

if TYPE_CHECKING:
    from runcard.encoding import JsonObject

LEDGER_PREDICATE: Final = "urn:runcard:predicate:ledger:1"


class SignedLedger(NamedTuple):
    """Where a ledger ended."""

    file: str
    entries: int  # how many
    head: str  # the hash of the last of them
    sha256: str  # of the bytes of these lines


def make_ledger_statement(ends: Sequence[SignedLedger], public_key: str, signed_at: str) -> bytes:
    """The statement as bytes, to be signed."""
    predicate: JsonObject = {
        "ledgers": [{"file": end.file, "count": end.entries, "head": end.head} for end in ends],
        "signer": {"public_key": public_key},
        "signed_at": signed_at,
        "producer": {"name": "runcard", "version": __version__},
    }
    subjects = {end.file: end.sha256 for end in ends}
    return encode_json(in_toto_statement(subjects, LEDGER_PREDICATE, predicate), COMPACT)


def signed_ends(statement: SignedStatement) -> list[SignedLedger] | None:
    """The ends of the ledgers that a statement names; None if it is not well formed."""
    ledgers = statement.predicate.get("ledgers")
    if not isinstance(ledgers, list) or not ledgers:
        return None
    ends = []
    for each in ledgers:
        fields: JsonObject = each if isinstance(each, dict) else {}
        file, count, head = fields.get("file"), fields.get("count"), fields.get("head")
        digest = statement.subjects.get(file) if isinstance(file, str) else None
        if (
            not (isinstance(file, str) and isinstance(head, str) and digest)
            or type(count) is not int
            or count < 1
        ):
            return None
        ends.append(SignedLedger(file, count, head, digest))
    return ends


def compare_ledgers(
    ends: Sequence[SignedLedger], found: Mapping[str, SignedLedger | None]
) -> Iterator[StatementFault]:
    """Where the ledgers are not as they were signed; `found` has them up to the entry that was signed, None if they are shorter."""
    for end in ends:
        now = found.get(end.file)
        if end.file not in found:
            yield StatementFault(end.file, "the ledger that was signed is missing", is_tail=True)
        elif now is None:
            message = f"the ledger had {end.entries:,} entries when it was signed, and has fewer now"
            yield StatementFault(end.file, message, is_tail=True)
        elif (now.head, now.sha256) != (end.head, end.sha256):
            message = f"the first {end.entries:,} entries of the ledger are not those that were signed"
            yield StatementFault(end.file, message, end.sha256, now.sha256)
