"""Where the marks of a drawing are: pure arithmetic, so that the templates only write numbers.

Each row of a table has a bar of its own, so that its figures stay text. Widths are in units of a drawing that is WIDTH wide and grows with its page. Nothing is drawn for what is not known.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from runcard.documents.times import parse_time
from runcard.encoding import JsonObject
from runcard.operations.runs.call_list import RunCall

WIDTH = 1000
MOST_ROWS = 200
_LEAST = 8  # units that a mark is wide


class CallBar(NamedTuple):
    """A call in a waterfall: from its start to its end, and where its first token came."""

    call: RunCall
    number: int
    x: float | None  # None: its time is not known
    width: float
    first: float | None


class Waterfall(NamedTuple):
    """The calls of a run over time."""

    bars: list[CallBar]
    seconds: float
    hidden: int  # calls that are not drawn


def waterfall(calls: Sequence[RunCall]) -> Waterfall:
    """The first calls of a run, each in a row of its own."""
    shown = sorted(calls, key=lambda call: call.started or 0)[:MOST_ROWS]
    times = [
        (call.started, call.ended) for call in shown if call.started is not None and call.ended is not None
    ]
    begin = min((start for start, _ in times), default=0.0)
    span = max((end for _, end in times), default=begin) - begin or 1.0
    bars = []
    for number, call in enumerate(shown):
        x, width, first = None, 0.0, None
        if call.started is not None:
            width = max(_LEAST, (call.seconds or 0) / span * WIDTH)
            x = min((call.started - begin) / span * WIDTH, WIDTH - _LEAST)
            width = min(width, WIDTH - x)
            if call.first_token is not None and call.seconds:
                first = x + min(1.0, call.first_token / call.seconds) * width
        bars.append(CallBar(call, number + 1, x, width, first))
    return Waterfall(bars, span, len(calls) - len(shown))


@dataclass
class LifeBar:
    """An agent in a timeline, and its place in the tree of the team."""

    entry: JsonObject
    depth: int
    x: float | None
    width: float
    is_estimated: bool  # its end was not observed
    waits: list[tuple[float, float]]  # where agents that it started worked: left edge and width


class Timeline(NamedTuple):
    """The agents of a session over time."""

    bars: list[LifeBar]
    begin: datetime | None
    end: datetime | None
    hidden: int


def timeline(instances: Sequence[JsonObject]) -> Timeline:
    """The agents of a session, each below the one that started it."""
    ordered = list(_in_tree(instances))
    lives = [(parse_time(entry["created_at"]), parse_time(entry["terminated_at"])) for _, entry in ordered]
    begin = min((start for start, _ in lives if start), default=None)
    end = max((end for _, end in lives if end), default=None)
    span = (end - begin).total_seconds() if begin and end else 0
    span = span if span > 0 else 1.0
    own_lives: dict[str, list[tuple[float, float]]] = {}  # of the agents that each started
    for (_, entry), (start, stop) in zip(ordered, lives, strict=True):
        if begin and start and stop and entry.get("parent_instance_id"):
            life = [(time - begin).total_seconds() / span * WIDTH for time in (start, stop)]
            own_lives.setdefault(entry["parent_instance_id"], []).append((life[0], life[1]))
    bars = []
    for number, ((depth, entry), (start, stop)) in enumerate(zip(ordered, lives, strict=True)):
        if number == MOST_ROWS:
            break
        x, width = None, 0.0
        if begin and start and stop:
            x = min((start - begin).total_seconds() / span * WIDTH, WIDTH - _LEAST)
            width = min(max(_LEAST, (stop - start).total_seconds() / span * WIDTH), WIDTH - x)
        estimated = (
            entry.get("terminated_at_source", "observed") != "observed" or entry["status"] == "running"
        )
        waits = [] if x is None else _overlaps(own_lives.get(entry["instance_id"], []), x, x + width)
        bars.append(LifeBar(entry, depth, x, width, estimated, waits))
    return Timeline(bars, begin, end, max(0, len(ordered) - MOST_ROWS))


def _overlaps(lives: list[tuple[float, float]], low: float, high: float) -> list[tuple[float, float]]:
    """The parts between two places that are covered by lives, each as its left edge and width."""
    parts: list[tuple[float, float]] = []
    for start, stop in sorted(lives):
        left, right = max(start, low), min(stop, high)
        if parts and left <= parts[-1][1]:
            parts[-1] = (parts[-1][0], max(parts[-1][1], right))
        elif left < right:
            parts.append((left, right))
    return [(left, right - left) for left, right in parts]


def _in_tree(instances: Sequence[JsonObject]) -> Iterable[tuple[int, JsonObject]]:
    """Each instance below its parent, with its depth; one whose parents form a ring comes last."""
    ids = {entry["instance_id"] for entry in instances}
    children: dict[str | None, list[JsonObject]] = {}
    for entry in instances:
        parent = entry.get("parent_instance_id")
        children.setdefault(parent if parent in ids else None, []).append(entry)
    seen: set[str] = set()
    stack = [(0, entry) for entry in reversed(children.get(None, []))]
    while stack:
        depth, entry = stack.pop()
        if entry["instance_id"] in seen:
            continue
        seen.add(entry["instance_id"])
        yield depth, entry
        stack += [(depth + 1, child) for child in reversed(children.get(entry["instance_id"], []))]
    yield from ((0, entry) for entry in instances if entry["instance_id"] not in seen)


class GraphNode(NamedTuple):
    """A record in a graph of where files come from."""

    label: str
    url: str | None
    about: str
    x: int
    y: int


class LineageGraph(NamedTuple):
    """Records that made the inputs on the left, this one in the middle, those that read its outputs on the right."""

    left: list[GraphNode]
    middle: GraphNode
    right: list[GraphNode]
    height: int


NODE_WIDTH, NODE_HEIGHT = 280, 54
_GAP = 14


def lineage_graph(
    left: Sequence[tuple[str, str | None, str]], middle: str, right: Sequence[tuple[str, str | None, str]]
) -> LineageGraph:
    """The places of records; each is a label, an address and a text about its files."""
    rows = max(len(left), len(right), 1)
    height = rows * (NODE_HEIGHT + _GAP) - _GAP

    def column(nodes: Sequence[tuple[str, str | None, str]], x: int) -> list[GraphNode]:
        own = len(nodes) * (NODE_HEIGHT + _GAP) - _GAP
        top = (height - own) // 2
        return [
            GraphNode(label, url, about, x, top + number * (NODE_HEIGHT + _GAP))
            for number, (label, url, about) in enumerate(nodes)
        ]

    middle_x = (WIDTH - NODE_WIDTH) // 2
    center = GraphNode(middle, None, "this record", middle_x, (height - NODE_HEIGHT) // 2)
    return LineageGraph(column(left, 0), center, column(right, WIDTH - NODE_WIDTH), height)
