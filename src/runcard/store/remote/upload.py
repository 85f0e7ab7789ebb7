"""Uploading an archive: what is beside it first, itself last, and read back.

A reader that sees an archive sees all of it, because nothing names an archive that is not there, and every object is created,
never replaced. Two hosts that upload the same name at once: one creates the archive, and the other one finds it.
"""

import os
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from functools import partial

from runcard.encoding import COMPACT, JsonObject, decode_json, encode_json
from runcard.errors import MachineError, RuncardError, StoreError
from runcard.files import printable, shell_word
from runcard.parallel.progress import Progress
from runcard.store import layout
from runcard.store.archives.member_index import encode_offsets, written_path
from runcard.store.archives.scan import ArchiveContents, scan
from runcard.store.ledger import host_name
from runcard.store.remote.bucket import UPLOAD_ID, bucket_of
from runcard.store.remote.s3_writer import DEAD_AFTER, ObjectLock, S3Writer
from runcard.store.remote.source import open_stream
from runcard.store.remote.urls import ObjectUrl, checksums_copy, ledgers, signature_copy

_LARGE = 64 << 20  # bytes that are uploaded in parts
_PART = 16 << 20
_HOST = "runcardhost"
_MOST_SIZES = 20_000  # files whose sizes are in the index


class OtherUploadError(StoreError):
    """Another host archived the record."""


class Uploader:
    """Puts archives into a folder of a bucket."""

    def __init__(self, folder: ObjectUrl, lock: ObjectLock | None = None) -> None:
        if lock is not None and folder.scheme != "s3":
            raise StoreError(
                "an object lock can only be set on s3:// URLs",
                hint="set a retention policy on the bucket itself, and unset remote.lock",
            )
        self._folder, self._bucket, self._lock = folder, bucket_of(folder), lock

    def put(
        self,
        url: ObjectUrl,
        descriptor: int,
        contents: ArchiveContents,
        sizes: Iterable[tuple[str, int]],
        progress: Progress | None,
    ) -> bool:
        """Upload an archive that was packed into an open file, and read it back; False if it was there before.

        `sizes` are those of the files in it.
        Raises OtherUploadError if another host uploaded it.
        """
        is_new = self._is_missing(url, contents)
        if is_new:
            mark = {UPLOAD_ID: os.urandom(8).hex(), _HOST: host_name()}
            for path, data in beside(str(url), contents, sizes).items():
                self._put_beside(ObjectUrl.parse(path), data, mark)
            is_new = self._create(url, descriptor, contents, mark)
        self._read_back(url, contents, progress)
        return is_new

    def _is_missing(self, url: ObjectUrl, contents: ArchiveContents) -> bool:
        """Whether there is no archive yet; raises an error if there is one that is not ours."""
        result = self._bucket.get(url, (0, 1))
        if result is None:
            return True
        host = result.attributes.get(_HOST)
        index = self._bucket.read(ObjectUrl.parse(layout.member_index(str(url)))) or b"{}"
        if host not in {None, host_name()}:
            raise OtherUploadError(
                f"{printable(str(url))} exists already: {printable(host or '')} archived it. Nothing was changed here",
                hint=f"compare yours with it, which `runcard verify {shell_word(str(url))}` shows; then delete yours, or archive it to another URL",
            )
        if _digest(index) != contents.sha256:
            raise StoreError(
                f"{printable(str(url))} exists already, with another record or another state of this one",
                hint="objects are never replaced: archive it to another URL",
            )
        return False

    def _put_beside(self, url: ObjectUrl, data: bytes, mark: dict[str, str]) -> None:
        """Write an object that belongs to an archive which is not there yet; one of another program is not replaced."""
        if self.put_new(url, data, mark) or self._bucket.read(url) == data:
            return
        state = self._bucket.state(url)
        if state is not None and self._bucket.upload_id(url) is None:
            raise StoreError(
                f"{printable(str(url))} exists already, and no upload of runcard made it",
                hint="move this object away, or archive the record to another URL",
            )
        if state is not None and datetime.now(UTC) - state.modified < DEAD_AFTER:
            raise OtherUploadError(
                f"{printable(str(url))} exists already, without its archive: another host is archiving a record of this name, or was killed",
                hint="try again in a day, or delete this object if no host is at work",
            )
        self._bucket.write(url, data, mark)

    def put_new(self, url: ObjectUrl, data: bytes, attributes: dict[str, str] | None = None) -> bool:
        """Create a small object, with the lock that was asked for; False when there is one already."""
        if self._lock is not None:
            return S3Writer(self._lock).create(url, data, attributes)
        return self._bucket.create(url, data, attributes)

    def _create(
        self, url: ObjectUrl, descriptor: int, contents: ArchiveContents, mark: dict[str, str]
    ) -> bool:
        """Create the archive; an upload of our own whose answer was lost counts as well."""
        own = mark[UPLOAD_ID]
        try:
            if self._send(url, descriptor, contents.file_bytes, mark):
                return True
        except MachineError:
            if self._bucket.upload_id(url) == own:
                return True
            raise
        return self._bucket.upload_id(url) == own or self._is_missing(url, contents)

    def _send(self, url: ObjectUrl, descriptor: int, size: int, attributes: dict[str, str]) -> bool:
        if size <= _LARGE:
            return self.put_new(url, os.pread(descriptor, size, 0), attributes)
        if url.scheme == "s3":
            return S3Writer(self._lock).upload(url, descriptor, size, attributes)
        aside = ledgers(self._folder).below(f"uploads/{attributes[UPLOAD_ID]}")
        try:
            with open(os.dup(descriptor), "rb") as file:
                file.seek(0)
                self._bucket.upload(aside, file, attributes, _PART)
            return self._bucket.copy(aside, url)
        finally:
            self._bucket.delete([aside])

    def _read_back(self, url: ObjectUrl, contents: ArchiveContents, progress: Progress | None) -> None:
        again = scan(str(url), progress=progress, open_source=partial(open_stream, url))
        if (again.sha256, again.tar_sha256) != (contents.sha256, contents.tar_sha256) or again.problems:
            raise StoreError(
                f"{printable(str(url))} cannot be read back as it was written",
                hint=f"the record was left alone; see what is there: runcard verify {shell_word(str(url))}",
            )


def beside(
    archive: str, contents: ArchiveContents, sizes: Iterable[tuple[str, int]] = ()
) -> Mapping[str, bytes]:
    """The objects that belong to an archive, in the order in which they are written."""
    copies = {
        checksums_copy(archive): contents.read(layout.CHECKSUMS),
        layout.metadata_copy(archive): contents.read(layout.METADATA),
        signature_copy(archive): contents.read(layout.SIGNATURE),
        layout.member_index(archive): _index(contents, sizes),
    }
    return {path: data for path, data in copies.items() if data is not None}


def _index(contents: ArchiveContents, sizes: Iterable[tuple[str, int]]) -> bytes:
    """The member index, with what a reader wants to know about the archive before it opens it."""
    facts = index_facts(contents)
    if contents.files <= _MOST_SIZES:
        facts["sizes"] = [[written_path(path), size] for path, size in sizes]
    return encode_json(facts, COMPACT)


def index_facts(contents: ArchiveContents) -> JsonObject:
    """What the member index says that can be read off the archive; the sizes of the files cannot."""
    return {
        **decode_json(encode_offsets(contents)),
        "tar_sha256": contents.tar_sha256,
        "uncompressed_bytes": contents.bytes,
        "files": contents.files,
        "amended": contents.read(layout.AMENDMENTS) is not None,
    }


def _digest(index: bytes) -> object:
    try:
        data = decode_json(index)
    except RuncardError:
        return None
    return data.get("sha256") if isinstance(data, dict) else None
