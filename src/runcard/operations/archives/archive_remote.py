"""Archiving to object storage: the record is packed here, uploaded, read back, and then its directory goes."""

import os
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

from runcard.digests import sha256_bytes
from runcard.encoding import Limits
from runcard.errors import StoreError
from runcard.files import printable
from runcard.files.unnamed_file import unnamed_file
from runcard.observe.clock import Clock
from runcard.settings import REMOTE_LOCK, read_settings
from runcard.store import layout
from runcard.store.archives.pack import pack
from runcard.store.archives.record import ArchivedRecord
from runcard.store.archives.scan import ArchiveContents, scan
from runcard.store.archives.source import open_descriptor
from runcard.store.ledger import ARCHIVED, Ledger, entry_payload
from runcard.store.ownership import own_archive_mac
from runcard.store.record import DirectoryRecord, Progress, id_of, kind_of, not_a_record, recorded_at
from runcard.store.remote.ledger import RemoteLedger
from runcard.store.remote.s3_writer import ObjectLock
from runcard.store.remote.upload import Uploader
from runcard.store.remote.urls import ObjectUrl
from runcard.store.verification import Verdict, verify_record

if TYPE_CHECKING:
    from runcard.documents.run.generation import Generation
    from runcard.documents.session.team import Team


class UploadedArchive(NamedTuple):
    """An archive in a bucket, of a record that is still in its directory."""

    url: str
    bytes: int
    uncompressed_bytes: int
    verdict: Verdict
    is_new: bool  # false if it was there before, from an archiving that was interrupted


def archive_url(folder: str, name: str, document: "Team | Generation") -> ObjectUrl:
    """Where the archive of a record goes in a folder of archives."""
    if not name.isprintable():
        raise StoreError(
            f"{printable(name)} cannot be the name of an object",
            hint="archive it to a folder on this machine",
        )
    return ObjectUrl.parse(folder).archive(id_of(document), name, recorded_at(document) or datetime.now(UTC))


def upload_archive(
    record: DirectoryRecord,
    folder: str,
    check: Callable[[Verdict], object],
    *,
    limits: Limits | None,
    progress: Progress | None,
) -> UploadedArchive:
    """Pack a record, verify what was packed, upload it, read it back, and enter it in both ledgers.

    `check` raises an error for a verdict that the caller does not accept.
    """
    document = record.closed_document(limits)
    url = archive_url(folder, record.name, document)
    uploader = uploader_to(ObjectUrl.parse(folder))
    descriptor = unnamed_file()
    try:
        contents = _packed(record, descriptor, progress)
        packed = ArchivedRecord(str(url), kind=kind_of(document), contents=contents).in_store(record.store)
        verdict = verify_record(packed, limits=limits)
        check(verdict)
        is_new = uploader.put(url, descriptor, contents, record.sizes(), progress)
    finally:
        os.close(descriptor)
    _enter(record, document, url, contents, uploader)
    return UploadedArchive(str(url), contents.file_bytes, contents.bytes, verdict, is_new)


def uploader_to(folder: ObjectUrl) -> Uploader:
    """What writes objects to a folder, with the lock that the settings ask for."""
    lock = read_settings()[REMOTE_LOCK]
    return Uploader(folder, ObjectLock(*lock) if lock else None)


def _packed(record: DirectoryRecord, descriptor: int, progress: Progress | None) -> ArchiveContents:
    packed = pack(record.path, record.name, descriptor, progress=progress)
    contents = scan(record.path, open_source=lambda: open_descriptor(descriptor))
    if (contents.sha256, contents.tar_sha256) != (packed.sha256, packed.tar_sha256) or contents.problems:
        raise StoreError(
            f"the archive of {printable(record.path)} cannot be read back as it was written",
            hint="check the disk of the directory for temporary files; the record was left alone",
        )
    contents.others = packed.others
    return contents


def _enter(
    record: DirectoryRecord,
    document: "Team | Generation",
    url: ObjectUrl,
    contents: ArchiveContents,
    uploader: Uploader,
) -> None:
    """Enter the archive in the ledger beside it, and in that of the store."""
    metadata = contents.read(layout.METADATA)
    if metadata is None:
        raise not_a_record(record.path)
    now, kind, own = Clock().timestamp(), kind_of(document), id_of(document)
    digest = sha256_bytes(metadata).hex
    place = str(url).removeprefix(f"{url.folder}/")
    payload = entry_payload(
        kind, own, record.name, digest, now, archive=place, archive_sha256=contents.sha256
    )
    RemoteLedger(url.folder, uploader.put_new).append(ARCHIVED, now, payload)
    more = {"archive": str(url), "archive_sha256": contents.sha256}
    if (mac := own_archive_mac(record.store, own, contents.sha256)) is not None:
        more["mac"] = mac
    with Ledger(record.store) as ledger:
        ledger.append(ARCHIVED, now, entry_payload(kind, own, record.name, digest, now, **more))
