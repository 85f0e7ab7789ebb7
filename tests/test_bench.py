"""The table of the benchmarks: what it says of numbers that are given. Nothing is measured."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT))

from bench import results, run  # noqa: E402
from bench.table import Row, Target, Times, at_most, cells, faster  # noqa: E402

OURS, THEIRS = Times(2.0, 3.0), Times(4.0, 9.0)


@pytest.mark.parametrize(
    ("target", "ratio", "ok"),
    [
        (at_most(0.5), 0.5, True),
        (at_most(0.4), 0.5, False),
        (at_most(0.4, judged="median"), 1 / 3, True),
        (faster(2), 2.0, True),
        (faster(2.1), 2.0, False),
        (Target("<=", 2, "s"), 2.0, True),
        (Target("<=", 1.9, "s"), 2.0, False),
        (None, 2.0, None),
    ],
)
def test_a_row_is_judged_by_its_target(target: Target | None, ratio: float, *, ok: bool | None) -> None:
    row = Row("work", OURS, "peer", THEIRS, "s", target)
    assert (row.ratio, row.ok) == (ratio, ok)


def test_a_peer_that_was_not_measured_is_not_judged() -> None:
    row = Row("work", OURS, "not measured: x does not install", None, "s", faster(2), readme=True)
    assert (row.ratio, row.ok) == (None, None)
    assert cells(row)[3:6] == ("not measured: x does not install", "", "")
    assert results.readme_cells([row]) == []


def test_the_best_and_the_median_of_rounds() -> None:
    assert Times.of([3, 1, 2], 10) == Times(10, 20)


def test_saving_replaces_only_what_is_between_the_markers() -> None:
    rows = [Row("work", OURS, "peer", THEIRS, "s", faster(2), readme=True)]
    text = f"before\n{results.BEGIN}\nold\n{results.END}\nafter\n"
    new = results.with_table(text, rows, quick=False)
    assert new.startswith(f"before\n{results.BEGIN}\n| work |")
    assert new.endswith(f"| work | 2 s | peer | 4 s | 2.00 × as fast |\n{results.END}\nafter\n")
    assert results.with_table(new, rows, quick=False) == new


def table(text: str) -> list[list[str]]:
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[2:]]


def test_the_readme_and_the_results_agree() -> None:
    readme = results.README.read_text("utf-8").partition(results.BEGIN)[2].partition(results.END)[0]
    page = results.RESULTS.read_text("utf-8")
    kept = {(row[0], row[3]): row for row in table(page)}
    shown = table(readme)
    assert bool(shown) == bool(kept)
    for work, ours, peer, theirs, ratio in shown:
        row = kept[work, "" if peer == "the limit" else peer]
        assert ours == f"{row[1]} {row[6]}"
        assert theirs == (f"{row[4]} {row[6]}" if row[4] else row[8])
        assert ratio.partition(" ")[0] == row[7]


def test_a_part_that_fails_costs_only_its_own_rows(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def breaks(*, quick: bool = False) -> Iterator[Row]:
        yield Row("begun", OURS, "peer", THEIRS, "s")
        raise OSError(f"disk full, {quick}")

    def works(*, quick: bool = False) -> Iterator[Row]:
        yield Row(f"quick {quick}", OURS, "peer", THEIRS, "s")

    monkeypatch.setattr(run, "PARTS", {"first": breaks, "second": works})
    rows, failed = run.measure(["first", "second"], quick=True)
    assert ([row.work for row in rows], failed) == (["begun", "quick True"], ["first"])
    printed = capsys.readouterr()
    assert "FAILED: first" in printed.out
    assert "disk full, True" in printed.err


def test_a_wrong_part_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert run.main(["strtup"]) == 64
    assert capsys.readouterr().err.startswith("Error: unknown: strtup\n")
