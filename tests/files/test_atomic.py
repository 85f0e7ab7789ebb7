"""A reader sees the old document or the new one, whatever happens to the writer."""

import ctypes
import errno
import os
import random
import re
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from files.unprivileged import as_nobody, everybodys_directory
from runcard.files import Sync, atomic, rename_noreplace, write_atomic

TEMPORARY = re.compile(r"\..*\.[0-9a-f]{8}\.tmp", re.DOTALL)


@contextmanager
def umask(mask: int) -> Iterator[None]:
    old = os.umask(mask)
    try:
        yield
    finally:
        os.umask(old)


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def test_a_new_document_is_written(tmp_path: Path) -> None:
    path = tmp_path / "document"
    write_atomic(path, b"new")
    assert path.read_bytes() == b"new"
    assert os.listdir(tmp_path) == ["document"]


def test_an_old_document_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "document"
    path.write_bytes(b"a much longer old document")
    write_atomic(path, b"new")
    assert path.read_bytes() == b"new"


def test_a_name_without_a_directory_is_in_the_current_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_atomic("document", b"new")
    assert (tmp_path / "document").read_bytes() == b"new"


def test_a_document_larger_than_one_write_takes_is_written_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, data: write(descriptor, data[:1000]))
    data = os.urandom(12_345)
    write_atomic(tmp_path / "document", data)
    assert (tmp_path / "document").read_bytes() == data


@pytest.mark.parametrize(("mask", "mode"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)])
def test_a_new_document_has_the_mode_that_the_umask_says(tmp_path: Path, mask: int, mode: int) -> None:
    with umask(mask):
        write_atomic(tmp_path / "document", b"new")
    assert mode_of(tmp_path / "document") == mode


@pytest.mark.parametrize("mask", [0, 0o022, 0o077])
@pytest.mark.parametrize("mode", [0o600, 0o644, 0o440])
def test_a_mode_that_is_given_holds_whatever_the_umask_says(tmp_path: Path, mask: int, mode: int) -> None:
    with umask(mask):
        write_atomic(tmp_path / "document", b"new", mode=mode)
    assert mode_of(tmp_path / "document") == mode


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o666])
def test_a_document_that_is_replaced_hands_its_mode_on(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "document"
    path.touch()
    path.chmod(mode)
    with umask(0o027):
        write_atomic(path, b"new")
    assert mode_of(path) == mode


def test_a_mode_that_is_given_holds_for_a_replaced_document(tmp_path: Path) -> None:
    path = tmp_path / "document"
    path.touch(0o644)
    write_atomic(path, b"new", mode=0o600)
    assert mode_of(path) == 0o600


def test_a_private_document_is_private_before_a_byte_is_in_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each step that could show the file to others is looked at: creating, changing the mode, writing."""
    seen: list[int] = []
    real_open, real_write = os.open, os.write

    def watched_open(path: str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        descriptor = real_open(path, flags, mode, dir_fd=dir_fd)
        if flags & os.O_CREAT:
            seen.append(stat.S_IMODE(os.fstat(descriptor).st_mode))
        return descriptor

    def watched_write(descriptor: int, data: memoryview) -> int:
        seen.append(stat.S_IMODE(os.fstat(descriptor).st_mode))
        return real_write(descriptor, data)

    monkeypatch.setattr(os, "open", watched_open)
    monkeypatch.setattr(os, "write", watched_write)
    with umask(0):
        write_atomic(tmp_path / "document", b"secret", mode=0o600)
    assert seen == [0o600, 0o600]


def test_a_link_stays_and_what_it_points_to_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "document").write_bytes(b"old")
    (tmp_path / "hop").symlink_to("real/document")
    (tmp_path / "link").symlink_to("hop")
    write_atomic(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real" / "document").read_bytes() == b"new"
    assert sorted(os.listdir(tmp_path)) == ["hop", "link", "real"]
    assert os.listdir(tmp_path / "real") == ["document"]


def test_a_link_to_nothing_makes_the_file_it_names(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("document")
    write_atomic(tmp_path / "link", b"new")
    assert (tmp_path / "document").read_bytes() == b"new"


def test_a_link_that_leads_in_a_circle_is_an_error_and_stays(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("link")
    with pytest.raises(OSError, match="symbolic links"):
        write_atomic(tmp_path / "link", b"new")
    assert os.listdir(tmp_path) == ["link"]


def test_the_longest_name_there_can_be_is_written(tmp_path: Path) -> None:
    for name in ("x" * 255, "é" * 127, "日" * 85, os.fsdecode(b"\xff" * 255)):
        write_atomic(tmp_path / name, b"new")
        assert (tmp_path / name).read_bytes() == b"new"


def test_temporary_names_can_be_recognised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names: list[str] = []
    monkeypatch.setattr(os, "fsync", lambda _: names.extend(os.listdir(tmp_path)))
    write_atomic(tmp_path / "metadata.json", b"new")
    assert names[0].startswith(".metadata.json.")
    assert TEMPORARY.fullmatch(names[0])


@pytest.mark.parametrize("target", ["document", "nowhere"])
def test_a_link_that_is_not_to_be_followed_stays_and_is_an_error(tmp_path: Path, target: str) -> None:
    (tmp_path / "document").write_bytes(b"old")
    (tmp_path / "link").symlink_to(target)
    with pytest.raises(OSError, match="symbolic links") as caught:
        write_atomic(tmp_path / "link", b"new", follow=False)
    assert caught.value.errno == errno.ELOOP
    assert caught.value.filename == str(tmp_path / "link")
    assert (tmp_path / "link").readlink() == Path(target)
    assert (tmp_path / "document").read_bytes() == b"old"
    assert sorted(os.listdir(tmp_path)) == ["document", "link"]


def test_a_temporary_name_that_is_taken_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    numbers = iter([b"\0\0\0\0", b"\0\0\0\0", b"\0\0\0\1"])
    monkeypatch.setattr(os, "urandom", lambda _: next(numbers))
    (tmp_path / ".document.00000000.tmp").write_bytes(b"somebody's")
    write_atomic(tmp_path / "document", b"new")
    assert (tmp_path / ".document.00000000.tmp").read_bytes() == b"somebody's"
    assert (tmp_path / "document").read_bytes() == b"new"


def test_bytes_reach_the_disk_before_the_name_and_the_name_before_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[str] = []
    rename = os.rename

    def watched_rename(source: str, target: str, *, src_dir_fd: int, dst_dir_fd: int) -> None:
        steps.append("rename")
        rename(source, target, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd)

    def watched_sync(descriptor: int) -> None:
        steps.append("directory" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "file")

    monkeypatch.setattr(os, "rename", watched_rename)
    monkeypatch.setattr(os, "fsync", watched_sync)
    write_atomic(tmp_path / "document", b"new")
    assert steps == ["file", "rename", "directory"]


def test_a_document_that_is_made_durable_with_others_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "fsync", lambda _: pytest.fail("it waited for the disk"))
    write_atomic(tmp_path / "document", b"new", sync=Sync.LATER)
    assert (tmp_path / "document").read_bytes() == b"new"


class TestWithoutReplacing:
    def test_a_free_name_is_taken(self, tmp_path: Path) -> None:
        write_atomic(tmp_path / "document", b"new", replace=False, mode=0o600)
        assert (tmp_path / "document").read_bytes() == b"new"
        assert os.listdir(tmp_path) == ["document"]

    @pytest.mark.parametrize("kind", ["file", "directory", "link", "dangling"])
    def test_whatever_has_the_name_stays(self, tmp_path: Path, kind: str) -> None:
        path = tmp_path / "document"
        match kind:
            case "file":
                path.write_bytes(b"old")
            case "directory":
                path.mkdir()
            case "link":
                path.symlink_to("/etc/passwd")
            case _:
                path.symlink_to("nothing")
        before = path.lstat()
        with pytest.raises(FileExistsError) as caught:
            write_atomic(path, b"new", replace=False)
        assert caught.value.filename == str(path)
        assert path.lstat().st_ino == before.st_ino
        assert os.listdir(tmp_path) == ["document"]

    @pytest.mark.parametrize("number", [errno.ENOSYS, errno.EINVAL])
    def test_a_hard_link_does_it_where_the_system_cannot(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
    ) -> None:
        def unsupported(*_: object) -> None:
            raise OSError(number, os.strerror(number))

        monkeypatch.setattr(rename_noreplace, "_renameat2", unsupported)
        write_atomic(tmp_path / "document", b"new", replace=False)
        with pytest.raises(FileExistsError):
            write_atomic(tmp_path / "document", b"newer", replace=False)
        assert (tmp_path / "document").read_bytes() == b"new"
        assert os.listdir(tmp_path) == ["document"]

    @pytest.mark.parametrize("system", ["new", "old"])
    def test_a_directory_takes_a_free_name_and_no_other(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, system: str
    ) -> None:
        if system == "old":
            monkeypatch.setattr(rename_noreplace, "_system_call", lambda: None)
        (tmp_path / "taken").mkdir()
        (tmp_path / "source").mkdir()
        (tmp_path / "source" / "file").touch()
        directory = os.open(tmp_path, os.O_RDONLY)
        with pytest.raises(FileExistsError):
            rename_noreplace.rename_noreplace("source", "taken", directory)
        rename_noreplace.rename_noreplace("source", "free", directory)
        os.close(directory)
        assert sorted(os.listdir(tmp_path)) == ["free", "taken"]
        assert os.listdir(tmp_path / "free") == ["file"]
        assert os.listdir(tmp_path / "taken") == []

    def test_a_library_without_the_call_is_like_a_system_without_it(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(ctypes, "CDLL", lambda *_, **__: object())
        monkeypatch.setattr(
            rename_noreplace, "_system_call", rename_noreplace._system_call.__wrapped__
        )  # without a memory
        write_atomic(tmp_path / "document", b"new", replace=False)
        assert os.listdir(tmp_path) == ["document"]


class TestFailure:
    @pytest.fixture
    def document(self, tmp_path: Path) -> Path:
        path = tmp_path / "document"
        path.write_bytes(b"old")
        return path

    @pytest.mark.parametrize("step", ["write", "fsync", "rename", "fchmod"])
    def test_the_old_document_stays_and_nothing_is_left_behind(
        self, document: Path, monkeypatch: pytest.MonkeyPatch, step: str
    ) -> None:
        def fail(*_: object, **__: object) -> None:
            raise OSError(errno.EIO, os.strerror(errno.EIO))

        monkeypatch.setattr(os, step, fail)
        with umask(0o077), pytest.raises(OSError, match="Input/output error") as caught:
            write_atomic(document, b"new", mode=0o644)
        assert caught.value.filename == str(document)
        assert document.read_bytes() == b"old"
        assert os.listdir(document.parent) == ["document"]

    def test_an_interrupt_cleans_up_as_well(self, document: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def interrupt(*_: object) -> None:
            raise KeyboardInterrupt

        monkeypatch.setattr(os, "fsync", interrupt)
        with pytest.raises(KeyboardInterrupt):
            write_atomic(document, b"new")
        assert document.read_bytes() == b"old"
        assert os.listdir(document.parent) == ["document"]

    def test_an_interrupt_just_after_the_name_was_taken_stays_an_interrupt(
        self, document: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        take_name = atomic._rename

        def interrupted(directory: int, temporary: str, name: str, *, replace: bool) -> None:
            take_name(directory, temporary, name, replace=replace)
            raise KeyboardInterrupt

        monkeypatch.setattr(atomic, "_rename", interrupted)
        with pytest.raises(KeyboardInterrupt):
            write_atomic(document, b"new")
        assert document.read_bytes() == b"new"

    def test_a_directory_in_the_way_is_an_error(self, tmp_path: Path) -> None:
        (tmp_path / "document").mkdir()
        with pytest.raises(IsADirectoryError):
            write_atomic(tmp_path / "document", b"new")
        assert os.listdir(tmp_path) == ["document"]

    def test_a_directory_that_is_not_there_is_an_error(self, tmp_path: Path) -> None:
        with pytest.raises(FileNotFoundError) as caught:
            write_atomic(tmp_path / "nowhere" / "document", b"new")
        assert caught.value.filename == str(tmp_path / "nowhere" / "document")

    def test_a_directory_that_cannot_be_written_to_is_an_error(self) -> None:
        with everybodys_directory() as root:
            (root / "document").write_bytes(b"old")
            root.chmod(0o555)
            said = as_nobody(
                root,
                "try: files.write_atomic(root + '/document', b'new')\n"
                "except PermissionError as error: print(error.filename)",
            )
            assert said.strip() == str(root / "document")
            assert os.listdir(root) == ["document"]

    def test_a_full_disk_leaves_the_old_document_and_no_rubbish(self, tmp_path: Path) -> None:
        mount = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=64k", "none", str(tmp_path)],
            capture_output=True,
            check=False,
        )
        if mount.returncode != 0:
            pytest.skip(f"NOT TESTED, no right to mount a small tmpfs: {mount.stderr.decode()}")
        try:
            path = tmp_path / "document"
            write_atomic(path, b"old")
            with pytest.raises(OSError, match="No space left") as caught:
                write_atomic(path, bytes(100_000))
            assert caught.value.filename == str(path)
            assert path.read_bytes() == b"old"
            assert os.listdir(tmp_path) == ["document"]
            write_atomic(path, b"new")
        finally:
            subprocess.run(["umount", str(tmp_path)], check=True)


WRITER = """
import itertools, sys
from runcard.files import write_atomic
for number in itertools.count():
    write_atomic(sys.argv[1], b"%06d " % (number % 1_000_000) * 100_000)
    print(flush=True)
"""


@pytest.mark.parametrize("writers", [3, pytest.param(20, marks=pytest.mark.long)])
def test_a_reader_sees_a_whole_document_also_when_the_writer_is_killed(tmp_path: Path, writers: int) -> None:
    """They are killed at odd moments; before and after the blow every document is whole."""
    path = tmp_path / "document"
    chance = random.Random(7)  # noqa: S311 - not a secret
    for _ in range(writers):
        with subprocess.Popen([sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE) as writer:
            assert writer.stdout is not None
            writer.stdout.readline()
            end = time.monotonic() + chance.uniform(0, 0.05)
            while time.monotonic() < end:
                assert_whole(path)
            writer.send_signal(signal.SIGKILL)
        assert_whole(path)
    assert all(TEMPORARY.fullmatch(name) for name in os.listdir(tmp_path) if name != "document")


def assert_whole(path: Path) -> None:
    data = path.read_bytes()
    assert len(data) == 700_000
    assert data == data[:7] * 100_000
