"""A directory beside its listing: exactly what differs is found."""

import errno
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from files.unprivileged import as_nobody, everybodys_directory
from runcard.checksums import Listing, Symlink, comparison, make, read
from runcard.checksums.comparison import (
    Changed,
    Difference,
    Missing,
    NotRegular,
    Unexpected,
    Unreadable,
    compare,
)
from runcard.checksums.hashing import hash_in_parts
from runcard.digests import sha256_bytes
from runcard.errors import StoreError
from runcard.files import FileKind

OWN = ("SHA256SUMS", "metadata.json")

TREES = st.dictionaries(
    st.lists(st.sampled_from(["a", "b", "a-", "é", "\udcff", "c d"]), min_size=1, max_size=3).map(
        lambda parts: "/".join([*parts, "file"])
    ),
    st.binary(max_size=50),
    min_size=1,
    max_size=6,
)


def plant(root: Path, files: dict[str, bytes]) -> None:
    for name, data in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(data)


@pytest.fixture
def record(tmp_path: Path) -> Path:
    plant(tmp_path, {"a": b"a", "sub/b": b"b", "sub/c": b"c"})
    return tmp_path


class TestMaking:
    def test_every_regular_file_is_listed(self, record: Path) -> None:
        listing = make(record).listing
        assert dict(listing) == {
            "a": sha256_bytes(b"a"),
            "sub/b": sha256_bytes(b"b"),
            "sub/c": sha256_bytes(b"c"),
        }

    def test_names_are_excluded_at_the_top_alone(self, record: Path) -> None:
        plant(record, {"metadata.json": b"{}", "sub/metadata.json": b"{}", "SHA256SUMS": b""})
        assert list(make(record, exclude=OWN).listing) == ["a", "sub/b", "sub/c", "sub/metadata.json"]

    def test_links_and_other_things_stand_beside(self, record: Path) -> None:
        (record / "latest").symlink_to("sub")
        (record / "sub" / "broken").symlink_to(os.fsdecode(b"/no\xff/where"))
        os.mkfifo(record / "pipe")
        contents = make(record)
        assert contents.symlinks == (Symlink("latest", "sub"), Symlink("sub/broken", "/no\udcff/where"))
        assert contents.others == ("pipe",)
        assert list(contents.listing) == ["a", "sub/b", "sub/c"]

    def test_progress_is_passed_on(self, record: Path) -> None:
        calls: list[tuple[int, int]] = []
        make(record, progress=lambda *so_far: calls.append(so_far))
        compare(record, make(record).listing, progress=lambda *so_far: calls.append(so_far))
        assert calls == [(3, 3), (3, 3)]

    def test_a_link_that_vanishes_is_an_error_that_names_it(
        self, record: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (record / "link").symlink_to("a")
        monkeypatch.setattr(os, "readlink", lambda path, dir_fd: os.stat(path + b"-gone", dir_fd=dir_fd))
        with pytest.raises(StoreError, match="cannot read the symbolic link link"):
            make(record)
        listing = Listing({path: sha256_bytes(path[-1].encode()) for path in ("a", "sub/b", "sub/c")})
        (difference,) = compare(record, listing).differences
        assert isinstance(difference, Unreadable)
        assert difference.path == "link"

    def test_paths_longer_than_the_system_can_name_are_listed_and_compared(self, tmp_path: Path) -> None:
        folder, name, depth = os.open(tmp_path, os.O_RDONLY), "d" * 200, 30
        for _ in range(depth):
            os.mkdir(name, dir_fd=folder)
            inner = os.open(name, os.O_RDONLY, dir_fd=folder)
            os.close(folder)
            folder = inner
        os.close(os.open("file", os.O_CREAT | os.O_WRONLY, dir_fd=folder))
        os.symlink("file", "link", dir_fd=folder)
        os.close(folder)
        try:
            far = "/".join([name] * depth)
            contents = make(tmp_path)
            assert list(contents.listing) == [f"{far}/file"]
            assert contents.symlinks == (Symlink(f"{far}/link", "file"),)
            assert compare(tmp_path, contents.listing).differences == ()
        finally:
            subprocess.run(["rm", "-rf", str(tmp_path / name)], check=True)


class TestComparing:
    def test_an_untouched_directory_has_no_differences(self, record: Path) -> None:
        (record / "link").symlink_to("a")
        os.mkfifo(record / "pipe")
        contents = make(record)
        comparison = compare(record, contents.listing)
        assert comparison.differences == ()
        assert comparison.symlinks == contents.symlinks
        assert comparison.others == contents.others

    def test_all_differences_are_told_in_the_order_of_their_paths(self, record: Path) -> None:
        plant(record, {"fifo": b"1", "folder": b"2", "link": b"3"})
        listing = make(record).listing
        (record / "a").write_bytes(b"A")
        (record / "sub" / "b").unlink()
        plant(record, {"sub/new": b"", "metadata.json": b"", "sub/metadata.json": b""})
        for name in ("fifo", "folder", "link"):
            (record / name).unlink()
        os.mkfifo(record / "fifo")
        (record / "folder").mkdir()
        (record / "link").symlink_to("sub/c")
        assert compare(record, listing, exclude=OWN).differences == (
            Changed("a", sha256_bytes(b"a"), sha256_bytes(b"A")),
            NotRegular("fifo", FileKind.OTHER),
            NotRegular("folder", FileKind.DIRECTORY),
            NotRegular("link", FileKind.SYMLINK),
            Missing("sub/b", sha256_bytes(b"b")),
            Unexpected("sub/metadata.json"),
            Unexpected("sub/new"),
        )

    def test_a_directory_swapped_for_a_link_to_a_faithful_copy_is_noticed(
        self, record: Path, tmp_path: Path
    ) -> None:
        listing = make(record).listing
        with tempfile.TemporaryDirectory() as elsewhere:
            shutil.move(record / "sub", elsewhere)
            (record / "sub").symlink_to(f"{elsewhere}/sub")
            comparison = compare(tmp_path, listing)
            assert comparison.differences == (
                Missing("sub/b", sha256_bytes(b"b")),
                Missing("sub/c", sha256_bytes(b"c")),
            )
            assert comparison.symlinks == (Symlink("sub", f"{elsewhere}/sub"),)

    def test_a_listed_file_is_compared_though_its_name_is_excluded(self, record: Path) -> None:
        listing = make(record).listing
        (record / "a").write_bytes(b"A")
        assert [difference.path for difference in compare(record, listing, exclude=["a"]).differences] == [
            "a"
        ]

    def test_a_directory_that_is_not_there_is_an_error(self, tmp_path: Path) -> None:
        with pytest.raises(StoreError, match="nowhere"):
            compare(tmp_path / "nowhere", Listing({}))

    @pytest.mark.parametrize(
        ("swap", "expected"),
        [
            (lambda _: None, Missing("a", sha256_bytes(b"a"))),
            (os.mkfifo, NotRegular("a", FileKind.OTHER)),
            (lambda path: path.symlink_to("sub/b"), NotRegular("a", FileKind.SYMLINK)),
        ],
    )
    def test_a_file_that_is_swapped_between_listing_and_hashing_is_a_difference(
        self,
        record: Path,
        monkeypatch: pytest.MonkeyPatch,
        swap: Callable[[Path], object],
        expected: Difference,
    ) -> None:
        listing = make(record).listing

        def late(root: Path, paths: Iterable[str], **options: Any) -> Iterator[dict[str, str]]:
            walked = list(paths)
            (record / "a").unlink()
            swap(record / "a")
            return hash_in_parts(root, walked, **options)

        monkeypatch.setattr(comparison, "hash_in_parts", late)
        assert compare(record, listing).differences == (expected,)

    def test_a_file_that_cannot_be_opened_or_read_is_a_difference(
        self, record: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        listing = make(record).listing
        real_open = os.open

        def refuse(path: str | bytes, *arguments: int, **options: int) -> int:
            if path == b"b":
                raise PermissionError(errno.EACCES, "no")
            return real_open(path, *arguments, **options)

        monkeypatch.setattr(os, "open", refuse)
        assert compare(record, listing).differences == (
            Unreadable("sub/b", "cannot read the file sub/b: Permission denied"),
        )

    def test_files_in_a_directory_that_cannot_be_read_are_not_called_missing(
        self, record: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        plant(record, {"sub/deep/d": b"d"})
        listing = make(record).listing
        real_open = os.open

        def refuse(path: str | bytes, *arguments: int, **options: int) -> int:
            if path == b"sub":
                raise PermissionError(errno.EACCES, "no")
            return real_open(path, *arguments, **options)

        monkeypatch.setattr(os, "open", refuse)
        reason = "cannot read the directory sub: Permission denied"
        assert compare(record, listing).differences == tuple(
            Unreadable(path, reason) for path in ("sub", "sub/b", "sub/c", "sub/deep/d")
        )

    def test_somebody_without_rights_is_told_what_could_not_be_read(self) -> None:
        with everybodys_directory() as root:
            plant(root, {"a": b"a", "closed/deep/b": b"b", "gone": b"", "secret": b"s"})
            (root / "SHA256SUMS").write_bytes(make(root).listing.to_bytes())
            (root / "gone").unlink()
            (root / "closed").chmod(0)
            (root / "secret").chmod(0)
            said = as_nobody(
                root,
                "listing = checksums.read(open(root + '/SHA256SUMS', 'rb').read())\n"
                "for difference in comparison.compare(root, listing, exclude=['SHA256SUMS']).differences:\n"
                "    print(type(difference).__name__, difference.path)\n",
                "from runcard.checksums import comparison",
            )
            (root / "closed").chmod(0o700)
        assert said.splitlines() == [
            "Unreadable closed",
            "Unreadable closed/deep/b",
            "Missing gone",
            "Unreadable secret",
        ]


def flip(path: Path, data: bytes) -> Difference:
    changed = bytes([data[0] ^ 1]) + data[1:] if data else b"\0"
    path.write_bytes(changed)
    return Changed("", sha256_bytes(data), sha256_bytes(changed))


def remove(path: Path, data: bytes) -> Difference:
    path.unlink()
    return Missing("", sha256_bytes(data))


def add(path: Path, data: bytes) -> Difference:
    path.with_name("file2").write_bytes(data)
    return Unexpected("2")


def swap_for_a_link(path: Path, _: bytes) -> Difference:
    """Even a link to the same bytes is not the file."""
    path.rename(path.with_name("kept"))
    path.symlink_to("kept")
    return NotRegular("", FileKind.SYMLINK)


@given(TREES, st.sampled_from([flip, remove, add, swap_for_a_link]), st.data())
@settings(max_examples=120, deadline=None)
def test_exactly_what_was_done_is_found(
    tree: dict[str, bytes], harm: Callable[[Path, bytes], Difference], data: st.DataObject
) -> None:
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        plant(root, tree)
        listing = read(make(root).listing.to_bytes())
        assert compare(root, listing).differences == ()
        victim = data.draw(st.sampled_from(sorted(tree)))
        done = harm(root / victim, tree[victim])
        kept = {f"{victim.removesuffix('file')}kept"}
        (found,) = (one for one in compare(root, listing).differences if one.path not in kept)
        assert type(found) is type(done)
        assert found.path == victim + done.path
        assert [getattr(found, field) for field in found._fields[1:]] == [
            getattr(done, field) for field in done._fields[1:]
        ]
