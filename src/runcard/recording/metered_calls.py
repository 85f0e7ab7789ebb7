"""Recording the calls that pass the meter's relay.

The relay reports in its own thread, and never waits: masking a long prompt takes a tenth of a second. So finished calls are
recorded by a further thread. If it falls far behind, or the journal cannot be written, calls are counted as lost, and the
totals say so.
"""

import contextlib
import queue
import threading
from typing import TYPE_CHECKING

from runcard.documents.run.events import METERING_STARTED
from runcard.errors import RuncardError
from runcard.files import printable
from runcard.observe.clients.call import CallFacts
from runcard.observe.meter.exchange import Failure
from runcard.observe.meter.wire_calls import WireCalls
from runcard.observe.meter.wire_facts import FinishedCall
from runcard.recording.events import UNREAD_REPLY, EventRecorder
from runcard.recording.model_calls import CallReport, read_call_usage, record_call, warn_once

if TYPE_CHECKING:
    from runcard.observe.meter.exchange import Observe

_MOST_WAITING = 10_000  # finished calls; what is kept of their requests has a limit of its own
_MOST_KINDS = 100  # of requests that are not understood
_LONGEST_KIND = 200
_ADD_USAGE = "record what you know of it with run.add_usage"


class MeteredCalls:
    """Turns what the relay reports into events of a run."""

    def __init__(self, events: EventRecorder, *, keep_content: bool = False) -> None:
        self.keep_content = keep_content
        self.observe: Observe = WireCalls(self).observe
        self.calls = 0  # that were seen, failed ones included
        self.incomplete: dict[str, None] = {}  # why calls are missing in the totals
        self.unwritten: list[
            tuple[str, str | None, int]
        ] = []  # reasons that could not be recorded, hints, calls
        self._events = events
        self._report = CallReport(observer="meter", keep_content=keep_content)
        self._queue: queue.SimpleQueue[FinishedCall | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._lost = 0  # calls that are not in the journal
        self._problem = "the recorder is behind"  # why
        self._not_understood: dict[str, int] = {}  # those that are not recorded yet, by kind
        self._connected: set[str] = set()  # hosts that were reached
        self._not_connected: dict[str, str] = {}  # hosts without a connection, and why

    def calls_started(self) -> None:
        """The first call begins: the journal says so now, as nothing else does if the run is killed before its end."""
        self._start()

    def call_finished(self, call: FinishedCall) -> None:
        """A call is over; it is recorded soon."""
        self.calls += 1
        if (self._thread is None and not self._start()) or self._queue.qsize() >= _MOST_WAITING:
            self._lost += 1
        else:
            self._queue.put(call)

    def _start(self) -> bool:
        """Start the thread that records; False if there are too many already."""
        thread = threading.Thread(target=self._record_calls, name="runcard-meter-calls", daemon=True)
        try:
            thread.start()
        except RuntimeError as error:
            self._problem = str(error)
            return False
        self._thread = thread
        return True

    def not_understood(self, kind: str) -> None:
        """Record the first request of a kind at once; the others are counted until the end."""
        kind = printable(kind[:_LONGEST_KIND])
        if kind not in self._not_understood:
            if len(self._not_understood) >= _MOST_KINDS:
                kind = "other requests"
            if kind not in self._not_understood:
                self._not_understood[kind] = 0
                if self._add_incomplete(_not_understood(kind), 1, _ADD_USAGE):
                    return
        self._not_understood[kind] += 1

    def unreadable(self, problem: str) -> None:
        """A part of a call could not be read."""
        with contextlib.suppress(RuncardError, OSError):  # the event of the call says it, too
            warn_once(self._events, f"a reply of {printable(problem[:300])}", UNREAD_REPLY)

    @property
    def unreachable(self) -> list[str]:
        """The hosts that no call reached, with the reason: `api.example: Connection refused`. After `close`."""
        hosts = self._not_connected.items()
        return [f"{host}: {reason}" for host, reason in hosts if host not in self._connected]

    def close(self, timeout: float = 60.0) -> None:
        """Record what is left; to be called after the relay was stopped. `timeout` is for one call."""
        if self._thread is not None:
            self._queue.put(None)
            left = self._queue.qsize() + 1
            while self._thread.is_alive() and self._queue.qsize() < left:
                left = self._queue.qsize()
                self._thread.join(timeout)
            self._lost += self._queue.qsize() if self._thread.is_alive() else 0
        if self._lost:
            what = "a call" if self._lost == 1 else f"{self._lost:,} calls"
            self._add_at_end(f"{what} could not be recorded: {self._problem}", self._lost)
        for kind, count in self._not_understood.items():
            if count:
                self._add_at_end(_not_understood(kind), count, _ADD_USAGE)
        self._not_understood.clear()

    def _add_at_end(self, reason: str, calls: int, hint: str | None = None) -> None:
        if not self._add_incomplete(reason, calls, hint):
            self.unwritten.append((reason, hint, calls))  # a full disk may have room a moment later

    def _add_incomplete(self, reason: str, calls: int, hint: str | None = None) -> bool:
        """Record that calls are missing; False if that cannot be written. If it stays so, the record cannot be closed."""
        self.incomplete.setdefault(f"{reason}; {hint}" if hint else reason)
        try:
            self._events.add_incomplete_usage(reason, hint, calls)
        except (RuncardError, OSError):
            return False
        return True

    def _record_calls(self) -> None:
        with contextlib.suppress(RuncardError, OSError):  # the call itself is counted as lost then
            self._events.emit(METERING_STARTED, {})
        while (call := self._queue.get()) is not None:
            try:
                self._record(call.facts())
            except Exception as error:  # noqa: BLE001 - the next calls are recorded in any case
                self._lost += 1
                is_known = isinstance(error, RuncardError)
                self._problem = str(error) if is_known else f"{type(error).__name__}: {error}"

    def _record(self, facts: CallFacts) -> None:
        usage = read_call_usage(self._events, facts)
        self._note_host(facts)
        record_call(self._events, facts, usage, self._report)

    def _note_host(self, facts: CallFacts) -> None:
        """Remember whether the host was reached; there are as many hosts as the relay has routes."""
        if facts.exchange is None:
            return
        host, error = facts.exchange.endpoint.partition("/")[0], facts.error or {}
        if error.get("type") == Failure.UNREACHABLE.value:
            message = str(error.get("message"))
            self._not_connected.setdefault(host, message.partition(": ")[2] or message)
        else:
            self._connected.add(host)


def _not_understood(kind: str) -> str:
    return f"{kind} is not understood"


def make_observer(events: EventRecorder, *, keep_content: bool = False) -> MeteredCalls:
    """What the relay of a run reports to: its `observe`, and `close` at the end."""
    return MeteredCalls(events, keep_content=keep_content)
