"""How much is copied: a file, and all of them."""

from pathlib import Path

import pytest

from runcard.parallel.progress import Amount
from runcard.parallel.worker import SMALL_FILE
from runcard.store.sessions.copying import CopyRules, copy_workspace
from runcard.store.sessions.copying.copy_rules import size_text
from sessions.copying.workspaces import copy, make, paths, reasons


@pytest.mark.parametrize("limit", [0, 10, SMALL_FILE - 1, SMALL_FILE, 3 * SMALL_FILE])
def test_a_file_may_have_the_limit_and_no_more(tmp_path: Path, limit: int) -> None:
    source = make(tmp_path / "ws", {"fits": b"x" * limit, "not": b"x" * (limit + 1), "empty": b""})
    copied = copy(source, max_file_size=limit)
    assert paths(copied) == ["empty", "fits"]
    assert reasons(copied) == {"not": f"larger than {size_text(limit)}"}


def test_all_files_together_have_a_limit_in_the_order_of_their_paths(tmp_path: Path) -> None:
    source = make(
        tmp_path / "ws", {"a": b"x" * 400, "b": b"x" * 400, "c": b"x" * 400, "d": b"x" * 200, "e": b"x"}
    )
    copied = copy(source, max_size=1000)
    assert paths(copied) == ["a", "b", "d"]
    assert reasons(copied) == dict.fromkeys("ce", "beyond the limit of 1,000 bytes in all")


def test_what_is_used_already_counts(tmp_path: Path) -> None:
    source = make(tmp_path / "ws", {"a": b"x" * 400, "b": b"x" * 700})
    copied = copy(source, max_size=1024, used=400)
    assert reasons(copied) == {"b": "beyond the limit of 1 KiB in all"}


def test_small_files_are_shared_as_long_as_they_surely_fit(tmp_path: Path) -> None:
    files = {f"{number:03}": b"x" * 1000 for number in range(700)}
    limit = 300 * SMALL_FILE  # room for one chunk of files of the largest size, and not for two
    copied = copy(make(tmp_path / "ws", files), max_size=limit)
    assert len(copied.files) == 700
    tight = copy(make(tmp_path / "tight", files), max_size=650_500)
    assert (len(tight.files), len(tight.omissions)) == (650, 50)


def test_without_limits_everything_is_copied(tmp_path: Path) -> None:
    source = make(tmp_path / "ws", {"a": b"x" * SMALL_FILE * 2, "b": b"x"})
    assert paths(copy(source, max_size=None, max_file_size=None)) == ["a", "b"]


def test_the_totals_are_those_of_what_fits(tmp_path: Path) -> None:
    source = make(tmp_path / "ws", {"a": b"x" * 400, "b": b"x" * 700})
    told: list[Amount] = []
    copy_workspace(source, tmp_path / "t", rules=CopyRules(max_size=1000), progress=told.append)
    assert told[-1] == Amount(1, 400, 1, 400)


@pytest.mark.parametrize(
    ("size", "text"),
    [(4 << 30, "4 GiB"), (100 << 30, "100 GiB"), (1536 << 20, "1,536 MiB"), (1 << 10, "1 KiB"), (1001, "1,001 bytes"), (0, "0 bytes")],
)  # fmt: skip
def test_limits_are_said_in_round_numbers(size: int, text: str) -> None:
    assert size_text(size) == text
