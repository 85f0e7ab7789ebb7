"""The configuration files of killed runs: `doctor` names them and `close` removes them, and no others."""

import json
import os
import time
from pathlib import Path

import pytest

from conftest import Cli
from runcard.files.temporary_files import HOUR
from runcard.store.runs import config_file


@pytest.fixture
def folder(here: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (here / "runtime").mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(here / "runtime"))
    monkeypatch.setattr(config_file, "_TEMPORARY", (str(here / "runtime"),))
    (here / "outputs").mkdir()
    return here / "runtime"


def make_old(path: Path, age: float = 2 * HOUR) -> Path:
    os.utime(path, (time.time() - age,) * 2)
    return path


def test_that_of_a_killed_run_is_named_and_removed(cli: Cli, folder: Path) -> None:
    left = folder / "runcard-config-run-1.json"
    left.write_text("{}")
    make_old(left)
    said = cli("doctor")
    assert f"killed runs left their configuration: {left}" in said.err
    assert json.loads(cli("doctor", "--json").out)["left_configurations"] == [str(left)]
    done = cli("close")
    assert done.code == 0
    assert f"removed the configuration of a killed run: {left}" in done.out
    assert not left.exists()
    assert "killed runs" not in cli("doctor").err


def test_what_may_be_needed_or_belongs_to_others_stays(cli: Cli, folder: Path) -> None:
    used = make_old(Path(config_file.write_config("run-2", {"a": 1})))
    fresh = folder / "runcard-config-run-3.json"
    other = folder / "runcard-notes.json"
    for path in (fresh, other):
        path.write_text("{}")
    make_old(other)
    link = folder / "runcard-config-run-4.json"
    link.symlink_to(used)
    os.utime(link, (0, 0), follow_symlinks=False)
    assert list(config_file.left_configs()) == []
    assert cli("close").code == 0
    assert used.exists()
    assert fresh.exists()
    assert link.is_symlink()
    assert other.exists()
    config_file.remove_config("run-2")
    assert not used.exists()
