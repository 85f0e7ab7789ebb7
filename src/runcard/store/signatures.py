"""The state of a record that signatures cover, and the file that holds them: an envelope on each line."""

import os
from collections.abc import Iterable, Mapping
from hashlib import sha256
from typing import Any, Final, NamedTuple

from runcard.checksums import Listing
from runcard.documents.signed_statement import MOST_OUTPUTS, SignedState
from runcard.encoding import JsonObject
from runcard.errors import StoreError
from runcard.files import failure, json_name, printable, read_regular
from runcard.signing.envelope import is_envelope
from runcard.store import layout
from runcard.store.ledger import LedgerKey
from runcard.store.ledger_search import search_ledgers

LARGEST_FILE: Final = 1 << 26  # bytes
MOST_LINES: Final = 1_000  # signatures of one record


class SignedRecord(NamedTuple):
    """The record that a signature is about."""

    kind: str  # run or session
    id: str
    name: str  # of its directory


def signed_state(
    record: SignedRecord,
    sealed_document: JsonObject,
    sealed: str,
    listing: Listing | None,
    amendment_lines: Iterable[Mapping[str, Any]],
    listing_digest: str | None = None,
) -> SignedState:
    """The state of a closed record. Of very many files only the list of checksums is named, which covers them.

    `listing_digest` is that of the list as it is: a session of 1.0.0 states none.
    """
    checksums = sealed_document.get("checksums") or {}
    fixed = checksums.get("session" if record.kind == "session" else "output")
    stated = fixed or listing_digest
    are_few = listing is not None and len(listing) <= MOST_OUTPUTS
    outputs = {json_name(path).text: listing[path].hex for path in listing} if listing and are_few else {}
    return SignedState(
        record.kind,
        record.id,
        record.name,
        sealed,
        layout.CHECKSUMS,
        stated.removeprefix("sha256:") if isinstance(stated, str) else None,
        outputs,
        len(listing) if listing is not None else 0,
        sealed_document.get("event_chains"),
        tuple(str(line.get("hash")) for line in amendment_lines),
        fixes_listing=fixed is not None or listing is None,
    )


def read_ledger_signatures(store: str) -> bytes | None:
    """The signatures of the ledgers of a store; None if it has none."""
    return read_signatures(layout.ledger_signatures(store))


def read_signatures(path: str) -> bytes | None:
    """A file of signatures; None without one. Raises StoreError for a link, a FIFO, or one that is too large."""
    try:
        size = os.lstat(path).st_size
        data = read_regular(path) if size <= LARGEST_FILE else b""
    except FileNotFoundError:
        return None
    except OSError as error:
        raise failure(error, path, "read") from error
    if data is None or size > LARGEST_FILE:
        reason = "is not a regular file" if data is None else f"is larger than {LARGEST_FILE >> 20} MiB"
        raise StoreError(f"{printable(path)} {reason}", hint="restore it from a backup, or remove it")
    return data


def with_signature(known: bytes, line: bytes) -> bytes:
    """A file of signatures with one more. Half a line at its end is replaced, a whole one without its line feed is kept."""
    if known.count(b"\n") >= MOST_LINES:
        raise StoreError(f"it has {MOST_LINES:,} signatures already", hint="no more can be added")
    lines = known[: known.rfind(b"\n") + 1]
    last = known[len(lines) :]
    return lines + (last + b"\n" if last and is_envelope(last) else b"") + line


def ledger_entry(store: str, key: LedgerKey) -> JsonObject | None:
    """The last entry about a record in a ledger of its store; None without one."""
    last = None
    for ledger in search_ledgers(store, key.name):
        for entry in ledger.view(key, None).entries:
            last = {"file": os.path.basename(ledger.path), "hash": entry.hash}
    return last


def signature_heads(data: bytes) -> tuple[str, ...]:
    """The digests of a file of signatures after each of its whole lines: what was stamped when it had no more."""
    hasher, heads = sha256(), []
    for line in data.split(b"\n")[:-1]:
        hasher.update(line + b"\n")
        heads.append(hasher.hexdigest())
    return tuple(heads)
