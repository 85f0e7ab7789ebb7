"""`kill -9` at every step of a collection: no half-made session, the source as it was, and the next one tidies up."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import runcard
from runs.harness import harness, in_memory
from sessions.collecting.teams import assert_tidy, assert_whole, lay_out, sessions, state


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    with in_memory() as path:
        monkeypatch.chdir(path)
        yield path


@pytest.mark.parametrize("moment", [pytest.param("before", marks=pytest.mark.long), "within"])
def test_a_collection_killed_at_any_step_leaves_nothing_half_made(place: Path, moment: str) -> None:
    (place / "team").mkdir()
    spec = lay_out(place / "team")
    before = state(place / "team")
    done, remarks = [], set()
    for number, step in enumerate(harness("sessions.collecting.harness_kill", moment, spec, place), 1):
        store = place / str(number)
        print(moment, number, step)  # noqa: T201 - pytest shows it for the one that fails
        done.append(step)
        found = sessions(store)
        for session in found:
            assert_whole(session)
        left = list((store / ".open").glob("*")) if store.exists() else []
        collected = runcard.collect(spec, artifacts=store, again=True)
        assert len(collected.remarks) == (1 if left else 0), (left, collected.remarks)
        remarks |= {remark.partition(" ")[0] for remark in collected.remarks}
        assert sessions(store) == [*found, collected.path]
        assert_tidy(store)
    assert state(place / "team") == before
    assert remarks == {"removed", "finished"}
    assert moment == "within" or {"renameat2", "syncfs", "fsync", "mkdir", "symlink"} <= set(done)
