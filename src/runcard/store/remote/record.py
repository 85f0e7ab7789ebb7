"""A record whose archive is in a bucket. It is read as one on this machine is, by ranges.

The documents that most questions need are beside the archive, each in an object of its own. One file takes four requests at
most: the member index, the metadata document, the listing, and the members of the archive that hold the file.
"""

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, suppress
from functools import cached_property
from io import BytesIO
from typing import BinaryIO, Self

from runcard.documents.findings import Finding
from runcard.documents.run.generation import Generation
from runcard.documents.session.team import Team
from runcard.encoding import JsonObject, Limits, decode_json
from runcard.errors import EncodingError, RuncardError
from runcard.files import FileKind, decode_name, printable
from runcard.store import layout
from runcard.store.amendments.read import Amendments, parse_amendments
from runcard.store.archives.gzip_members import SIZE
from runcard.store.archives.member_index import MemberOffsets, parse_path
from runcard.store.archives.owner import is_own, listed_digests, store_that_lists
from runcard.store.archives.read_files import ArchivedFile, archived_files
from runcard.store.archives.record import ArchivedRecord
from runcard.store.archives.scan import ArchiveContents, kind_of_entry
from runcard.store.archives.source import ArchiveSource
from runcard.store.record import parse_document, record_document
from runcard.store.remote.bucket import bucket_of
from runcard.store.remote.source import missing_archive, open_object
from runcard.store.remote.upload import index_facts
from runcard.store.remote.urls import ObjectUrl, checksums_copy, signature_copy

_MEMBER = 2 * SIZE + (1 << 12)  # bytes of the longest member, packed
_COPIES = {
    layout.METADATA: layout.metadata_copy,
    layout.CHECKSUMS: checksums_copy,
    layout.SIGNATURE: signature_copy,
}


class RemoteRecord(ArchivedRecord):
    """A record in an archive in a bucket."""

    def __init__(self, url: str, *, listed_by: str | None = None) -> None:
        self.url = ObjectUrl.parse(url)
        super().__init__(str(self.url), listed_by=listed_by)
        self._beside: dict[str, bytes | None] = {}

    @classmethod
    def at(cls, path: str) -> Self:
        return cls(path)

    # What is beside the archive.

    def _read_beside(self, path: str) -> bytes | None:
        if path not in self._beside:
            url = ObjectUrl.parse(path)
            self._beside[path] = bucket_of(url).read(url)
        return self._beside[path]

    @cached_property
    def index(self) -> JsonObject:
        """The member index with what it says about the archive; empty when there is none that can be read."""
        raw = self._read_beside(layout.member_index(self.path))
        with suppress(EncodingError):
            data = decode_json(raw or b"{}")
            return data if isinstance(data, dict) else {}
        return {}

    @property
    def stated_digest(self) -> str | None:
        """The digest of the archive, as its index has it."""
        digest = self.index.get("sha256")
        return digest if isinstance(digest, str) else None

    def _file_bytes(self) -> int:
        size = self.index.get("bytes")
        if isinstance(size, int) and size > 0:  # compared with the first answer that has bytes of the archive
            return size
        with self.open_source() as source:
            return source.size

    def open_source(self) -> AbstractContextManager[ArchiveSource]:
        return open_object(self.url)

    # Where it belongs.

    def _find_store(self, digest: str | None) -> str | None:
        if self._has_known_store:
            return self._stores[None]
        digest = digest or self.stated_digest
        if digest not in self._stores:
            stores = [self._listed_by] if self._listed_by else _known_stores()
            lists = (store_that_lists(store, self.path, digest) for store in stores) if digest else ()
            self._stores[digest] = next(filter(None, lists), None)
        return self._stores[digest]

    @property
    def directory(self) -> str:
        return os.path.join(self.store or os.curdir, self.name)

    @property
    def is_own(self) -> bool:
        digest = self._contents.sha256 if self._contents else self.stated_digest
        return digest is not None and is_own(self._find_store(digest), self.path, digest)

    def _stated_name(self) -> str:
        return layout.archived_name(self.path)

    def _most_bytes(self) -> int | None:
        return self._allowed_bytes(self.index.get("uncompressed_bytes"))

    # Comparing the archive with what is beside it.

    def _check_digest(self, contents: ArchiveContents) -> Iterator[Finding]:
        expected = self.stated_digest
        if expected is not None and expected != contents.sha256:
            message = f"the archive was changed: its digest is {contents.sha256}"
            yield self._problem("changed", self.path, message)
        elif (store := self._store_with_other(contents.sha256)) is not None:
            message = (
                f"the archive was replaced: the ledger of {printable(store)} knows it with another digest"
            )
            yield self._problem("changed", self.path, message)

    def _store_with_other(self, digest: str) -> str | None:
        """A store on this machine whose ledger has the archive with other digests only."""
        if self._has_known_store:
            return None
        stores = [self._listed_by] if self._listed_by else _known_stores()
        found = {store: digests for store in stores if (digests := listed_digests(store, self.path))}
        return None if any(digest in digests for digests in found.values()) else next(iter(found), None)

    def _check_index(self, contents: ArchiveContents) -> Iterator[Finding]:
        path = layout.member_index(self.path)
        if self.stated_digest is None:
            yield self._problem("missing", path, "the index of the archive is missing, or cannot be read")
        elif self.stated_digest == contents.sha256 and not self._is_index_of(contents):
            yield self._problem("changed", path, "the index differs from the archive")

    def _is_index_of(self, contents: ArchiveContents) -> bool:
        files = {path for path, entry in contents.entries if kind_of_entry(entry) is FileKind.FILE}
        facts = index_facts(contents).items()
        return all(self.index.get(key) == value for key, value in facts) and (
            "sizes" not in self.index or (self._sizes or {}).keys() == files
        )

    def _check_copy(self, contents: ArchiveContents) -> Iterator[Finding]:
        yield from self._check_index(contents)
        for name, place in _COPIES.items():
            path, inside = place(self.path), contents.read(name)
            copy = self._read_beside(path)
            if copy is None and inside is not None:
                yield self._problem("missing", path, f"the copy of {name} is missing")
            elif copy is not None and inside is None:
                yield self._problem("unexpected", path, f"there is no {name} in the archive")
            elif copy != inside:
                yield self._problem("changed", path, f"the copy differs from {name} in the archive")

    # Reading files.

    def _archived_files(self, path: str) -> Iterator[ArchivedFile]:
        offsets, size = self._offsets, self._file_bytes()
        with open_object(self.url, size) as source:
            if not offsets.are_known:
                yield from archived_files(source, offsets, path)
                return
            last, end = self._span(offsets, path)
            source.expect(min(end, size))
            for file in archived_files(source, offsets, path, last=last, ahead=0):
                yield file
                if file.path == path and file.kind is FileKind.FILE:
                    return  # it is alone: what follows need not be looked at

    def _span(self, offsets: MemberOffsets, path: str) -> tuple[int | None, int]:
        """The last member to read for a path, and where its bytes end."""
        start, last, size = offsets.before(path), offsets.last_of(path), self._file_bytes()
        end = size if last is None else min(last + _MEMBER, offsets.after(last) or size)
        known = (self._sizes or {}).get(path)
        if known is None:
            return last, end
        if known < SIZE:  # such a file is never divided
            return start, min(end, start + _MEMBER, offsets.after(start) or size)
        return last, min(end, start + 2 * _MEMBER + known + known // 100)

    @cached_property
    def _sizes(self) -> dict[str, int] | None:
        """The sizes of the files, by their paths, as the index has them; None if it does not."""
        try:
            return {decode_name(parse_path(path)): int(size) for path, size in self.index["sizes"]}
        except (KeyError, TypeError, ValueError):
            return None

    def sizes(self, folder: str = "") -> Iterator[tuple[str, int]]:
        if self._contents is not None or self._sizes is None:
            yield from super().sizes(folder)
            return
        inside = folder and f"{folder}/"
        for path, size in self._sizes.items():
            if path.startswith(inside):
                yield path.removeprefix(inside), size

    def has_file(self, name: str) -> bool:
        if self._contents is not None or self._sizes is None:
            return super().has_file(name)
        return name in self._sizes

    def instances(self) -> list[str]:
        if self._contents is not None or self._sizes is None:
            return super().instances()
        parts = (path.split("/") for path in self._sizes if layout.is_document(path))
        return sorted(part[1] for part in parts if len(part) == 3)

    def open(self, path: str) -> BinaryIO | None:
        if self._contents is None and self._sizes is not None and path not in self._sizes:
            return None
        return super().open(path)

    def read(self, name: str) -> bytes | None:
        if self._contents is None and self._sizes is not None and name not in self._sizes:
            return None
        if self._contents is None and name in _COPIES:
            copy = self._read_beside(_COPIES[name](self.path))
            if copy is not None or name == layout.SIGNATURE:
                return copy
        return super().read(name)

    def open_seekable(self, name: str) -> BinaryIO | None:
        if self._contents is None and name in _COPIES:
            data = self.read(name)
            return None if data is None else BytesIO(data)
        return super().open_seekable(name)

    @cached_property
    def _amendments(self) -> Amendments:
        if self._contents is None and self.index.get("amended") is False:
            return parse_amendments(None)
        return parse_amendments(self.read(layout.AMENDMENTS))

    def document(self, limits: Limits | None = None) -> Team | Generation:
        limits = limits or self.limits
        data = self.read(layout.METADATA)
        if data is None:
            raise missing_archive(self.url)
        return record_document(parse_document(data, layout.metadata_copy(self.path), None, limits), self.path)


def _known_stores() -> list[str]:
    """The stores on this machine whose ledgers may have the archive."""
    from runcard.store.known_stores import known_stores  # noqa: PLC0415 - only where the store is asked for
    from runcard.store.stores_at_hand import stores_at_hand  # noqa: PLC0415

    with suppress(RuncardError):
        return list(dict.fromkeys([*map(os.path.abspath, stores_at_hand()), *known_stores()]))
    return known_stores()
