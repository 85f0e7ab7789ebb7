"""`runcard index --watch`: the catalog follows what changes, until it is stopped."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from plans.projects import RubyProject
from runcard.operations.catalog.list_records import list_records
from runcard.operations.catalog.watch_index import IndexEvent, watch_index
from runs.runs import record_one


class StoppedError(Exception):
    """The end of a watch."""


def events(*steps: Callable[[], object], roots: tuple[str, ...] = ()) -> list[list[IndexEvent]]:
    """What is reported in each round; a step is done after each."""
    rounds: list[list[IndexEvent]] = [[]]
    todo = list(steps)

    def wait(_: float) -> None:
        if not todo:
            raise StoppedError
        todo.pop(0)()
        rounds.append([])

    with contextlib.suppress(StoppedError):
        for event in watch_index(roots, wait=wait):
            rounds[-1].append(event)
    assert not todo
    return rounds


def counts(found: list[IndexEvent]) -> list[tuple[int, int, bool] | str | None]:
    return [
        (one.result.read, one.result.removed, one.result.is_reachable) if one.result else one.problem
        for one in found
    ]


@pytest.fixture
def outputs(tmp_path: Path) -> Path:
    record_one(tmp_path / "outputs")
    return tmp_path / "outputs"


def test_each_change_is_reported_once(outputs: Path) -> None:
    found = events(
        lambda: None,
        lambda: record_one(outputs),
        lambda: None,
        lambda: record_one(outputs.parent / "new store"),
    )
    assert [counts(one) for one in found] == [[(1, 0, True)], [], [(1, 0, True)], [], [(1, 0, True)]]
    assert list_records().total == 3


def test_a_line_has_the_number_of_records_after_the_change(outputs: Path) -> None:
    found = events(lambda: record_one(outputs), lambda: shutil.rmtree(min(outputs.glob("20*"))))
    results = [one.result for later in found for one in later]
    assert [(result.records, result.read, result.removed) for result in results if result] == [
        (1, 1, 0),
        (2, 1, 0),
        (1, 0, 1),
    ]


def test_a_store_that_goes_away_and_comes_back(outputs: Path) -> None:
    away = outputs.parent / "away"
    found = events(
        lambda: outputs.rename(away), lambda: None, lambda: away.rename(outputs), lambda: record_one(outputs)
    )
    assert [counts(one) for one in found] == [
        [(1, 0, True)],
        [(0, 0, False)],
        [],
        [(0, 0, True)],
        [(1, 0, True)],
    ]


@pytest.mark.file_only
def test_a_catalog_that_is_deleted_or_damaged_is_built_anew(outputs: Path) -> None:
    catalog = Path(os.environ["XDG_DATA_HOME"]) / "runcard/catalog.db"

    def damage() -> None:
        for suffix in ("-wal", "-shm"):
            Path(f"{catalog}{suffix}").unlink(missing_ok=True)
        data = bytearray(catalog.read_bytes())
        page = int.from_bytes(data[16:18])  # its size, in the header
        data[page:] = b"\xff" * (len(data) - page)
        catalog.write_bytes(data)

    found = events(catalog.unlink, damage, lambda: None, lambda: None)
    assert counts(found[1]) == [(1, 0, True)]
    assert [one for later in found[2:] for one in counts(later)][-1] == (1, 0, True)
    assert list_records().total == 1
    assert list_records().warning is None
    assert outputs.is_dir()


def test_a_catalog_that_cannot_be_used_is_one_problem(
    outputs: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("RUNCARD_CATALOG", str(tmp_path / "file/catalog.db"))
    found = events(lambda: None, lambda: monkeypatch.delenv("RUNCARD_CATALOG"))
    assert "cannot be used" in str(counts(found[0]))
    assert [counts(one) for one in found[1:]] == [[], [(1, 0, True)]]
    assert outputs.is_dir()


def test_plans_are_watched_too(tmp_path: Path) -> None:
    project = RubyProject(tmp_path / "shop")
    project.write()
    found = events(lambda: os.utime(project.source, (1, 1)), project.plan.unlink, roots=(str(project.root),))
    assert [counts(one) for one in found] == [[(1, 0, True)], [(1, 0, True)], [(0, 1, True)]]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_two_watchers_as_commands_end_well(outputs: Path, number: signal.Signals) -> None:
    command = [sys.executable, "-m", "runcard", "index", "--watch", "--rebuild", "--json", str(outputs)]
    watchers = []
    try:
        for _ in range(2):  # with --rebuild each has something to say, whoever is first
            watcher = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            watchers.append(watcher)
            assert watcher.stdout is not None
            line = json.loads(watcher.stdout.readline())
            assert {"time", "path", "records", "read", "removed", "reachable"} <= line.keys()
        record_one(outputs)
    finally:
        for watcher in watchers:
            watcher.send_signal(number)
    for watcher in watchers:
        _, errors = watcher.communicate(timeout=60)
        assert (watcher.returncode, errors) == (0, "")
