"""Record a session while it works: start it, start its agents, end it. How it is closed is up to the subclass.

The user's exception is never replaced; a failure of the recording itself is a warning, unless it is strict.
"""

import os
import uuid
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from runcard.documents.session.live_events import INSTANCE_STARTED, SESSION_ENDED, SESSION_STARTED
from runcard.documents.session.live_fold import payload_of
from runcard.documents.times import format_time_ms
from runcard.encoding import JsonObject
from runcard.errors import RuncardError, UsageError
from runcard.files import is_safe_id
from runcard.masking import mask_data, mask_text
from runcard.masking.marks import add_counts
from runcard.observe.clock import Clock
from runcard.observe.process import this_process
from runcard.recording.argument_checks import check_labels, check_optional_text, check_text, display_value
from runcard.recording.caller_warnings import warn_caller
from runcard.recording.events import as_text, current_directory
from runcard.recording.heartbeat import HEARTBEAT
from runcard.recording.session_events import InstanceEvents, SessionEvents, event_fields
from runcard.recording.session_instance import SessionInstance, absolute, write_event
from runcard.recording.session_link import (
    SessionLink,
    add_open_session,
    open_session_here,
    remove_open_session,
)
from runcard.recording.start_document import traceparent
from runcard.store import directory_names, layout
from runcard.store.own_starts import MAC, RecordStart, agent_paths_mac, start_mac
from runcard.store.sessions.directory import Modes
from runcard.store.sessions.live import LiveJournals, create_live, write_live_heartbeat
from runcard.store.sessions.live_start import LiveStart, read_live_start
from runcard.store.sessions.own_paths import agent_paths, record_start
from runcard.version import __version__

if TYPE_CHECKING:
    from datetime import datetime

    from runcard.accounting import Prices
    from runcard.store.journal import JournalWriter
    from runcard.store.own_starts import AgentPaths

_ID_HINT = "use letters, digits, dots, dashes and underscores, at most 128; begin with a letter or a digit"
_LONGEST_SHOWN = 200  # characters of an id in a message


class SessionOptions(NamedTuple):
    """The options of recording one session."""

    store: str
    session_id: str
    labels: JsonObject
    prices: "Prices | None"
    keep_secrets: bool
    strict: bool
    modes: Modes
    is_detached: bool = False  # it belongs to no process


def check_session_id(session_id: object) -> str:
    """An id that can be the name of a directory; raises UsageError."""
    if not isinstance(session_id, str) or not session_id.strip():
        raise UsageError("Team session ID cannot be empty", hint="give the session an id")
    return check_id(session_id, "the id of the session")


def check_id(text: str, what: str) -> str:
    if not is_safe_id(text):
        raise UsageError(f"{what} is {display_value(text[:_LONGEST_SHOWN])}", hint=_ID_HINT)
    if mask_text(text).value != text:
        raise UsageError(f"{what} looks like a secret", hint="use another id")
    return text


def begin_session(options: SessionOptions) -> SessionEvents:
    """Create the directory of a session with its first event; from here on it is recorded."""
    clock = Clock()
    masked_counts: dict[str, int] = {}

    def document(name: str, created: "datetime") -> JsonObject:
        labels = options.labels
        if not options.keep_secrets:
            masked = mask_data(labels)
            labels = masked.value
            add_counts(masked_counts, masked.counts)
        trace = traceparent()
        return {
            "team_session_id": options.session_id,
            "directory": name,
            "created_at": format_time_ms(created),
            "started_at": clock.timestamp(),
            "producer": {"name": "runcard", "version": __version__},
            "process": None if options.is_detached else this_process(),
            "cwd": mask_text(as_text(current_directory())).value,
            "labels": labels,
            **({"trace": {"traceparent": trace}} if trace else {}),
            **({"keep_secrets": True} if options.keep_secrets else {}),
        }

    def begin(journal: "JournalWriter", start: JsonObject) -> None:
        fields = event_fields(clock, options.session_id, SESSION_STARTED, "info")
        mac = start_mac(RecordStart(options.store, start["directory"], start), journal.inode)
        journal.append(fields | ({} if mac is None else {MAC: mac}), start)

    new = create_live(options.store, options.session_id, clock.started, options.modes, document, begin)
    journal = new.journal
    if options.is_detached:
        journal.close()
    events = SessionEvents(
        new.path,
        new.start,
        clock,
        None if options.is_detached else journal,
        modes=options.modes,
        strict=options.strict,
    )
    events.add_masked(masked_counts, "labels", None)
    return events


def join_events(path: str, *, strict: bool = False) -> SessionEvents:
    """What adds events of this process to an open session; raises RuncardError when there is none in this directory."""
    known = open_session_here(path)
    if known is not None and known.is_recorded and not known.is_closed:
        return known
    start = read_live_start(path)
    events = SessionEvents(path, start, Clock(), None, modes=modes_of(path), strict=strict)
    add_open_session(events, is_own=False)
    return events


def modes_of(live: str) -> Modes:
    """The permissions that the owner of a session has given its files."""
    try:
        folder, file = os.stat(live).st_mode, os.stat(layout.live_start(live)).st_mode
    except OSError:
        return Modes()
    return Modes(folder & 0o777, file & 0o777)


class SessionRecorder(ABC):
    """A session that is being recorded, in the process that started it or in another one."""

    def __init__(self, events: SessionEvents, prices: "Prices | None" = None) -> None:
        self._events = events
        self._prices = prices
        self._instances: dict[str, SessionInstance] = {}
        self._named: list[AgentPaths] = []
        self._has_ended = False

    @property
    def id(self) -> str:
        """The id of the session: `team_session_id` in the documents."""
        return self._events.start.session_id

    @property
    def environ(self) -> dict[str, str]:
        """The environment variables that let a child process join this session."""
        return SessionLink(self._events.path, self.id, None).environ

    def start_instance(  # noqa: PLR0913 - one for each fact about the agent
        self,
        name: str,
        *,
        role: str | None = None,
        model: str | None = None,
        provider: str | None = None,
        parent: "SessionInstance | str | None" = None,
        workspace: "str | os.PathLike[str] | None" = None,
        output: "str | os.PathLike[str] | None" = None,
        labels: Mapping[str, object] | None = None,
        instance_id: str | None = None,
    ) -> SessionInstance:
        """Record that an agent starts.

        `parent` is the agent that started it: what `start_instance` returned, its id or its name. `workspace` is the folder
        that it works in, `output` the file with what it prints: both are copied when the session is closed. What `log` adds
        is its output otherwise. An id is made if none is given.
        """
        text = as_text(check_text(name, "the name of an agent"))
        for what, value in (("role", role), ("model", model), ("provider", provider)):
            check_optional_text(value, what)
        own = self._new_id(instance_id)
        paths = {"workspace": _path(workspace, "workspace"), "output": _path(output, "output")}
        payload: JsonObject = {
            "name": text,
            "role": role,
            "model": model,
            "provider": provider,
            "parent_instance_id": self._parent_id(parent),
            "labels": check_labels(labels or {}),
        }
        known = {key: value for key, value in payload.items() if value not in (None, {})}
        masked = self._events.mask(known, "instances", own)
        events = self._instance_events(own, masked)
        started = masked | {key: path for key, path in paths.items() if path is not None}
        self._events.emit(INSTANCE_STARTED, started | self._code_of(own, started), instance_id=own)
        instance = SessionInstance(events, masked["name"], has_output=output is not None)
        self._instances[own] = instance
        return instance

    def instance(self, word: str) -> SessionInstance:
        """The agent with this id or name, which another process may have started; raises UsageError if there is none."""
        known = self._known_names()
        own = _find(known, word, "instance")
        if own not in self._instances:
            started = self._started_payload(own)
            events = self._instance_events(own, started)
            self._instances[own] = SessionInstance(
                events, known[own], has_output="output" in started, is_ours=False
            )
        return self._instances[own]

    @property
    def instances(self) -> tuple[SessionInstance, ...]:
        """The agents that this process has started."""
        return tuple(self._instances.values())

    def event(self, name: str, /, **payload: object) -> None:
        """Write an event of your own."""
        write_event(self._events, name, payload, None)

    def _code_of(self, own: str, started: JsonObject) -> JsonObject:
        """The field that says that this user named these files."""
        named, events = agent_paths(own, started), self._events
        if not named.is_any or not events.is_recorded:
            return {}
        self._named.append(named)
        mac = agent_paths_mac(record_start(events.path, events.start), named)
        return {} if mac is None else {MAC: mac}

    def _instance_events(self, own: str, started: JsonObject) -> InstanceEvents:
        configuration = {name: started.get(name) for name in ("model", "provider")}
        return InstanceEvents(self._events, own, configuration, self._prices)

    def _new_id(self, given: str | None) -> str:
        if given is None:
            return str(uuid.uuid4())
        check_optional_text(given, "instance_id")
        own = check_id(given, "instance_id")
        if own in self._known_names():
            raise UsageError(f"the session has an agent with the id {own} already", hint="use another id")
        return own

    def _parent_id(self, parent: "SessionInstance | str | None") -> str | None:
        if parent is None:
            return None
        if isinstance(parent, SessionInstance):
            return parent.id
        if not isinstance(parent, str):
            raise UsageError(
                f"parent is a {type(parent).__name__}",
                hint="pass an agent of this session, its id or its name",
            )
        return _find(self._known_names(), parent, "parent")

    def _known_names(self) -> dict[str, str]:
        """The names of all agents so far, by id; those of other processes are read from their journals."""
        names = {own: instance.name for own, instance in self._instances.items()}
        if self._events.is_recorded:
            try:
                for own, payload in started_instances(self._events.path):
                    names.setdefault(own, payload["name"])
            except (RuncardError, OSError):
                pass  # it is closed; what is written next says so
        return names

    def _started_payload(self, own: str) -> JsonObject:
        return next((payload for other, payload in started_instances(self._events.path) if other == own), {})

    # The process that started it

    def _begin(self) -> None:
        """From here on the process speaks for the session."""
        events = self._events
        add_open_session(events, is_own=True)
        if events.is_recorded:
            HEARTBEAT.begin(f"session {events.path}", self._beat)

    def _beat(self) -> None:
        write_live_heartbeat(self._events.path, self._events.timestamp())

    def _end(self, status: str, error: BaseException | None = None) -> None:
        """Record the end, and the error if it failed, and close the session. If that fails, it is left for `runcard close`."""
        events = self._events
        self._has_ended = True
        HEARTBEAT.end(f"session {events.path}")
        try:
            if events.is_recorded:
                with events.guard_failures():
                    payload: JsonObject = {"status": status}
                    if error is not None and status == "failed":
                        payload["error"] = events.mask_text(as_text(error), "errors")
                    events.write(SESSION_ENDED, payload, "info", None)
                    if events.journal is not None:
                        events.journal.end()
                    self._close()
        finally:
            remove_open_session(events.path)
            if events.journal is not None and events.is_owner:
                events.journal.close()

    @abstractmethod
    def _close(self) -> None:
        """Store the session, whose end is recorded."""


def started_instances(live: str) -> "list[tuple[str, JsonObject]]":
    """The agents of an open session so far, by id, with the payload of their start."""
    found = []
    for line in LiveJournals(live).lines:
        own = line.get("instance_id")
        if line.get("event") == INSTANCE_STARTED and isinstance(own, str) and (payload := payload_of(line)):
            found.append((own, payload))
    return found


def unrecorded(options: SessionOptions, error: Exception) -> SessionEvents:
    """A session that is not recorded, so that the user's code can go on.

    Its path is its own, and is never made: at the usual one there may be another session, which has nothing to do with it.
    """
    hint = getattr(error, "hint", None)
    warn_caller(f"this session is not recorded: {error}{f'; {hint}' if hint else ''}")
    clock = Clock()
    name = directory_names.session_name(clock.started, options.session_id)
    document: JsonObject = {"team_session_id": options.session_id, "directory": name, "process": {}}
    start = LiveStart(options.session_id, name, clock.started, document)
    path = layout.live_session(os.path.abspath(options.store), options.session_id)
    path = f"{path}.not-recorded-{uuid.uuid4().hex[:8]}"
    return SessionEvents(path, start, clock, None, modes=options.modes, strict=False, is_recorded=False)


def _find(names: dict[str, str], word: str, what: str) -> str:
    """The id of the agent that has this id or name."""
    if word in names:
        return word
    matches = [own for own, name in names.items() if name == word]
    if len(matches) == 1:
        return matches[0]
    if matches:
        raise UsageError(
            f"{len(matches)} agents are called {display_value(word)}",
            hint=f"pass an id: {', '.join(matches[:5])}",
        )
    some = ", ".join(list(names.values())[:10])
    raise UsageError(
        f"{what} {display_value(word)} is not in the session",
        hint=f"its agents are: {some}" if names else "start it first",
    )


def _path(path: "str | os.PathLike[str] | None", what: str) -> str | None:
    """A path as it is recorded: whoever closes the session must find it."""
    if path is not None and not isinstance(path, str | os.PathLike):
        raise UsageError(f"{what} is a {type(path).__name__}", hint="pass a path")
    place = absolute(path)
    if place is None:
        return None
    if not os.fspath(path or "") or "\0" in place:
        raise UsageError(f"{what} is {display_value(place)}", hint="pass a path")
    if mask_text(as_text(place)).value != place:
        raise UsageError(
            f"the path of the {what} looks like a secret, or is not UTF-8: it could not be found again",
            hint="rename the folder",
        )
    return place
