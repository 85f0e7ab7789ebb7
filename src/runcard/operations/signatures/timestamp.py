"""Time-stamp closed records: `runcard timestamp`.

The reply of the authority is kept beside the metadata document. A record that fails verification is not stamped.
"""

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from runcard.digests import sha256_bytes
from runcard.encoding import JsonObject
from runcard.errors import StoreError
from runcard.files import failure, printable, read_regular
from runcard.operations.amendments.change_record import change_record, check_changeable
from runcard.operations.checks.verify import damage_of
from runcard.operations.signatures.time_authority import (
    AcceptedTimestamp,
    TimestampSource,
    accept,
    get_reply,
    write_request,
)
from runcard.store import layout
from runcard.store.amendments.change import amending
from runcard.store.find_record import open_record
from runcard.store.record import Record
from runcard.store.verification.record_timestamps import heads_of

if TYPE_CHECKING:
    from runcard.store.verification.record_timestamps import RecordHead


@dataclass(frozen=True, slots=True)
class TimestampResult:
    """A record that was time-stamped, or the request for that."""

    path: str
    id: str
    imprint: str  # the digest that is stamped
    signatures: int  # of the record that it covers
    request: str | None = None  # the file, if only a request was written
    accepted: AcceptedTimestamp | None = None

    def to_dict(self) -> JsonObject:
        stamp = {} if self.accepted is None else self.accepted.to_dict()
        return {
            "path": printable(self.path),
            "id": self.id,
            "sha256": self.imprint,
            "signatures": self.signatures,
            "request": self.request and printable(self.request),
            **stamp,
        }


def timestamp(record: str | os.PathLike[str], source: TimestampSource) -> TimestampResult:
    """Time-stamp a closed run or session, archived or not; raises StoreError for one that fails verification."""
    found = open_record(record)
    check_changeable(found)
    if not found.is_archived and (damage := damage_of(found.path)) is not None:
        raise StoreError(
            f"{printable(found.path)} was not time-stamped, because it fails verification: {damage}",
            hint="see all of it with `runcard verify`",
        )
    heads = list(_heads(found))
    if source.is_only_request:
        write_request(source.request or "", heads[0].imprint)
        return TimestampResult(
            found.path, found.id, heads[0].imprint.hex(), heads[0].signatures, source.request
        )
    reply = get_reply(source, heads[0].imprint)
    accepted = accept(reply, source)
    head = next((head for head in heads if head.imprint == accepted.checked.token.imprint), None)
    if head is None:
        raise StoreError(
            f"the time-stamp is not about {printable(found.path)}",
            hint="name the record that the request was written for",
        )
    change_record(found, lambda directory: _add(directory, reply))
    return TimestampResult(found.path, found.id, head.imprint.hex(), head.signatures, None, accepted)


def _heads(record: Record) -> "list[RecordHead]":
    """What can be stamped of a record, newest first."""
    metadata = record.metadata
    if metadata is None or not record.has_file(layout.CHECKSUMS):
        raise StoreError(f"{printable(record.path)} is not closed", hint="close it first")
    sealed = record.amendments().sealed(layout.METADATA, sha256_bytes(metadata).hex)
    return list(heads_of(sealed, record.read(layout.SIGNATURE)))


def _add(directory: str, reply: bytes) -> None:
    """Add a reply to those of the record, unless it is there."""
    path = os.path.join(directory, layout.TIMESTAMPS)
    with amending(directory) as amender:
        try:
            known = (read_regular(path) or b"") if os.path.lexists(path) else b""
            if reply not in known:
                amender.files.create(layout.TIMESTAMPS, known + reply, amender.mode)
                amender.files.clear()
        except OSError as error:
            raise failure(error, path, "write") from error
