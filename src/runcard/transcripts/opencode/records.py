"""What OpenCode keeps, the same for its database and for its older files: sessions, and records of messages and their parts."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, Protocol

from runcard.transcripts.content import milliseconds, object_of, text_of

LARGEST = 16 << 20  # bytes of a record
TOO_LARGE = "the record is too large"


class SessionFacts(NamedTuple):
    """What is known about a session, which is that of a sub-agent if it has a parent."""

    parent: str | None = None
    folder: str | None = None
    title: str | None = None
    version: str | None = None
    agent: str | None = None
    created: int = -1
    updated: int = -1


class StoredRecord(NamedTuple):
    """A message or a part. The parts of a message follow it."""

    table: str  # `message`, `part`; `session_message` for a whole message of the newer generation
    id: str
    session: str
    created: int
    type: str | None  # of a message of the newer generation
    data: bytes | None  # JSON; None if it cannot be read
    reason: str | None = None  # why not


class SessionSource(Protocol):
    """A database, or a folder of older files."""

    def facts(self, session: str) -> SessionFacts | None: ...
    def children(self, session: str) -> list[str]: ...  # the sessions of its sub-agents, oldest first
    def row(self, session: str) -> dict[str, Any]: ...  # all that is kept about the session itself
    def records(self, session: str) -> Iterator[StoredRecord]: ...
    def sessions_with(self, session: str, created: int) -> set[str]: ...  # others with a message of that time


def facts_of(row: Mapping[str, Any]) -> SessionFacts:
    """The facts in a row of the database, or in the file of a session."""
    time = object_of(row.get("time"))
    return SessionFacts(
        text_of(row.get("parent_id") or row.get("parentID")),
        text_of(row.get("directory")),
        text_of(row.get("title")),
        text_of(row.get("version")),
        text_of(row.get("agent")),
        milliseconds(row.get("time_created") or time.get("created")),
        milliseconds(row.get("time_updated") or time.get("updated")),
    )


class SessionRoots:
    """Finds the session that the user talks to, for that of a sub-agent of any depth. It may itself not be there."""

    def __init__(self, facts: Callable[[str], SessionFacts | None]) -> None:
        self._facts = facts
        self._roots: dict[str, str] = {}

    def root(self, session: str) -> str:
        if (known := self._roots.get(session)) is not None:
            return known
        path: dict[str, None] = {}
        above: str | None = session
        while above is not None and above not in self._roots and above not in path:
            path[above] = None
            session, facts = above, self._facts(above)
            above = None if facts is None else facts.parent
        if above is None:
            root = session
        elif above in self._roots:
            root = self._roots[above]
        else:  # a circle of parents
            names = list(path)
            root = min(names[names.index(above) :])
        self._roots.update(dict.fromkeys(path, root))
        return root


def family(source: SessionSource, root: str) -> Iterator[tuple[str, str | None]]:
    """The session, then those of its sub-agents, each with its parent."""
    seen, waiting = {root}, [(root, None)]  # type: tuple[set[str], list[tuple[str, str | None]]]
    while waiting:
        session, parent = waiting.pop()
        yield session, parent
        children = [child for child in source.children(session) if child not in seen]
        seen.update(children)
        waiting += [(child, session) for child in reversed(children)]
