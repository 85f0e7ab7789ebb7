"""The start document of a session that is recorded while it works: `session.json` in its directory.

It fixes a name for the session, of its id and its start, which its journals begin with. Its directory has the same id, and the
time when it is closed.
"""

import os
from datetime import datetime
from typing import NamedTuple

from runcard.documents.times import parse_time
from runcard.encoding import JsonObject, Limits, decode_json
from runcard.errors import RuncardError, StoreError
from runcard.files import is_safe_id, printable, read_file
from runcard.store import directory_names, layout

_LARGEST = 64 << 20  # bytes


class LiveStart(NamedTuple):
    """The start of a session."""

    session_id: str
    name: str  # while it is open
    created: datetime  # the time in this name
    document: JsonObject

    @property
    def process(self) -> JsonObject | None:
        """The process that records it; None if it belongs to no process."""
        process = self.document.get("process")
        return process if isinstance(process, dict) else None

    @property
    def is_detached(self) -> bool:
        """Whether it belongs to no process: it is open until it is finished."""
        return "process" in self.document and self.document["process"] is None

    @property
    def keep_secrets(self) -> bool:
        return self.document.get("keep_secrets") is True


def read_live_start(live: str) -> LiveStart:
    """The start of a session; raises StoreError for a file that runcard did not write."""
    path = layout.live_start(live)
    if not os.path.lexists(path):
        raise StoreError(
            f"there is no open session in {printable(live)}", hint="it is closed, or was never started"
        )
    try:
        document = decode_json(read_file(path, _LARGEST), Limits(size=_LARGEST))
    except RuncardError as error:
        raise _not_ours(live, error.message) from error
    start = _parse(document)
    if start is None or start.session_id != os.path.basename(os.path.abspath(live)):
        raise _not_ours(live, "it is not the start of this session")
    return start


def _parse(document: object) -> LiveStart | None:
    if not isinstance(document, dict):
        return None
    session_id, name, text = (document.get(key) for key in ("team_session_id", "directory", "created_at"))
    if not (isinstance(session_id, str) and isinstance(name, str) and isinstance(text, str)):
        return None
    created = parse_time(text)
    is_sound = created is not None and is_safe_id(session_id)
    if created is None or not is_sound or name != directory_names.session_name(created, session_id):
        return None
    return LiveStart(session_id, name, created, document)


def reserved_name(store: str, session_id: str) -> str | None:
    """The name of the open session with this id; None if there is none."""
    live = layout.live_session(store, session_id)
    if not layout.is_live_session(live):
        return None
    try:
        return read_live_start(live).name
    except RuncardError:
        return None


def _not_ours(live: str, reason: str) -> StoreError:
    return StoreError(
        f"{printable(layout.live_start(live))} cannot be used: {reason}",
        hint="restore it; the journals beside it are kept as they are",
    )
