"""A disk that is full while a session is recorded: the program goes on, and the record does not claim to be complete."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import runcard
from conftest import Cli
from files.small_disk import small_disk
from runcard.operations.sessions.close_session import close_session
from runcard.operations.sessions.shell_session import join_session, start_session
from runs.test_survival_disk import fill


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A file system of 256 KiB."""
    with small_disk(tmp_path / "small", "256k") as target:
        yield target


def _document(path: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((path / "metadata.json").read_bytes())
    return document


def test_what_could_not_be_written_makes_the_totals_incomplete(small: Path) -> None:
    with runcard.Session("team-1", artifacts=small / "artifacts") as session:
        worker = session.start_instance("worker", model="claude-sonnet-4-5", provider="anthropic")
        worker.add_usage({"input": 1000, "output": 10})
        filler = fill(small)
        with pytest.warns(runcard.RuncardWarning, match="No space left on device"):
            worker.add_usage({"input": 1000, "output": 10}, step="x" * 5000)
        with pytest.warns(runcard.RuncardWarning, match="No space left on device"):
            late = session.start_instance("late " + "x" * 5000)
        filler.unlink()
        late.finish()
        worker.finish()
    document = _document(session.path)
    assert [entry["name"] for entry in document["instances"]] == ["worker", late.name]
    summary = document["execution_summary"]
    assert "total_cost" not in summary
    assert summary["known_cost"] == pytest.approx(0.00315)
    lines = [json.loads(line) for line in (session.path / "audit.jsonl").read_bytes().splitlines()]
    lost = [line["payload"]["message"] for line in lines if line["event"] == "warning.added"]
    assert sum(int(message.split()[0]) for message in lost) == 2, lost  # each is counted once
    assert [result.verdict.findings for result in runcard.verify(session.path)] == [()]


def test_a_session_that_cannot_be_closed_stays_open_and_is_closed_when_there_is_room(small: Path) -> None:
    store = small / "artifacts"
    session = runcard.Session("team-1", artifacts=store).start()
    session.start_instance("worker").finish()
    filler = fill(small)
    with pytest.warns(runcard.RuncardWarning, match="No space left on device"):
        session.finish()
    assert session.result is None
    assert [
        path.name for path in store.iterdir() if path.name.startswith("2")
    ] == []  # nothing that is half done
    filler.unlink()
    closed = close_session(str(session.path))
    assert closed.closed
    assert [result.verdict.findings for result in runcard.verify(closed.path)] == [()]
    assert not session.path.exists()


@pytest.mark.parametrize("repair", ["finish", "close"])
def test_an_end_from_a_shell_that_found_no_room_is_repeated_or_closed(
    cli: Cli, small: Path, repair: str
) -> None:
    store = small / "artifacts"
    start_session("team-1", artifacts=str(store))
    join_session("team-1", str(store)).start_instance("worker").log("hello")
    filler = fill(small)
    failed = cli("session", "finish", "--session", "team-1", "--artifacts", store)
    assert (failed.code, "No space left on device" in failed.err) == (1, True)
    filler.unlink()
    live = store / ".open" / "team-1"
    named = ("session", "finish", "--session", "team-1", "--artifacts", store)
    assert cli(*(named if repair == "finish" else ("close", live))).code in {0, 2}
    (stored,) = (path for path in store.iterdir() if path.name.startswith("2"))
    assert [result.verdict.findings for result in runcard.verify(store)] == [()]
    assert list((store / ".open").iterdir()) == []
    assert stored.name.endswith("team-1")


def test_a_disk_that_is_full_from_the_start_does_not_stop_the_program(small: Path) -> None:
    fill(small)
    with (
        pytest.warns(runcard.RuncardWarning, match="this session is not recorded: .*No space left on device"),
        runcard.Session("team-1", artifacts=small / "artifacts") as session,
    ):
        session.start_instance("worker").finish()
    (small / "filler").unlink()
    with runcard.Session("team-1", artifacts=small / "artifacts", strict=True) as session:
        session.start_instance("worker").finish()
    assert [result.verdict.findings for result in runcard.verify(session.path)] == [()]
