"""Files that are made durable, one by one or all at once."""

import ctypes
import errno
import os
import resource
from pathlib import Path

import pytest

from runcard.files import fsync_directory, sync, sync_filesystem, sync_tree
from runcard.files.walk import FileKind

ALL = "everything"
MUCH = 1 << 40


@pytest.fixture
def synced(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The paths that are synced, in order."""
    paths: list[str] = []
    real = os.fsync

    def watched(descriptor: int) -> None:
        paths.append(os.readlink(f"/proc/self/fd/{descriptor}"))
        real(descriptor)

    monkeypatch.setattr(os, "fsync", watched)
    monkeypatch.setattr(sync, "_sync_filesystem_of", lambda _: paths.append(ALL))
    return paths


def waiting(monkeypatch: pytest.MonkeyPatch, count: int | None) -> None:
    monkeypatch.setattr(sync, "_bytes_waiting", lambda: count)


def make_tree(root: Path, count: int = 2) -> list[str]:
    (root / "inner" / "deep").mkdir(parents=True)
    (root / "link").symlink_to("nowhere")
    for number in range(count):
        (root / "inner" / "deep" / str(number)).write_text("x")
    os.mkfifo(root / "fifo")
    files = [str(root / "inner" / "deep" / str(number)) for number in range(count)]
    return sorted([*files, str(root), str(root / "inner"), str(root / "inner" / "deep")])


def test_each_file_is_synced_where_other_programs_have_written_much(
    tmp_path: Path, synced: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = make_tree(tmp_path, count=200)
    waiting(monkeypatch, MUCH)
    sync_tree(str(tmp_path))
    assert sorted(synced) == expected
    assert synced[-1] == str(tmp_path)


def test_everything_is_synced_at_once_where_that_is_little(
    tmp_path: Path, synced: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    make_tree(tmp_path)
    waiting(monkeypatch, 0)
    sync_tree(str(tmp_path))
    waiting(monkeypatch, sync._BYTES_PER_FILE * 3)  # there are four: two files, two directories
    sync_tree(str(tmp_path))
    assert synced == [ALL, ALL]


def test_many_files_are_synced_at_once(
    tmp_path: Path, synced: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    entries = ((f"never opened {number}", FileKind.FILE) for number in range(10**9))
    waiting(monkeypatch, MUCH)
    sync_tree(str(tmp_path), entries)
    assert synced == [ALL]
    assert next(entries)[0] == f"never opened {sync._MOST_FILES + 1}"  # and not listed to the end


@pytest.mark.parametrize(("count", "at_once"), [(10, False), (100, True)])
def test_where_the_system_does_not_say_how_much_is_waiting_the_number_of_files_decides(
    tmp_path: Path, synced: list[str], monkeypatch: pytest.MonkeyPatch, count: int, *, at_once: bool
) -> None:
    make_tree(tmp_path, count)
    monkeypatch.setattr(sync, "_MEMINFO", str(tmp_path / "missing"))
    sync_tree(str(tmp_path))
    assert (synced == [ALL]) is at_once


def test_how_much_is_waiting_is_read_from_the_system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(sync._bytes_waiting(), int)
    monkeypatch.setattr(sync, "_MEMINFO", str(tmp_path / "meminfo"))
    (tmp_path / "meminfo").write_text(
        "MemTotal: 9 kB\nDirty:   12 kB\nWriteback:  3 kB\nWritebackTmp:  5 kB\n"
    )
    assert sync._bytes_waiting() == 15 * 1024
    (tmp_path / "meminfo").write_text("MemTotal: 9 kB\n")
    assert sync._bytes_waiting() is None


def test_what_has_disappeared_or_changed_its_kind_is_skipped(
    tmp_path: Path, synced: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    make_tree(tmp_path)
    waiting(monkeypatch, MUCH)
    gone = ["gone", "gone/below", "inner", "link", "fifo", "inner/deep/0/below"]
    kinds = [(path, FileKind.FILE) for path in gone]
    kinds += [(path, FileKind.DIRECTORY) for path in ("gone", "link", "inner/deep/0")]
    sync_tree(str(tmp_path), [*kinds, ("inner/deep/1", FileKind.FILE)])
    assert synced == [str(tmp_path / "inner" / "deep" / "1"), str(tmp_path)]


def test_where_too_many_files_are_open_everything_is_synced(
    tmp_path: Path, synced: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    make_tree(tmp_path, count=100)
    waiting(monkeypatch, MUCH)
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (len(os.listdir("/proc/self/fd")) + 40, limits[1]))
    try:
        sync_tree(str(tmp_path))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    assert synced == [ALL]


@pytest.mark.parametrize("name", ["inner/deep/1", "inner"])
def test_what_may_not_be_opened_is_synced_with_everything(
    tmp_path: Path, synced: list[str], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    make_tree(tmp_path)
    waiting(monkeypatch, MUCH)
    real = os.open

    def refused(path: str | bytes, *arguments: int, dir_fd: int | None = None) -> int:
        if os.fsencode(path) == os.fsencode(name):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
        return real(path, *arguments, dir_fd=dir_fd)

    monkeypatch.setattr(os, "open", refused)
    sync_tree(str(tmp_path))
    assert synced == [ALL]


def test_a_file_that_cannot_be_synced_is_an_error_that_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_tree(tmp_path)
    waiting(monkeypatch, MUCH)
    real = os.fsync

    def failing(descriptor: int) -> None:
        if os.readlink(f"/proc/self/fd/{descriptor}").endswith("/1"):
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        real(descriptor)

    monkeypatch.setattr(os, "fsync", failing)
    descriptors = os.listdir("/proc/self/fd")
    with pytest.raises(OSError, match="Input/output error") as caught:
        sync_tree(str(tmp_path))
    assert caught.value.filename == str(tmp_path / "inner" / "deep" / "1")
    assert os.listdir("/proc/self/fd") == descriptors  # none is left open
    with pytest.raises(FileNotFoundError):
        sync_tree(str(tmp_path / "nowhere"), [])


def test_a_whole_file_system_is_made_durable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sync_filesystem(tmp_path)
    with pytest.raises(FileNotFoundError):
        sync_filesystem(tmp_path / "nowhere")
    steps: list[str] = []
    monkeypatch.setattr(os, "sync", lambda: steps.append("all"))
    monkeypatch.setattr(os, "fsync", lambda _: steps.append("it"))
    monkeypatch.setattr(sync, "_system_call", sync._system_call.__wrapped__)  # which remembers nothing
    monkeypatch.setattr(ctypes, "CDLL", lambda *_, **__: object())
    sync_filesystem(tmp_path)
    assert steps == ["all", "it"]


def test_a_file_system_that_fails_is_an_error_that_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Failing:
        @staticmethod
        def syncfs(_: int) -> int:
            ctypes.set_errno(errno.EIO)
            return -1

    monkeypatch.setattr(sync, "_system_call", sync._system_call.__wrapped__)
    monkeypatch.setattr(ctypes, "CDLL", lambda *_, **__: Failing)
    with pytest.raises(OSError, match="Input/output error") as caught:
        sync_filesystem(tmp_path)
    assert caught.value.filename == str(tmp_path)


def test_a_directory_is_made_durable(tmp_path: Path) -> None:
    fsync_directory(tmp_path)
    with pytest.raises(NotADirectoryError):
        fsync_directory(__file__)
