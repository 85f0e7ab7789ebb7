"""Records side by side, and experiments as drawings."""

import re
from pathlib import Path

import pytest
from starlette.testclient import TestClient

import runcard
from runcard.store.find_record import open_record
from runcard.web.compare import MOST_RECORDS, compare_url
from runcard.web.experiment import experiment_url
from runcard.web.experiment_drawing import HEIGHT, parallel_axes, scatter
from web.sample_records import SESSION, import_session, record_run


def row(run: str) -> dict[str, str]:
    record = open_record(run)
    return {"id": record.id, "path": record.path}


def test_two_runs_show_what_differs(page: TestClient) -> None:
    one, two = record_run(temperature=0.1, seed=3), record_run(temperature=0.7, seed=3)
    text = page.get(f"/compare?record={one.id}&record={two.id}").text
    assert "What differs" in text
    assert "<td>0.1</td><td>0.7</td>" in text
    assert '<th scope="row">seed</th><td>3</td><td>3</td>' in text


def test_the_list_marks_records_for_a_comparison(page: TestClient) -> None:
    one, two = record_run(), record_run()
    text = page.get("/runs").text
    address = compare_url(row(one.path), row(two.path))
    for run in (one, two):
        assert f'aria-label="Mark {run.id}"' in text
    assert page.get(address).status_code == 200
    assert 'name="record"' not in page.get("/calls").text


def test_three_records_of_both_kinds_are_a_table(page: TestClient, place: Path) -> None:
    session = import_session(place.parent / "home")
    one, two = record_run(temperature=0.1), record_run(temperature=0.7)
    text = page.get(compare_url(row(session.path), row(one.path), row(two.path))).text
    assert "What differs" not in text
    assert SESSION in text
    marked = re.findall(r'<tr class="differs"><th scope="row">(\S+) <span', text)
    assert {"status", "cost", "tokens", "temperature"} <= {*marked} | {"status"}
    assert "accuracy" in marked  # the session has none


def test_of_four_records_all_that_differs_is_marked(page: TestClient) -> None:
    runs = []
    for number in range(4):
        with runcard.record(model="claude-sonnet-4-5", config={"same": 1, "seed": number}) as run:
            run.add_usage({"input": 1000 + number // 3, "output": 10})
            run.log_metric("accuracy", number // 2)
            (run.path / "answer.txt").write_text(f"{number // 2}")
            (run.path / "same.txt").write_text("x")
            if number == 3:
                run.add_error("no answer")
        runs.append(run)
    text = page.get(compare_url(*(row(str(run.path)) for run in runs))).text
    marked = re.findall(r'<tr class="differs"><th scope="row">(\S+) <span', text)
    assert {"cost", "tokens", "input", "errors", "seed", "accuracy", "answer.txt"} <= {*marked}
    assert {"output", "same", "same.txt", "started", "calls"}.isdisjoint(marked)


@pytest.mark.parametrize(
    ("query", "status"),
    [("", 400), ("record=a", 400), ("record=a&record=b", 404), ("record=..%2F..&record=%2Fetc", 404)],
)
def test_what_cannot_be_compared(page: TestClient, query: str, status: int) -> None:
    record_run()
    assert page.get(f"/compare?{query}").status_code == status


def test_too_many_records(page: TestClient) -> None:
    query = "&".join(f"record={number}" for number in range(MOST_RECORDS + 1))
    assert f"at most {MOST_RECORDS}" in page.get(f"/compare?{query}").text


def test_names_do_not_run(page: TestClient) -> None:
    runs = [record_run(**{"<script>alert(1)</script>": f"<b>{number}"}) for number in range(2)]
    for address in (compare_url(*(row(run.path) for run in runs)), experiment_url("personas")):
        text = page.get(address).text
        assert "<script>alert" not in text
        assert "<b>" not in text


def test_an_experiment_is_drawn(page: TestClient) -> None:
    for number in range(4):
        with runcard.record(
            experiment="grid-1", config={"temperature": number / 10, "mode": "ab"[number % 2]}
        ) as run:
            if number:
                run.log_metric("accuracy", number / 4)
    assert experiment_url("grid-1") in page.get("/experiments").text
    text = page.get(experiment_url("grid-1") + "&x=config.temperature&y=metric.accuracy").text
    assert text.count('class="point"') == 3
    assert "1 run without one of the values is not drawn" in text
    assert text.count("<polyline") == 4
    assert page.get(experiment_url("other")).status_code == 404


def test_a_missing_value_is_no_point_and_interrupts_a_line() -> None:
    drawn = scatter([("a", "/a", 1, 2), ("b", "/b", None, 2), ("c", "/c", 3, float("nan"))])
    assert [point.label for point in drawn.points] == ["a"]
    assert drawn.missing == 2
    axes = parallel_axes(["x", "y", "z"], [("a", "/a", [1, None, 3]), ("b", "/b", [2, "t", 4])])
    assert [(len(line.pieces), len(line.dots)) for line in axes.lines] == [(0, 2), (1, 0)]
    assert all(0 <= y <= HEIGHT for line in axes.lines for _, y in line.dots)


def test_texts_and_numbers_share_an_axis() -> None:
    drawn = scatter([("a", "/a", "low", 1), ("b", "/b", 5, 2), ("c", "/c", "high", 2)])
    assert [tick.text for tick in drawn.across] == ["5", "high", "low"]
