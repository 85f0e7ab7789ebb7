"""Anchor a store: one time-stamp for all of its records, and a proof for each: `runcard anchor`.

The leaves of the tree are the ends of the ledgers, the last anchor, and the heads of all closed records, archived ones
included. Records are read one by one; their files are not hashed again, because the metadata document names their digests.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime

from runcard.digests import sha256_bytes
from runcard.documents.anchor import EARLIER, LEDGER, Leaf
from runcard.encoding import JsonObject
from runcard.errors import RuncardError, StoreError
from runcard.files import json_name, printable
from runcard.operations.signatures.time_authority import (
    AcceptedTimestamp,
    TimestampSource,
    accept,
    get_reply,
    write_request,
)
from runcard.store import layout
from runcard.store.anchors import StoredAnchor, anchors_of, draft_anchor
from runcard.store.ledger_index import LedgerIndex
from runcard.store.locks import lock_folder
from runcard.store.record import DirectoryRecord, Record
from runcard.store.signatures import signature_heads


@dataclass(frozen=True, slots=True)
class AnchorResult:
    """An anchor that was made or stamped."""

    store: str
    name: str
    path: str  # of its document
    size: int  # leaves
    root: str
    imprint: str  # the digest that is stamped
    request: str | None = None  # the file, if only a request was written
    accepted: AcceptedTimestamp | None = None
    warnings: tuple[str, ...] = field(default=())  # records that are not in it

    def to_dict(self) -> JsonObject:
        stamp = {} if self.accepted is None else self.accepted.to_dict()
        return {
            "store": printable(self.store),
            "name": self.name,
            "path": printable(self.path),
            "size": self.size,
            "root": self.root,
            "sha256": self.imprint,
            "request": self.request and printable(self.request),
            "warnings": list(self.warnings),
            **stamp,
        }


def anchor(store: str | os.PathLike[str], source: TimestampSource) -> AnchorResult:
    """Anchor all closed records of a store, or add the reply to an anchor that was made with `--request`."""
    path = os.fspath(store)
    if not os.path.isdir(path):
        raise StoreError(
            f"{printable(path)} is not a folder", hint="name the folder of a store, such as outputs"
        )
    if source.response is not None:
        return _add_reply(path, source)
    leaves = _Leaves(path)
    if not leaves.has_records():
        raise StoreError(f"{printable(path)} holds no closed records", hint="name the folder of a store")
    with lock_folder(path):
        draft = draft_anchor(path, leaves, datetime.now(UTC).replace(microsecond=0))
    accepted = reply = None
    try:
        if source.is_only_request:
            write_request(source.request or "", draft.imprint)
        else:
            reply = get_reply(source, draft.imprint)
            accepted = accept(reply, source)
        stored = draft.publish(reply)
    finally:
        draft.discard()
    return _result(path, stored, request=source.request, accepted=accepted, warnings=leaves.warnings)


def _result(
    store: str,
    stored: StoredAnchor,
    *,
    request: str | None = None,
    accepted: AcceptedTimestamp | None = None,
    warnings: list[str] | None = None,
) -> AnchorResult:
    document = stored.anchor
    return AnchorResult(
        store,
        stored.name,
        stored.path,
        document.size,
        document.root.hex(),
        document.imprint.hex(),
        request,
        accepted,
        tuple(warnings or ()),
    )


def _add_reply(store: str, source: TimestampSource) -> AnchorResult:
    reply = get_reply(source, b"")
    accepted = accept(reply, source)
    for stored in anchors_of(store):
        if isinstance(stored, StoredAnchor) and stored.anchor.imprint == accepted.checked.token.imprint:
            with lock_folder(store):
                stored.add_reply(reply)
            return _result(store, stored, accepted=accepted)
    raise StoreError(
        f"the time-stamp is not about an anchor of {printable(store)}",
        hint="name the store that the request was written for",
    )


class _Leaves:
    """The leaves of a new anchor, read one by one; `warnings` name the records that could not be read."""

    def __init__(self, store: str) -> None:
        self._store = store
        self.warnings: list[str] = []

    def has_records(self) -> bool:
        return bool(layout.records(self._store) or layout.archives_in(layout.archive_folder(self._store)))

    def __iter__(self) -> Iterator[Leaf]:
        with LedgerIndex(self._store) as index:
            for ledger in index.ledgers:
                if ledger.end is not None:
                    yield Leaf(LEDGER, "", ledger.name, ledger.end.head, ledger.end.count)
        earlier = [stored for stored in anchors_of(self._store) if isinstance(stored, StoredAnchor)]
        if earlier:
            yield Leaf(EARLIER, "", earlier[-1].name, earlier[-1].anchor.imprint.hex())
        for record in self._records():
            try:
                leaf = record_leaf(record)
            except (RuncardError, OSError) as error:
                self.warnings.append(f"{printable(record.path)} is not in the anchor: {error}")
                continue
            if leaf is not None:
                yield leaf

    def _records(self) -> Iterator[Record]:
        for path in layout.records(self._store):
            yield DirectoryRecord(path)
        folder = layout.archive_folder(self._store)
        paths = layout.archives_in(folder)
        if not paths:
            return
        from runcard.store.archives.record import ArchivedRecord  # noqa: PLC0415 - most stores have none

        for name in paths:
            is_restored = os.path.lexists(os.path.join(self._store, layout.archived_name(name)))
            if not is_restored:
                try:
                    record = ArchivedRecord.at(os.path.join(folder, name))
                except RuncardError as error:
                    self.warnings.append(f"{printable(name)} is not in the anchor: {error.message}")
                    continue
                if record is not None:
                    yield record.in_store(self._store)


def record_leaf(record: Record) -> Leaf | None:
    """The head of a closed record; None for one that is not closed."""
    metadata = record.metadata
    if metadata is None or not record.has_file(layout.CHECKSUMS):
        return None
    digest = sha256_bytes(metadata).hex
    sealed = (
        record.amendments().sealed(layout.METADATA, digest) if record.has_file(layout.AMENDMENTS) else digest
    )
    leaf = Leaf(record.kind, record.id, json_name(record.name).text, sealed)
    if not record.has_file(layout.SIGNATURE):
        return leaf
    heads = signature_heads(record.read(layout.SIGNATURE) or b"")
    return leaf._replace(entries=len(heads), signatures_sha256=heads[-1] if heads else None)
