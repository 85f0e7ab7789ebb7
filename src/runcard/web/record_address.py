"""The address of a record in the page, and the record at an address.

An id may belong to several records, as copies in two stores, so an address also has a key of the path: `/runs/ID?at=KEY`. Only
records that the catalog lists can be named: nothing outside of the known stores is ever opened.
"""

import os
from functools import lru_cache
from hashlib import sha256
from typing import NamedTuple
from urllib.parse import quote, urlencode

from runcard.catalog.columns import RECORDS
from runcard.catalog.searching import Filters
from runcard.encoding import JsonObject
from runcard.errors import StoreError
from runcard.operations.catalog.list_records import list_records
from runcard.store import layout
from runcard.store.find_record import open_record
from runcard.store.record import Record

FOLDERS = {"run": "runs", "session": "sessions"}
_MOST = 50  # records with one id


class AddressedRecord(NamedTuple):
    """A record at an address, as the catalog lists it, and the others that have its id."""

    row: JsonObject
    others: list[JsonObject]
    warning: str | None  # why the catalog is not up to date

    def open(self) -> Record:
        """The record itself; raises StoreError if it is on another host, or gone."""
        if self.row.get("stored_on"):
            raise StoreError(
                f"this record is on {self.row['stored_on']}",
                hint="open it there: the catalog only knows what it lists",
            )
        record = open_record(self.row["path"])
        store = os.path.realpath(self.row["store"])
        document = os.path.join(record.path, layout.METADATA)
        if os.path.commonpath([os.path.realpath(record.path), store]) != store or os.path.islink(document):
            raise StoreError(
                "this record leads out of its store", hint="see what `runcard verify` says of it"
            )
        return record


def path_key(path: str) -> str:
    """A short name for a path, that says nothing about it."""
    return sha256(os.fsencode(path)).hexdigest()[:10]


def record_url(kind: str, record_id: str, path: str | None = None, part: str = "", **query: str) -> str:
    """The address of a record, or of a part of it such as `/verify`."""
    where, at = _address(kind, record_id, path)
    asked = "&".join(filter(None, (at, urlencode(query, errors="surrogateescape") if query else "")))
    return f"{where}{part}?{asked}" if asked else f"{where}{part}"


@lru_cache(maxsize=256)
def _address(kind: str, record_id: str, path: str | None) -> tuple[str, str]:
    """The path to a record and what tells it from its copies; a page has links to hundreds of files of one record."""
    at = "" if path is None else f"at={path_key(path)}"
    return f"/{FOLDERS.get(kind, 'runs')}/{quote(record_id, safe='')}", at


def any_record_url(record_id: str, path: str) -> str:
    """The address that leads to a record, whether it is a run or a session."""
    return f"/records/{quote(record_id, safe='')}?{urlencode({'at': path_key(path)})}"


def row_url(row: JsonObject) -> str:
    """The address of a record that a list has."""
    return record_url(row.get("kind") or "run", row["id"], row["path"])


def find_record(
    kind: str | None, record_id: str, key: str | None, columns: tuple[str, ...] = ()
) -> AddressedRecord:
    """The record at an address, of any kind if that is None; raises StoreError if the catalog has none.

    `columns` are further ones that its row is to have.
    """
    where = f"id = {_quoted(record_id)}"
    found = list_records(
        FOLDERS[kind] if kind else RECORDS,
        Filters(where=where),
        columns=["name", "store", "archived", "sha256", *columns],
        limit=_MOST,
    )
    rows = [row for row in found.rows if key is None or path_key(row["path"]) == key]
    if not rows:
        raise StoreError(f"no {kind or 'record'} has this id here", hint="it may have been deleted, or moved")
    return AddressedRecord(rows[0], [row for row in found.rows if row is not rows[0]], found.warning)


def _quoted(text: str) -> str:
    """A text as a condition has it."""
    return '"' + text.replace('"', '""') + '"'
