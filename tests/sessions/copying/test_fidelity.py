"""What a copy keeps: bytes, digests, permissions, times, holes, links, names."""

import hashlib
import os
import socket
import subprocess
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from runcard import checksums
from runcard.checksums import Symlink
from runcard.errors import StoreError
from runcard.parallel import chunks, helper_pool
from runcard.parallel.progress import Amount
from runcard.parallel.worker import SMALL_FILE, copy_small
from runcard.store.sessions.copying import CopyRules, copy_workspace, small_files
from sessions.copying.workspaces import copy, make, paths, reasons, stored, target_of


def listing_of(root: Path) -> bytes:
    return checksums.make(root).listing.to_bytes()


class TestBytes:
    def test_files_of_any_size_are_copied_and_hashed(self, tmp_path: Path) -> None:
        sizes = [0, 1, 4096, SMALL_FILE - 1, SMALL_FILE, SMALL_FILE + 1, 3_000_000]
        source = make(tmp_path / "ws", {f"{size % 3}/{size}": os.urandom(size) for size in sizes})
        copied = copy(source)
        assert listing_of(target_of(source)) == listing_of(source)
        assert {file.path: file.sha256 for file in copied.files} == {
            path: digest.hex for path, digest in checksums.make(source).listing.items()
        }
        assert copied.files.size == sum(sizes)
        assert all(file.source_sha256 is None for file in copied.files)

    def test_helpers_take_a_share(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(helper_pool, "START_AFTER", 0)
        monkeypatch.setattr(chunks, "CHUNK_FILES", 16)
        monkeypatch.setattr(chunks, "cores", lambda: 3)
        here: list[object] = []

        def copy_here(*arguments: Any) -> bytes:
            here.append(arguments)
            return copy_small(*arguments)

        monkeypatch.setattr(small_files, "copy_small", copy_here)
        source = make(tmp_path / "ws", {f"{n % 7}/{n}": b"%d" % n * n for n in range(600)})
        copied = copy(source)
        assert len(copied.files) == 600
        assert len(here) < 600 // 16
        assert listing_of(target_of(source)) == listing_of(source)

    def test_files_are_in_the_order_of_their_bytes(self, tmp_path: Path) -> None:
        names = ["b", "a/z", "a.b", "a-", "é", "\udcff", "Z", "a/\ud7ff"]
        copied = copy(make(tmp_path / "ws", dict.fromkeys(names, "")))
        assert paths(copied) == sorted(names, key=os.fsencode)

    def test_types_are_counted_by_the_last_suffix(self, tmp_path: Path) -> None:
        names = [
            "a.py",
            "B.PY",
            "c.tar.gz",
            "Makefile",
            ".bashrc",
            "d.d/e.md",
            "d.d/none",
            "dot.",
            "f.\udcff",
        ]
        copied = copy(make(tmp_path / "ws", dict.fromkeys(names, "")))
        assert copied.files.types == {"": 4, ".gz": 1, ".md": 1, ".py": 2, r".\xff": 1}

    def test_memory_does_not_grow_with_a_file(self, tmp_path: Path) -> None:
        source = make(tmp_path / "ws", {"large": b""})
        with (source / "large").open("wb") as file:
            file.writelines(bytes([number]) * (1 << 20) for number in range(48))
        tracemalloc.start()
        copied = copy(source)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert copied.files.size == 48 << 20
        assert peak < 4 << 20

    def test_hard_links_are_stored_each(self, tmp_path: Path) -> None:
        source = make(tmp_path / "ws", {"a": "same"})
        os.link(source / "a", source / "b")
        assert paths(copy(source)) == ["a", "b"]
        assert (target_of(source) / "a").stat().st_nlink == 1

    def test_the_source_is_not_touched(self, tmp_path: Path) -> None:
        source = make(tmp_path / "ws", {"a": "1", "sub/b": "2" * SMALL_FILE * 2})
        for path in (source / "a", source / "sub" / "b", source / "sub", source):
            os.utime(path, ns=(10**18, 2 * 10**18))  # older than the last change: a read would be noted
        before = {path: path.stat() for path in (source, *source.rglob("*"))}
        copy(source, gitignore=True)
        for path, status in before.items():
            now = path.stat()
            for field in ("st_mode", "st_mtime_ns", "st_ctime_ns", "st_atime_ns"):
                assert getattr(now, field) == getattr(status, field), (path, field)


class TestPermissionsAndTimes:
    @pytest.mark.parametrize("size", [10, SMALL_FILE + 1])
    def test_the_owners_bits_are_kept_and_all_others_cleared(self, tmp_path: Path, size: int) -> None:
        modes = {"plain": 0o644, "script": 0o755, "readonly": 0o444, "setid": 0o6755, "sticky": 0o1777}
        source = make(tmp_path / "ws", dict.fromkeys(modes, b"x" * size))
        for name, mode in modes.items():
            (source / name).chmod(mode)
        copy(source)
        for name, mode in modes.items():
            assert (target_of(source) / name).stat().st_mode & 0o7777 == mode & 0o700, name

    def test_more_bits_are_kept_on_request_whatever_the_umask(self, tmp_path: Path) -> None:
        source = make(tmp_path / "ws", {"sub/file": "x"})
        (source / "sub").chmod(0o775)
        (source / "sub" / "file").chmod(0o664)
        before = os.umask(0o077)
        try:
            copy(source, kept_mode=0o750)
        finally:
            os.umask(before)
        assert (target_of(source) / "sub").stat().st_mode & 0o7777 == 0o750
        assert (target_of(source) / "sub" / "file").stat().st_mode & 0o7777 == 0o640

    def test_directories_that_cannot_be_written_to_are_filled_first(self, tmp_path: Path) -> None:
        source = make(tmp_path / "ws", {"ro/deep/file": "x"})
        (source / "ro" / "deep").chmod(0o555)
        (source / "ro").chmod(0o555)
        assert paths(copy(source)) == ["ro/deep/file"]
        for folder in (target_of(source) / "ro", target_of(source) / "ro" / "deep"):
            assert folder.stat().st_mode & 0o7777 == 0o500

    def test_times_are_kept_of_files_directories_and_links(self, tmp_path: Path) -> None:
        source = make(tmp_path / "ws", {"a/b/small": "x", "a/large": b"x" * (SMALL_FILE + 1)})
        (source / "a" / "link").symlink_to("large")
        names = ["a/b/small", "a/large", "a/link", "a/b", "a", "."]
        for number, name in enumerate(names):
            os.utime(source / name, ns=(10**18, 10**18 + number), follow_symlinks=False)
        copy(source)
        found = [(target_of(source) / name).lstat().st_mtime_ns for name in names]
        assert found == [10**18 + number for number in range(len(names))]


class TestHoles:
    def test_a_file_with_holes_keeps_them_and_is_hashed_as_zeros(self, tmp_path: Path) -> None:
        source = make(tmp_path / "ws", {})
        with (source / "sparse").open("wb") as file:
            file.truncate(48 << 20)
            for place in (0, 20 << 20, (30 << 20) + 5):
                file.seek(place)
                file.write(b"data")
        copied = copy(source)
        copy_ = target_of(source) / "sparse"
        assert next(iter(copied.files)).sha256 == hashlib.sha256((source / "sparse").read_bytes()).hexdigest()
        assert copy_.read_bytes() == (source / "sparse").read_bytes()
        assert copy_.stat().st_blocks * 512 < 1 << 20

    def test_a_small_one_keeps_them_too(self, tmp_path: Path) -> None:
        source = make(tmp_path / "ws", {"sparse": b"data"})
        os.truncate(source / "sparse", SMALL_FILE)
        assert copy(source).files.size == SMALL_FILE
        assert (target_of(source) / "sparse").stat().st_blocks * 512 < SMALL_FILE

    def test_a_file_that_is_one_hole_is_stored_as_one(self, tmp_path: Path) -> None:
        source = make(tmp_path / "ws", {})
        (source / "hole").touch()
        os.truncate(source / "hole", 64 << 20)
        (file,) = copy(source).files
        assert file.size == 64 << 20
        assert (target_of(source) / "hole").stat().st_blocks == 0
        assert file.sha256 == hashlib.sha256(bytes(64 << 20)).hexdigest()

    def test_eight_tebibytes_of_nothing_are_too_large(self, tmp_path: Path) -> None:
        source = make(tmp_path / "ws", {"other": ""})
        (source / "huge").touch()
        os.truncate(source / "huge", 8 << 40)
        copied = copy(source)
        assert paths(copied) == ["other"]
        assert reasons(copied) == {"huge": "larger than 4 GiB"}


class TestLinksAndSpecialFiles:
    @pytest.mark.parametrize(
        "target",
        ["file", "sub", "./sub/../file", "sub/link", "nothing/at/all", "chain", "loop", "sub/up/file"],
    )
    def test_a_link_that_stays_inside_is_kept(self, tmp_path: Path, target: str) -> None:
        source = make(tmp_path / "ws", {"file": "", "sub/x": ""})
        (source / "sub" / "link").symlink_to("../file")
        (source / "sub" / "up").symlink_to("..")
        (source / "chain").symlink_to("sub/link")
        (source / "loop").symlink_to("loop")
        (source / "tested").symlink_to(target)
        copied = copy(source)
        assert Symlink("tested", target) in copied.symlinks
        assert os.readlink(target_of(source) / "tested") == target
        assert copied.omissions == ()

    @pytest.mark.parametrize(
        "target",
        [
            "/etc/passwd",
            "..",
            "../outside",
            "sub/../../outside",
            "sub/out",
            "sub/out/passwd",
            "up/outside",
            "ABSOLUTE",
        ],
    )
    def test_a_link_that_leads_out_is_recorded_and_not_kept(self, tmp_path: Path, target: str) -> None:
        source = make(tmp_path / "ws", {"file": "", "sub/x": ""})
        make(tmp_path, {"outside": "planted"})
        (source / "sub" / "out").symlink_to("/etc")
        (source / "up").symlink_to("sub/../..")
        (source / "tested").symlink_to(target.replace("ABSOLUTE", str(source / "file")))
        copied = copy(source)
        assert "leads out" in reasons(copied)["tested"]
        assert stored(source) == ["file", "sub/x"]

    def test_a_link_in_a_deep_directory_counts_from_there(self, tmp_path: Path) -> None:
        source = make(tmp_path / "ws", {"a/b/c": ""})
        (source / "a" / "b" / "in").symlink_to("../../a")
        (source / "a" / "b" / "out").symlink_to("../../../a")
        copied = copy(source)
        assert copied.symlinks == (Symlink("a/b/in", "../../a"),)
        assert list(reasons(copied)) == ["a/b/out"]

    def test_special_files_are_recorded_and_never_opened(self, tmp_path: Path) -> None:
        source = make(tmp_path / "ws", {"file": ""})
        os.mkfifo(source / "pipe")
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(str(source / "socket"))
            copied = copy(source)
        assert paths(copied) == ["file"]
        assert reasons(copied) == {"pipe": "a FIFO: never opened", "socket": "a socket: never opened"}

    @pytest.mark.needs("root")
    def test_a_device_is_recorded(self, tmp_path: Path) -> None:
        source = make(tmp_path / "ws", {})
        os.mknod(source / "null", 0o20600, os.makedev(1, 3))
        assert reasons(copy(source)) == {"null": "a device: never opened"}


class TestPlaces:
    def test_an_empty_workspace_is_an_empty_directory(self, tmp_path: Path) -> None:
        copied = copy(make(tmp_path / "ws", {}))
        assert (tuple(copied.files), copied.omissions, stored(tmp_path / "ws")) == ((), (), [])

    def test_empty_directories_are_kept(self, tmp_path: Path) -> None:
        (make(tmp_path / "ws", {}) / "a" / "b").mkdir(parents=True)
        copy(tmp_path / "ws")
        assert (tmp_path / "ws-copy" / "a" / "b").is_dir()

    def test_a_missing_workspace_is_an_omission(self, tmp_path: Path) -> None:
        assert reasons(copy(tmp_path / "nothing")) == {".": "it does not exist"}
        assert (tmp_path / "nothing-copy").is_dir()
        (tmp_path / "file").touch()
        assert "." in reasons(copy(tmp_path / "file"))

    def test_the_workspace_may_be_a_link(self, tmp_path: Path) -> None:
        make(tmp_path / "real", {"a": ""})
        (tmp_path / "ws").symlink_to("real")
        assert paths(copy(tmp_path / "ws")) == ["a"]

    def test_a_target_that_exists_is_left_alone(self, tmp_path: Path) -> None:
        source = make(tmp_path / "ws", {"a": ""})
        make(target_of(source), {"mine": ""})
        with pytest.raises(StoreError):
            copy(source)
        assert stored(source) == ["mine"]

    def test_a_workspace_that_contains_the_store_is_copied_without_it(self, tmp_path: Path) -> None:
        source = make(tmp_path / "ws", {"a": "", "artifacts/old/x": "", "sub/y": ""})
        (source / "alias").symlink_to("artifacts")
        target = source / "artifacts" / "new"
        copied = copy_workspace(source, target, rules=CopyRules(skip=(str(source / "alias"),)))
        assert paths(copied) == ["a", "sub/y"]
        assert copied.excluded == {"/artifacts/": 1}

    def test_a_copy_never_contains_itself(self, tmp_path: Path) -> None:
        source = make(tmp_path / "ws", {"a": ""})
        copied = copy_workspace(source, source / "copy", rules=CopyRules())
        assert paths(copied) == ["a"]
        assert sorted(os.listdir(source / "copy")) == ["a"]

    def test_a_workspace_that_is_the_store_is_refused(self, tmp_path: Path) -> None:
        source = make(tmp_path / "ws", {"a": ""})
        copied = copy(source, skip=(str(source),))
        assert paths(copied) == []
        assert "cannot contain itself" in reasons(copied)["."]

    def test_names_may_be_anything(self, tmp_path: Path) -> None:
        names = ["a\nb", "\udcff\udcfe", "x" * 255, " ", "-rf", "tab\t", "\x1b[2J", "é" * 127]
        source = make(tmp_path / "ws", dict.fromkeys(names, "x"))
        assert paths(copy(source)) == sorted(names, key=os.fsencode)
        assert sorted(os.listdir(target_of(source))) == sorted(os.listdir(source))

    def test_paths_may_be_longer_than_the_system_can_name(self, tmp_path: Path) -> None:
        source = make(tmp_path / "ws", {})
        depth, name = 40, "d" * 200
        folder = os.open(source, os.O_RDONLY)
        for _ in range(depth):
            os.mkdir(name, dir_fd=folder)
            inner = os.open(name, os.O_RDONLY, dir_fd=folder)
            os.close(folder)
            folder = inner
        for file, size in {"small": 10, "large": SMALL_FILE + 1}.items():
            out = os.open(file, os.O_WRONLY | os.O_CREAT, dir_fd=folder)
            os.write(out, b"x" * size)
            os.close(out)
        os.close(folder)
        try:
            copied = copy(source)
            far = "/".join([name] * depth)
            assert len(far) > 4096
            assert {file.path: file.size for file in copied.files} == {
                f"{far}/large": SMALL_FILE + 1,
                f"{far}/small": 10,
            }
            found = subprocess.run(["find", target_of(source), "-type", "f"], capture_output=True, check=True)
            assert found.stdout.count(b"\n") == 2
        finally:
            subprocess.run(["rm", "-rf", source, target_of(source)], check=True)


class TestProgress:
    def test_it_ends_with_everything(self, tmp_path: Path) -> None:
        source = make(tmp_path / "ws", {"a": "12", "b": b"x" * (SMALL_FILE + 1), ".env": "secret"})
        told: list[Amount] = []
        copy_workspace(source, target_of(source), rules=CopyRules(), progress=told.append)
        assert told[-1] == Amount(2, SMALL_FILE + 3, 2, SMALL_FILE + 3)
