"""The events of a run's journal, from a place on: for somebody who watches a run."""

from typing import BinaryIO, NamedTuple

from runcard.documents.run.events import (
    ERROR_ADDED,
    METRIC_LOGGED,
    MODEL_CALLED,
    RUN_ENDED,
    USAGE_INCOMPLETE,
    WARNING_ADDED,
)
from runcard.documents.session.live_events import (
    INSTANCE_FINISHED,
    INSTANCE_STARTED,
    RUN_RECORDED,
    SESSION_ENDED,
)
from runcard.encoding import JsonObject, decode_json
from runcard.errors import RuncardError
from runcard.store import layout
from runcard.store.record import Record

_MOST_BYTES = 256 << 10  # of a page
_LONGEST = 300  # characters of a description


class RunEvent(NamedTuple):
    """An event, in short: never a prompt or a reply."""

    number: int | None
    time: str | None
    level: str
    name: str
    about: str
    agent: str | None = None  # of an event of a session: the id of the agent that it is about

    def to_dict(self) -> JsonObject:
        data = self._asdict()
        return data if self.agent is not None else {key: data[key] for key in data if key != "agent"}


class EventPage(NamedTuple):
    """Some events, and where the next ones begin."""

    events: list[RunEvent]
    next_byte: int
    is_end: bool  # there are no more yet


def list_events(run: Record, start: int = 0) -> EventPage:
    """The events from a byte of the journal on, at most a page; a line that is not complete yet is left for later."""
    file = run.open(layout.JOURNAL)
    if file is None:
        return EventPage([], start, is_end=True)
    with file:
        return read_events(file, start)


def read_events(file: BinaryIO, start: int) -> EventPage:
    """The events from a byte of a journal on, as `list_events` has them."""
    _skip(file, start)
    data = file.read(_MOST_BYTES)
    end = data.rfind(b"\n") + 1
    if not end and len(data) == _MOST_BYTES:  # an event of the user's that is longer than a page
        return EventPage(
            [RunEvent(None, None, "info", "…", "too long to show")], start + len(data), is_end=False
        )
    events = [event for line in data[:end].split(b"\n") if line and (event := _event(line)) is not None]
    return EventPage(events, start + end, is_end=len(data) < _MOST_BYTES)


def _skip(file: BinaryIO, start: int) -> None:
    if file.seekable():
        file.seek(min(start, file.seek(0, 2)))  # no file system takes just any number
        return
    while start > 0 and (data := file.read(min(start, 1 << 18))):
        start -= len(data)


def _event(line: bytes) -> RunEvent | None:
    try:
        event = decode_json(line)
    except RuncardError:
        return None  # a damaged line, or the rest of a long one
    if not isinstance(event, dict):
        return None
    number, time, level, name = (event.get(key) for key in ("seq", "timestamp", "level", "event"))
    agent = event.get("instance_id")
    payload = event.get("payload")
    return RunEvent(
        number if isinstance(number, int) else None,
        time if isinstance(time, str) else None,
        level if isinstance(level, str) else "info",
        str(name)[:_LONGEST],
        _about(str(name), payload if isinstance(payload, dict) else {})[:_LONGEST],
        agent[:_LONGEST] if isinstance(agent, str) else None,
    )


def _about(name: str, payload: JsonObject) -> str:
    """What happened, in a few words."""
    if name == MODEL_CALLED:
        tokens = payload.get("tokens")
        tokens = tokens if isinstance(tokens, dict) else {}
        counts = ", ".join(
            f"{count:,} {key}" for key in ("input", "output") if isinstance(count := tokens.get(key), int)
        )
        return " · ".join(str(part) for part in (payload.get("model"), payload.get("step"), counts) if part)
    if name == METRIC_LOGGED:
        step = payload.get("step")
        at = "" if step is None else f" at step {step}"
        return f"{payload.get('name')} = {payload.get('value')}{at}"
    if name in {ERROR_ADDED, WARNING_ADDED}:
        return str(payload.get("message", ""))
    if name == USAGE_INCOMPLETE:
        return str(payload.get("reason", ""))
    if name in {INSTANCE_STARTED, INSTANCE_FINISHED}:
        return " · ".join(
            str(part) for part in map(payload.get, ("name", "role", "model", "status", "error")) if part
        )
    if name in {RUN_ENDED, SESSION_ENDED}:
        return str(payload.get("status", ""))
    return str(payload.get("run_id", "")) if name == RUN_RECORDED else ""
