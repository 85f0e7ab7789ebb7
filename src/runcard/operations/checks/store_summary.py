"""What a report says about a store besides its records: its ledger, who signed that, and its anchors."""

from collections import Counter
from contextlib import suppress

from runcard.encoding import JsonObject
from runcard.errors import RuncardError
from runcard.files import printable
from runcard.operations.checks.signature_state import SignatureState
from runcard.store import layout
from runcard.store.ledger import AMENDED, DELETED, MIGRATED, REDACTED


def store_summary(store: str, events: Counter[str], signature: SignatureState) -> JsonObject:
    """The store as data: how many entries of each kind its ledgers have, and the state of their signature."""
    anchors: list[str] = []
    with suppress(RuncardError, OSError):
        anchors = layout.anchor_names(store)
    reason = {} if signature.state is not None else {"reason": signature.reason}
    removed = sum(claim.is_removal for claim in signature.claims)
    return {
        "path": printable(store),
        "ledger": {
            "signature": {"state": signature.state, "by": list(signature.by), **reason},
            "entries": events.total(),
            "amendments": sum(events[event] for event in (AMENDED, REDACTED, MIGRATED)),
            "deletions": events[DELETED],
            "unsigned_deletions": removed,
            "unsigned_changes": len(signature.claims) - removed,
        },
        "anchors": [printable(name) for name in anchors],
    }
