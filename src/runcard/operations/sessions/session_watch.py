"""The events of a session while it is recorded: those of all its journals, from where the last look ended."""

import os

from runcard.files import failure, open_regular, printable
from runcard.operations.runs.event_list import EventPage, RunEvent, read_events
from runcard.store import layout

MOST_JOURNALS = 200  # of processes that are watched: the owner's, and those that joined first


class SessionWatch:
    """Looks at an open session again and again; each look gives the events that are new."""

    def __init__(self, live: str) -> None:
        self._live = live
        self._ends: dict[str, int] = {}  # of what was read, by journal

    def look(self) -> EventPage:
        """The new events, by time; raises StoreError if the session is not open any more."""
        try:
            journals = layout.live_journals(self._live)[:MOST_JOURNALS]
            pages = [self._read(path) for path in journals]
        except OSError as error:
            raise failure(error, self._live, "read the journals in") from error
        events = [event for page in pages for event in page.events]
        events.sort(key=_time)
        return EventPage(events, sum(self._ends.values()), is_end=all(page.is_end for page in pages))

    def _read(self, path: str) -> EventPage:
        with open(open_regular(path), "rb") as file:
            page = read_events(file, self._ends.get(path, 0))
        self._ends[path] = page.next_byte
        return page

    def __repr__(self) -> str:
        return f"<SessionWatch of {printable(os.path.basename(self._live))}>"


def _time(event: RunEvent) -> str:
    return event.time or ""
