"""Hashing many files: the digests are right whoever computes them, and nothing that is swapped in can do harm."""

import os
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from files.unprivileged import as_nobody, everybodys_directory
from parallel.directories import assert_right
from runcard.checksums import hash_files, hashing, large_files
from runcard.checksums.file_errors import NotRegularError, UnsteadyError, VanishedError
from runcard.digests import sha256_bytes
from runcard.errors import MachineError, RuncardError, StoreError
from runcard.files import FileKind
from runcard.parallel import worker
from runcard.parallel.progress import ProgressCounter

LARGE = worker.SMALL_FILE


class TestDigests:
    def test_files_of_any_size_are_hashed(self, tmp_path: Path) -> None:
        sizes = [0, 1, 4096, LARGE - 1, LARGE, LARGE + 1, 3 * LARGE, 5_000_000]
        files = {str(size): os.urandom(size) for size in sizes}
        for name, data in files.items():
            (tmp_path / name).write_bytes(data)
        assert_right(tmp_path, files)

    def test_no_files_give_an_empty_listing(self, tmp_path: Path) -> None:
        assert len(hash_files(tmp_path, [])) == 0

    def test_directories_are_entered_and_left_in_any_order(self, tmp_path: Path) -> None:
        files = {"a/b/c/d/e": b"1", "top": b"2", "a/x": b"3", "a/b/y": b"4", "b/y": b"5"}
        for name, data in files.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_bytes(data)
        assert_right(tmp_path, files)

    def test_a_file_that_grows_in_passing_is_looked_at_closely(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "file").write_bytes(b"grown")
        monkeypatch.setattr(os, "lseek", lambda *_: 3)
        assert_right(tmp_path, {"file": b"grown"})

    def test_a_directory_that_cannot_be_entered_is_forgotten(self, tmp_path: Path) -> None:
        """After a failure on the way, the next file is not opened in a directory half-way."""
        (tmp_path / "a").mkdir()
        (tmp_path / "a" / "file").write_bytes(b"wrong")
        (tmp_path / "file").write_bytes(b"right")
        errors: list[str] = []
        listing = hash_files(tmp_path, ["a/b/file", "file"], on_error=lambda path, _: errors.append(path))
        assert errors == ["a/b/file"]
        assert dict(listing) == {"file": sha256_bytes(b"right")}


def make_fifo(path: Path) -> None:
    os.mkfifo(path)


def make_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))


class TestOddFiles:
    @pytest.mark.parametrize(
        ("make", "kind"),
        [
            (make_fifo, FileKind.OTHER),
            (make_socket, FileKind.OTHER),
            (lambda path: path.symlink_to("/etc/passwd"), FileKind.SYMLINK),
            (lambda path: path.symlink_to("nothing"), FileKind.SYMLINK),
            (lambda path: path.mkdir(), FileKind.DIRECTORY),
        ],
    )
    def test_what_is_no_regular_file_neither_blocks_nor_leads_away(
        self, tmp_path: Path, make: Callable[[Path], None], kind: FileKind
    ) -> None:
        make(tmp_path / "odd")
        with pytest.raises(NotRegularError, match="odd") as caught:
            hash_files(tmp_path, ["odd"])
        assert caught.value.kind is kind
        assert caught.value.hint

    def test_a_fifo_that_somebody_writes_to_keeps_its_data(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "pipe")
        both = os.open(tmp_path / "pipe", os.O_RDWR)
        os.write(both, b"for somebody else")
        with pytest.raises(NotRegularError):
            hash_files(tmp_path, ["pipe"])
        assert os.read(both, 100) == b"for somebody else"
        os.close(both)

    @pytest.mark.parametrize("device", ["null", "zero", "tty"])
    def test_a_device_is_not_hashed(self, device: str) -> None:
        with pytest.raises(RuncardError, match=device):
            hash_files("/dev", [device])

    def test_a_directory_that_was_swapped_for_a_link_is_not_entered(self, tmp_path: Path) -> None:
        (tmp_path / "outside").mkdir()
        (tmp_path / "outside" / "file").write_bytes(b"secret")
        (tmp_path / "root" / "a").mkdir(parents=True)
        (tmp_path / "root" / "a" / "link").symlink_to("../../outside")
        with pytest.raises(VanishedError, match="a/link/file"):
            hash_files(tmp_path / "root", ["a/link/file"])

    def test_a_file_that_vanished_is_named(self, tmp_path: Path) -> None:
        with pytest.raises(VanishedError, match=r"no\\nsuch is gone") as caught:
            hash_files(tmp_path, ["no\nsuch"])
        assert caught.value.hint

    def test_a_root_that_is_not_there_is_named(self, tmp_path: Path) -> None:
        with pytest.raises(StoreError, match="nowhere"):
            hash_files(tmp_path / "nowhere", [])

    def test_a_file_without_permission_is_named(self) -> None:
        with everybodys_directory() as root:
            (root / "secret").write_bytes(b"x")
            (root / "secret").chmod(0)
            said = as_nobody(
                root,
                "try: checksums.hash_files(root, ['secret'])\n"
                "except errors.MachineError as error: print(error, '|', error.hint)",
            )
            assert said.startswith("cannot read the file secret: Permission denied | change its permissions")

    def test_a_failing_disk_is_named(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / "file").write_bytes(b"x")

        def fail(*_: object, **__: object) -> None:
            raise OSError(5, os.strerror(5))

        monkeypatch.setattr(large_files, "sha256_descriptor", fail)
        monkeypatch.setattr(os, "pread", fail)
        with pytest.raises(MachineError, match="cannot read the file file: Input/output error"):
            hash_files(tmp_path, ["file"])

    def test_with_a_listener_all_errors_are_told_and_the_rest_is_hashed(self, tmp_path: Path) -> None:
        for name in ("a", "c"):
            (tmp_path / name).write_bytes(name.encode())
        os.mkfifo(tmp_path / "b")
        told: dict[str, type] = {}
        listing = hash_files(
            tmp_path, ["a", "b", "c", "d"], on_error=lambda path, error: told.update({path: type(error)})
        )
        assert told == {"b": NotRegularError, "d": VanishedError}
        assert dict(listing) == {"a": sha256_bytes(b"a"), "c": sha256_bytes(b"c")}

    def test_without_one_the_first_error_stops_the_work(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(hashing, "cores", lambda: 1)
        (tmp_path / "large").write_bytes(bytes(LARGE + 1))
        os.mkfifo(tmp_path / "pipe")
        calls: list[tuple[int, int]] = []
        monkeypatch.setattr(ProgressCounter, "add", lambda _, *counts: calls.append(counts))
        with pytest.raises(NotRegularError):
            hash_files(tmp_path, ["large", "pipe"])
        assert calls == [(0, 0)]


class TestFilesInMotion:
    @pytest.mark.parametrize("size", [0, 100, 10 * LARGE])
    def test_a_file_that_is_cut_or_grows_while_it_is_read_is_named(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int
    ) -> None:
        path = tmp_path / "file"
        path.write_bytes(bytes(5 * LARGE))

        def disturb(_: ProgressCounter, files: int, read: int) -> None:
            if read:
                os.truncate(path, size + files)

        monkeypatch.setattr(ProgressCounter, "add", disturb)
        with pytest.raises(UnsteadyError, match="file changed while it was read") as caught:
            hash_files(tmp_path, ["file"])
        assert caught.value.hint

    def test_a_file_that_is_rewritten_in_its_place_is_named(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path = tmp_path / "file"
        path.write_bytes(bytes(5 * LARGE))
        os.utime(path, (1, 1))

        def rewrite(*_: object) -> None:
            with path.open("r+b") as file:
                file.write(b"other")

        monkeypatch.setattr(ProgressCounter, "add", rewrite)
        with pytest.raises(UnsteadyError):
            hash_files(tmp_path, ["file"])

    def test_files_that_never_rest_give_digests_or_errors_and_nothing_else(self, tmp_path: Path) -> None:
        stop = threading.Event()
        paths = [tmp_path / str(number) for number in range(20)]
        for path in paths:
            path.write_bytes(bytes(LARGE))

        def disturb() -> None:
            number = 0
            while not stop.is_set():
                path = paths[number % len(paths)]
                number += 1
                path.unlink(missing_ok=True)
                path.write_bytes(bytes(number % 5 * LARGE // 2))
                os.truncate(path, number % 3 * LARGE)

        thread = threading.Thread(target=disturb)
        thread.start()
        try:
            names = [path.name for path in paths]
            for _ in range(30):
                failed: set[str] = set()

                def note(path: str, _: RuncardError, failed: set[str] = failed) -> None:
                    failed.add(path)

                listing = hash_files(tmp_path, names, on_error=note)
                assert set(listing) | failed == set(names)
        finally:
            stop.set()
            thread.join()

    def test_an_interrupt_stops_the_hashing_of_a_huge_file(self, tmp_path: Path) -> None:
        with (tmp_path / "huge").open("wb") as file:
            file.truncate(200 << 30)  # minutes of work

        def interrupt(_: int, size: int) -> None:
            if size:
                raise KeyboardInterrupt

        start = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            hash_files(tmp_path, ["huge"], progress=interrupt)
        assert time.monotonic() - start < 60
