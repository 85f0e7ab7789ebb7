"""Write the events of a session that is recorded while it works: masked, priced, in the journal of this process.

The process that started a session owns it. Another process, forked or started with `Session.environ`, adds events in a journal
of its own, and never closes the session. A session without a process has one journal, which each command continues.
"""

import os
import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING
from weakref import WeakSet, finalize

from runcard.documents.run.events import MODEL_CALLED, SECRETS_MASKED, USAGE_INCOMPLETE, WARNING_ADDED
from runcard.documents.session.live_events import INSTANCE_STARTED
from runcard.encoding import JsonObject
from runcard.errors import RuncardError, StoreError
from runcard.files import printable
from runcard.masking import mask_data, mask_text
from runcard.observe.clock import Clock
from runcard.recording.caller_warnings import warn_caller
from runcard.recording.events import EventRecorder, lost_calls_payload, lost_events_payload
from runcard.store.journal import ClosedJournalError, JournalWriter
from runcard.store.sessions.directory import Modes
from runcard.store.sessions.live import adding, append_log, continue_journal, join_live, live_mark, lock_live
from runcard.store.sessions.live_start import LiveStart

if TYPE_CHECKING:
    from runcard.accounting import Prices

_all_events: WeakSet["SessionEvents"] = WeakSet()


class ClosedSessionError(StoreError):
    """Something was recorded after the end of its session."""


class SessionEvents:
    """Writes the events of one session; threads may share it."""

    def __init__(
        self,
        path: str,
        start: LiveStart,
        clock: Clock,
        journal: JournalWriter | None,
        *,
        modes: Modes,
        strict: bool,
        is_recorded: bool = True,
    ) -> None:
        """`journal` is that of the owner; without one, this process joins the session with its first event."""
        self.path, self.start, self.strict = path, start, strict
        self.is_recorded = is_recorded
        self.modes = modes
        self._clock = clock
        self._journal = journal
        self._pid = os.getpid() if journal is not None else 0
        self._owner_pid = self._pid
        self._turn = threading.RLock()
        self._is_writing = False
        self._pending: list[tuple[str, JsonObject, str, str | None]] = []
        self._lost = _LostEvents()
        self._mark = live_mark(path)
        _all_events.add(self)

    @property
    def is_owner(self) -> bool:
        """Whether this process started the session, and not one that it was forked from."""
        return self._owner_pid == os.getpid()

    @property
    def is_closed(self) -> bool:
        """Whether another process has closed the session; its id may be in use again, for another one."""
        return self.is_recorded and not self.is_owner and live_mark(self.path) != self._mark

    @property
    def journal(self) -> JournalWriter | None:
        return self._journal

    @contextmanager
    def guard_failures(self) -> Iterator[None]:
        """Turn a failure of the recording into a warning, unless the recording is strict."""
        try:
            yield
        except (RuncardError, OSError) as error:
            if self.strict:
                raise
            is_late = isinstance(error, ClosedSessionError)
            warn_caller(f"{error}: this call was not recorded" if is_late else f"recording failed: {error}")

    def emit(
        self, event: str, payload: JsonObject, *, level: str = "info", instance_id: str | None = None
    ) -> None:
        """Record an event; a failure is a warning, unless the recording is strict."""
        with self.guard_failures():
            self.write(event, payload, level, instance_id)

    def write(self, event: str, payload: JsonObject, level: str, instance_id: str | None) -> None:
        """Write one event at a time: lines are in the order of time, whichever thread they come from."""
        if not self.is_recorded:
            return
        with self._turn:
            if self._is_writing:  # called by a signal handler, in the middle of another event
                self._pending.append((event, payload, level, instance_id))
                return
            self._is_writing = True
            try:
                self._write(event, payload, level, instance_id)
                while self._pending:
                    self._write(*self._pending.pop(0))
            except ClosedJournalError as error:
                raise ClosedSessionError(
                    f"the session in {printable(self.path)} is closed", hint="record before the session ends"
                ) from error
            finally:
                self._is_writing = False

    def _write(self, event: str, payload: JsonObject, level: str, instance_id: str | None) -> None:
        try:
            with self._own_journal() as journal:
                for name, about, own in self._lost.events():
                    journal.append(self._fields(name, "warning", own), about)
                journal.append(self._fields(event, level, instance_id), payload)
        except (RuncardError, OSError):
            self._lost.add(event, payload, instance_id)
            raise

    def _fields(self, event: str, level: str, instance_id: str | None) -> JsonObject:
        return event_fields(self._clock, self.start.session_id, event, level, instance_id)

    @contextmanager
    def _own_journal(self) -> Iterator[JournalWriter]:
        """The journal that this process may write now."""
        if self._journal is not None and self.is_owner:
            yield self._journal
        elif self.start.is_detached:
            with lock_live(self.path):
                self._check_open()
                journal = continue_journal(self.path, self.start.name)
                try:
                    yield journal
                    journal.sync()
                finally:
                    journal.close()
        else:
            with self._adding():
                if self._journal is None or self._pid != os.getpid():
                    self._journal, self._pid = join_live(self.path, self.start.name, self.modes), os.getpid()
                    finalize(self, self._journal.close)
                yield self._journal

    @contextmanager
    def _adding(self) -> Iterator[None]:
        with adding(self.path):
            self._check_open()
            yield

    def _check_open(self) -> None:
        if self.is_closed:
            raise ClosedJournalError(
                f"the session in {printable(self.path)} is closed", hint="record before the session ends"
            )

    def log(self, text: str, instance_id: str) -> None:
        """Add a text, without secrets, to what an instance has logged."""
        data = text.encode("utf-8", "backslashreplace")
        data += b"" if data.endswith(b"\n") else b"\n"
        if not self.is_recorded:
            return
        if self.is_owner:
            if self._journal is None or self._journal.is_ended:
                raise ClosedSessionError(
                    f"the session in {printable(self.path)} is closed", hint="record before the session ends"
                )
            append_log(self.path, instance_id, data, self.modes.file)
            return
        try:
            with self._adding():
                append_log(self.path, instance_id, data, self.modes.file)
        except ClosedJournalError as error:
            raise ClosedSessionError(error.message, hint=error.hint) from error

    def mask(self, value: JsonObject, where: str, instance_id: str | None = None) -> JsonObject:
        """Data without secrets; what was masked is recorded."""
        if self.start.keep_secrets:
            return value
        masked = mask_data(value)
        self.add_masked(masked.counts, where, instance_id)
        data: JsonObject = masked.value
        return data

    def mask_text(self, text: str, where: str, instance_id: str | None = None) -> str:
        if self.start.keep_secrets:
            return text
        masked = mask_text(text)
        self.add_masked(masked.counts, where, instance_id)
        return str(masked.value)

    def add_masked(self, counts: Mapping[str, int], where: str, instance_id: str | None) -> None:
        for rule, count in counts.items():
            self.emit(SECRETS_MASKED, {"rule": rule, "where": where, "count": count}, instance_id=instance_id)

    def timestamp(self) -> str:
        return self._clock.timestamp()

    def reset_after_fork(self) -> None:
        """In a forked child: another thread of the parent may have held the lock, and events that wait are the parent's."""
        self._turn, self._is_writing = threading.RLock(), False
        self._pending.clear()
        self._lost.clear()


class _LostEvents:
    """Events that could not be written. What is said of them later keeps sums from being taken for complete."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        self._count = 0
        self._starts: dict[str | None, JsonObject] = {}  # by agent: without its start, nothing of it counts
        self._calls: Counter[str | None] = Counter()  # by agent

    def add(self, event: str, payload: JsonObject, instance_id: str | None) -> None:
        self._count += 1
        if event == INSTANCE_STARTED:
            self._starts[instance_id] = payload
        elif event in (MODEL_CALLED, USAGE_INCOMPLETE):
            self._calls[instance_id] += 1

    def events(self) -> Iterator[tuple[str, JsonObject, str | None]]:
        """The events to write instead: their names, payloads and agents. Each is forgotten when the next is asked for."""
        if self._count:
            yield WARNING_ADDED, lost_events_payload(self._count), None
            self._count = 0
        for own in list(self._starts):
            yield INSTANCE_STARTED, self._starts[own], own
            del self._starts[own]
        for own in list(self._calls):
            yield USAGE_INCOMPLETE, lost_calls_payload(self._calls[own]), own
            del self._calls[own]


def event_fields(
    clock: Clock, session_id: str, event: str, level: str, instance_id: str | None = None
) -> JsonObject:
    """The fields of a line, besides those of the chain."""
    now = clock.read()
    return {
        "timestamp": now.timestamp,
        "level": level,
        "event": event,
        "team_session_id": session_id,
        **({} if instance_id is None else {"instance_id": instance_id}),
        "elapsed": now.elapsed,
    }


class InstanceEvents(EventRecorder):
    """Records the events of one agent of a session."""

    def __init__(
        self,
        events: SessionEvents,
        instance_id: str,
        configuration: JsonObject,
        prices: "Prices | None",
    ) -> None:
        super().__init__(strict=events.strict, prices=prices, keep_secrets=events.start.keep_secrets)
        self.session, self.instance_id = events, instance_id
        self.configuration = configuration

    def emit(self, event: str, payload: JsonObject, *, level: str = "info") -> None:
        self.session.emit(event, payload, level=level, instance_id=self.instance_id)


def _reset_after_fork() -> None:
    for events in list(_all_events):
        events.reset_after_fork()


os.register_at_fork(after_in_child=_reset_after_fork)
