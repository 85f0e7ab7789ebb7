"""A command in a directory that was removed says so, and not something else."""

import os
from pathlib import Path

import pytest

from conftest import Cli

GONE = "the current directory was removed"


@pytest.fixture(autouse=True)
def _removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()


@pytest.mark.parametrize(
    "arguments",
    [("ls",), ("show", "x"), ("close",), ("close", "x"), ("collect", "x"), ("session", "start", "x"), ("session", "finish", "--session", "x"), ("verify", "."), ("run", "--", "true"), ("config",)],
)  # fmt: skip
def test_it_is_named(cli: Cli, arguments: tuple[str, ...]) -> None:
    done = cli(*arguments)
    assert done.code in {1, 125}
    assert GONE in done.err
    assert "the output" not in done.err


def test_wrong_usage_and_absolute_paths_are_told_as_ever(cli: Cli, tmp_path: Path) -> None:
    assert GONE not in cli("show").err
    (tmp_path / "plan.json").write_text("{}")
    done = cli("validate", tmp_path / "plan.json")
    assert (done.code, "cannot write" in done.err) == (1, False)
    with pytest.raises(FileNotFoundError):
        os.getcwd()
