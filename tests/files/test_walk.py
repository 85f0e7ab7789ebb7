"""Everything below a directory, in the order of the path's bytes."""

import os
import socket
import subprocess
import sys
import tempfile
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from files.unprivileged import as_nobody, everybodys_directory
from runcard.errors import StoreError
from runcard.files import FileKind, WalkEntry, decode_name, encode_name, walk, walk_files

NAMES = st.binary(min_size=1, max_size=4).map(
    lambda raw: raw.translate(bytes.maketrans(b"\0/", b"-.")).replace(b"..", b"+").replace(b".", b"!")
)
TREES = st.sets(
    st.lists(
        st.sampled_from([b"a", b"a-", b"a.b", b"ab", b"\xff", "é".encode()]) | NAMES, min_size=1, max_size=4
    ).map(tuple),
    max_size=12,
)


@given(TREES)
@settings(max_examples=150, deadline=None)
def test_the_order_is_that_of_the_bytes_of_the_whole_path(tree: set[tuple[bytes, ...]]) -> None:
    with tempfile.TemporaryDirectory() as root:
        expected: set[bytes] = set()
        for parts in sorted(tree, key=len, reverse=True):
            folder = os.path.join(os.fsencode(root), *parts[:-1])
            os.makedirs(folder, exist_ok=True)
            path = os.path.join(folder, parts[-1])
            if not os.path.lexists(path):
                os.close(os.open(path, os.O_CREAT))
            expected.update(b"/".join(parts[:depth]) for depth in range(1, len(parts) + 1))
        assert [encode_name(entry.path) for entry in walk(root)] == sorted(expected)


def test_every_entry_has_its_kind(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "file").touch()
    (tmp_path / "link").symlink_to("folder")
    (tmp_path / "nowhere").symlink_to("nothing")
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "socket"))
        assert list(walk(tmp_path)) == [
            WalkEntry("folder", FileKind.DIRECTORY),
            WalkEntry("folder/file", FileKind.FILE),
            WalkEntry("link", FileKind.SYMLINK),
            WalkEntry("nowhere", FileKind.SYMLINK),
            WalkEntry("pipe", FileKind.OTHER),
            WalkEntry("socket", FileKind.OTHER),
        ]


@pytest.mark.parametrize("name", ["file", "folder", "link", "pipe"])
def test_the_kind_is_the_one_that_a_mode_tells(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("file")
    os.mkfifo(tmp_path / "pipe")
    kinds = {entry.path: entry.kind for entry in walk(tmp_path)}
    assert FileKind.of_mode((tmp_path / name).lstat().st_mode) is kinds[name]


def test_links_are_never_followed(tmp_path: Path) -> None:
    (tmp_path / "circle").symlink_to(".")
    (tmp_path / "up").symlink_to("..")
    assert [entry.path for entry in walk(tmp_path)] == ["circle", "up"]


def test_only_directories_that_are_agreed_to_are_entered(tmp_path: Path) -> None:
    for name in ("a/inner/x", "b/inner/y", "b/z"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    found = [entry.path for entry in walk(tmp_path, enter=lambda path: path != "a" and "b/inner" not in path)]
    assert found == ["a", "b", "b/inner", "b/z"]


def test_the_root_may_be_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "file").touch()
    (tmp_path / "root").symlink_to("real")
    assert list(walk(tmp_path / "root")) == [WalkEntry("file", FileKind.FILE)]


@pytest.mark.parametrize("name", ["nothing", "file"])
def test_a_root_that_is_no_directory_is_an_error(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match=name):
        list(walk(tmp_path / name))


def test_a_directory_that_is_swapped_for_a_link_is_not_entered(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    entries = walk(tmp_path)
    assert next(entries).path == "folder"
    (tmp_path / "folder").rmdir()
    (tmp_path / "folder").symlink_to("/etc")
    with pytest.raises(StoreError, match="folder"):
        next(entries)


def test_a_walk_that_is_left_early_leaves_nothing_open(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    before = os.listdir("/proc/self/fd")
    entries = walk(tmp_path)
    next(entries)
    del entries
    assert os.listdir("/proc/self/fd") == before


def nest(root: Path, depth: int) -> None:
    """Make directories in each other, deeper than any path can name."""
    descriptor = os.open(root, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir("d", dir_fd=descriptor)
        inner = os.open("d", os.O_RDONLY, dir_fd=descriptor)
        os.close(descriptor)
        descriptor = inner
    os.close(descriptor)


def test_deep_nesting_is_no_recursion(tmp_path: Path) -> None:
    nest(tmp_path, 1900)
    try:
        assert sum(1 for _ in walk(tmp_path)) == 1900
    finally:
        subprocess.run(["rm", "-rf", str(tmp_path / "d")], check=True)


def test_what_lies_deeper_than_a_path_can_name_is_found(tmp_path: Path) -> None:
    nest(tmp_path, 3000)
    try:
        found = list(walk(tmp_path))
        assert len(found) == 3000
        assert found[-1].path == "/".join(["d"] * 3000)
    finally:
        subprocess.run(["rm", "-rf", str(tmp_path / "d")], check=True)


def test_a_directory_that_cannot_be_read_is_an_error_that_names_it() -> None:
    with everybodys_directory() as root:
        (root / "closed").mkdir()
        (root / "closed").chmod(0)
        (root / "open").mkdir()
        said = as_nobody(
            root,
            "try: list(files.walk(root))\n"
            "except errors.MachineError as error: print(error)\n"
            "print([entry.path for entry in files.walk(root, on_error=lambda path, error: print(path))])",
        )
        assert said.splitlines() == [
            "cannot read the directory closed: Permission denied",
            "closed",
            "['closed', 'open']",
        ]


def test_an_error_goes_to_the_listener_and_the_walk_goes_on(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").touch()
    told: list[tuple[str, type]] = []
    seen: list[str] = []
    for entry in walk(tmp_path, on_error=lambda path, error: told.append((path, type(error)))):
        seen.append(entry.path)
        if entry.path == "a":
            (tmp_path / "a" / "file").unlink()
            (tmp_path / "a").rmdir()
    assert seen == ["a", "b", "b/file"]
    assert told == [("a", StoreError)]


def test_names_are_the_same_in_every_locale(tmp_path: Path) -> None:
    os.close(os.open(os.fsencode(tmp_path) + b"/\xc3\xa9\xff", os.O_CREAT))
    code = "import sys; from runcard.files import walk; print(ascii([e.path for e in walk(sys.argv[1])]))"
    environment = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    for extra in (environment, {}):
        done = subprocess.run(
            [sys.executable, "-c", code, str(tmp_path)],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **extra},
            check=True,
            capture_output=True,
            text=True,
        )
        assert done.stdout.strip() == ascii([decode_name(b"\xc3\xa9\xff")])


def test_memory_does_not_grow_with_the_tree(tmp_path: Path) -> None:
    for folder in range(40):
        (tmp_path / f"{folder}").mkdir()
        for file in range(25):
            (tmp_path / f"{folder}" / f"{file}").touch()
    tracemalloc.start()
    assert sum(1 for _ in walk(tmp_path)) == 1040
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 30_000


def test_files_come_with_their_sizes_from_any_depth(tmp_path: Path) -> None:
    place = os.open(tmp_path, os.O_RDONLY)
    for _ in range(20):
        os.mkdir("d" * 250, dir_fd=place)
        inner = os.open("d" * 250, os.O_RDONLY, dir_fd=place)
        os.close(place)
        place = inner
    file = os.open("file", os.O_WRONLY | os.O_CREAT, dir_fd=place)
    os.write(file, b"four")
    os.close(file)
    os.close(place)
    (tmp_path / "e").write_text("x")
    (tmp_path / "link").symlink_to("e")
    assert list(walk_files(tmp_path)) == [("/".join([*["d" * 250] * 20, "file"]), 4), ("e", 1)]
    subprocess.run(["rm", "-rf", str(tmp_path)], check=True)


@pytest.mark.needs("root")
def test_a_size_that_nobody_may_see_is_an_error_that_names_the_file() -> None:
    look = "try: list(files.walk_files(root))\nexcept errors.MachineError as error: print(error)"
    with everybodys_directory() as root:
        (root / "listed").mkdir()
        (root / "listed" / "file").write_text("x")
        (root / "listed").chmod(0o744)
        assert as_nobody(root, look) == "cannot look at listed/file: Permission denied\n"
        (root / "listed").chmod(0o700)
        assert as_nobody(root, look) == "cannot read the directory listed: Permission denied\n"
        assert as_nobody(root / "listed", look).endswith("listed: Permission denied\n")
