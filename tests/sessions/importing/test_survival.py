"""`kill -9` at every step of an import that replaces another: a whole one is always there, and in the end only one."""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from runcard.operations.archives.archive import archive
from runcard.operations.checks.verify import damage_of
from runcard.operations.sessions.import_sessions import import_sessions
from runs.harness import harness, in_memory, started
from sessions.importing.claude_sessions import Session, assert_clean, calls_in, events, imported, stored


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    with in_memory() as path:
        monkeypatch.chdir(path)
        yield path


@pytest.mark.parametrize("moment", [pytest.param("before", marks=pytest.mark.long), "within"])
@pytest.mark.parametrize("is_archived", [False, pytest.param(True, marks=pytest.mark.long)])
def test_an_import_killed_at_any_step_is_finished_by_the_next_one(
    place: Path, moment: str, *, is_archived: bool
) -> None:
    session = Session(place)
    session.grow(agent="a1")
    template = place / "template"
    first = imported(session, template).path
    assert first is not None
    if is_archived:
        archive(first)
    session.grow(2)
    done, copies = [], set()
    steps = harness("sessions.importing.harness_kill", moment, session.project, template, place)
    for number, step in enumerate(steps, 1):
        store = place / str(number)
        print(moment, number, step)  # noqa: T201 - pytest shows it for the one that fails
        done.append(step)
        left = stored(store)
        copies.add(len(left))
        assert any(damage_of(path) is None for path in left), left
        (result,) = import_sessions("claude-code", [session.project], artifacts=store).sessions
        assert result.action in {"replaced", "unchanged"}
        assert stored(store) == [result.path]
        assert result.path is not None
        assert calls_in(result.path) == 4
        assert_clean(store)
        named = [event for event in events(store) if event == "record.reimported"]
        assert len(named) == 1, events(store)
        assert imported(session, store).action == "unchanged"
    assert copies == {1, 2}
    assert moment == "within" or {
        "renameat2",
        "syncfs",
        "fsync",
        "rename" if not is_archived else "unlink",
    } <= set(done)


IMPORT = """
import json, sys
from runcard.operations.sessions.import_sessions import import_sessions
print("ready", flush=True)
sys.stdin.readline()
report = import_sessions("claude-code", [sys.argv[1]], artifacts=sys.argv[2])
print(json.dumps([session.to_dict() for session in report.sessions]), flush=True)
"""


def at_once(session: Session, store: Path, count: int = 4, *, grow: bool = False) -> list[str]:
    """What processes that import the session at the same time say of it."""
    actions = []
    with ExitStack() as stack:
        processes = [stack.enter_context(started(IMPORT, session.project, store)) for _ in range(count)]
        for process in processes:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
        for process in processes:
            assert process.stdin is not None
            process.stdin.write("\n")
            process.stdin.flush()
            if grow:
                session.grow()
        for process in processes:
            assert process.stdout is not None
            (result,) = json.loads(process.stdout.readline())
            assert result["warnings"] == []
            actions.append(result["action"])
            assert process.wait(60) == 0
    return sorted(actions)


@pytest.mark.long
def test_processes_that_import_a_session_at_once_store_it_once(place: Path) -> None:
    session, store = Session(place), place / "artifacts"
    assert at_once(session, store) == ["imported", "unchanged", "unchanged", "unchanged"]
    assert len(stored(store)) == 1
    assert_clean(store)
    session.grow()
    actions = at_once(session, store)
    assert set(actions) <= {"replaced", "unchanged"}
    (path,) = stored(store)
    assert calls_in(path) == 2
    assert_clean(store)


@pytest.mark.long
def test_processes_that_import_a_growing_session_leave_its_newest_state(place: Path) -> None:
    session, store = Session(place), place / "artifacts"
    for _ in range(2):
        actions = at_once(session, store, 4, grow=True)
        assert set(actions) <= {"imported", "replaced", "unchanged"}
        result = imported(session, store)
        assert stored(store) == [result.path]
        assert result.path is not None
        assert calls_in(result.path) == session.turns
        assert_clean(store)
