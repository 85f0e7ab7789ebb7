"""How files have changed since they were imported: the same, grown, ahead or rewritten."""

import io
import json
import os
from collections.abc import Iterator
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runcard.operations.sessions.source_changes import Change, SourceChange, compare_sources
from runcard.store.sessions.instance_copies import TranscriptSource

PATH = "/home/u/.claude/projects/p/s-1.jsonl"
SESSION = "s-1"
KEY = "sk-ant-api03-" + "Zx9" * 30


def entry(data: bytes, path: str = PATH, **more: Any) -> dict[str, Any]:
    return {"path": None, "source": path, "bytes": len(data), "sha256": sha256(data).hexdigest(), **more}


def source(data: bytes, path: str = PATH, **more: Any) -> TranscriptSource:
    def read() -> Iterator[bytes]:
        yield from (data[at : at + 3] for at in range(0, len(data), 3))

    return TranscriptSource(
        path, os.path.basename(path), len(data), sha256(data).hexdigest(), more.pop("read", read), **more
    )


def change(stored: list[dict[str, Any]], now: list[TranscriptSource]) -> Change:
    return compare_sources(stored, now, SESSION).change


@given(st.binary(), st.binary(min_size=1))
def test_a_file_that_begins_with_what_was_imported_has_grown(before: bytes, more: bytes) -> None:
    assert change([entry(before)], [source(before)]) is Change.SAME
    assert change([entry(before)], [source(before + more)]) is Change.GROWN


@given(st.binary(), st.binary())
def test_any_other_file_was_rewritten(before: bytes, now: bytes) -> None:
    if len(now) >= len(before) and not now.startswith(before):
        found = compare_sources([entry(before)], [source(now)], SESSION)
        assert found == SourceChange(Change.REWRITTEN, "the beginning of s-1.jsonl was changed")


def test_a_file_that_has_grown_since_it_was_read_now_is_ahead(tmp_path: Path) -> None:
    """Another process read it later and was faster."""
    path = tmp_path / "s-1.jsonl"
    path.write_bytes(b"one two three")
    now = source(b"one", str(path))
    assert change([entry(b"one two", str(path))], [now]) is Change.AHEAD
    assert change([entry(b"one 222", str(path))], [now]) is Change.REWRITTEN
    assert change([entry(b"one two three four", str(path))], [now]) is Change.REWRITTEN
    path.unlink()
    assert "could not be read" in str(compare_sources([entry(b"one two", str(path))], [now], SESSION).reason)


def test_of_several_files_the_worst_counts() -> None:
    a, b = "/p/a.jsonl", "/p/b.jsonl"
    stored = [entry(b"a", a), entry(b"b", b)]
    assert change(stored, [source(b"b", b), source(b"a", a)]) is Change.SAME
    assert change(stored, [source(b"a", a), source(b"b+", b)]) is Change.GROWN
    assert change(stored, [source(b"a", a), source(b"b", b), source(b"c", "/p/c.jsonl")]) is Change.GROWN
    assert change(stored, [source(b"X", a), source(b"b+", b)]) is Change.REWRITTEN
    assert compare_sources(stored, [source(b"a+", a)], SESSION) == SourceChange(
        Change.REWRITTEN, "b.jsonl is gone"
    )
    assert change(stored, [source(b"a", a), source(b"c", "/p/c.jsonl")]) is Change.REWRITTEN
    assert change([], []) is Change.SAME
    other = "/elsewhere/a.jsonl"
    more = compare_sources([entry(b"a", a)], [source(b"a", other), source(b"c", "/p/c.jsonl")], SESSION)
    assert more == SourceChange(Change.GROWN, elsewhere="a.jsonl")


def test_files_with_the_same_name_are_told_apart_by_their_folders() -> None:
    stored = [entry(b"a", "/one/x.jsonl"), entry(b"b", "/two/x.jsonl")]
    now = [source(b"b+", "/two/x.jsonl"), source(b"a", "/one/x.jsonl")]
    assert change(stored, now) is Change.GROWN
    moved = [source(b"b", "/new/two/x.jsonl"), source(b"a", "/new/one/x.jsonl")]
    assert change(stored, moved) is Change.SAME  # by their digests


def test_a_path_with_a_secret_or_bytes_that_are_no_text_is_recognized() -> None:
    masked = "/home/[masked:anthropic-key]/s.jsonl"
    assert change([entry(b"a", masked)], [source(b"a+", f"/home/{KEY}/s.jsonl")]) is Change.GROWN
    name = os.fsdecode(b"/home/\xff/s.jsonl")
    assert change([entry(b"a", "/home/\\xff/s.jsonl")], [source(b"a+", name)]) is Change.GROWN


@pytest.mark.parametrize(
    ("before", "now", "expected"), [(3, 3, "REWRITTEN"), (3, 4, "GROWN"), (3, 2, "REWRITTEN")]
)
def test_without_copies_a_file_that_is_written_anew_has_grown_if_it_has_more_messages(
    before: int, now: int, expected: str
) -> None:
    stored = [entry(b'{"a": 1}', messages=before)]
    assert change(stored, [source(b'{"b": 2, "c": 3}', messages=now)]) is Change[expected]
    assert change(stored, [source(b'{"a": 1}', messages=now)]) is Change.SAME


def test_a_file_that_its_tool_has_packed_is_the_same() -> None:
    plain = "/codex/sessions/rollout-1.jsonl"
    stored = [entry(b"one two", plain)]

    def packed(content: bytes) -> TranscriptSource:
        path = "/codex/archived_sessions/rollout-1.jsonl.zst"
        return source(b"packed", path, is_same=False, read=lambda: iter([content]))

    assert change(stored, [packed(b"one two")]) is Change.SAME
    assert change(stored, [packed(b"one two three")]) is Change.GROWN
    assert change(stored, [packed(b"one")]) is Change.REWRITTEN
    assert change([entry(b"packed", f"{plain}.zst")], [source(b"one two", plain)]) is Change.REWRITTEN


def test_a_file_of_which_less_can_be_read_than_before_was_rewritten() -> None:
    def broken() -> Iterator[bytes]:
        yield b"on"
        raise OSError(5, "Input/output error")

    found = compare_sources([entry(b"one")], [source(b"one two", read=broken)], SESSION)
    assert found == SourceChange(Change.REWRITTEN, "s-1.jsonl could not be read: Input/output error")


def test_copies_of_the_lines_in_files_of_other_sessions_are_no_change() -> None:
    own, other = "/p/s-1.jsonl", "/p/s-2.jsonl"
    assert change([entry(b"a", own)], [source(b"b", other)]) is Change.SAME  # its own file was deleted
    assert change([entry(b"a", own)], []) is Change.SAME
    assert change([entry(b"b", other)], [source(b"a", own)]) is Change.GROWN  # only copies were imported
    renamed = compare_sources([entry(b"a", own)], [source(b"a", "/p/new-s-1.jsonl")], SESSION)
    assert renamed == SourceChange(Change.REWRITTEN, "s-1.jsonl is gone")


def test_a_session_that_its_tool_keeps_elsewhere_now_is_compared_by_its_messages() -> None:
    stored = [entry(b"old", "/data/storage/message/m.json", messages=3)]
    assert change(stored, [source(b"new", "/data/opencode.db", messages=4)]) is Change.GROWN
    assert change(stored, [source(b"new", "/data/opencode.db", messages=2)]) is Change.REWRITTEN


def exported(*records: dict[str, Any]) -> bytes:
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


def copy_of(data: bytes, _: Any) -> io.BytesIO:
    return io.BytesIO(data)


def part(name: str, **data: Any) -> dict[str, Any]:
    return {"table": "part", "id": name, "session_id": SESSION, "data": data}


TITLE = {"table": "session", "id": SESSION, "data": {"title": "A title", "time_updated": 7}}
FIRST = part("p1", type="text", text=f"go, {KEY}", time={"start": 1})
SECOND = part("p2", type="tool", tool="bash", state={"status": "running", "input": {"command": "ls"}})
LOG = {"kind": "log", "instance_id": "lead", "text": "started"}
DONE = part("p2", type="tool", tool="bash", state={"status": "completed", "output": "a.txt"})


@pytest.mark.parametrize(
    ("now", "expected"),
    [
        ([TITLE, FIRST, SECOND, LOG, part("p3", type="text", text="more")], "GROWN"),
        ([TITLE | {"data": {"title": "Another"}}, FIRST, DONE, LOG], "GROWN"),
        ([TITLE, part("p1", type="text", text=f"go, {KEY} and on", time={"start": 1, "end": 2}), DONE, LOG], "GROWN"),
        ([TITLE, part("p1", type="text", text="something else", time={"start": 1}), SECOND, LOG], "REWRITTEN"),
        ([TITLE, part("p1", type="text", time={"start": 1}), SECOND, LOG], "REWRITTEN"),
        ([TITLE, part("p9", type="text", text=f"go, {KEY}", time={"start": 1}), SECOND, LOG], "REWRITTEN"),
        ([TITLE, FIRST, SECOND, LOG | {"text": "ended"}], "REWRITTEN"),
        ([TITLE, FIRST, SECOND, LOG | {"text": "ended"}, LOG | {"text": "again"}], "REWRITTEN"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("is_masked", [True, False])
def test_what_is_written_anew_has_grown_if_every_message_is_still_there(
    now: list[dict[str, Any]], expected: str, *, is_masked: bool
) -> None:
    before = exported(TITLE, FIRST, SECOND, LOG)
    copy = before.replace(KEY.encode(), b"[masked:anthropic-key]") if is_masked else before
    stored = [entry(before, path="/x/opencode.db", messages=4) | {"path": "copy"}]
    files = [source(exported(*now), "/x/opencode.db", messages=len(now))]
    found = compare_sources(stored, files, SESSION, lambda _: io.BytesIO(copy))
    assert found.change is Change[expected], found


def test_a_message_that_is_nested_deeply_is_compared_as_well() -> None:
    def nested(depth: int) -> bytes:
        return b'{"table":"part","id":"p","data":' + b'{"a":' * depth + b'"x"' + b"}" * (depth + 1) + b"\n"

    for depth in (100, 450, 900, 5000):
        stored = [entry(nested(depth), path="/x/opencode.db", messages=1) | {"path": "copy"}]
        files = [source(nested(depth).replace(b'"x"', b'"y"'), "/x/opencode.db", messages=1)]
        found = compare_sources(stored, files, SESSION, partial(copy_of, nested(depth)))
        assert found.change is Change.REWRITTEN


def test_what_has_grown_at_another_path_is_not_a_continuation() -> None:
    at_old = compare_sources([entry(b"one")], [source(b"one two")], SESSION)
    assert at_old.elsewhere is None
    moved = compare_sources([entry(b"one")], [source(b"one two", "/elsewhere/s-1.jsonl")], SESSION)
    assert moved == SourceChange(Change.GROWN, elsewhere="s-1.jsonl")
    assert (
        compare_sources([entry(b"one")], [source(b"one", "/elsewhere/s-1.jsonl")], SESSION).change
        is Change.SAME
    )


def claude(*uuids: str, session: str = SESSION) -> bytes:
    lines = [{"type": "user", "uuid": uuid, "sessionId": session, "at": uuid} for uuid in uuids]
    return exported({"type": "summary"}, *lines)


@pytest.mark.parametrize(
    ("now", "elsewhere"),
    [
        (claude("a", "b"), None),
        (exported({"type": "summary", "leaf": 1}) + claude("b") + claude("x", session="s-2"), None),
        (claude("a", "b", "c"), "other.jsonl"),
    ],
)
def test_a_file_of_another_name_with_more_messages_of_a_session_is_not_unchanged(
    now: bytes, elsewhere: str | None
) -> None:
    copy = claude("a", "b")
    stored = [entry(copy) | {"path": "copy"}]
    found = compare_sources(stored, [source(now, "/p/other.jsonl")], SESSION, lambda _: io.BytesIO(copy))
    assert found.elsewhere == elsewhere
