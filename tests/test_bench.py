"""The table of the benchmarks: what it says of numbers that are given. Nothing is measured."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT))

from bench import chart, results, run  # noqa: E402
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
    row = Row("work", OURS, "not measured: x does not install", None, "s", faster(2))
    assert (row.ratio, row.ok) == (None, None)
    assert cells(row)[3:6] == ("not measured: x does not install", "", "")


def test_the_best_and_the_median_of_rounds() -> None:
    assert Times.of([3, 1, 2], 10) == Times(10, 20)


def test_the_chart_is_that_of_the_results() -> None:
    page = results.RESULTS.read_text("utf-8")
    assert len(chart.bars(page)) == len(chart.BARS)
    assert chart.CHART.read_text("utf-8") == chart.drawing(page)


def test_a_bar_is_the_peers_time_over_ours() -> None:
    work, peer, task, name = chart.BARS[0]
    rows = [
        Row(work, OURS, peer, THEIRS, "s"),
        Row(work, OURS, "not measured: it does not install", None, "s"),
    ]
    page = results.results_page(rows, [], [], quick=False)
    assert chart.bars(page) == [chart.Bar(task, name, "2 s", "4 s", 2.0)]


def test_saving_writes_the_page_and_the_chart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(results, "RESULTS", tmp_path / "RESULTS.md")
    monkeypatch.setattr(chart, "CHART", tmp_path / "speed.svg")
    work, peer, *_ = chart.BARS[0]
    results.save([Row(work, OURS, peer, THEIRS, "s")], ["page"], quick=True)
    assert "Not measured because of an error: page" in (tmp_path / "RESULTS.md").read_text("utf-8")
    assert "2.0 ×" in (tmp_path / "speed.svg").read_text("utf-8")


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
