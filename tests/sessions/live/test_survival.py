"""`kill -9` at every step of a session: what was recorded is stored once, by whoever closes it next."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import runcard
from conftest import Cli
from runcard.operations.checks.doctor.stores import store_states
from runcard.operations.sessions.close_session import NoInstancesError, close_dead_session
from runcard.store import layout
from runs.harness import harness, in_memory
from sessions.collecting.teams import assert_whole, instance, sessions, team
from sessions.live.harness_kill import begin, finish


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    with in_memory() as path:
        monkeypatch.chdir(path)
        yield path


@pytest.mark.parametrize("moment", [pytest.param("before", marks=pytest.mark.long), "within"])
def test_a_session_killed_at_any_step_is_stored_once(place: Path, moment: str) -> None:
    counts = set()
    for number, step in enumerate(harness("sessions.live.harness_kill", moment, place), 1):
        store = place / str(number)
        print(moment, number, step)  # noqa: T201 - pytest shows it for the one that fails
        runcard.collect(
            team(instance(), team_session_id="other"), artifacts=store
        )  # takes nothing for a leftover
        for live in layout.live_sessions(str(store)):
            try:
                close_dead_session(live)
            except NoInstancesError:
                counts.add(0)
        runcard.collect(team(instance(name="b"), team_session_id="other"), artifacts=store)
        recorded = [path for path in sessions(store) if path.name.endswith("team.deadbeef")]
        assert len(recorded) <= 1
        for path in recorded:
            assert_whole(path)
            counts.add(len(runcard.load(path / "metadata.json").to_dict()["instances"]))
        assert [name for name in os.listdir(store / ".open") if not name.startswith("other")] == []
        results = list(runcard.verify(store))
        assert [result.verdict.findings for result in results] == [()] * len(results)
    assert counts == {0, 1, 2}


def finish_again(cli: Cli, store: Path) -> None:
    assert cli("session", "finish", "--session", "team.deadbeef", "--artifacts", store).code in {0, 2}


def close_by_name(cli: Cli, store: Path) -> None:
    assert (
        cli("close", store / ".open" / "team.deadbeef").code in {0, 2}
        or not (store / ".open" / "team.deadbeef").exists()
    )
    close_all(cli, store)


def close_all(cli: Cli, store: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ARTIFACTS_DIR", str(store))
        assert cli("close").code in {0, 2}


@pytest.mark.parametrize("moment", [pytest.param("before", marks=pytest.mark.long), "within"])
@pytest.mark.parametrize("repair", [finish_again, close_by_name])
def test_an_end_that_was_killed_at_any_step_is_brought_to_its_end(
    place: Path, cli: Cli, moment: str, repair: Callable[[Cli, Path], None]
) -> None:
    """Once in the store and once in the ledger, with the files; nothing is open, and nobody says that it was changed."""
    for number, step in enumerate(harness("sessions.live.harness_kill", moment, place, "finish"), 1):
        store = place / str(number)
        print(moment, number, step)  # noqa: T201 - pytest shows it for the one that fails
        assert all(result.verdict.intact for result in runcard.verify(store))
        repair(cli, store)
        (stored,) = sessions(store)
        assert_whole(stored)
        assert len(list(stored.glob("instances/*/workspace/result.txt"))) == 1
        assert os.listdir(store / ".open") == []
        assert [result.verdict.findings for result in runcard.verify(store)] == [()]
        journals = [path.read_text() for path in (store / ".runcard").glob("ledger-*.jsonl")]
        assert sum(text.count('"event":"record.closed"') for text in journals) == 1


@pytest.mark.parametrize("left", [["session.json"], []])
def test_what_earlier_versions_left_of_a_closed_session_is_removed(
    place: Path, cli: Cli, left: list[str]
) -> None:
    """They removed its files one by one; a kill left its start document, or an empty directory."""
    store = place / "artifacts"
    begin(store)
    live = store / ".open" / "team.deadbeef"
    start = (live / "session.json").read_bytes()
    finish(store)
    live.mkdir()
    for name in left:
        (live / name).write_bytes(start)
    os.utime(live, (0, 0))
    about = [leftover.about for leftover in store_states([str(store)])[0].leftovers]
    assert about == ([] if left else ["the rest of a closed session: `runcard close` removes it"])
    finish_again(cli, store)
    assert len(sessions(store)) == 1
    assert os.listdir(store / ".open") == []


def test_a_session_can_start_where_an_empty_directory_was_left(place: Path) -> None:
    live = place / "artifacts" / ".open" / "team.deadbeef"
    live.mkdir(parents=True)
    begin(place / "artifacts")
    assert (live / "session.json").exists()
