"""Opening what somebody else may have put there."""

import os
import socket
from pathlib import Path

import pytest

from runcard.errors import StoreError
from runcard.files.opening import NotRegularFileError, open_directory, open_regular


def test_a_regular_file_is_opened(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"text")
    descriptor = open_regular(tmp_path / "a")
    try:
        assert os.read(descriptor, 10) == b"text"
    finally:
        os.close(descriptor)


def test_a_fifo_that_nobody_writes_to_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a")
    with pytest.raises(NotRegularFileError, match="FIFO"):
        open_regular(tmp_path / "a")


def test_a_socket_a_device_and_a_directory_are_refused(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "socket"))
        with pytest.raises(NotRegularFileError, match="socket"):
            open_regular(tmp_path / "socket")
    with pytest.raises(NotRegularFileError, match="device"):
        open_regular("/dev/zero")
    with pytest.raises(NotRegularFileError, match="directory"):
        open_regular(tmp_path)


def test_a_link_is_followed_only_on_request(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"")
    (tmp_path / "link").symlink_to("a")
    os.close(open_regular(tmp_path / "link", follow=True))
    with pytest.raises(OSError, match="symbolic links"):
        open_regular(tmp_path / "link")


def test_a_link_to_a_fifo_does_not_block(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "link").symlink_to("fifo")
    with pytest.raises(NotRegularFileError, match="FIFO"):
        open_regular(tmp_path / "link", follow=True)


def test_directories_are_made_and_entered(tmp_path: Path) -> None:
    with open_directory(str(tmp_path), "a", "b", create=True) as descriptor:
        os.mkdir("c", dir_fd=descriptor)
    assert (tmp_path / "a" / "b" / "c").is_dir()


def test_a_missing_directory_is_an_error_without_create(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), open_directory(str(tmp_path), "a"):
        pass


@pytest.mark.parametrize("create", [False, True])
def test_a_link_in_the_place_of_a_directory_is_refused(tmp_path: Path, *, create: bool) -> None:
    (tmp_path / "elsewhere" / "b").mkdir(parents=True)
    (tmp_path / "store").mkdir()
    (tmp_path / "store" / "a").symlink_to(tmp_path / "elsewhere")
    with (
        pytest.raises(StoreError, match="a is a symbolic link"),
        open_directory(str(tmp_path / "store"), "a", "b", create=create),
    ):
        pass


def test_a_file_in_the_place_of_a_directory_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"")
    with pytest.raises(StoreError, match="a is a regular file"), open_directory(str(tmp_path), "a"):
        pass


def test_the_root_may_be_a_link(tmp_path: Path) -> None:
    (tmp_path / "real" / "a").mkdir(parents=True)
    (tmp_path / "root").symlink_to("real")
    with open_directory(str(tmp_path / "root"), "a") as descriptor:
        assert os.listdir(descriptor) == []


def test_no_descriptor_is_left_open(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("nowhere")
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        with pytest.raises(StoreError), open_directory(str(tmp_path), "a"):
            pass
        with pytest.raises(NotRegularFileError):
            open_regular("/dev/zero")
    assert len(os.listdir("/proc/self/fd")) == before
