"""The list of open runs: a run is on it from before it has its name until it is closed."""

import fcntl
import os
import threading
from pathlib import Path

import pytest

import runcard
from runcard.files import locked
from runcard.files.rename_noreplace import rename_noreplace
from runcard.recording import start_run
from runcard.store import layout
from runcard.store.runs import directory


def test_a_run_is_on_the_list_of_open_runs(tmp_path: Path) -> None:
    with runcard.record(tmp_path, strict=True) as run:
        assert directory.open_runs(str(tmp_path)) == [str(run.path)]
    assert directory.open_runs(str(tmp_path)) == []


def test_without_hard_links_a_mark_that_another_process_removed_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An empty mark has no lock: to others it is a leftover of a recorder that was killed, until the run has its name."""

    def no_hard_links(*_: object, **__: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    def rename_after_others_cleaned_up(source: str, target: str, folder: int) -> None:
        assert directory.open_runs(str(tmp_path)) == []
        assert os.listdir(tmp_path / ".runcard/open") == []
        rename_noreplace(source, target, folder)

    monkeypatch.setattr(os, "link", no_hard_links)
    monkeypatch.setattr(directory, "rename_noreplace", rename_after_others_cleaned_up)
    with runcard.record(tmp_path, strict=True) as run:
        assert directory.open_runs(str(tmp_path)) == [str(run.path)]
    assert os.listdir(tmp_path / ".runcard/open") == []


def test_a_run_can_be_created_while_another_process_holds_the_lock_of_the_ledger(tmp_path: Path) -> None:
    store = str(tmp_path)
    with runcard.record(store, strict=True):
        pass
    with locked(layout.own_folder(store)):
        new_run = directory.NewRun(store, "run-1", "w-1")
        assert new_run.has_locks
        new_run.discard()


def test_a_run_whose_journal_is_looked_at_the_moment_it_is_created_is_not_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process that looks for dead runs holds a shared lock for a moment."""
    real, looked = os.open, []

    def open_and_look(path: str, flags: int, *arguments: int, dir_fd: int | None = None) -> int:
        descriptor = real(path, flags, *arguments, dir_fd=dir_fd)
        if os.fspath(path).endswith(layout.JOURNAL) and flags & os.O_CREAT:
            looked.append(real(path, os.O_RDONLY))
            fcntl.flock(looked[0], fcntl.LOCK_SH)
            threading.Timer(0.1, os.close, looked).start()
        return descriptor

    with monkeypatch.context() as patch:
        patch.setattr(os, "open", open_and_look)
        new_run = directory.NewRun(str(tmp_path), "run-1", "w-1")
    assert len(looked) == 1
    assert new_run.journal.has_lock
    new_run.discard()


def test_a_run_that_was_closed_since_it_was_listed_is_not_taken_for_dead(tmp_path: Path) -> None:
    with runcard.record(tmp_path, strict=True) as run:
        assert not directory.may_be_dead(str(run.path))
        mark = tmp_path / ".runcard/open" / run.path.name
        mark.rename(tmp_path / "mark")
        assert not directory.may_be_dead(str(run.path))
        mark.write_text("no owner holds its lock")
        assert directory.may_be_dead(str(run.path))
        (tmp_path / "mark").rename(mark)


def test_a_process_looks_for_dead_runs_once_a_minute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[str] = []

    def look(store: str, **_: object) -> list[str]:
        looked.append(store)
        return []

    monkeypatch.setattr(start_run, "open_runs", look)
    stores = [str(tmp_path / "a"), str(tmp_path / "b")]
    for store in stores * 3:
        with runcard.record(store, strict=True):
            pass
    assert looked == stores
    start_run._looked_at[stores[0]] -= 61
    for store in stores:
        with runcard.record(store, strict=True):
            pass
    assert looked == [*stores, stores[0]]


def test_the_stores_that_were_searched_take_no_more_memory_than_a_thousand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(start_run, "_looked_at", dict.fromkeys(map(str, range(1000)), 0.0))
    with runcard.record(tmp_path, strict=True):
        pass
    assert [*start_run._looked_at] == [str(tmp_path)]
