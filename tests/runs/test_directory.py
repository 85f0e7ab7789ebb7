"""The list of open runs: a run is on it from before it has its name until it is closed."""

import os
from pathlib import Path

import pytest

import runcard
from runcard.files.rename_noreplace import rename_noreplace
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
