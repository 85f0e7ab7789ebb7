import os
from hashlib import sha256
from pathlib import Path

import pytest

from runcard.observe import lockfiles as module
from runcard.observe.lockfiles import lockfiles


def digest(text: bytes) -> str:
    return sha256(text).hexdigest()


def test_lock_files_are_found_by_name(tmp_path: Path) -> None:
    for name in (
        "uv.lock",
        "requirements.txt",
        "requirements-dev.txt",
        "package-lock.json",
        "pylock.dev.toml",
    ):
        (tmp_path / name).write_bytes(name.encode())
    for name in ("notes.txt", "uv.lock.bak", "my-requirements.txt", "pyproject.toml"):
        (tmp_path / name).write_bytes(b"")
    found = lockfiles(str(tmp_path))
    assert found is not None
    assert list(found) == [
        "package-lock.json",
        "pylock.dev.toml",
        "requirements-dev.txt",
        "requirements.txt",
        "uv.lock",
    ]
    assert found["uv.lock"] == digest(b"uv.lock")


def test_those_above_up_to_the_root_of_the_repository_count(tmp_path: Path) -> None:
    inner = tmp_path / "repository/services/a"
    inner.mkdir(parents=True)
    (tmp_path / "repository/.git").write_text("gitdir: elsewhere")
    (tmp_path / "uv.lock").write_bytes(b"outside")
    (tmp_path / "repository/uv.lock").write_bytes(b"root")
    (tmp_path / "repository/services/Cargo.lock").write_bytes(b"between")
    (inner / "uv.lock").write_bytes(b"inner")
    (tmp_path / "repository/services/b").mkdir()
    (tmp_path / "repository/services/b/uv.lock").write_bytes(b"a neighbour")
    assert lockfiles(str(inner)) == {
        "services/Cargo.lock": digest(b"between"),
        "services/a/uv.lock": digest(b"inner"),
        "uv.lock": digest(b"root"),
    }


def test_without_a_repository_only_the_directory_counts(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "uv.lock").write_bytes(b"above")
    assert lockfiles(str(tmp_path / "inner")) == {}


def test_only_regular_files_count(tmp_path: Path) -> None:
    (tmp_path / "uv.lock").mkdir()
    os.mkfifo(tmp_path / "yarn.lock")
    (tmp_path / "real").write_bytes(b"x")
    (tmp_path / "poetry.lock").symlink_to("real")
    assert lockfiles(str(tmp_path)) == {}


def test_one_that_cannot_be_hashed_is_listed_without_a_digest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "uv.lock").write_bytes(b"12345")
    (tmp_path / "go.sum").write_bytes(b"1234")
    monkeypatch.setattr(module, "MAX_SIZE", 4)
    assert lockfiles(str(tmp_path)) == {"go.sum": digest(b"1234"), "uv.lock": None}
    monkeypatch.setattr(os, "open", refuse)
    assert lockfiles(str(tmp_path)) == {"go.sum": None, "uv.lock": None}


def refuse(*_: object) -> int:
    raise PermissionError


def test_a_lock_file_that_vanishes_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "listdir", lambda _: ["uv.lock"])
    assert lockfiles(str(tmp_path)) == {}


def test_a_directory_that_cannot_be_read_says_nothing(tmp_path: Path) -> None:
    assert lockfiles(str(tmp_path / "gone")) is None


def test_a_directory_above_that_cannot_be_read_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    (tmp_path / ".git").mkdir()
    (inner / "uv.lock").write_bytes(b"x")
    real = os.listdir

    def refuse_above(path: str) -> list[str]:
        if path == str(tmp_path):
            raise PermissionError
        return real(path)

    monkeypatch.setattr(os, "listdir", refuse_above)
    assert lockfiles(str(inner)) == {"inner/uv.lock": digest(b"x")}


def test_a_path_that_is_not_utf8_is_escaped(tmp_path: Path) -> None:
    inner = tmp_path / "caf\udce9"
    inner.mkdir()
    (tmp_path / ".git").mkdir()
    (inner / "uv.lock").write_bytes(b"x")
    assert lockfiles(str(inner)) == {r"caf\xe9/uv.lock": digest(b"x")}
