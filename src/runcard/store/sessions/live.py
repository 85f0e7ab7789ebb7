"""The directory of a session that is recorded while it works: `.open/<id>/`.

It holds the start document, the journal of the process that owns the session, one for each other process, and what the agents
have logged. The owner holds the lock of its journal for as long as it lives: a free lock means that it is gone. A session
without a process has no such lock; each command that adds to it holds the directory's.

Who closes a session holds the directory's lock. A writer other than the owner holds it, shared, for each line: so none is lost
between reading the journals and removing them.

Invariant: a directory has its name only with its start document and its first event in it.
"""

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime, timedelta
from hashlib import sha256
from stat import S_ISVTX
from typing import NamedTuple

from runcard.documents import chain
from runcard.documents.chain import Head, JournalEntry, JournalLines, parse_line
from runcard.encoding import JsonObject, decode_json, encode_json
from runcard.errors import RuncardError, StoreError
from runcard.files import (
    Sync,
    failure,
    fsync_directory,
    open_regular,
    printable,
    read_regular,
    shell_word,
    write_all,
    write_atomic,
)
from runcard.files.locks import NO_LOCKS
from runcard.files.processes import is_alive
from runcard.files.rename_noreplace import rename_noreplace
from runcard.store import directory_names, layout
from runcard.store.append_only import end_of_lines
from runcard.store.journal import (
    EVENT_LIMIT,
    ClosedJournalError,
    JournalWriter,
    new_writer,
    stream_journal,
    try_lock,
)
from runcard.store.locks import LOCK_TIMEOUT, lock_folder
from runcard.store.own_directories import open_own, own_entry
from runcard.store.remove_tree import remove_tree
from runcard.store.sessions.directory import Modes, create_store, store_of
from runcard.store.sessions.live_start import LiveStart, read_live_start

_SECOND = timedelta(seconds=1)
_LINE_TIMEOUT = 1.0  # seconds to wait for another process that adds a line
_APPEND = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
_TAIL = 1 << 16  # bytes in which the last line is looked for first
_HEARTBEAT = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK

RUNNING, INTERRUPTED = "running", "interrupted"
GONE = "its process is gone"
DETACHED = "it belongs to no process: `runcard session finish` ends it"
ON_OTHER_HOST = "it runs on another host, so its state cannot be checked from here"
UNKNOWN = "it is unknown whether it is still running"
HELD = "its process is gone; another one closes it, or is a child of it"


class SessionIsOpenError(StoreError):
    """A session with this id is being recorded already."""


class NewLiveSession(NamedTuple):
    """A session that was just created."""

    path: str
    start: LiveStart
    journal: JournalWriter  # with the lock of the owner


MakeDocument = Callable[[str, datetime], JsonObject]  # with the name, and the time in it


def create_live(
    store: str,
    session_id: str,
    moment: datetime,
    modes: Modes,
    make_document: MakeDocument,
    begin: Callable[[JournalWriter, JsonObject], object],
) -> NewLiveSession:
    """Create the directory of a session; `begin` writes its first event. Raises SessionIsOpenError if the id is in use."""
    store = os.path.abspath(store)
    create_store(store, modes.folder)
    path, temporary = (
        layout.live_session(store, session_id),
        layout.new_live_session(store, os.urandom(4).hex()),
    )
    with lock_folder(layout.own_folder(store)):  # see recovery
        remove_empty(store, path)
        if os.path.lexists(path):
            raise _is_open(path)
        created = _free_second(store, session_id, moment)
        document = make_document(directory_names.session_name(created, session_id), created)
        start = LiveStart(session_id, document["directory"], created, document)
        journal: JournalWriter | None = None
        try:
            os.mkdir(temporary, modes.folder)
            os.chmod(temporary, modes.folder)  # the umask may have removed some
            write_atomic(layout.live_start(temporary), encode_json(document), mode=modes.file, sync=Sync.FILE)
            own = layout.live_journal(temporary)
            journal = JournalWriter(own, start.name, new_writer(), lock=True, mode=modes.file)
            begin(journal, document)
            journal.sync()
            _take_name(store, temporary, path)
            journal.path = layout.live_journal(path)
        except BaseException as error:
            if journal is not None:
                journal.close()
            with contextlib.suppress(OSError, StoreError):
                _remove(store, temporary)
            if isinstance(error, OSError):
                raise failure(error, path, "create") from error
            raise
    return NewLiveSession(path, start, journal)


def remove_empty(store: str, path: str) -> None:
    """Remove a directory of `.open/` if it is empty: whoever was removing it was killed. The store is locked."""
    with contextlib.suppress(OSError, StoreError), own_entry(store, path) as (folder, name):
        os.rmdir(name, dir_fd=folder)


def _take_name(store: str, temporary: str, path: str) -> None:
    with open_own(store, layout.collections(store)) as folder:
        try:
            rename_noreplace(os.path.basename(temporary), os.path.basename(path), folder)
        except FileExistsError:
            raise _is_open(path) from None
    fsync_directory(layout.collections(store))


def _free_second(store: str, session_id: str, moment: datetime) -> datetime:
    """The first second from this moment on whose name no session with this id has."""
    while True:
        collection = layout.collection(store, session_id, moment)
        name = directory_names.session_name(moment, session_id)
        taken = os.path.lexists(collection) or os.path.lexists(layout.closing_mark(collection))
        if not taken and not layout.is_taken(store, name, moment):
            return moment
        moment = moment.replace(microsecond=0) + _SECOND


def _is_open(path: str) -> SessionIsOpenError:
    name = printable(os.path.basename(path))
    if not layout.is_live_session(path):
        return SessionIsOpenError(f"{printable(path)} is in the way", hint="use another id")
    status, remark = live_state(path)
    if status == INTERRUPTED:
        hint = f"run `runcard close {name}` first"
    elif remark == DETACHED:
        hint = f"add to it with --session {name}, or end it: runcard session finish --session {name}"
    else:
        hint = "pass its `environ` to the process that is to join it, or use another id"
    return SessionIsOpenError(f"the session {name} is open already, in {printable(path)}", hint=hint)


def find_live(store: str, session_id: str) -> str | None:
    """The directory of the open session with this id; the id may be any text."""
    names = {os.path.basename(path): path for path in layout.live_sessions(store)}
    return names.get(session_id)


def live_mark(live: str) -> tuple[int, int, int] | None:
    """What tells an open session from a later one with the same id; None if none is open."""
    try:
        status = os.lstat(layout.live_start(live))
    except OSError:
        return None
    return status.st_dev, status.st_ino, status.st_mtime_ns


def live_state(live: str) -> tuple[str, str | None]:
    """The status of an open session as it is now, and a remark about one that is not simply running. Changes nothing."""
    try:
        start = read_live_start(live)
    except RuncardError:
        return RUNNING, UNKNOWN
    if start.is_detached:
        return RUNNING, DETACHED
    process = start.process or {}
    if process.get("host") not in {None, os.uname().nodename}:
        return RUNNING, ON_OTHER_HOST
    is_free = _is_lock_free(live)
    alive = is_alive(process)
    if is_free or (is_free is None and alive is False):
        return INTERRUPTED, GONE
    if alive is False:
        return RUNNING, HELD
    return RUNNING, UNKNOWN if is_free is alive is None else None


def _is_lock_free(live: str) -> bool | None:
    """Whether nobody holds the lock of the owner's journal; None if that is unknown."""
    try:
        descriptor = try_lock(layout.live_journal(live), shared=True)
    except FileNotFoundError:
        return True  # it was closed, and its directory not removed
    except OSError:
        return None
    if descriptor is not None:
        os.close(descriptor)
    return descriptor is not None


@contextlib.contextmanager
def hold_dead(live: str) -> Iterator[bool]:
    """Hold the lock of a session whose owner is gone; the value is False if it is alive, or somebody else holds it."""
    descriptor = None
    try:
        descriptor = try_lock(layout.live_journal(live))
        is_held = descriptor is not None
    except FileNotFoundError:
        is_held = True
    except OSError as error:
        if error.errno not in NO_LOCKS:
            raise failure(error, live, "check the owner of") from error
        is_held = is_alive(read_live_start(live).process or {}) is False
    try:
        yield is_held
    finally:
        if descriptor is not None:
            os.close(descriptor)


@contextlib.contextmanager
def lock_live(live: str) -> Iterator[None]:
    """Keep other processes from adding lines; raises ClosedJournalError if the session was closed meanwhile."""
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(lock_folder(live, timeout=LOCK_TIMEOUT))
        except StoreError as error:
            if os.path.isdir(live):
                raise
            raise _closed(live) from error
        yield


@contextlib.contextmanager
def adding(live: str) -> Iterator[None]:
    """While another process than the owner adds a line; raises ClosedJournalError if the session is being closed."""
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(lock_folder(live, shared=True, timeout=_LINE_TIMEOUT))
        except StoreError as error:
            if error.__cause__ is not None and os.path.isdir(live):
                raise
            raise _closed(live) from error
        if not os.path.isfile(layout.live_start(live)):
            raise _closed(live)
        yield


def _closed(live: str) -> ClosedJournalError:
    return ClosedJournalError(
        f"the session in {printable(live)} is closed", hint="record before the session ends"
    )


def join_live(live: str, name: str, modes: Modes) -> JournalWriter:
    """Start the journal of another process; to be called while `adding`."""
    writer = new_writer()
    return JournalWriter(layout.live_journal(live, writer), name, writer, mode=modes.file, limit=EVENT_LIMIT)


def continue_journal(live: str, name: str) -> JournalWriter:
    """Continue the journal of a session without a process; to be called while its directory is locked."""
    path = layout.live_journal(live)
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            size = os.fstat(descriptor).st_size
            end = end_of_lines(descriptor, size)
            if end < size:
                os.ftruncate(descriptor, end)  # a command was killed while it wrote a line
            last = _last_line(descriptor, end)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise failure(error, path, "read the journal") from error
    line = parse_line(last)
    if line is None:
        raise StoreError(
            f"{printable(path)} is damaged: its last line cannot be read", hint="restore the journal"
        )
    head = Head(line["writer"], line["seq"], line["hash"])
    return JournalWriter(path, name, head.writer, lock=True, after=head)


def _last_line(descriptor: int, end: int) -> bytes:
    size = _TAIL
    while True:
        start = max(0, end - size)
        *before, line = os.pread(descriptor, end - 1 - start, start).split(b"\n") if end else [b""]
        if before or not start:
            return line
        size *= 16


def append_log(live: str, instance_id: str, data: bytes, mode: int) -> None:
    """Add to what an instance has logged."""
    path = layout.live_log(live, instance_id)
    try:
        descriptor = os.open(path, _APPEND, mode)
        try:
            write_all(descriptor, data)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise failure(error, path, "write") from error


class LiveJournals:
    """The events of all writers of an open session, by time; they may be too many for memory, and are read each time.

    `problems` are messages about lines that were lost, once all were read.
    """

    def __init__(self, live: str) -> None:
        try:
            self._streams = {path: stream_journal(path) for path in layout.live_journals(live)}
        except OSError as error:
            raise failure(error, live, "read the journals in") from error

    def __iter__(self) -> Iterator[JournalEntry]:
        return chain.merge(self._streams.values())

    @property
    def lines(self) -> JournalLines:
        """The parsed lines; to be iterated as often as needed."""
        return JournalLines(self)

    def blocks(self) -> Iterator[bytes]:
        """The lines as they are."""
        return (entry.raw + b"\n" for entry in self)

    def heads(self) -> tuple[Head, ...]:
        """The end of each writer's chain."""
        return chain.heads(self.lines)

    def problems(self, name: str) -> list[str]:
        """What is wrong with the journals of the open session with this name."""
        found = []
        for path, stream in self._streams.items():
            checker, reasons = chain.ChainChecker(name), []
            for entry in stream:
                reasons += [f"line {fault.number}: {fault.reason}" for fault in checker.add(entry)]
            reasons += [f"line {number} cannot be parsed" for number in stream.damaged]
            if stream.torn:
                reasons.append(f"the last line was torn, {len(stream.torn)} bytes were dropped")
            found += [f"{os.path.basename(path)}: {reason}" for reason in reasons[:1]]
        return found


def lines_digest(blocks: Iterable[bytes]) -> str:
    hasher = sha256()
    for block in blocks:
        hasher.update(block)
    return hasher.hexdigest()


def write_live_heartbeat(live: str, timestamp: str) -> None:
    """Say that the owner of a session is alive, as far as possible."""
    data = (
        f'{{"timestamp":"{timestamp}"}}\n'.encode()
    )  # one write of a fixed length: nobody sees a part of it
    with contextlib.suppress(OSError):
        descriptor = os.open(layout.live_heartbeat(live), _HEARTBEAT, 0o600)
        try:
            os.pwrite(descriptor, data, 0)
        finally:
            os.close(descriptor)


def last_sign_of_life(live: str) -> str | None:
    """The last heartbeat of a session's owner, as it was written; None if there is none."""
    try:
        data = decode_json(read_regular(layout.live_heartbeat(live)) or b"")
    except (RuncardError, OSError):
        return None
    text = data.get("timestamp") if isinstance(data, dict) else None
    return text if isinstance(text, str) else None


def log_times(live: str, instance_ids: Iterable[str]) -> dict[str, float]:
    """When each instance logged last, in seconds since 1970."""
    times = {}
    for own in instance_ids:
        with contextlib.suppress(OSError):
            descriptor = open_regular(layout.live_log(live, own))
            try:
                times[own] = os.fstat(descriptor).st_mtime
            finally:
                os.close(descriptor)
    return times


def check_removable(live: str) -> None:
    """Raise StoreError for a session of another user that this one may not remove: stored, it would still be open."""
    folder = os.path.dirname(os.path.abspath(live))
    try:
        owner, above = os.stat(live).st_uid, os.stat(folder)
    except OSError:
        return  # it was closed
    is_held = above.st_mode & S_ISVTX and os.geteuid() not in {0, owner, above.st_uid}
    if is_held or not all(map(_may_write, (live, folder))):
        name = shell_word(os.path.basename(live))
        user = printable(_user_name(owner))
        raise StoreError(
            f"the session {name} belongs to {user}, and you may not remove it from {printable(folder)}",
            hint=f"let {user} run: runcard close {name}",
        )


def _may_write(folder: str) -> bool:
    return os.access(folder, os.W_OK | os.X_OK, effective_ids=os.access in os.supports_effective_ids)


def _user_name(number: int) -> str:
    from pwd import getpwuid  # noqa: PLC0415 - for this message

    try:
        return getpwuid(number).pw_name
    except KeyError:
        return f"user {number}"


def remove_live(live: str) -> None:
    """Remove the directory of a session that is closed.

    It loses its name in one step: no kill leaves a part of it. The next collection removes a part without a name.
    """
    live = os.path.abspath(live)
    store = store_of(live)
    nameless = layout.new_live_session(store, os.urandom(4).hex())
    try:
        with open_own(store, layout.collections(store)) as folder:
            rename_noreplace(os.path.basename(live), os.path.basename(nameless), folder)
        with contextlib.suppress(FileNotFoundError):  # a collection was faster
            _remove(store, nameless)
    except OSError as error:
        raise failure(error, live, "remove") from error


def _remove(store: str, path: str) -> None:
    with own_entry(store, path) as (parent, name):
        remove_tree(name, dir_fd=parent)
