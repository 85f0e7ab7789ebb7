"""The quick way to read a record of Claude Code gives what the slow way gives, or leaves the record to it."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from runcard.files import open_regular
from runcard.transcripts import claude_code
from runcard.transcripts.calls import Call
from runcard.transcripts.claude_code import call_reader
from runcard.transcripts.claude_code.common_record import (
    CommonDecoder,
    NotCommonError,
    _refuse,
    common_decoder,
)
from runcard.transcripts.content import FileContent
from runcard.transcripts.line_reader import open_lines
from runcard.transcripts.reading import read_files
from runcard.transcripts.sources import detect, find_files
from transcripts.session_files import SONNET, Json, assistant, usage, user

Found = tuple[list[tuple[bytes, Call]], list[tuple[int | None, str]], dict[str, int]]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("sessions") / "s-1.jsonl"


def read(path: Path, data: bytes) -> FileContent:
    path.write_bytes(data)
    with open_lines(open_regular(path)) as file:
        return claude_code.read(str(path), file)


def found(content: FileContent) -> Found:
    calls = content.calls
    return (
        sorted((key, calls._unpacked(packed)) for key, packed in calls._calls.items()),
        content.unread,
        dict(content.unknown_types),
    )


def both(path: Path, data: bytes) -> tuple[Found, Found, int]:
    """What the quick and the slow way find, and how many records the quick one has read."""
    quick = 0
    decode, errors = common_decoder()

    def counted(line: bytes) -> Any:
        nonlocal quick
        record = decode(line)
        quick += 1
        return record

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(call_reader, "common_decoder", lambda: CommonDecoder(counted, errors))
        first = found(read(path, data))
        patch.setattr(call_reader, "common_decoder", lambda: CommonDecoder(_refuse, (NotCommonError,)))
        second = found(read(path, data))
    return first, second, quick


VALUES = st.one_of(
    *(st.none(), st.booleans(), st.integers(-3, 5), st.sampled_from([2**53, 2**64, 10**30, 0.0, 1.5, -0.0])),
    st.sampled_from(
        ["", "x", "s-1", "assistant", "user", "<synthetic>", "standard", "batch", "fast", SONNET]
    ),
    st.sampled_from(["\ud800", "é", "server_tool_use", "a" * 70_000, "2026-11-02T10:00:00Z"]),
    st.sampled_from([[], {}, [{}], [None], ["x"], {"a": 1}, {"web_search_requests": 0}, {"x": 0.0}]),
)
TIMES = st.sampled_from(
    [
        "2026-11-02T10:00:00.5Z",
        "2026-11-02T10:00:00.123456789Z",
        "2026-11-02T10:00:00.0005Z",
        "2026-11-02T10:00:00.9999999Z",
        "2026-11-02t10:00:00z",
        "2026-11-02 10:00:00Z",
        "2026-11-02T10:00:00",
        "2026-11-02T10:00:60Z",
        "2026-11-02T12:00:00+02:00",
        "2026-11-02T24:00:00Z",
        "1969-12-31T23:59:59.999Z",
        "0001-01-01T00:00:00Z",
        "9999-12-31T23:59:59.999Z",
        "2026-13-02T10:00:00Z",
        "20261102T100000Z",
        "2026-W45-1T10:00:00Z",
    ]
)
PLACES = st.sampled_from(
    [
        *(
            (name,)
            for name in ("type", "requestId", "isSidechain", "agentId", "attributionAgent", "sessionId")
        ),
        *(
            (name,)
            for name in ("cwd", "gitBranch", "isApiErrorMessage", "forkedFrom", "message", "uuid", "slug")
        ),
        *(("message", name) for name in ("id", "model", "content", "stop_reason", "usage", "other")),
        *(("message", "usage", name) for name in usage()),
        *(
            ("message", "usage", name)
            for name in ("server_tool_use", "iterations", "speed", "inference_geo", "x")
        ),
        ("message", "usage", "cache_creation", "ephemeral_5m_input_tokens"),
        ("message", "usage", "cache_creation", "ephemeral_1h_input_tokens"),
        ("message", "usage", "cache_creation", "other"),
    ]
)
BLOCKS = st.lists(
    st.sampled_from(
        [
            {"type": "text", "text": 'x "usage" ]},"stop_reason":null'},
            {"type": "thinking", "thinking": "…"},
            {"type": "tool_use", "input": {"type": "server_tool_use"}},
            {"type": "server_tool_use", "name": "web_search"},
            {"type": "web_search_tool_result"},
            {"type": None},
            {},
            "text",
        ]
    ),
    max_size=3,
)


def changed(record: Json, place: tuple[str, ...], value: object) -> Json:
    """The record with another value in one place; without it for Ellipsis."""
    copy: Json = json.loads(json.dumps(record))
    inner: Any = copy
    for name in place[:-1]:
        inner = inner.get(name) if isinstance(inner, dict) else None
    if isinstance(inner, dict):
        if value is ...:
            inner.pop(place[-1], None)
        else:
            inner[place[-1]] = value
    return copy


CHANGES = st.one_of(
    st.tuples(PLACES, st.one_of(VALUES, st.just(...))),
    st.tuples(st.just(("timestamp",)), st.one_of(TIMES, VALUES)),
    st.tuples(st.just(("message", "content")), BLOCKS),
)


@st.composite
def lines(draw: st.DrawFn) -> bytes:
    record = assistant(f"msg_{draw(st.integers(1, 3))}", usage(output=draw(st.sampled_from([1, 2, 20]))))
    for place, value in draw(st.lists(CHANGES, max_size=3)):
        record = changed(record, place, value)
    items = draw(st.permutations(list(record.items()))) if draw(st.booleans()) else list(record.items())
    text = json.dumps(
        dict(items),
        ensure_ascii=draw(st.booleans()),
        separators=draw(st.sampled_from([(",", ":"), (", ", ": ")])),
    )
    if draw(st.integers(0, 9)) == 0:  # a key twice
        text = text[:-1] + ',"type":' + json.dumps(draw(VALUES)) + "}"
    data = text.encode("utf-8", "surrogatepass")
    if draw(st.integers(0, 4)) == 0:  # a damaged line
        position = draw(st.integers(0, len(data) - 1))
        data = (
            data[:position]
            + draw(st.sampled_from([b"", b"\x00", b"\xff", b"\\", b'"', b"}", b"NaN"]))
            + data[position + 1 :]
        )
    return data.replace(b"\n", b" ") + draw(st.sampled_from([b"\n", b"\r\n", b" \n"]))


WARM = json.dumps(assistant("msg_0"), separators=(",", ":")).encode() + b"\n"


@given(st.lists(st.one_of(lines(), st.just(WARM)), max_size=6))
@example([b'{"type":"assistant","type":"user"}\n'])
def test_both_ways_find_the_same(path: Path, records: list[bytes]) -> None:
    """Whatever is in the lines, and whichever comes first."""
    data = json.dumps(user(), separators=(",", ":")).encode() + b"\n" + b"".join(records)
    quick, slow, _ = both(path, data)
    assert quick == slow


@pytest.mark.parametrize("text", TIMES.elements)  # type: ignore[attr-defined]
def test_times_are_the_same(text: str, path: Path) -> None:
    quick, slow, _ = both(path, WARM + json.dumps(assistant("msg_1", time=text)).encode() + b"\n")
    assert quick == slow


def test_common_records_are_read_the_quick_way(path: Path) -> None:
    """Those of Claude Code 2.0 and of 2.1, with an order of fields and facts of their own."""
    facts: dict[str, Any] = {
        "server_tool_use": {"web_search_requests": 0},
        "inference_geo": "",
        "iterations": [],
        "speed": "standard",
    }
    newer = assistant("msg_2", usage(**facts), forkedFrom={"sessionId": "s-0"})
    order = ("parentUuid", "isSidechain", "message", "requestId", "type", "uuid", "timestamp")
    newer = {name: newer[name] for name in order} | newer
    data = b"".join(
        json.dumps(record).encode() + b"\n" for record in [assistant(), assistant("msg_1"), newer, newer]
    )
    quick, slow, count = both(path, data)
    assert quick == slow
    assert len(quick[0]) == 2  # msg_1 and msg_2
    assert count == 4


def test_what_is_in_front_of_a_type_is_remembered_only_with_an_id_before_it(path: Path) -> None:
    """A line that begins in another way is no user's, although the rest is the same."""
    known = b'{"parentUuid":null,"type":"user","message":{}}\n'
    other = b'{"message":{"type":"user"},"usage":0,"type":"unheard-of"}\n'
    assert read(path, known + other).unknown_types == {"unheard-of": 1}


def test_sessions_are_read_without_msgspec(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_module(name: str) -> object:
        raise ImportError(name)

    monkeypatch.setattr("runcard.transcripts.claude_code.common_record.import_module", no_module)
    monkeypatch.setattr(call_reader, "common_decoder", common_decoder.__wrapped__)
    assert len(read(path, WARM * 2).calls) == 1


@pytest.mark.parametrize("value", [[], {}, None, 5, True])
@pytest.mark.parametrize(
    ("tool", "name"),
    [("claude-code", "s-1.jsonl"), ("codex", "rollout-1.jsonl"), ("gemini", "session-1.jsonl")],
)
def test_a_type_that_is_no_text_costs_no_other_line(
    tool: str, name: str, value: object, tmp_path: Path
) -> None:
    """Also as the first record, by which the tool of a file is told."""
    records = [{"type": value, "usage": {}, "payload": {"type": value}}, {"type": value, "usage": {}}]
    (tmp_path / name).write_bytes(b"".join(json.dumps(record).encode() + b"\n" for record in records))
    files, _ = find_files([tool], [str(tmp_path)])
    content = read_files(files)
    assert (content.unread, sum(content.unknown_types.values())) == ([], 2)
    assert detect(str(tmp_path / name), ["claude-code", "codex", "gemini"]) is None
