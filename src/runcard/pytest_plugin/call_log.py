"""The model calls of one test, and the run that holds them.

The run begins with the first call, or when the test starts a process, which may make a call. If there was none, the run is
removed again: a test without model calls leaves nothing on disk.

Calls that the test's own code records in a run of its own stay there. They are part of the figures of the test all the same.
"""

import contextlib
import os
import threading
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from runcard.documents.run.events import MODEL_CALLED, USAGE_INCOMPLETE
from runcard.encoding import JsonObject
from runcard.errors import RuncardError
from runcard.observe.clients.endpoints import provider_at
from runcard.observe.clock import Clock
from runcard.observe.meter.adapters import MARKS
from runcard.observe.meter.adapters.known_programs import client_of
from runcard.pytest_plugin.figures import figures_of
from runcard.recording.caller_warnings import warnings_in
from runcard.recording.recorder import events_of
from runcard.recording.run import JournalEvents, RecordOptions, Run, lifetime_of
from runcard.recording.start_document import start_settings
from runcard.recording.started_runs import begin_started_run
from runcard.store import layout
from runcard.store.runs.open_journals import OpenJournals

if TYPE_CHECKING:
    from runcard.accounting import Prices
    from runcard.recording.events import EventRecorder
    from runcard.settings.apply import SigningSettings

_STATUS = {
    "passed": "completed",
    "skipped": "completed",
    "xfailed": "completed",
    "interrupted": "interrupted",
}
_USAGE = (MODEL_CALLED, USAGE_INCOMPLETE)
_USE_METER = "`runcard run -- pytest` counts it, for all tests together"
_VARIABLES = ("RUNCARD_RUN_ID", "RUNCARD_PARENT", "TRACEPARENT")


class Surroundings(NamedTuple):
    """What all tests of a session share."""

    outputs: str  # the store
    prices: "Prices | None"
    link: str  # the path in RUNCARD_RUN_DIR: while a test has a run, a link to it
    command: list[str] | None = None  # that the user ran, if this process was started by another one
    signing: "SigningSettings | None" = None  # what to sign the runs with

    @property
    def hosts(self) -> str:
        """A file: forked processes add the hosts of providers that they look up."""
        return f"{self.link}-hosts"


class CallLog:
    """Collects the model calls of one test, or of another part of the session."""

    def __init__(self, name: str, surroundings: Surroundings) -> None:
        self.name = name
        self.phase = "setup"
        self.outcome = "passed"
        self._failures: list[tuple[str, str]] = []  # types of exceptions, and what they say
        self._surroundings = surroundings
        self._clock = Clock()
        self._run: Run | None = None
        self._turn = threading.RLock()
        self._is_beginning = self._has_ended = False
        self._lines: list[JsonObject] = []
        self._warnings: list[str] = []
        self._phases: Counter[str] = Counter()
        self._recorders: dict[JournalEvents, None] = {}  # of the runs that the calls are in
        self._has_own_calls = False  # whether some of them are in the run of the test
        self._variables: dict[str, str | None] = {}  # before the run began
        self._hosts: set[str] = set()  # of providers, that this process looked up
        self._pid = os.getpid()
        self._hosts_of_others = _size(surroundings.hosts)  # what of the file is about earlier tests
        self._agents: set[str] = set()  # agent tools that it started

    def begin(self) -> Run | None:
        """The run of the test, which begins if it has not."""
        with self._turn:
            if self._run is None and not self._is_beginning and not self._has_ended:
                self._is_beginning = True
                try:
                    with self._postponed_warnings():
                        self._run = begin_started_run(self._options())
                    self._set_variables(self._run)
                finally:
                    self._is_beginning = False
            return self._run

    def _postponed_warnings(self) -> contextlib.AbstractContextManager[None]:
        """Keep the warnings of the recording for the report: pytest may turn those in a test into failures."""
        return warnings_in(self._warnings)

    def _options(self) -> RecordOptions:
        """Not those of the current directory: a test may have changed it."""
        around, settings = self._surroundings, start_settings(labels={"test": self.name})
        if around.command is not None:
            settings["command"] = around.command
        return RecordOptions(
            around.outputs,
            settings,
            (),
            around.prices,
            keep_secrets=False,
            strict=False,
            signing=around.signing,
        )

    def _set_variables(self, run: Run) -> None:
        """Let processes that the test starts find the run."""
        values = run.environ
        self._variables = {name: os.environ.get(name) for name in _VARIABLES}
        os.environ.update({name: values[name] for name in _VARIABLES if name in values})
        with contextlib.suppress(OSError):
            os.symlink(values["RUNCARD_RUN_DIR"], self._surroundings.link)

    def _restore_variables(self) -> None:
        for name, value in self._variables.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        with contextlib.suppress(OSError):
            os.unlink(self._surroundings.link)

    def observe(self, recorder: "EventRecorder", event: str, payload: JsonObject) -> None:
        """An event about model calls that this process recorded."""
        name = USAGE_INCOMPLETE if event == USAGE_INCOMPLETE else MODEL_CALLED
        with self._turn:
            self._lines.append({"timestamp": self._clock.timestamp(), "event": name, "payload": payload})
            self._phases[self.phase] += _is_call(self._lines[-1])
            self._has_own_calls |= self._run is not None and events_of(self._run) is recorder
            if isinstance(recorder, JournalEvents):
                self._recorders.setdefault(recorder)

    def note_host(self, host: str) -> None:
        """This process, or one that was forked from it, is about to call a host."""
        if host in self._hosts or provider_at(f"https://{host}") is None:
            return
        self._hosts.add(host)
        if os.getpid() != self._pid:
            with contextlib.suppress(OSError), open(self._surroundings.hosts, "a", encoding="utf-8") as file:
                file.write(f"{host}\n")

    def _all_hosts(self) -> set[str]:
        """The hosts of providers that this process and those forked from it looked up."""
        forked = b""
        with contextlib.suppress(OSError), open(self._surroundings.hosts, "rb") as file:
            file.seek(self._hosts_of_others)
            forked = file.read()
        return self._hosts | set(forked.decode("utf-8", "replace").split())

    def note_start(self, words: list[str]) -> None:
        """This process is about to start another one."""
        if words and any(mark in word for word in words for mark in MARKS):
            client = client_of(words)
            self._agents.update([client] if client is not None else ())

    def _unseen(self, lines: list[JsonObject]) -> Iterator[JsonObject]:
        """What may have called models, and is in no event."""
        seen = {str(line["payload"].get("endpoint")).partition("/")[0] for line in lines}
        reasons = [
            f"{host} was called, and no model call of it was seen"
            for host in sorted(self._all_hosts() - seen)
        ]
        reasons += [f"{agent} was started, and its calls are not seen here" for agent in sorted(self._agents)]
        for reason in reasons:
            yield {"event": USAGE_INCOMPLETE, "payload": {"reason": f"{reason}: {_USE_METER}"}}

    @property
    def has_open_calls(self) -> bool:
        """Whether a reply has not been read to its end yet."""
        return self._run is not None and bool(events_of(self._run).open_calls)

    def end_calls(self) -> None:
        """Record the calls whose replies have not been read to their end, as they are."""
        if self._run is not None:
            events_of(self._run).end_calls()

    def figures(self) -> JsonObject | None:
        """The figures so far; None if no model was called."""
        with self._turn:
            others = list(self._lines_of_other_processes())
            lines, phases = [*self._lines, *others], self._phases.copy()
            recorders = [*self._recorders, *([self._journal_events] if others else [])]
        lines += self._unseen(lines)
        if not lines:
            return None
        phases["other processes"] = sum(map(_is_call, others))
        paths = [events.path for events in recorders if events and events.status != "not recorded"]
        return {
            "test": self.name,
            "outcome": self.outcome,
            **figures_of(lines),
            "phases": {name: count for name, count in phases.items() if count},
            "records": list(dict.fromkeys(paths)),
            "warnings": list(self._warnings),
        }

    def _lines_of_other_processes(self) -> Iterator[JsonObject]:
        events = self._journal_events
        if events is None or events.status == "not recorded":
            return
        try:
            for line in OpenJournals(events.path, events.run_id).lines:
                if line.get("writer") != events.writer and line.get("event") in _USAGE:
                    yield dict(line)
        except (OSError, RuncardError) as error:
            reason = f"calls of other processes cannot be read: {error}"
            yield {"event": USAGE_INCOMPLETE, "payload": {"reason": reason}}

    @property
    def _journal_events(self) -> JournalEvents | None:
        events = None if self._run is None else events_of(self._run)
        return events if isinstance(events, JournalEvents) else None

    def add_failure(self, error: BaseException) -> None:
        """Note why the test failed. What pytest says of an assertion may quote a reply, which no journal has."""
        message = "an assertion failed" if isinstance(error, AssertionError) else str(error)
        self._failures.append((type(error).__name__, message or type(error).__name__))

    def finish(self, outcome: str) -> JsonObject | None:
        """End the run, and remove it if it holds no call; returns the figures, None if no model was called."""
        self.outcome = outcome
        with self._turn:
            self._has_ended = True
            run = self._run
        if run is not None:
            try:
                with self._postponed_warnings():
                    self._end(run)
            finally:
                self._restore_variables()
        return self.figures()

    def _end(self, run: Run) -> None:
        lifetime = lifetime_of(run)
        if lifetime is None or not lifetime.is_open:
            return  # the test has ended it
        if self._has_record:
            run.set_labels(outcome=self.outcome)
            for kind, message in self._failures:
                run.add_error(message, type=kind)
            run.finish(_STATUS.get(self.outcome, "failed"))
        else:
            lifetime.discard()
            self._run = None

    @property
    def _has_record(self) -> bool:
        """Whether the run holds a call, or files of the user's."""
        if self._has_own_calls or self.has_open_calls or any(self._lines_of_other_processes()):
            return True
        events = self._journal_events
        if events is None or events.status == "not recorded":
            return False
        try:
            names = os.listdir(events.path)
        except OSError:  # the test removed it: closing it says so
            return True
        return not {*names} <= {layout.METADATA, *layout.journal_names(names)}


def _size(path: str) -> int:
    try:
        return os.path.getsize(path)
    except OSError:
        return 0


def _is_call(line: JsonObject) -> bool:
    """Whether an event is that of a call, and not of a part of one."""
    return line["event"] == MODEL_CALLED and not line["payload"].get("part")
