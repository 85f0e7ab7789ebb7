"""Random records for the writers: valid documents with hostile names, unknown values and large numbers."""

import json
from datetime import UTC, datetime
from typing import Any

from hypothesis import strategies as st

from runcard.documents.reader import load_document
from runcard.documents.times import format_time_ms
from runcard.interop.record_content import RUN, SESSION, RecordContent, RecordFile

HOSTILE = 'x"; \\end{document} }, @misc{evil, $&#_%~^ <script>\n---\n: - \x1b[31m\u202e ü 😀 \x85'

texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=30) | st.just(HOSTILE)
maybe_text = st.none() | texts
digests = st.binary(min_size=32, max_size=32).map(bytes.hex)
counts = st.integers(0, 10**9) | st.integers(2**53, 2**62)
maybe_count = st.none() | counts
costs = st.none() | st.floats(0, 10**6, allow_nan=False).map(lambda cost: round(cost, 6)) | st.integers(0, 9)
ids = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._-]{0,20}", fullmatch=True)
scalars = st.none() | st.booleans() | texts | st.integers(-(10**30), 10**30) | st.floats(-1e300, 1e300)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3)
)
times = st.datetimes(datetime(1970, 1, 2), datetime(9000, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001
paths = (
    st.binary(min_size=1, max_size=12)
    .filter(lambda name: not set(name) & {0, 47} and name not in {b".", b".."})
    .map(lambda name: name.decode("utf-8", "surrogateescape"))
)  # also names that are not UTF-8


@st.composite
def spans_of_time(draw: st.DrawFn) -> tuple[str | None, str | None]:
    start, end = sorted([draw(times), draw(times)])
    known = draw(st.sampled_from([(True, True), (True, False), (False, True), (False, False)]))
    return (
        format_time_ms(start) if known[0] else None,
        format_time_ms(end) if known[1] else None,
    )


@st.composite
def runs(draw: st.DrawFn) -> RecordContent:
    start, end = draw(spans_of_time())
    tokens = {"input": draw(maybe_count), "output": draw(maybe_count)}
    files = [
        {"path": path, "sha256": draw(st.none() | digests)}
        for path in draw(st.lists(texts, max_size=3, unique=True))
    ]
    document: dict[str, Any] = {
        "metadata_version": "1.0",
        "generation": {
            "experiment_id": None,
            "experiment_name": draw(maybe_text),
            "run_id": draw(ids),
            "status": draw(st.sampled_from(["completed", "failed", "interrupted", None])),
            "timestamp_start": start,
            "timestamp_end": end,
            "duration_seconds": None,
            "command": draw(st.none() | st.lists(texts, max_size=3)),
            "labels": draw(st.dictionaries(texts, texts, max_size=2)),
        },
        "configuration": {
            **draw(st.dictionaries(texts, values, max_size=3)),
            "model": draw(maybe_text),
            "provider": draw(maybe_text),
        },
        "data_sources": {"files": [*files, draw(texts)], "total_tokens": None},
        "environment": {
            "persona_version": draw(maybe_text),
            "runcard_version": None,
            "python_version": None,
            "platform": None,
            "timezone": None,
            "git": draw(st.none() | st.just({"commit": "4be1" * 10, "branch": "main", "dirty": False})),
            "packages": draw(st.none() | st.dictionaries(texts, st.none() | texts, max_size=3)),
        },
        "costs": {
            "input_tokens": tokens["input"],
            "output_tokens": tokens["output"],
            "total_cost_usd": draw(costs),
        },
        "errors": [{"type": "error", "message": text} for text in draw(st.lists(texts, max_size=1))],
        "checksums": {"config": None, "data": None, "output": None},
    }
    load_document(json.dumps(document).encode(), kind="generation")  # raises for one that is not valid
    outputs = draw(st.lists(st.tuples(paths, digests, counts), max_size=3, unique_by=lambda one: one[0]))
    return RecordContent(
        RUN,
        document["generation"]["run_id"],
        draw(ids),
        document,
        RecordFile("metadata.json", 100, draw(digests), False),
        tuple(RecordFile(path, size, digest, True) for path, digest, size in outputs),
        calls=tuple(draw(st.lists(calls(), max_size=3))),
    )


@st.composite
def calls(draw: st.DrawFn) -> dict[str, Any]:
    tokens = {
        name: draw(maybe_count) for name in ("input", "output", "cache_read", "cache_write_5m", "reasoning")
    }
    failed = draw(st.booleans())
    return {
        "timestamp": draw(st.none() | times.map(format_time_ms)),
        "instance_id": None,
        "model": draw(maybe_text),
        "requested_model": draw(maybe_text),
        "provider": draw(maybe_text),
        "tokens": tokens,
        "latency_seconds": draw(st.none() | st.floats(0, 1000)),
        "cost_usd": draw(costs),
        "stop_reason": draw(maybe_text),
        "request": draw(
            st.none()
            | st.just({"temperature": 0.2, "max_tokens": 9, "stop_sequences": ["a", "\n"], "seed": 2**70})
        ),
        "content": {"prompt": "SECRET PROMPT", "reply": "SECRET REPLY"},
        **({"error": {"type": draw(maybe_text), "message": draw(maybe_text)}} if failed else {}),
    }


@st.composite
def sessions(draw: st.DrawFn) -> RecordContent:
    agents: list[dict[str, Any]] = []
    for own in draw(st.lists(ids, min_size=1, max_size=3, unique=True)):
        start, end = sorted([draw(times), draw(times)])
        tokens = {name: draw(maybe_count) for name in ("input", "output", "cache_read", "cache_write")}
        agents.append(
            {
                "instance_id": own,
                "name": draw(texts),
                "role": "general",
                "model": draw(st.just("unknown") | texts),
                "status": draw(st.sampled_from(["completed", "error", "timeout", "terminated"])),
                "created_at": format_time_ms(start),
                "terminated_at": format_time_ms(end),
                "tokens": tokens | {"reasoning": None},
                "cost": draw(st.floats(0, 9).map(lambda cost: round(cost, 4))),
                "parent_instance_id": agents[0]["instance_id"] if agents else None,
                "error_message": draw(maybe_text),
                "tool_uses": draw(st.dictionaries(texts, counts, max_size=2)),
            }
        )
    document: dict[str, Any] = {
        "version": "2.0.0",
        "team_session_id": draw(ids),
        "instances": agents,
        "execution_summary": {"total_cost": draw(costs), "total_tokens": draw(maybe_count)},
        "errors": draw(st.lists(texts, max_size=1)),
    }
    outputs = [
        RecordFile(f"instances/{agents[0]['instance_id']}/workspace/{path}", size, digest, True)
        for path, digest, size in draw(
            st.lists(st.tuples(paths, digests, counts), max_size=2, unique_by=lambda one: one[0])
        )
    ]
    return RecordContent(
        SESSION,
        document["team_session_id"],
        draw(ids),
        document,
        RecordFile("metadata.json", 100, draw(digests), False),
        tuple(outputs),
    )


records = runs() | sessions()
