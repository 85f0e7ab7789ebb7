"""The files of Codex: cumulative counters, usage records, forks and sub-agents."""

from pathlib import Path
from typing import Any

import pytest

from runcard.transcripts.calls import MAIN
from transcripts.session_files import Json, calls, event, meta, read, rollout, sums, token_counts, turn, write
from zstd_of_python import zstd

TOOL = "codex"
FIRST, SECOND, THIRD = token_counts(100, 10, 60, 4), token_counts(200, 20, 160, 8), token_counts(50, 5)
TOTAL_1, TOTAL_2, TOTAL_3 = FIRST, token_counts(300, 30, 220, 12), token_counts(350, 35, 220, 12)


def session(folder: Path, name: str, *records: Json) -> Path:
    return write(folder / "sessions/2026/11/02" / f"rollout-2026-11-02T10-00-00-{name}.jsonl", *records)


def test_an_event_counts_when_the_total_changed(tmp_path: Path) -> None:
    events = [
        event(TOTAL_1, FIRST),
        event(TOTAL_1, FIRST),
        event(TOTAL_2, SECOND),
        event(TOTAL_2, SECOND),
        event(None, None),
    ]
    session(tmp_path, "t-1", meta(), turn(), *events)
    found = calls(TOOL, tmp_path)
    assert sums(found) == (2, 300, 30, 220, 0, 0, 12)
    assert {(call.kind.model, call.kind.provider, call.origin.branch) for call in found} == {
        ("gpt-5", "openai", "main")
    }


def test_a_total_that_falls_is_a_new_counter(tmp_path: Path) -> None:
    session(
        tmp_path, "t-1", meta(), turn(), event(TOTAL_2, SECOND), event(FIRST, FIRST), event(TOTAL_2, SECOND)
    )
    assert sums(calls(TOOL, tmp_path))[:3] == (3, 500, 50)


def test_without_a_last_usage_the_total_says_it(tmp_path: Path) -> None:
    session(tmp_path, "t-1", meta(), turn(), event(TOTAL_1, None), event(TOTAL_2, None), event(FIRST, None))
    assert sums(calls(TOOL, tmp_path))[:3] == (3, 400, 40)


def settings(tier: object, thread: str | None = "t-1") -> Json:
    applied = {
        "type": "thread_settings_applied",
        "thread_id": thread,
        "thread_settings": {"service_tier": tier},
    }
    return {"timestamp": "2026-11-02T10:00:00Z", "type": "event_msg", "payload": applied}


def test_a_call_has_the_service_tier_that_was_set(tmp_path: Path) -> None:
    """A fork begins with the settings of another thread."""
    records = [
        settings("priority"),
        event(TOTAL_1, FIRST),
        settings("flex", "t-0"),
        event(TOTAL_2, SECOND),
        settings("default"),
        event(TOTAL_3, THIRD),
    ]
    session(tmp_path, "t-1", meta(), turn(), *records)
    tiers = {call.counts[0]: call.kind.service_tier for call in calls(TOOL, tmp_path)}
    assert tiers == {100: "priority", 200: "priority", 50: None}


@pytest.mark.parametrize("tier", [None, 7, [], {}, ""])
def test_a_service_tier_of_any_type_is_no_problem(tmp_path: Path, tier: object) -> None:
    session(tmp_path, "t-1", meta(), turn(), settings(tier), event(TOTAL_1, FIRST))
    assert [call.kind.service_tier for call in calls(TOOL, tmp_path)] == [None]


def test_two_models_in_one_session(tmp_path: Path) -> None:
    session(
        tmp_path,
        "t-1",
        meta(),
        turn("gpt-5"),
        event(TOTAL_1, FIRST),
        turn("gpt-5-mini"),
        event(TOTAL_2, SECOND),
    )
    assert {(call.kind.model, call.counts[0]) for call in calls(TOOL, tmp_path)} == {
        ("gpt-5", 100),
        ("gpt-5-mini", 200),
    }


def record(response: str, usage: dict[str, int], thread: dict[str, int], session_id: str = "t-1") -> Json:
    payload = {
        "thread_id": "t-1",
        "session_id": session_id,
        "response_id": response,
        "usage": usage,
        "thread_token_usage": thread,
    }
    return rollout("token_usage_record", payload)


def test_usage_records_count_and_events_only_check(tmp_path: Path) -> None:
    both = [
        record("r1", FIRST, TOTAL_1),
        event(TOTAL_1, FIRST),
        record("r2", SECOND, TOTAL_2),
        event(TOTAL_2, SECOND),
    ]
    session(tmp_path, "t-1", meta(session_id="t-1"), turn(), *both, both[2])
    assert sums(calls(TOOL, tmp_path)) == (2, 300, 30, 220, 0, 0, 12)


def test_the_order_of_records_and_events_does_not_matter(tmp_path: Path) -> None:
    session(tmp_path, "t-1", meta(), turn(), event(TOTAL_1, FIRST), record("r1", FIRST, TOTAL_1))
    assert len(calls(TOOL, tmp_path)) == 1


def test_events_from_before_an_update_of_codex_count(tmp_path: Path) -> None:
    """A session that an older version began has only events; a newer one went on with records."""
    session(
        tmp_path,
        "t-1",
        meta(),
        turn(),
        event(TOTAL_1, FIRST),
        record("r2", SECOND, TOTAL_2),
        event(TOTAL_2, SECOND),
    )
    assert sums(calls(TOOL, tmp_path))[:3] == (2, 300, 30)


def test_a_counter_that_begins_anew_changes_nothing_about_usage_records(tmp_path: Path) -> None:
    """Before an update and after it: each call counts once."""
    small = token_counts(30, 3)
    session(
        tmp_path,
        "t-1",
        meta(),
        turn(),
        event(TOTAL_2, SECOND),
        event(TOTAL_1, FIRST),
        record("r1", small, token_counts(130, 13)),
        event(token_counts(130, 13), small),
        record("r2", small, small),
        event(small, small),
    )
    assert sums(calls(TOOL, tmp_path))[:3] == (4, 200 + 100 + 30 + 30, 20 + 10 + 3 + 3)


def test_usage_records_in_the_history_of_a_sub_agent_are_calls_of_its_parent(tmp_path: Path) -> None:
    history = [turn(), record("r1", FIRST, TOTAL_1), event(TOTAL_1, FIRST)]
    flex = {
        "type": "thread_settings_applied",
        "thread_id": "t-1",
        "thread_settings": {"service_tier": "flex"},
    }
    session(tmp_path, "t-1", meta(session_id="t-1"), rollout("event_msg", flex), *history)
    own = record("r2", SECOND, SECOND)
    own["payload"]["thread_id"] = "t-2"
    child = meta("t-2", CREATED, session_id="t-1", parent_thread_id="t-1")
    session(tmp_path, "t-2", child, *history, own, event(SECOND, SECOND, LATER))
    found = {(call.origin.agent_id, call.kind.service_tier): call.counts[0] for call in calls(TOOL, tmp_path)}
    assert found == {("main", "flex"): 100, ("t-2", None): 200}


OLD_TIMES = ("2026-11-02T10:00:05.000Z", "2026-11-02T10:00:09.000Z")
NEW_TIMES = ("2026-11-02T11:00:00.100Z", "2026-11-02T11:00:00.200Z")
SLOW_TIMES = ("2026-11-02T11:00:03.000Z", "2026-11-02T11:00:06.000Z")
CREATED = "2026-11-02T11:00:00.000Z"
LATER = "2026-11-02T11:00:30.000Z"


def parent_events(times: tuple[str, str]) -> list[Json]:
    return [turn(), event(TOTAL_1, FIRST, times[0]), event(TOTAL_2, SECOND, times[1])]


CHILDREN: list[Json] = [
    {"forked_from_id": "t-1"},
    {"parent_thread_id": "t-1"},
    {
        "source": {
            "subagent": {"thread_spawn": {"parent_thread_id": "t-1", "depth": 1, "agent_role": "explorer"}}
        }
    },
]


@pytest.mark.parametrize(
    ("times", "link"),
    [
        (OLD_TIMES, CHILDREN[0]),
        (OLD_TIMES, CHILDREN[1]),
        (OLD_TIMES, CHILDREN[2]),
        (NEW_TIMES, CHILDREN[0]),
        (NEW_TIMES, CHILDREN[1]),
        (NEW_TIMES, CHILDREN[2]),
        (SLOW_TIMES, CHILDREN[0]),
    ],
)
def test_the_history_of_a_parent_is_not_counted_again(
    tmp_path: Path, times: tuple[str, str], link: Json
) -> None:
    session(tmp_path, "t-1", meta(), *parent_events(OLD_TIMES))
    own = event(TOTAL_3, THIRD, LATER)
    session(tmp_path, "t-2", meta("t-2", CREATED, **link), meta(), *parent_events(times), own)
    session(tmp_path, "t-3", meta("t-3", CREATED, **link), meta(), *parent_events(times), own)
    assert sums(calls(TOOL, tmp_path))[:3] == (
        4,
        400,
        40,
    )  # both children have a call of their own, with equal counts


@pytest.mark.parametrize("times", [OLD_TIMES, NEW_TIMES], ids=["old times", "new times"])
def test_the_history_of_a_missing_parent_is_not_counted(tmp_path: Path, times: tuple[str, str]) -> None:
    session(
        tmp_path,
        "t-2",
        meta("t-2", CREATED, **CHILDREN[0]),
        *parent_events(times),
        event(TOTAL_3, THIRD, LATER),
    )
    assert sums(calls(TOOL, tmp_path))[:3] == (1, 50, 5)


def test_only_the_end_of_a_history_may_be_replayed(tmp_path: Path) -> None:
    session(tmp_path, "t-1", meta(), *parent_events(OLD_TIMES))
    session(
        tmp_path,
        "t-2",
        meta("t-2", CREATED, **CHILDREN[0]),
        turn(),
        event(TOTAL_2, SECOND, NEW_TIMES[0]),
        event(TOTAL_3, THIRD, LATER),
    )
    assert sums(calls(TOOL, tmp_path))[:3] == (3, 350, 35)


def test_what_the_parent_did_later_is_no_history(tmp_path: Path) -> None:
    """A call of a sub-agent that happens to have the same counts as a later one of its parent."""
    session(tmp_path, "t-1", meta(), *parent_events((OLD_TIMES[0], "2026-11-02T12:00:00Z")))
    child = [turn(), event(TOTAL_1, FIRST, NEW_TIMES[0]), event(TOTAL_2, SECOND, LATER)]
    session(tmp_path, "t-2", meta("t-2", CREATED, **CHILDREN[2]), *child)
    assert sums(calls(TOOL, tmp_path))[:3] == (3, 500, 50)


def test_a_sub_agent_that_begins_afresh_may_have_a_call_as_large_as_one_of_its_parent(tmp_path: Path) -> None:
    session(tmp_path, "t-1", meta(), *parent_events(OLD_TIMES))
    session(tmp_path, "t-2", meta("t-2", CREATED, **CHILDREN[2]), turn(), event(FIRST, FIRST, LATER))
    origins = [call.origin for call in calls(TOOL, tmp_path)]
    found = {(origin.session, origin.agent, origin.agent_id) for origin in origins}
    assert found == {("t-1", MAIN, MAIN), ("t-1", "explorer", "t-2")}


def test_a_copy_in_the_archive_counts_once(tmp_path: Path) -> None:
    path = session(tmp_path, "t-1", meta(), *parent_events(OLD_TIMES))
    write(tmp_path / "archived_sessions" / path.name, *path.read_bytes().splitlines())
    assert len(calls(TOOL, tmp_path)) == 2


def test_a_session_that_was_resumed_in_a_new_file_counts_once(tmp_path: Path) -> None:
    session(tmp_path, "t-1", meta(), *parent_events(OLD_TIMES))
    session(tmp_path, "t-1b", meta(), *parent_events(OLD_TIMES), event(TOTAL_3, THIRD, LATER))
    assert sums(calls(TOOL, tmp_path))[:3] == (3, 350, 35)


def test_old_formats_without_counts_are_named(tmp_path: Path) -> None:
    first: Json = {"id": "t-1", "timestamp": "2025-06-01T10:00:00Z", "instructions": None, "git": {}}
    session(
        tmp_path, "t-1", first, {"type": "message", "role": "user", "content": []}, {"record_type": "state"}
    )
    found = read(TOOL, tmp_path)
    assert (len(found.table), dict(found.unknown_types)) == (0, {})
    assert [part.reason for part in found.unread] == ["an old format without token counts"]


def test_bad_lines_and_unknown_types(tmp_path: Path) -> None:
    bad: list[bytes] = [
        b'{"timestamp":"x","type":"event_msg","payload":{"type":"token_count","inf',
        b"nonsense",
        b'{"type":"response_item","payl',
    ]
    path = session(
        tmp_path,
        "t-1",
        meta(),
        turn(),
        event(TOTAL_1, FIRST),
        rollout("dream", {}),
        event(TOTAL_2, token_counts(-1, 1)),
    )
    path.write_bytes(path.read_bytes() + b"\n".join(bad))
    found = read(TOOL, tmp_path)
    assert (len(found.table), dict(found.unknown_types)) == (1, {"dream": 1})
    assert [part.line for part in found.unread] == [5, 6, 7, 8]


@pytest.mark.parametrize(
    "value", [None, 7, [], "x", True, {"subagent": 3}, {"subagent": {"thread_spawn": []}}], ids=str
)
def test_fields_of_any_type_are_no_problem(tmp_path: Path, value: Any) -> None:
    fields = ("id", "source", "git", "cwd", "model_provider", "forked_from_id", "session_id", "timestamp")
    for number, name in enumerate(fields):
        odd = [
            rollout("turn_context", value),
            rollout("token_usage_record", value),
            rollout("event_msg", {"type": "token_count", "info": value}),
        ]
        session(
            tmp_path,
            f"f-{number}",
            meta(f"f-{number}", **{name: value}),
            turn(),
            *odd,
            event(FIRST, FIRST, LATER),
        )
    assert read(TOOL, tmp_path).unread == []


def test_a_compressed_file_is_read_or_named(tmp_path: Path) -> None:
    path = session(tmp_path, "t-1", meta(), *parent_events(OLD_TIMES))
    data = zstd.compress(path.read_bytes())
    path.with_suffix(".jsonl.zst").write_bytes(data)
    path.unlink()
    found = read(TOOL, tmp_path)
    assert (len(found.table), len(found.unread)) == (2, 0)
    for bad in (data[:-9], b"x" + data, data + b"rest"):
        path.with_suffix(".jsonl.zst").write_bytes(bad)
        (part,) = read(TOOL, tmp_path).unread
        assert part.reason.startswith("the compressed file is ")
