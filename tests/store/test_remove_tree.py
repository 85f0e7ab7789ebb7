"""Removing a tree: everything goes, also deep, read-only and crowded directories; threads share many files."""

import os
import threading
from pathlib import Path
from typing import Any

import pytest

from runcard.store import remove_tree as module
from runcard.store.remove_tree import remove_tree


def fill(folder: Path, files: int) -> None:
    folder.mkdir(parents=True)
    for number in range(files):
        (folder / str(number)).touch()


@pytest.fixture
def threads(monkeypatch: pytest.MonkeyPatch) -> set[int]:
    """The threads that remove files."""
    seen: set[int] = set()
    real = os.unlink

    def unlink(*arguments: Any, **options: Any) -> None:
        seen.add(threading.get_ident())
        real(*arguments, **options)

    monkeypatch.setattr(os, "unlink", unlink)
    return seen


def test_threads_share_many_files(tmp_path: Path, threads: set[int]) -> None:
    for number in range(10):
        fill(tmp_path / "top" / str(number), 100)
    remove_tree(str(tmp_path / "top"))
    assert not (tmp_path / "top").exists()
    assert threading.get_ident() not in threads


def test_few_files_need_no_thread(tmp_path: Path, threads: set[int]) -> None:
    fill(tmp_path / "top" / "inner", 50)
    remove_tree(str(tmp_path / "top"))
    assert threads == {threading.get_ident()}


def test_a_crowded_directory_is_removed_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST_FILES", 7)
    monkeypatch.setattr(module, "_MOST_DIRECTORIES", 3)
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "file").touch()
    for path in ("", "a", "a/b", "a/b/c", *map(str, range(100, 120))):
        fill(tmp_path / "top" / path / "files", 20)
        for number in range(10):
            (tmp_path / "top" / path / f"d{number}").mkdir()
    (tmp_path / "top" / "a" / "link").symlink_to(tmp_path / "kept")
    (tmp_path / "top" / "a" / "b").chmod(0o500)
    remove_tree(str(tmp_path / "top"))
    assert not (tmp_path / "top").exists()
    assert (tmp_path / "kept" / "file").exists()


def test_an_error_of_a_thread_is_raised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(tmp_path / "top", 500)
    real = os.unlink

    def unlink(path: Any, **options: Any) -> None:
        if path == "77":
            raise PermissionError(1, "not this one", path)
        real(path, **options)

    monkeypatch.setattr(os, "unlink", unlink)
    with pytest.raises(PermissionError, match="not this one"):
        remove_tree(str(tmp_path / "top"))
    assert (tmp_path / "top" / "77").exists()
