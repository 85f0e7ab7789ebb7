"""A quick look at a record that is shown: whether its document is the one that was closed.

Two digests are compared, whatever the size of the record: that of the metadata document with the ledgers of the store, and
that of `SHA256SUMS` with the document. No other file is read: `runcard verify` does that.
"""

from hashlib import sha256

from runcard.encoding import JsonObject
from runcard.errors import RuncardError
from runcard.files import read_file
from runcard.store import layout
from runcard.store.amendments.read import Amendments, FileChange
from runcard.store.record import Record

_LARGEST_LEDGER = 1 << 26  # bytes that are searched


def shown_damage(record: Record, document: JsonObject, amendments: Amendments) -> str | None:
    """What is wrong with a closed record, as far as two digests show it; None if nothing is."""
    if record.is_archived:
        return None
    amended = {entry.path for entry in amendments.entries if isinstance(entry, FileChange)}
    try:
        if layout.METADATA not in amended and _is_other_document(record):
            return "metadata.json was changed since closing: the ledger of the store has another digest"
        if layout.CHECKSUMS not in amended and _is_other_list(record, document):
            return "SHA256SUMS was changed or removed since closing: the document has another digest"
    except (RuncardError, OSError):  # what cannot be read, `verify` reports
        return None
    return None


def _is_other_document(record: Record) -> bool:
    """Whether ledgers have an entry about the record, and none with the digest of its document."""
    data = record.read(layout.METADATA) or b""
    digest, word = sha256(data).hexdigest().encode(), f'"{record.id}"'.encode(errors="replace")
    is_known = False
    for path in layout.ledger_paths(layout.store_of(record.path)):
        ledger = read_file(path, _LARGEST_LEDGER)
        if digest in ledger:
            return False
        is_known = is_known or word in ledger
    return is_known


def _is_other_list(record: Record, document: JsonObject) -> bool:
    checksums = document.get("checksums") or {}
    stated = checksums.get("output") or checksums.get("session")
    if not isinstance(stated, str):
        return False
    return f"sha256:{sha256(record.read(layout.CHECKSUMS) or b'').hexdigest()}" != stated
