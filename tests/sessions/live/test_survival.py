"""`kill -9` at every step of a session: what was recorded is stored once, by whoever closes it next."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

import runcard
from runcard.operations.sessions.close_session import NoInstancesError, close_dead_session
from runcard.store import layout
from runs.harness import harness, in_memory
from sessions.collecting.teams import assert_whole, instance, sessions, team


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
