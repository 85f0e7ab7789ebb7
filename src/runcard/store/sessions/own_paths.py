"""Which files of the user an open session may have stored: those that this user named for its agents.

A session that somebody else put into a store can name any folder of this user as the workspace of an agent. So a path counts
only in a session that this user started, in an event with this user's code (see `own_starts`). What the agents have logged is
in the store itself, and needs none.
"""

import os
from collections.abc import Collection, Iterator
from typing import NamedTuple

from runcard.documents.session.live_events import INSTANCE_STARTED
from runcard.documents.session.live_fold import payload_of
from runcard.encoding import JsonObject
from runcard.store import layout
from runcard.store.own_starts import MAC, AgentPaths, RecordStart, are_own_paths, is_own_start
from runcard.store.sessions.directory import store_of
from runcard.store.sessions.live import LiveJournals
from runcard.store.sessions.live_start import LiveStart

UNPROVEN = "it is not known to be yours"
NOT_OWN = "it is not known that you named it, and it was closed without --trust: if it is yours, copy it to another place"


class OwnPaths(NamedTuple):
    """What is this user's in an open session."""

    is_own: bool  # the session was started by this user, who may also just say so
    paths: frozenset[AgentPaths] = frozenset()
    is_trusted: bool = False  # the user says that all of it is theirs

    def has(self, paths: AgentPaths) -> bool:
        return self.is_trusted or paths in self.paths


TRUSTED = OwnPaths(is_own=True, is_trusted=True)


def own_paths(live: str, start: LiveStart, journals: LiveJournals) -> OwnPaths:
    """What the codes in an open session prove."""
    record = record_start(live, start)
    if not is_own_start(record, layout.live_journal(live)):
        return OwnPaths(is_own=False)
    return OwnPaths(is_own=True, paths=frozenset(_own_paths(record, journals)))


def is_own_session(live: str, start: LiveStart) -> bool:
    """Whether this user started an open session."""
    return is_own_start(record_start(live, start), layout.live_journal(live))


def is_all_own(live: str, start: LiveStart) -> bool:
    """Whether this user started an open session and named all files that its agents name, so that closing leaves none out."""
    record = record_start(live, start)
    return is_own_start(record, layout.live_journal(live)) and all(
        is_own for _, is_own in _named_paths(record, LiveJournals(live))
    )


def known_paths(
    live: str, start: LiveStart, journals: LiveJournals, known: Collection[AgentPaths]
) -> OwnPaths:
    """The same for the process that recorded the session: it knows what its own agents have named."""
    proven = frozenset(_own_paths(record_start(live, start), journals))
    return OwnPaths(is_own=True, paths=proven | frozenset(known))


def record_start(live: str, start: LiveStart) -> RecordStart:
    return RecordStart(store_of(os.path.abspath(live)), start.name, start.document)


def agent_paths(agent_id: str, started: JsonObject) -> AgentPaths:
    """The files that the payload of an agent's start names."""
    workspace, output = (started.get(name) for name in ("workspace", "output"))
    return AgentPaths(
        agent_id,
        workspace if isinstance(workspace, str) and workspace else None,
        output if isinstance(output, str) and output else None,
    )


def _own_paths(record: RecordStart, journals: LiveJournals) -> Iterator[AgentPaths]:
    return (paths for paths, is_own in _named_paths(record, journals) if is_own)


def _named_paths(record: RecordStart, journals: LiveJournals) -> Iterator[tuple[AgentPaths, bool]]:
    """The files that agents name, and whether this user named them."""
    for line in journals.lines:
        if line.get("event") == INSTANCE_STARTED and (payload := payload_of(line)) is not None:
            paths = agent_paths(str(line.get("instance_id")), payload)
            if paths.is_any:
                yield paths, are_own_paths(record, paths, payload.get(MAC))
