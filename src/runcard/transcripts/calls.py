"""A model call in a session file, and a table of calls in which each call counts once.

The same call is in several lines, and in several files: a table keeps, for each key, the record with the largest usage. Which
one that is does not depend on the order of the records. A table needs about 250 bytes for a call.
"""

from collections.abc import Iterator
from struct import Struct
from typing import TYPE_CHECKING, NamedTuple

from runcard.accounting.tokens import Tokens
from runcard.accounting.usage import Source, Usage
from runcard.digests import short_digest

if TYPE_CHECKING:
    from collections.abc import Callable
    from decimal import Decimal

MAIN = "main"  # the agent that the user talks to
NO_TIME = -1
CLASSES = ("input", "output", "cache_read", "cache_write_5m", "cache_write_1h", "reasoning")

_PACKED = Struct("<qII6q")  # time, numbers of kind and origin, counts
_NUMBERS = Struct("<II")
_TIME_BYTES, _COUNTS_AT = 8, 16
_ID_BYTES = 8
_NO_REQUEST = bytes(_ID_BYTES)


class CallOrigin(NamedTuple):
    """Who made a call, and where; None where the file does not say."""

    tool: str
    session: str | None
    agent: str | None  # its name or its id; MAIN; None: an agent that is not named
    project: str | None  # the folder in which the session was started
    branch: str | None
    is_copy: bool = False  # the session is a fork, and the call is of an earlier one
    agent_id: str | None = None  # the id that the tool gives the agent; MAIN; None: not known


class UsageKind(NamedTuple):
    """A usage without its counts: calls of the same kind have the same prices."""

    model: str | None
    provider: str | None  # who sells the call, where the file says so; else None
    service_tier: str | None = None
    source: Source | None = "reported"
    known: int = 0b011111  # which of `CLASSES` are known, as bits
    server_tools: tuple[tuple[str, int], ...] = ()
    unknown: tuple[str, ...] = ()
    is_total: bool = False
    reported_cost: str | None = None


Counts = tuple[int, int, int, int, int, int]


class Call(NamedTuple):
    """One model call."""

    time: int  # milliseconds since 1970, or NO_TIME
    origin: CallOrigin
    kind: UsageKind
    counts: Counts  # of CLASSES; 0 where unknown

    @property
    def usage(self) -> Usage:
        """The usage as the price table takes it."""
        return usage_of(self.kind, self.counts)


def usage_of(kind: UsageKind, counts: Counts, server_tools: dict[str, int] | None = None) -> Usage:
    """A usage of this kind with these counts."""
    known = [count if kind.known >> bit & 1 else None for bit, count in enumerate(counts)]
    return Usage(
        tokens=Tokens(**dict(zip(CLASSES, known, strict=True))),
        provider=kind.provider,
        model=kind.model,
        source=kind.source,
        service_tier=kind.service_tier,
        server_tools=dict(kind.server_tools) if server_tools is None else server_tools,
        unknown=kind.unknown,
        is_total=kind.is_total,
    )


def kind_and_counts(
    usage: Usage, *, source: Source | None, model: str | None, provider: str | None = None
) -> tuple[UsageKind, Counts]:
    """A usage, taken apart for a table."""
    values = [getattr(usage.tokens, name) for name in CLASSES]
    known = sum(1 << bit for bit, value in enumerate(values) if value is not None)
    cost: Decimal | None = usage.reported_cost
    kind = UsageKind(
        model,
        provider,
        usage.service_tier,
        source if known else None,
        known,
        tuple(sorted(usage.server_tools.items())),
        usage.unknown,
        usage.is_total,
        None if cost is None else str(cost),
    )
    first, second, third, fourth, fifth, sixth = (value or 0 for value in values)
    return kind, (first, second, third, fourth, fifth, sixth)


def call_key(call_id: str, request_id: str | None = None) -> bytes:
    """The key of a call: the short digest of its id, and that of the id of its request.

    Without a request id it stands for a call with the same id and any request id: see `CallTable.settle`.
    """
    return short_digest(call_id) + (short_digest(request_id) if request_id else _NO_REQUEST)


class CallTable:
    """Calls by key."""

    def __init__(self) -> None:
        self._calls: dict[bytes, bytes] = {}
        self._kinds: dict[UsageKind, int] = {}
        self._origins: dict[CallOrigin, int] = {}
        self.kinds: list[UsageKind] = []  # the same, by number
        self.origins: list[CallOrigin] = []

    def __len__(self) -> int:
        return len(self._calls)

    def __iter__(self) -> Iterator[Call]:
        return map(self._unpacked, self._calls.values())

    def items(self) -> Iterator[tuple[bytes, Call]]:
        """All calls with their keys."""
        return ((key, self._unpacked(packed)) for key, packed in self._calls.items())

    def __contains__(self, key: bytes) -> bool:
        return key in self._calls

    def keys_by_id(self) -> dict[bytes, bytes]:
        """The keys of all calls by the part that stands for the id of a call, without that of the request."""
        return {key[:_ID_BYTES]: key for key in self._calls}

    def call(self, key: bytes) -> Call:
        """The call with this key."""
        return self._unpacked(self._calls[key])

    def put(self, key: bytes, call: Call) -> None:
        """Set a call, whatever is there."""
        numbers = self.kind_number(call.kind), self.origin_number(call.origin)
        self._calls[key] = _PACKED.pack(call.time, *numbers, *call.counts)

    def add(self, key: bytes, call: Call) -> None:
        """Add a call; if its key is there already, keep the better record."""
        time, origin, kind, counts = call
        self.add_counts(key, time, self.kind_number(kind), self.origin_number(origin), counts)

    def add_counts(self, key: bytes, time: int, kind: int, origin: int, counts: Counts) -> None:
        """The same with the numbers of a kind and of an origin."""
        packed = _PACKED.pack(time, kind, origin, *counts)
        present = self._calls.setdefault(key, packed)
        if present != packed:
            self._choose(key, packed, present)

    def _choose(self, key: bytes, packed: bytes, present: bytes) -> None:
        """Keep the better one of two records of a call."""
        if _is_better(self._unpacked(packed), self._unpacked(present)):
            self._calls[key] = packed

    def numbered(self) -> Iterator[tuple[int, int, int, Counts]]:
        """The time, the numbers of kind and origin, and the counts of each call."""
        for packed in self._calls.values():
            values = _PACKED.unpack(packed)
            yield values[0], values[1], values[2], values[3:]

    def merge(self, other: "CallTable", without_sessions: frozenset[str] = frozenset()) -> None:
        """Add all calls of another table, but for those of some sessions; a sub-agent may be a session of its own."""
        kinds = [self.kind_number(kind) for kind in other.kinds]
        origins = [self.origin_number(origin) for origin in other.origins]
        left_out = {
            number
            for number, origin in enumerate(other.origins)
            if without_sessions
            and (origin.session if origin.agent_id == MAIN else origin.agent_id) in without_sessions
        }
        translated: dict[
            bytes, bytes | None
        ] = {}  # numbers of the other table; None: of a session that is left out
        calls = self._calls
        for key, packed in other._calls.items():  # noqa: SLF001 - the same class
            old = packed[_TIME_BYTES:_COUNTS_AT]
            if old not in translated:
                kind, origin = _NUMBERS.unpack(old)
                is_left_out = origin in left_out
                translated[old] = None if is_left_out else _NUMBERS.pack(kinds[kind], origins[origin])
            if (new := translated[old]) is not None:
                own = packed[:_TIME_BYTES] + new + packed[_COUNTS_AT:]
                if (present := calls.setdefault(key, own)) != own:
                    self._choose(key, own, present)

    def with_origins(self, origin_of: "Callable[[CallOrigin, int], CallOrigin | None]") -> "CallTable":
        """The same calls, with the origin that follows from that of a call and its time; without those that have none."""
        table = CallTable()
        for key, packed in self._calls.items():
            call = self._unpacked(packed)
            if (origin := origin_of(call.origin, call.time)) is not None:
                table.add(key, call._replace(origin=origin))
        return table

    def kind_number(self, kind: UsageKind) -> int:
        if (number := self._kinds.get(kind)) is None:
            number = self._kinds[kind] = len(self._kinds)
            self.kinds.append(kind)
        return number

    def origin_number(self, origin: CallOrigin) -> int:
        if (number := self._origins.get(origin)) is None:
            number = self._origins[origin] = len(self._origins)
            self.origins.append(origin)
        return number

    def settle(self) -> None:
        """Drop a record without a request id whose call is there with one. Called once, at the end."""
        anonymous = [key for key in self._calls if key[_ID_BYTES:] == _NO_REQUEST]
        if not anonymous:
            return
        ids = {key[:_ID_BYTES]: key for key in self._calls if key[_ID_BYTES:] != _NO_REQUEST}
        for key in anonymous:
            if (better := ids.get(key[:_ID_BYTES])) is not None:
                call = self._unpacked(self._calls.pop(key))
                self.add(better, call)

    def _unpacked(self, packed: bytes) -> Call:
        values = _PACKED.unpack(packed)
        return Call(values[0], self.origins[values[2]], self.kinds[values[1]], values[3:])


def _is_better(call: Call, other: Call) -> bool:
    """Whether a record of a call has more tokens than another; else a final usage, a named agent, its own session.

    What follows only makes the choice the same in any order.
    """
    total, other_total = sum(call.counts[:2]), sum(other.counts[:2])
    return _rank(call) > _rank(other) if total == other_total else total > other_total


def _rank(call: Call) -> tuple[object, ...]:
    agent = call.origin.agent
    agent_rank = 1 if agent == MAIN else 0 if agent is None else 2
    source_rank = {"reported": 2, "partial": 1}.get(call.kind.source or "", 0)
    is_own = not call.origin.is_copy
    return (source_rank, call.counts, agent_rank, is_own, -call.time, repr(call.origin), repr(call.kind))
