"""A table of paths: the same whether its entries are in memory or in a file."""

import os
import random
import sys
import tempfile
from pathlib import Path

import pytest

from runcard.files import FileKind, PathTable, encode_name, path_table, walk

NAMES = ["a", "a.b", "a/b", "a b", "a\nb", "é", "\udcff", "\udc80x", "z\U0001f600", "-", "\\", ""]


@pytest.fixture
def little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(path_table, "MEMORY", 5_000)


def filled(seed: int) -> tuple[PathTable[str], dict[str, str]]:
    """A table and a dictionary with the same entries, some of them replaced."""
    chance = random.Random(seed)  # noqa: S311
    table, entries = PathTable[str](), dict[str, str]()
    for number in range(600):
        path = f"{chance.choice(NAMES)}{chance.randrange(150)}"
        table[path] = entries[path] = str(number)
    return table, entries


@pytest.mark.usefixtures("little_memory")
@pytest.mark.parametrize("seed", range(5))
def test_entries_are_in_the_order_of_their_bytes_each_with_its_last_value(seed: int) -> None:
    table, entries = filled(seed)
    assert list(table) == sorted(entries.items(), key=lambda entry: encode_name(entry[0]))
    assert len(table) == len(entries)


@pytest.mark.usefixtures("little_memory")
def test_a_path_is_found_wherever_it_is() -> None:
    table, entries = filled(7)
    assert {path: table.get(path) for path in entries} == entries
    assert table.get("nothing") is None
    assert "nothing" not in table
    assert next(iter(entries)) in table


@pytest.mark.usefixtures("little_memory")
def test_only_some_entries_are_in_memory() -> None:
    table: PathTable[str] = PathTable()
    for number in range(1_000):
        table[f"{number:04}"] = "x"
    assert len(table._recent) < 50
    assert [path for path, _ in table] == [f"{number:04}" for number in range(1_000)]
    assert len(table) == 1_000


@pytest.mark.usefixtures("little_memory")
def test_a_table_that_is_held_stays_in_memory_with_all_its_entries() -> None:
    table, entries = filled(3)
    table.hold()
    table["another"] = entries["another"] = "x"
    assert table._recent == entries
    assert list(table) == sorted(entries.items(), key=lambda entry: encode_name(entry[0]))


@pytest.mark.usefixtures("little_memory")
def test_its_file_has_no_name_and_is_closed_with_it() -> None:
    before, files = set(os.listdir("/proc/self/fd")), os.listdir(tempfile.gettempdir())
    table, _ = filled(1)
    assert len(os.listdir("/proc/self/fd")) == len(before) + 1
    assert not {name for name in os.listdir(tempfile.gettempdir()) if name.startswith("runcard-")} - {*files}
    del table
    assert set(os.listdir("/proc/self/fd")) == before


@pytest.mark.usefixtures("little_memory")
def test_without_a_place_for_its_file_entries_stay_in_memory(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nowhere"))
    table, entries = filled(2)
    assert list(table) == sorted(entries.items(), key=lambda entry: encode_name(entry[0]))


@pytest.mark.usefixtures("little_memory")
def test_a_directory_of_many_names_is_walked_in_the_same_order(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for number in range(50):
        (tmp_path / f"d{number}").mkdir()
        for name in (f"d{number}.x", f"d{number}/x", f"é{number}", os.fsdecode(b"\xff%d" % number)):
            (tmp_path / name).touch()
        (tmp_path / f"link{number}").symlink_to("x")
    expected = list(walk(tmp_path))
    monkeypatch.setattr(sys.modules["runcard.files.walk"], "_MOST_NAMES", 20)
    assert list(walk(tmp_path)) == expected
    assert {type(kind) for _, kind in walk(tmp_path)} == {FileKind}
