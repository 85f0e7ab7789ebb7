"""The lists have the filters of `ls` in their address."""

import csv
import io

from starlette.testclient import TestClient

from web.sample_records import record_run


def test_a_list_is_filtered_sorted_and_paged_by_its_address(page: TestClient) -> None:
    runs = [record_run(temperature=number / 10).id for number in range(5)]
    text = page.get(
        "/runs", params={"where": "config.temperature >= 0.3", "columns": "id,config.temperature"}
    ).text
    assert [run in text for run in runs] == [False, False, False, True, True]
    first = page.get("/runs", params={"sort": "config.temperature", "limit": 2}).text
    assert [run in first for run in runs] == [True, True, False, False, False]
    last = page.get("/runs", params={"sort": "config.temperature", "limit": 2, "page": 3}).text
    assert [run in last for run in runs] == [False, False, False, False, True]
    assert "Page 3 of 3" in last


def test_the_filters_stay_in_the_form_and_in_the_links(page: TestClient) -> None:
    record_run()
    text = page.get("/runs", params={"status": "completed", "where": 'model = "claude-sonnet-4-5"'}).text
    assert 'value="completed"' in text
    assert "/runs.csv?status=completed&amp;where=model" in text


def test_csv_has_all_rows_and_marks_formulas(page: TestClient) -> None:
    for number in range(3):
        record_run(title=f"=cmd({number})")
    answer = page.get("/runs.csv", params={"columns": "id,config.title,cost", "limit": 1})
    rows = list(csv.reader(io.StringIO(answer.text)))
    assert rows[0] == ["id", "config.title", "cost"]
    assert len(rows) == 4
    assert rows[1][1].startswith("'=cmd")
    assert "attachment" in answer.headers["content-disposition"]


def test_an_unknown_cost_is_never_shown_as_nothing(page: TestClient) -> None:
    import runcard  # noqa: PLC0415

    with runcard.record(model="nobody-knows", experiment="x") as run:
        run.add_usage({"input": 10, "output": 1})
    for path in ("/", "/runs", f"/runs/{run.id}", "/costs", "/home/spend"):
        text = page.get(path).text
        assert "unknown" in text, path
        assert "$0.00" not in text, path


def test_a_wrong_condition_is_explained(page: TestClient) -> None:
    answer = page.get("/runs", params={"where": "cosst > 1"})
    assert answer.status_code == 400
    assert "did you mean cost?" in answer.text


def test_wrong_numbers_are_refused(page: TestClient) -> None:
    for query in (
        "page=0",
        "page=-1",
        "page=x",
        "limit=0",
        "limit=501",
        "page=99999999999999999999",
        "page=²",
    ):
        assert page.get(f"/runs?{query}").status_code == 400, query


def test_every_list_answers_without_records(page: TestClient) -> None:
    for what in ("records", "runs", "sessions", "instances", "calls", "plans", "experiments"):
        answer = page.get(f"/{what}")
        assert answer.status_code == 200
        assert "Nothing found" in answer.text


def test_a_wrong_condition_stays_in_its_form(page: TestClient) -> None:
    record_run()
    answer = page.get("/runs", params={"where": "cost >", "text": "hello"})
    assert answer.status_code == 400
    assert 'role="alert"' in answer.text
    assert 'value="cost &gt;"' in answer.text
    assert 'value="hello"' in answer.text
    assert "Nothing found" not in answer.text


def test_an_error_page_leads_back_to_its_list(page: TestClient) -> None:
    assert '<a href="/runs">Back to the list</a>' in page.get("/runs?limit=x").text
    few = page.get("/compare").text
    assert "mark two records" in few
    assert '<a href="/records">Back to the list</a>' in few


def test_a_page_that_does_not_exist_is_named(page: TestClient) -> None:
    answer = page.get("/nothere")
    assert answer.status_code == 404
    assert "there is no page /nothere" in answer.text
