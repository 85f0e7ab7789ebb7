"""Read a record for the catalog: its document, its remarks, its listing. Whatever is wrong with it becomes its `problem`."""

import contextlib
import os
import re
from collections.abc import Iterable, Iterator
from hashlib import sha256
from itertools import islice
from stat import S_ISREG
from typing import BinaryIO

from runcard.catalog.document_decoding import decode_document
from runcard.catalog.record_calls import open_run_calls, open_session_calls, run_calls, session_calls
from runcard.catalog.rows import RUN, SESSION, RecordRows
from runcard.catalog.run_rows import run_rows
from runcard.catalog.session_rows import session_rows
from runcard.checksums import read_file
from runcard.documents.kinds import GENERATION, TEAM, detect
from runcard.documents.run.fields import has_calls
from runcard.encoding import JsonObject
from runcard.errors import RuncardError
from runcard.files import json_name
from runcard.files.opening import open_readable
from runcard.store import layout
from runcard.store.amendments.read import Remark
from runcard.store.record import DirectoryRecord, Record
from runcard.store.runs.document_so_far import document_so_far

_MOST_FILES = 200_000  # of one record that can be found by their digests
_SIMPLE = 1 << 16  # bytes of a listing that is read at once
_SIMPLE_LISTING = re.compile(
    rb"(?:[0-9a-f]{64}  (?:[A-Za-z0-9_][A-Za-z0-9_.-]*/)*[A-Za-z0-9_][A-Za-z0-9_.-]*\n)+"
)


def read_rows(record: Record) -> RecordRows:
    """The rows of a record, without those of its place. Never raises because of the record."""
    try:
        data = _small_file(record, layout.METADATA) or record.metadata
        document = None if data is None else decode_document(data, record.limits)
    except (RuncardError, OSError) as error:
        return _unreadable(record, str(getattr(error, "message", error)))
    if data is None:
        return _unreadable(record, f"it has no {layout.METADATA}")
    kind = detect(document) if isinstance(document, dict) else None
    if not isinstance(document, dict) or kind not in {GENERATION, TEAM}:
        return _unreadable(record, f"{layout.METADATA} is not the document of a run or a session")
    remarks = list(_remarks(record))
    name = json_name(record.name).text
    is_live = type(record) is not DirectoryRecord and layout.is_live_session(record.path)
    is_open = is_live or (kind is GENERATION and _is_running(document))
    if kind is TEAM:
        calls = open_session_calls(record.path) if is_live else session_calls(record)
        rows = session_rows(document, remarks, calls, is_plain=b"\\u" not in data, is_open=is_live)
    elif is_open:
        so_far = document_so_far(record.path, document) or document
        rows = run_rows(so_far, remarks, open_run_calls(record.path, _id(document, name)), is_open=True)
    else:
        rows = run_rows(document, remarks, run_calls(record) if has_calls(document) else ())
    rows.record |= {
        "kind": SESSION if kind is TEAM else RUN,
        "record_id": _id(document, name),
        "sha256": sha256(data).hexdigest(),
        "is_open": int(is_open),
    }
    rows.texts["name"] = f"{rows.record['record_id']} {name}"
    if is_open:
        rows.record["status"] = open_status(record.path, document) or "running"
    if not is_live:
        rows.files += _outputs(record)
    return rows


def _is_running(document: JsonObject) -> bool:
    generation = document.get("generation")
    return isinstance(generation, dict) and generation.get("status") == "running"


def open_status(path: str, document: JsonObject) -> str | None:
    """The status of an open run or session: `running`, or `interrupted` if its process is gone; None if that is unknown."""
    if layout.is_live_session(path):
        return _live_status(path)
    from runcard.observe.process import is_alive  # noqa: PLC0415 - few runs are open
    from runcard.store.runs.owner import is_on_other_host, is_owner_gone  # noqa: PLC0415

    try:
        is_gone = None if is_on_other_host(document) else is_owner_gone(path, document, is_alive)
    except (RuncardError, OSError, LookupError, TypeError):
        return None
    return None if is_gone is None else "interrupted" if is_gone else "running"


def _live_status(path: str) -> str | None:
    from runcard.store.sessions import live  # noqa: PLC0415 - few sessions are open

    status, remark = live.live_state(path)
    return None if remark in {live.UNKNOWN, live.ON_OTHER_HOST} else status


def _id(document: JsonObject, name: str) -> str:
    generation = document.get("generation")
    stated = generation.get("run_id") if isinstance(generation, dict) else document.get("team_session_id")
    return stated if isinstance(stated, str) and stated.isprintable() and stated else name


def _unreadable(record: Record, problem: str) -> RecordRows:
    kind, name = RUN, json_name(record.name).text
    with contextlib.suppress(RuncardError, OSError):  # a damaged archive
        kind = SESSION if record.kind_by_files() == SESSION else RUN
    facts: dict[str, object] = {"kind": kind, "record_id": name, "problem": problem[:1000]}
    facts |= dict.fromkeys(("at_least", "errors", "warnings", "is_open", "undated_usage"), 0)
    return RecordRows(facts, texts={"name": name, "errors": problem[:1000]})


def _remarks(record: Record) -> Iterator[tuple[str, JsonObject]]:
    if type(record) is DirectoryRecord and not os.access(f"{record.path}/{layout.AMENDMENTS}", os.F_OK):
        return
    with contextlib.suppress(RuncardError, OSError):
        for entry in record.amendments().entries:
            if isinstance(entry, Remark):
                yield entry.kind, entry.payload


def _small_file(record: Record, name: str) -> bytes | None:
    """The bytes of a short file of a directory, by few system calls; None for any other, which is for the record to read."""
    if type(record) is not DirectoryRecord:
        return None
    try:
        descriptor = open_readable(f"{record.path}/{name}", follow=False)
    except OSError:
        return None
    try:
        status = os.fstat(descriptor)
        if not S_ISREG(status.st_mode) or status.st_size > _SIMPLE:
            return None
        data = os.read(descriptor, status.st_size + 1)
    except OSError:
        return None
    finally:
        os.close(descriptor)
    return data if len(data) == status.st_size else None


def _outputs(record: Record) -> Iterable[tuple[bool, str, bytes]]:
    """The files of the listing; none of one that is wrong."""
    data = _small_file(record, layout.CHECKSUMS)
    if data and (found := _simple_listing(data)):
        return found
    try:
        file = record.open_seekable(layout.CHECKSUMS)
        if file is None:
            return ()
        with file:
            return _simple_listing(file.read(_SIMPLE + 1)) or [*_any_listing(file)]
    except (RuncardError, OSError):
        return ()


def _simple_listing(data: bytes) -> list[tuple[bool, str, bytes]]:
    """The files of a short listing whose names are plain words; none where it may be another."""
    if len(data) > _SIMPLE or _SIMPLE_LISTING.fullmatch(data) is None:
        return []
    lines = data.decode().split("\n")[:-1]
    if len({line[66:] for line in lines}) < len(lines):
        return []
    return [(False, line[66:], bytes.fromhex(line[:64])) for line in lines]


def _any_listing(file: BinaryIO) -> Iterator[tuple[bool, str, bytes]]:
    for path, digits in islice(read_file(file).hex_items(), _MOST_FILES):
        yield False, path.encode("utf-8", "backslashreplace").decode(), bytes.fromhex(digits)
