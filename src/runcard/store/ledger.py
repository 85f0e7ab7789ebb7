"""The ledger of a store: every record that was closed there, chained like a journal, one file for each host.

It makes a removed, replaced or added record visible. An entry is appended under a lock, and durable before the append
returns, or else when the ledger has been left: many processes that append at the same time then do not wait for each
other's disk writes. The very last entries of a ledger can be cut unseen, unless a record that names them as its head is still there.
"""

import contextlib
import errno
import os
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple, Self

from runcard.documents.chain import (
    ChainChecker,
    Head,
    Line,
    first_link,
    parse_line,
    unparsed,
    write_line,
)
from runcard.documents.times import parse_time
from runcard.encoding import JsonObject
from runcard.errors import StoreError
from runcard.files import (
    NotRegularFileError,
    failure,
    locked,
    open_regular,
    printable,
)
from runcard.store import layout
from runcard.store.append_only import append_lines, append_unsynced, read_tail
from runcard.store.locks import LOCK_TIMEOUT
from runcard.store.own_directories import open_own

if TYPE_CHECKING:
    from runcard.documents.chain import (
        ChainFault,
    )

CLOSED = "record.closed"
ARCHIVED = "record.archived"
RESTORED = "record.restored"
DELETED = "record.deleted"  # a tombstone: what it names was deleted on purpose
ARCHIVE_DELETED = "archive.deleted"  # of an archive whose record is still there
REDACTED = "record.redacted"
MIGRATED = "record.migrated"
AMENDED = "record.amended"  # by a remark, which changes no file
REIMPORTED = "record.reimported"  # a session was imported again: `replaces` names the earlier import

_TAILS = (4096, 65_536)  # bytes in which the last entry is looked for: mostly the first will do
_NEVER = datetime.min.replace(tzinfo=UTC)


class LedgerKey(NamedTuple):
    """The key of a record in a ledger."""

    kind: str
    name: str  # the id of a run; of a session, which can be collected again under its id, its directory


class LedgerEntry(NamedTuple):
    """One entry of a ledger."""

    event: str
    kind: str
    id: str
    path: str  # relative to the store
    sha256: str  # of the metadata document
    hash: str  # of the entry
    time: str = ""  # when it was entered
    amendments: Head | None = None  # where the record's amendments ended then
    archive: str | None = None  # the path of its archive, relative to the store
    archive_sha256: str | None = None  # of the archive
    mac: str | None = None  # by which `ownership` knows a run that this user recorded
    replaces: str | None = None  # the path of the session that an import replaced, relative to the store

    @property
    def key(self) -> LedgerKey:
        if self.event == REIMPORTED:  # it says nothing about the place of a record
            return LedgerKey("import", self.path)
        return LedgerKey(self.kind, self.path if self.kind == "session" else self.id)


class LedgerView(NamedTuple):
    """What one host's ledger has about a record."""

    name: str  # of the ledger's file
    entries: list[LedgerEntry]  # about the record
    has_head: bool  # whether it has the entry that the record's document names


def entry_payload(
    kind: str, record_id: str | None, path: str, sha256: str | None, time: str | None, **more: object
) -> JsonObject:
    """The payload of an entry about a run, a session or an experiment; `path` is relative to the store.

    `sha256` is the digest of its metadata document. `more` are the other fields of `LedgerEntry`, and `who` and `why`;
    `replaces` has the path and the digest of a session.
    """
    payload = {"kind": kind, "id": record_id, "path": path, "sha256": sha256, "time": time}
    return {key: value for key, value in payload.items() if value is not None} | more


def host_name() -> str:
    """This host's name as it may stand in a file name."""
    return layout.safe_name(os.uname().nodename) or "unknown"


class Ledger:
    """This host's ledger in a store, locked while it is open."""

    def __init__(self, store: str, mode: int = 0o666) -> None:
        self._mode = mode
        self._store = store
        self._folder = layout.own_folder(store)
        self._id = f"ledger-{host_name()}"
        self._head: Head | None = None  # known while it is locked
        self._unsynced: int | None = None  # a descriptor, if an entry is not durable yet
        self.path = os.path.join(self._folder, f"{self._id}.jsonl")

    def __enter__(self) -> Self:
        with contextlib.ExitStack() as stack:
            try:
                if not os.path.isdir(self._store):
                    os.makedirs(self._store, exist_ok=True)
                self._own = stack.enter_context(open_own(self._store, self._folder, create=True))
            except OSError as error:
                raise failure(error, self._folder, "create") from error
            stack.enter_context(locked(self._folder, timeout=LOCK_TIMEOUT))
            self._head = self._read_head()
            self._held = stack.pop_all()
        return self

    def __exit__(self, *exception: object) -> None:
        self._held.close()
        self._head = None
        descriptor, self._unsynced = self._unsynced, None
        if descriptor is not None:
            try:
                os.fsync(descriptor)
            except OSError as error:
                raise failure(error, self.path, "write the ledger") from error
            finally:
                os.close(descriptor)

    @property
    def head(self) -> str | None:
        """The hash of the last entry as it is now, locked or not; None for a ledger that has none yet."""
        head = self._head or self._read_head()
        return head.head if head.count else None

    def append(self, event: str, timestamp: str, payload: JsonObject, *, sync: bool = True) -> None:
        """Add an entry; only under the lock. It is durable at once, or without `sync` when the ledger has been left."""
        before = self._head or self._read_head()
        seq = before.count + 1
        fields = {"seq": seq, "timestamp": timestamp, "event": event, "writer": before.writer}
        line = write_line(fields, payload, os.urandom(16).hex(), before.head)
        try:
            name = os.path.basename(self.path)
            if sync:
                append_lines(name, line.raw, self._mode, dir_fd=self._own)
            else:
                self._sync_later(append_unsynced(name, line.raw, self._mode, dir_fd=self._own))
        except OSError as error:
            raise failure(error, self.path, "write the ledger") from error
        self._head = Head(before.writer, seq, line.hash)
        if seq == 1:
            from runcard.store.known_stores import note_store  # noqa: PLC0415 - once for each store

            note_store(self._store)

    def _sync_later(self, descriptor: int) -> None:
        if self._unsynced is None:
            self._unsynced = descriptor
        else:  # one sync is for all entries
            os.close(descriptor)

    def _read_head(self) -> Head:
        writer = self._id
        nothing = Head(writer, 0, first_link(self._id, writer))
        for most in _TAILS:
            try:
                lines = read_tail(self.path, most).split(b"\n")
            except (FileNotFoundError, NotRegularFileError):
                return nothing
            except OSError as error:
                # Of a link nothing is read: no entry there is ours, and appending one will fail.
                if error.errno == errno.ELOOP:
                    return nothing
                raise failure(error, self.path, "read the ledger") from error
            for raw in reversed(lines[:-1]):  # behind the last newline: nothing, or torn
                if (entry := parse_line(raw)) is not None:
                    return Head(writer, entry["seq"], entry["hash"])
                # a damaged one is skipped; `verify` reports it
        return nothing


def ledger_paths(store: str) -> list[str]:
    """The ledgers of a store, one for each host; raises RuncardError if they cannot be listed."""
    try:
        return layout.ledger_paths(store)
    except OSError as error:
        raise failure(error, layout.own_folder(store), "look for ledgers in") from error


class LedgerReading:
    """One host's ledger, read line by line; when the end is reached, `faults` and `is_torn` say what is wrong with it."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.faults: list[ChainFault] = []
        self.is_torn = False

    def __iter__(self) -> Iterator[Line]:
        from runcard.store.journal import stream_journal  # noqa: PLC0415 - it also writes journals, and is long to load

        stream = stream_journal(self.path)
        faults: list[ChainFault] = []
        checker = ChainChecker(os.path.basename(self.path).removesuffix(".jsonl"))
        for entry in stream:
            faults += checker.add(entry)
            yield entry.line
        self.faults, self.is_torn = [*map(unparsed, stream.damaged), *faults], bool(stream.torn)


def open_ledger(path: str) -> int:
    """A descriptor of a ledger, for reading; raises an error that names the file if it is unreadable, a link or a device."""
    try:
        return open_regular(path)
    except NotRegularFileError as error:
        raise StoreError(f"{printable(path)} is not a regular file", hint="restore the journal") from error
    except OSError as error:
        raise failure(error, path, "read the journal") from error


def ledger_state(store: str) -> tuple[object, ...]:
    """The state of every ledger file, to detect changes."""
    try:
        states = [(path, os.lstat(path)) for path in ledger_paths(store)]
    except OSError as error:
        raise failure(error, layout.own_folder(store), "look for ledgers in") from error
    return tuple((path, now.st_ino, now.st_size, now.st_mtime_ns, now.st_ctime_ns) for path, now in states)


def stream_entries(path: str) -> Iterator[LedgerEntry]:
    """The entries of a ledger, read as they are needed; withheld and foreign lines are skipped, and no chain is checked."""
    from runcard.store.journal import stream_journal  # noqa: PLC0415 - as above

    return filter(None, map(entry_in, stream_journal(path).lines))


def entries_in(store: str) -> Iterator[LedgerEntry]:
    """The entries of all hosts' ledgers, one ledger after the other."""
    return (entry for path in ledger_paths(store) for entry in stream_entries(path))


def entry_in(line: JsonObject) -> LedgerEntry | None:
    """The entry in a line of a ledger; None for a withheld or foreign line."""
    payload = line.get("payload")
    if not isinstance(payload, dict) or not all(
        isinstance(payload.get(key), str) for key in ("kind", "id", "path", "sha256")
    ):
        return None
    facts = (payload["kind"], payload["id"], payload["path"], payload["sha256"])
    time, end = str(line.get("timestamp")), _end(payload.get("amendments"))
    replaced = payload.get("replaces")
    texts = [payload.get(key) for key in ("archive", "archive_sha256", "mac")]
    texts.append(replaced.get("path") if isinstance(replaced, dict) else None)
    return LedgerEntry(str(line.get("event")), *facts, line["hash"], time, end, *map(_text, texts))


def entries_about(store: str, record_id: str) -> Iterator[LedgerEntry]:
    """The entries about one record. Only these are parsed, and no chain is checked."""
    word = record_id.encode()
    with contextlib.suppress(OSError):  # as if there were none; `verify` reports it
        for path in layout.ledger_paths(store):
            with contextlib.suppress(NotRegularFileError), open(open_regular(path), "rb") as file:
                lines = (parse_line(raw.removesuffix(b"\n")) for raw in file if word in raw)
                found = (entry_in(line) for line in lines if line is not None)
                yield from (entry for entry in found if entry is not None and entry.id == record_id)


def in_order(books: Iterable[Iterable[LedgerEntry]]) -> list[LedgerEntry]:
    """The entries of all hosts' ledgers in the order of time; those of one host stay in their own order, even if its clock jumped."""
    timed: list[tuple[datetime, LedgerEntry]] = []
    for book in books:
        latest = _NEVER
        for entry in book:
            latest = max(latest, parse_time(entry.time) or _NEVER)
            timed.append((latest, entry))
    return [entry for _, entry in sorted(timed, key=itemgetter(0))]


def history_of(store: str) -> list[LedgerEntry]:
    """The entries of all hosts' ledgers in the order of time."""
    return in_order(map(stream_entries, ledger_paths(store)))


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _end(value: object) -> Head | None:
    """Where the amendments of a record ended, as an entry says it."""
    match value:
        case {"writer": str(writer), "count": int(count), "head": str(head)}:
            return Head(writer, count, head)
    return None
