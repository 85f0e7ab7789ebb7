"""The heartbeat of an open run: a small file of its store that says when its owner was last alive.

It is not a line of the journal: an event every five seconds would be 17,280 lines a day. The file is overwritten in place, and
removed with the run's open mark. Its time is written in it, so that copying a store does not change it. Who closes a run that
was killed adds the last heartbeat to the journal.
"""

import contextlib
import os
import re

from runcard.documents.times import parse_time
from runcard.encoding import decode_json
from runcard.errors import RuncardError
from runcard.files import read_regular
from runcard.store import layout
from runcard.store.own_directories import open_own, own_entry

_TIMESTAMP = r"(?a)\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"
_WRITE = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK


def write_heartbeat(run: str, run_id: str, timestamp: str) -> None:
    """Say that the owner of a run is alive; as long as the run is on the list of open runs, and as far as possible."""
    # One write of a fixed length: a reader, or a kill, never sees a part of it.
    data = f'{{"run_id":"{run_id}","timestamp":"{timestamp}"}}\n'.encode()
    store, path = layout.store_of(run), layout.heartbeat(run)
    with contextlib.suppress(RuncardError, OSError):
        if not os.path.lexists(layout.open_mark(run)):
            return
        with open_own(store, os.path.dirname(path), create=True) as folder:
            descriptor = os.open(os.path.basename(path), _WRITE, 0o666, dir_fd=folder)
            try:
                os.pwrite(descriptor, data, 0)
            finally:
                os.close(descriptor)


def read_heartbeat(run: str, run_id: str) -> str | None:
    """When the owner of a run was last alive; None when that is not known."""
    try:
        data = decode_json(read_regular(layout.heartbeat(run)) or b"")
    except (RuncardError, OSError):
        return None
    if not isinstance(data, dict) or data.get("run_id") != run_id:
        return None
    timestamp = data.get("timestamp")
    is_ours = isinstance(timestamp, str) and re.fullmatch(_TIMESTAMP, timestamp) and parse_time(timestamp)
    return timestamp if is_ours else None


def remove_heartbeat(run: str) -> None:
    """Remove the heartbeat of a run, as far as possible: one that is left is that of no other run."""
    if not os.path.lexists(layout.heartbeat(run)):
        return  # a short run has none
    with (
        contextlib.suppress(RuncardError, OSError),
        own_entry(layout.store_of(run), layout.heartbeat(run)) as (folder, name),
    ):
        os.unlink(name, dir_fd=folder)
