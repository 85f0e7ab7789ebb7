"""A folder of archives and its `archive_index.json`: which records are archived there, since when, and with which digests.

The index is changed under the lock of the folder, in one step, and keeps every field that it had. One that cannot be read is
an error that says so: nothing is written then. A missing one is rebuilt from the archives, as far as possible.
"""

import os
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, ClassVar, NamedTuple, Self

from runcard.documents import reader
from runcard.documents.archive_index import ArchiveIndex
from runcard.documents.findings import InvalidDocument
from runcard.documents.kinds import ARCHIVE_INDEX
from runcard.documents.run.fields import RunFields
from runcard.documents.run.generation import Generation
from runcard.documents.session.team import Team
from runcard.documents.times import format_time
from runcard.encoding import JsonObject
from runcard.errors import StoreError
from runcard.files import (
    check_relative,
    failure,
    locked,
    open_directory,
    printable,
    read_regular,
    shell_word,
    write_atomic,
)
from runcard.files.temporary_files import remove_temporary_files_in
from runcard.store import layout
from runcard.store.archives.scan import ArchiveContents
from runcard.store.locks import LOCK_TIMEOUT
from runcard.store.own_directories import check_own

_LISTS = {"session": "archived_sessions", "run": "archived_runs"}
_IDS = {"session": "team_session_id", "run": "run_id"}


class ArchiveEntry(NamedTuple):
    """One entry of the index."""

    kind: str  # session or run
    folder: str
    fields: JsonObject

    @property
    def path(self) -> str:
        return os.path.join(self.folder, self.fields["archive_file"])

    @property
    def name(self) -> str:
        """Of the record's directory; an index can be hostile, so only a plain name is accepted."""
        stated = self.fields.get(self.kind)
        is_name = isinstance(stated, str) and "/" not in stated and check_relative(stated) is None
        return str(stated) if is_name else layout.archived_name(self.path)

    @property
    def id(self) -> str:
        return str(self.fields[_IDS[self.kind]])

    @property
    def claimed_store(self) -> str | None:
        """The store that the record came from, according to the index; it can be hostile."""
        stated = self.fields.get("store")
        if not isinstance(stated, str) or os.path.isabs(stated) or "\0" in stated:
            return None
        return os.path.normpath(os.path.join(self.folder, stated))


class ArchiveFolder:
    """A folder of archives."""

    # The last index that was read or written, with its bytes: archiving many records reads it again and again.
    _parsed: ClassVar[tuple[bytes | None, ArchiveIndex | None]] = (None, None)

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.index = os.path.join(self.folder, layout.ARCHIVE_INDEX)

    @classmethod
    def of_store(cls, store: str) -> Self:
        """The folder of archives that a store has of its own; raises StoreError when it is a link."""
        folder = layout.archive_folder(store)
        check_own(store, folder)
        return cls(folder)

    def __iter__(self) -> Iterator[ArchiveEntry]:
        document = self._read()
        data = self._rebuild() if document is None else document.to_dict()
        for kind, key in _LISTS.items():
            for fields in data.get(key) or ():
                if check_relative(fields["archive_file"]) is None:
                    yield ArchiveEntry(kind, self.folder, fields)

    def check(self) -> None:
        """Raise StoreError for an index that cannot be read."""
        self._read()

    def find(self, word: str) -> list[ArchiveEntry]:
        """The archives of a record, by the name of its directory or by its id."""
        return [entry for entry in self if word in (entry.name, entry.id)]

    def at(self, archive: str) -> ArchiveEntry | None:
        """The index entry of the archive at a path."""
        path = os.path.abspath(archive)
        return next((entry for entry in self if os.path.abspath(entry.path) == path), None)

    def put(self, kind: str, fields: JsonObject, mode: int | None = None) -> None:
        """Enter an archive, in the place of an entry for the same file."""

        def change(entries: list[JsonObject]) -> list[JsonObject]:
            old = next((entry for entry in entries if entry["archive_file"] == fields["archive_file"]), {})
            old_fields = {key: value for key, value in old.items() if key != "restored_at"}
            return [*(entry for entry in entries if entry is not old), old_fields | fields]

        self._change(kind, change, mode)

    def mark(self, entry: ArchiveEntry, **facts: object) -> None:
        """Add fields to the entry of an archive."""
        file = entry.fields["archive_file"]
        self._change(
            entry.kind,
            lambda entries: [
                fields | facts if fields["archive_file"] == file else fields for fields in entries
            ],
        )

    def drop(self, entry: ArchiveEntry) -> None:
        """Remove the entry of an archive that was deleted."""
        file = entry.fields["archive_file"]
        self._change(
            entry.kind, lambda entries: [fields for fields in entries if fields["archive_file"] != file]
        )

    def _change(self, kind: str, change: Any, mode: int | None = None) -> None:  # noqa: ANN401 - entries to entries
        with locked(self.folder, timeout=LOCK_TIMEOUT):
            document, key = self._read(), _LISTS[kind]
            data = self._rebuild() if document is None else document.to_dict()
            data[key] = change(list(data.get(key) or ()))
            new = ArchiveIndex.from_dict(data) if document is None else document.changed(data)
            try:
                with open_directory(self.folder) as folder:
                    remove_temporary_files_in(
                        folder, of={layout.ARCHIVE_INDEX}, age=0
                    )  # written under this lock
                written = new.to_bytes()
                write_atomic(self.index, written, mode=mode, follow=False)
                ArchiveFolder._parsed = written, new
            except OSError as error:
                raise failure(error, self.index, "write") from error

    def _rebuild(self) -> JsonObject:
        """An index rebuilt from the archives here; what only the lost one stated is missing."""
        data: JsonObject = {"version": ARCHIVE_INDEX.latest}
        for file in layout.archives_in(self.folder):
            path = os.path.join(self.folder, file)
            try:
                document = reader.load_document(read_regular(layout.metadata_copy(path)) or b"")
                changed = datetime.fromtimestamp(int(os.stat(path).st_mtime), UTC)
            except (OSError, InvalidDocument):
                continue  # its record is not known without opening it
            if isinstance(document, Team | Generation):
                kind = "session" if isinstance(document, Team) else "run"
                name = layout.archived_name(path)
                facts = {"archived_at": format_time(changed), "archive_file": file}
                data.setdefault(_LISTS[kind], []).append(
                    _document_fields(kind, document.to_dict(), name) | facts
                )
        return data

    def _read(self) -> ArchiveIndex | None:
        try:
            data = read_regular(self.index)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise failure(error, self.index, "read the index of archives") from error
        last, document = ArchiveFolder._parsed
        if data and data == last:
            return document
        try:
            read = reader.load_document(data or b"", kind=ARCHIVE_INDEX.name)
        except InvalidDocument as error:
            raise StoreError(
                f"{printable(self.index)} is damaged: {error.report.errors[0].message}",
                hint=f"see all that is wrong: runcard validate {shell_word(self.index)}; mend it, or put a copy back. The archives are not affected",
            ) from error
        if not isinstance(read, ArchiveIndex):
            raise StoreError(f"{printable(self.index)} is not an index of archives", hint="put a copy back")
        ArchiveFolder._parsed = data, read
        return read


def index_fields(kind: str, contents: ArchiveContents, document: JsonObject, facts: JsonObject) -> JsonObject:
    """The fields of an index entry for an archive that was read, given the record's document."""
    fields = _document_fields(kind, document, contents.name) | facts
    fields |= {"sha256": contents.sha256, "bytes": contents.file_bytes}
    return fields | {"uncompressed_bytes": contents.bytes, "tar_sha256": contents.tar_sha256}


def _document_fields(kind: str, document: JsonObject, name: str) -> JsonObject:
    """The fields of an index entry that come from the record's document."""
    if kind == "run":
        cost = document["costs"].get("total_cost_usd")
        return {"run_id": RunFields(document).run_id, "total_cost": cost, "run": name}
    cost = document["execution_summary"].get("total_cost")
    fields = {"team_session_id": document["team_session_id"], "total_cost": cost}
    return fields | {"instances_count": document["total_instances"], "session": name}
