"""Amending a closed record: files change, and the record says so.

The order is what makes it safe. The new bytes of each file are written aside, in the store's own folder; then the entries
that name them are added to `amendments.jsonl`, and from that moment on the change is decided; then the files take their
places, or go; the ledger comes last. Killed before the entries, nothing has happened. Killed after them, `verify` finds
files that are not what the amendments say, and the next amendment finishes the work first.

Whoever can write to a record can add entries by hand. So entries that the ledger lacks are built on only if they were
announced, with a code by this user's key, before they were written: then it was a kill that kept them out of the ledger.

Invariants: removed bytes are nowhere when the work is done, in no temporary file and in none of the
store's originals; one amends a record at a time; no link is followed out of the record.
"""

import contextlib
import os
from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

from runcard import checksums
from runcard.digests import sha256_bytes
from runcard.documents import chain, reader
from runcard.documents.kinds import GENERATION, TEAM, detect
from runcard.encoding import JsonObject, decode_json
from runcard.errors import EncodingError, RuncardError, StoreError
from runcard.files import failure, json_name, printable, read_regular, shell_word
from runcard.store import layout
from runcard.store.amendments.read import MIGRATION, REDACTION, read_amendments
from runcard.store.amendments.staging import Staging
from runcard.store.append_only import append_lines
from runcard.store.ledger import (
    AMENDED,
    MIGRATED,
    REDACTED,
    Ledger,
    LedgerEntry,
    LedgerKey,
    entries_in,
    entry_payload,
    in_order,
)
from runcard.store.ledger_search import search_ledgers
from runcard.store.locks import lock_folder
from runcard.store.originals import keep_original, read_original
from runcard.store.own_directories import list_own, own_entry
from runcard.store.ownership import is_own_amendment, own_amendment_mac
from runcard.store.record import not_a_record

_WRITER = "amendments"
_EVENTS = {REDACTION: REDACTED, MIGRATION: MIGRATED}


class Edit(NamedTuple):
    """The change of one file; new bytes are already staged."""

    path: str
    old: str
    new: str | None
    fields: JsonObject  # more fields of its entry


class Author(NamedTuple):
    """Who amends a record, when, and why."""

    who: str
    when: str
    why: str | None

    def to_dict(self) -> JsonObject:
        return {"who": self.who, "when": self.when, "why": self.why}


@contextlib.contextmanager
def amending(record: str, *, look: bool = False, accept: bool = False) -> Iterator["Amender"]:
    """Lock a closed record to amend it; with `look` nothing is written, nor finished.

    With `accept`, amendments that the ledger does not know are entered as well.
    """
    is_document = os.path.basename(record) == layout.METADATA
    path = os.path.realpath(os.path.dirname(record) if is_document else record)
    if not layout.may_be_file(os.path.join(path, layout.METADATA)):
        raise not_a_record(record)
    try:
        with lock_folder(path, shared=look):
            amender = Amender(path)
            if not accept:
                amender.refuse_unknown()
            if not look:
                amender.finish()
            yield amender
    except OSError as error:
        raise failure(error, str(error.filename or record), "amend") from error


class Amender:
    """A closed record whose amendments hold so far."""

    def __init__(self, record: str) -> None:
        self.path = record
        self.files = Staging(record)
        self.metadata = read_regular(os.path.join(record, layout.METADATA)) or b""
        self.document = _document(record, self.metadata)
        self.is_session = detect(self.document) is TEAM
        self.listing = self._listing()
        self.amendments = read_amendments(record)
        current = sha256_bytes(self.metadata).hex
        self.sealed = self.amendments.sealed(layout.METADATA, current)
        self._check()
        self.finished: tuple[str, ...] = ()
        self.added: list[str] = []  # the hashes of the amendments that were entered
        self.remarks: list[str] = []

    def _listing(self) -> checksums.Listing:
        if not layout.may_be_file(path := os.path.join(self.path, layout.CHECKSUMS)):
            raise StoreError(
                f"{printable(self.path)} is not closed: it has no {layout.CHECKSUMS}",
                hint="only a sealed session can be amended: one that `runcard collect` made"
                if self.is_session
                else "close it first; only a closed record can be amended",
            )
        data = read_regular(path) or b""
        self.listing_digest = str(sha256_bytes(data))
        stated = (self.document.get("checksums") or {}).get("session" if self.is_session else "output")
        if stated not in {None, self.listing_digest}:
            raise self._refused(f"{layout.CHECKSUMS} is not the list that was sealed")
        try:
            return checksums.read(data)
        except EncodingError as error:
            raise self._refused(f"{layout.CHECKSUMS} line {error.line}: {error.message}") from error

    def _check(self) -> None:
        generation = self.document.get("generation")
        if isinstance(generation, dict) and generation.get("status") == "running":
            raise StoreError(
                f"{printable(self.path)} is not closed",
                hint=f"close it first: runcard close {shell_word(self.path)}",
            )
        if not self.is_session and os.path.lexists(layout.open_mark(self.path)):  # which holds all its events
            raise StoreError(
                f"closing {printable(self.path)} was not finished",
                hint=f"finish it first: runcard close {shell_word(self.path)}",
            )
        checked = self.amendments.check(self.sealed)
        if checked is not None and checked.faults:
            fault = checked.faults[0]
            raise self._refused(f"{layout.AMENDMENTS} line {fault.number}: {fault.reason}")

    def refuse_unknown(self) -> None:
        """Raise StoreError if the ledger has this record, and its amendments are not those that the ledger knows."""
        head = self._head()
        entries = self._ledger_entries()
        if not entries:
            return
        ends = (entry.amendments for entry in entries if entry.amendments is not None)
        known = max(ends, key=lambda end: end.count, default=chain.Head(_WRITER, 0, self.sealed))
        if head.count == known.count and head.head == known.head:
            return
        if head.count > known.count and head.head in self._announced():
            return
        raise StoreError(
            f"{printable(self.path)} has amendments that the ledger of its store does not know: they may be forged",
            hint=f"look at them: runcard show {shell_word(self.path)}; if they are right, enter them with a note:"
            f" runcard amend {shell_word(self.path)} note 'the amendments are right' --accept",
        )

    def _ledger_entries(self) -> list[LedgerEntry]:
        kind = "session" if self.is_session else "run"
        key = LedgerKey(kind, os.path.basename(self.path) if self.is_session else self.record_id)
        found = search_ledgers(layout.store_of(self.path), key.name)
        return in_order(ledger.view(key, None).entries for ledger in found)

    def _announced(self) -> set[str]:
        """The amendments that this user decided on, and that a kill may have kept out of the ledger."""
        store, announced = layout.store_of(self.path), set()
        for line in self.files.announced():
            digest, _, mac = line.partition(" ")
            if is_own_amendment(store, self.record_id, digest, mac):
                announced.add(digest)
        return announced

    def _refused(self, reason: str) -> StoreError:
        return StoreError(
            f"{printable(self.path)} was changed since it was closed: {reason}",
            hint=f"only an intact record can be amended; see all of it: runcard verify {shell_word(self.path)}",
        )

    @cached_property
    def _names(self) -> dict[str, str]:
        """The files of the record by the name that an entry has for them."""
        return {json_name(path).text: path for path in (*self.listing, layout.METADATA)}

    def expected(self, path: str) -> str | None:
        """The digest that a file should have now; None for one that was taken out."""
        sealed = self.sealed if path == layout.METADATA else self.listing[path].hex
        return self.amendments.accepted(json_name(path).text, sealed)[0]

    def all_digests(self, path: str) -> set[str]:
        """Every digest that the file had since the record was closed."""
        sealed = self.sealed if path == layout.METADATA else self.listing[path].hex
        changes = self.amendments.by_path.get(json_name(path).text, ())
        return {
            sealed,
            *(change.old for change in changes),
            *(change.new for change in changes if change.new),
        }

    def change(self, kind: str, edits: list[Edit], author: Author) -> None:
        """Enter changes of files, and apply them."""
        for edit in edits:
            self.files.check_writable(edit.path)
        payloads = [
            {
                **_path_of(edit.path),
                "old_sha256": edit.old,
                "new_sha256": edit.new,
                **author.to_dict(),
                **edit.fields,
            }
            for edit in edits
        ]
        self.files.sync()
        self._append(kind, payloads, author.when)
        self._settle()

    def remark(self, kind: str, fields: JsonObject, author: Author) -> None:
        """Enter a remark."""
        nothing = dict.fromkeys(("path", "old_sha256", "new_sha256"))
        self._append(kind, [{**nothing, **author.to_dict(), **fields}], author.when)
        self._settle()

    def _append(self, kind: str, payloads: list[JsonObject], when: str) -> None:
        path = os.path.join(self.path, layout.AMENDMENTS)
        head, lines, macs = self._head(), [], []
        for payload in payloads:
            fields = {"seq": head.count + 1, "timestamp": when, "event": kind, "writer": head.writer}
            line = chain.write_line(fields, payload, os.urandom(16).hex(), head.head)
            lines.append(line.raw)
            head = chain.Head(head.writer, head.count + 1, line.hash)
            macs.append(
                f"{line.hash} {own_amendment_mac(layout.store_of(self.path), self.record_id, line.hash)}"
            )
        try:
            self.files.announce(macs)
            if os.path.lexists(path):
                append_lines(path, b"".join(lines))
            else:
                self.files.create(
                    layout.AMENDMENTS, b"".join(lines), self.mode
                )  # there is never an empty one
        except OSError as error:
            raise failure(error, path, "write") from error
        self.amendments = read_amendments(self.path)
        self.added += [line.partition(" ")[0] for line in macs]

    def _head(self) -> chain.Head:
        """Where the amendments end; they are one chain, so that none can be taken out."""
        return self.amendments.end or chain.Head(_WRITER, 0, self.sealed)

    def sealed_document(self) -> JsonObject:
        """The document as it was closed: a migration may have changed it since."""
        if sha256_bytes(self.metadata).hex == self.sealed:
            return self.document
        original = read_original(layout.store_of(self.path), self.sealed)
        if original is None:
            raise self._refused("the document as it was closed is not in the store")
        return _document(self.path, original)

    @property
    def mode(self) -> int:
        """The mode of new files beside the document."""
        return os.stat(os.path.join(self.path, layout.METADATA)).st_mode & 0o666

    @property
    def unfinished(self) -> tuple[str, ...]:
        """The files that have bytes again, or still, which an amendment replaced."""
        return tuple(path for path, _ in self._unfinished())

    def _unfinished(self) -> Iterator[tuple[str, str | None]]:
        for name in self.amendments.by_path:
            path = self._names.get(name)
            if path is None:
                continue
            now, expected = self.files.digest(path), self.expected(path)
            if now is not None and now != expected and now in self.all_digests(path):
                yield path, expected

    def finish(self) -> None:
        """Finish an amendment that was killed half-way."""
        self.finished = self._settle()

    def _settle(self) -> tuple[str, ...]:
        """Put the files into the state that the amendments state, remove staged files, and enter the end in the ledger."""
        done = tuple(path for path, expected in list(self._unfinished()) if self.files.put(path, expected))
        if done:
            self.files.sync()
        self._forget_originals()
        self._enter()
        self.files.clear(keep_announced=bool(self.remarks))
        return done

    def _forget_originals(self) -> None:
        """Remove the originals of redacted files: a document that was migrated before still has its old bytes there.

        If `tar` unpacked its archive, they are in the record.
        """
        for place in (layout.store_of(self.path), self.path):
            self._forget_originals_in(place)

    def _forget_originals_in(self, store: str) -> None:
        original_names = list_own(store, layout.originals(store))
        for name, changes in self.amendments.by_path.items() if original_names else ():
            path = self._names.get(name, layout.METADATA)
            if path == layout.METADATA or all(change.kind != REDACTION for change in changes):
                continue
            for digest in self.all_digests(path) - {self.expected(path)}:
                for original_name in original_names:
                    if digest in original_name:  # also a temporary file of a migration that was killed
                        place = own_entry(store, layout.original(store, original_name))
                        with contextlib.suppress(FileNotFoundError), place as (folder, file_name):
                            os.unlink(file_name, dir_fd=folder)

    def keep_original(self, data: bytes) -> str:
        """Keep bytes that an amendment replaces in the store; returns their path."""
        return keep_original(layout.store_of(self.path), data, self.mode)

    def _enter(self) -> None:
        """Enter the end of the amendments in the ledger, where the store has one and it is not there."""
        journal = self.amendments.journal
        if journal is None or not journal.entries:
            return
        store, head = layout.store_of(self.path), self._head()
        try:
            some = [entry for found in search_ledgers(store, head.head) for entry in found.entries]
            if any(entry.amendments == head for entry in some) or not (some or _has_entries(store)):
                return
            last = journal.entries[-1].line
            with Ledger(store, self.mode) as ledger:
                ledger.append(
                    _EVENTS.get(last["event"], AMENDED), last["timestamp"], self._ledger_entry(last, head)
                )
        except RuncardError as error:
            self.remarks.append(f"not in the ledger yet: your next amendment enters it: {error.message}")

    def _ledger_entry(self, line: JsonObject, head: chain.Head) -> JsonObject:
        payload = line.get("payload") or {}
        return entry_payload(
            "session" if self.is_session else "run",
            self.record_id,
            os.path.basename(self.path),
            self.sealed,
            line["timestamp"],
            who=payload.get("who"),
            why=payload.get("why"),
            amendments=head.to_dict(),
        )

    @property
    def record_id(self) -> str:
        if self.is_session:
            return str(self.document.get("team_session_id"))
        return str((self.document.get("generation") or {}).get("run_id"))


def _document(record: str, metadata: bytes) -> JsonObject:
    document = None
    with contextlib.suppress(EncodingError):
        document = decode_json(metadata)
    if not isinstance(document, dict):
        raise StoreError(
            f"cannot read the {layout.METADATA} of {printable(record)}",
            hint=f"see all of it: runcard verify {shell_word(record)}",
        )
    kind = TEAM if detect(document) is TEAM else GENERATION
    return reader.valid_parts(reader.parse_document(metadata, kind=kind.name))  # hostile parts are left out


def _path_of(path: str) -> JsonObject:
    name = json_name(path)
    return {"path": name.text} | ({} if name.base64 is None else {"path_base64": name.base64})


def _has_entries(store: str) -> bool:
    return any(True for _ in entries_in(store))
