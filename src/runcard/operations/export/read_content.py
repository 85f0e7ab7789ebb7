"""Read one closed record for export, from its directory or its archive. A record that fails verification is refused."""

import hashlib
import os
from collections.abc import Iterator
from typing import BinaryIO

from runcard.checksums import Listing
from runcard.checksums import read_file as read_listing
from runcard.digests import sha256_bytes
from runcard.documents.chain import JournalStream
from runcard.documents.kinds import INSTANCE
from runcard.documents.run.call_totals import distinct_calls, has_no_reply
from runcard.documents.run.fields import RunFields
from runcard.documents.run.fold import call_in
from runcard.encoding import JsonObject, decode_json
from runcard.errors import StoreError
from runcard.files import failure, json_name, printable, read_regular
from runcard.interop.record_content import RUN, SESSION, RecordContent, RecordFile, SealedRecord, moment
from runcard.operations.checks.show import ShownRun, show_record
from runcard.store import layout
from runcard.store.amendments.read import Amendments
from runcard.store.archives.bundles.result import first_problem
from runcard.store.record import Record
from runcard.store.signatures import SignedRecord, ledger_entry, signed_state
from runcard.store.verification import verify_record

_BLOCK = 1 << 18  # bytes


def read_content(record: Record) -> RecordContent:
    """Everything that the formats need; raises StoreError for a record that is open or fails verification."""
    record.problems()  # an archive is read here: its own document counts, not the copy beside it
    shown = show_record(record)
    _check(shown.record, shown.status, _is_open(shown))
    if isinstance(shown, ShownRun):
        user_files = {path for path, _ in shown.files}
        kind, instances = RUN, {}
    else:
        user_files = {path for path, _ in record.sizes() if layout.is_instance_content(path)}
        kind, instances = SESSION, {own: _instance(record, own) for own in record.instances()}
    listing = _listing(record)
    files = {file.path: file for file in _files(record, listing, shown.amendments, user_files)}
    metadata = files.pop(layout.METADATA)
    return RecordContent(
        kind,
        record.id,
        json_name(record.name).text,
        shown.document,
        metadata,
        tuple(files.values()),
        instances,
        _sealed(record, kind, shown.document, metadata.sha256, listing, shown.amendments),
        tuple(_calls(record, layout.JOURNAL if kind == RUN else layout.AUDIT)),
    )


def _is_open(shown: object) -> bool:
    if isinstance(shown, ShownRun):
        return shown.is_open or RunFields(shown.document).status == "running"
    return getattr(shown, "status", None) is not None  # of a session: it is not closed


def _check(record: Record, status: str | None, is_open: bool) -> None:  # noqa: FBT001
    path = printable(record.path)
    if is_open:
        hint = f"wait until it ends; if its process is gone: runcard close {path}"
        raise StoreError(f"{path} is not closed: it is {status}", hint=hint)
    if (problem := first_problem(verify_record(record))) is not None:
        raise StoreError(
            f"{path} was changed since it was closed: {problem}",
            hint=f"check it with: runcard verify {path}",
        )


def _instance(record: Record, own: str) -> JsonObject:
    return record.load(layout.instance_file(own, layout.METADATA), INSTANCE.name).to_dict()


def _sealed(
    record: Record, kind: str, document: JsonObject, current: str, listing: Listing, amendments: Amendments
) -> SealedRecord:
    """The record as it was closed; after a migration, its document of then is in the store."""
    digest = amendments.sealed(layout.METADATA, current)
    if digest != current and record.store is not None:
        original = read_regular(layout.original(record.store, digest))
        if original is not None and sha256_bytes(original).hex == digest:
            document = decode_json(original)
    lines = amendments.journal.entries if amendments.journal else ()
    state = signed_state(
        SignedRecord(kind, record.id, json_name(record.name).text),
        document,
        digest,
        listing if record.has_file(layout.CHECKSUMS) else None,
        (entry.line for entry in lines),
    )
    ledger = None if record.store is None else ledger_entry(record.store, record.ledger_key)
    return SealedRecord(state, ledger)


def _files(
    record: Record, listing: Listing, amendments: Amendments, user_files: set[str]
) -> Iterator[RecordFile]:
    """The files as they are now: with the digests of the listing and its amendments; the others are hashed."""
    for path, size in record.sizes():
        digest = None
        if path in listing:
            digest, _ = amendments.accepted(json_name(path).text, listing[path].hex)
        yield RecordFile(path, size, digest or _digest(record, path), path in user_files)


def _listing(record: Record) -> Listing:
    file = record.open_seekable(layout.CHECKSUMS)
    if file is None:
        return Listing({})
    with file:
        return read_listing(file)


def _digest(record: Record, path: str) -> str:
    file = record.open(path)
    if file is None:
        raise StoreError(
            f"{printable(path)} in {printable(record.path)} disappeared while it was read", hint="try again"
        )
    with file:
        return _hash(file, os.path.join(record.path, path))


def _hash(file: BinaryIO, name: str) -> str:
    hasher = hashlib.sha256()
    try:
        while block := file.read(_BLOCK):
            hasher.update(block)
    except OSError as error:
        raise failure(error, name, "read") from error
    return hasher.hexdigest()


def _calls(record: Record, journal: str) -> list[JsonObject]:
    """The calls in a journal, each once as the document counts it, and those that failed; by time."""
    data = record.read(journal) or b""
    calls = []
    for line in JournalStream(lambda: [data]).lines:
        if (call := call_in(line)) is not None:
            own = line.get("instance_id")
            calls.append(call | {"timestamp": line.get("timestamp"), "instance_id": own})
    failed = [call for call in calls if has_no_reply(call)]
    if any(call.get("observer") == "meter" for call in calls):
        failed = [call for call in failed if call.get("observer") == "meter"]  # it sees each attempt
    try:
        answered = distinct_calls(calls)
    except (TypeError, ValueError, LookupError, AttributeError, ArithmeticError):
        return []  # of a journal that runcard did not write
    return sorted([*answered, *failed], key=_time)


def _time(call: JsonObject) -> float:
    time = moment(call.get("timestamp"))
    return 0.0 if time is None else time.timestamp()
