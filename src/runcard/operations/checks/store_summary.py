"""What a report says about a store besides its records: its ledger, who signed that, and its anchors."""

from collections import Counter
from contextlib import suppress

from runcard.encoding import JsonObject
from runcard.errors import RuncardError
from runcard.files import printable
from runcard.operations.signatures.signature_state import SignatureState
from runcard.store import layout
from runcard.store.ledger import AMENDED, DELETED, MIGRATED, REDACTED, entries_in


def store_summary(store: str, signature: SignatureState) -> JsonObject:
    """The store as data; `signature` is the state of its ledger. Counts are null if the ledger cannot be read."""
    counts: Counter[str] | None = None
    anchors: list[str] = []
    with suppress(RuncardError, OSError):
        counts = Counter(entry.event for entry in entries_in(store))
    with suppress(RuncardError, OSError):
        anchors = layout.anchor_names(store)
    removed = sum(claim.is_removal for claim in signature.claims)
    return {
        "path": printable(store),
        "ledger": {
            "signature": {"state": signature.state, "by": list(signature.by)},
            "entries": None if counts is None else counts.total(),
            "amendments": None
            if counts is None
            else sum(counts[event] for event in (AMENDED, REDACTED, MIGRATED)),
            "deletions": None if counts is None else counts[DELETED],
            "unsigned_deletions": removed,
            "unsigned_changes": len(signature.claims) - removed,
        },
        "anchors": [printable(name) for name in anchors],
    }
