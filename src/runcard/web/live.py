"""Events while they happen: server-sent events of a run or a session that is not closed yet."""

import asyncio
import json
from typing import TYPE_CHECKING

from starlette.concurrency import run_in_threadpool
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from runcard.errors import RuncardError
from runcard.operations.checks.show import state_of
from runcard.operations.runs.event_list import EventPage, list_events
from runcard.operations.sessions.session_watch import SessionWatch
from runcard.store import layout
from runcard.store.find_record import open_record
from runcard.store.sessions.live import RUNNING, live_state
from runcard.web.record_files import found_record

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from starlette.requests import Request

    from runcard.store.record import Record

_PAUSE = 1.0  # seconds between two looks
_ALIVE = 15  # looks after which a comment keeps the connection open
_LONGEST = 6 * 3600  # looks; then the browser connects anew
_MOST_WATCHERS = 100


class Watchers:
    """How many browsers watch records: there is a limit."""

    def __init__(self) -> None:
        self.count = 0


async def live(request: "Request") -> Response:
    """The events of an open run from a byte of its journal on, until it is closed."""
    watchers: Watchers = request.app.state.watchers
    if watchers.count >= _MOST_WATCHERS:
        return _too_many()
    found = await run_in_threadpool(found_record, request)
    record = await run_in_threadpool(found.open)
    last = request.headers.get("last-event-id") or request.query_params.get("start", "0")
    start = int(last) if last.isascii() and last.isdecimal() and len(last) < 16 else 0
    return _stream(_events(_RunWatch(record, start), watchers))


async def live_session(request: "Request") -> Response:
    """The events of an open session, until it is closed. Each connection begins anew: `begin` tells a page to forget the last one."""
    watchers: Watchers = request.app.state.watchers
    if watchers.count >= _MOST_WATCHERS:
        return _too_many()
    found = await run_in_threadpool(found_record, request)
    record = await run_in_threadpool(found.open)
    return _stream(_events(_OpenSessionWatch(record.path), watchers, "event: begin\ndata: {}\n\n"))


def _too_many() -> Response:
    return Response("too many pages watch records\n", 503, media_type="text/plain")


def _stream(events: "AsyncIterator[str]") -> Response:
    return StreamingResponse(events, media_type="text/event-stream", headers={"x-accel-buffering": "no"})


class _RunWatch:
    """The events of a run, from a byte of its journal on."""

    def __init__(self, record: "Record", start: int) -> None:
        self._record, self._start = record, start

    def look(self) -> tuple[EventPage, bool]:
        """The new events, and whether the run goes on."""
        record = open_record(self._record.path)  # anew: its document changes when it is closed
        is_open = state_of(record, record.document().to_dict())[0] == RUNNING
        page = list_events(self._record, self._start)
        self._start = page.next_byte
        return page, is_open


class _OpenSessionWatch:
    """The events of a session, as long as it is open."""

    def __init__(self, path: str) -> None:
        self._path, self._watch = path, SessionWatch(path)

    def look(self) -> tuple[EventPage, bool]:
        is_open = layout.is_live_session(self._path) and live_state(self._path)[0] == RUNNING
        return self._watch.look(), is_open


async def _events(
    watch: _RunWatch | _OpenSessionWatch, watchers: Watchers, first: str = ""
) -> "AsyncIterator[str]":
    if watchers.count >= _MOST_WATCHERS:  # several came at the same moment: ask again later
        yield "retry: 30000\n\n"
        return
    watchers.count += 1
    try:
        if first:
            yield first
        for look in range(_LONGEST):
            try:
                page, is_open = await run_in_threadpool(watch.look)
            except (RuncardError, OSError):
                yield "event: closed\ndata: gone\n\n"
                return
            for event in page.events:
                yield f"id: {page.next_byte}\nevent: journal\ndata: {json.dumps(event.to_dict())}\n\n"
            if not is_open and page.is_end:
                yield "event: closed\ndata: closed\n\n"
                return
            if page.is_end:
                if look % _ALIVE == 0:
                    yield ": still here\n\n"
                await asyncio.sleep(_PAUSE)
    finally:
        watchers.count -= 1


ROUTES = [Route("/runs/{id}/live", live), Route("/sessions/{id}/live", live_session)]
