"""The first page: on the first day, and later."""

import json
import subprocess
from pathlib import Path

from starlette.testclient import TestClient

import runcard
from acceptance.command import RUNCARD
from runcard.local_http.listener import HttpListener
from runcard.web.pages import code_marks
from waiting import wait_until
from web.sample_records import SESSION, record_run, write_session


def test_the_first_day_offers_what_the_tools_have_stored(
    page: TestClient, place: Path, listener: HttpListener
) -> None:
    write_session(place.parent / "home")
    assert "There are no records yet" in page.get("/").text
    part = page.get("/home/transcripts", headers={"hx-request": "true"}).text
    assert "Claude Code" in part
    assert "Import 1" in part
    assert "≥\N{NO-BREAK SPACE}$" in part
    assert (
        page.post("/import/claude-code", headers={"origin": listener.url, "hx-request": "true"}).status_code
        == 200
    )
    wait_until(lambda: "Importing" not in page.get("/import").text, "the import")
    assert "1 session imported" in page.get("/import").text
    assert SESSION in page.get("/").text
    assert "all imported" in page.get("/home/transcripts").text


def test_an_unknown_tool_is_not_imported(page: TestClient, listener: HttpListener) -> None:
    assert page.post("/import/evil", headers={"origin": listener.url}).status_code == 404
    assert page.get("/import/claude-code").status_code == 405


def test_later_it_shows_what_ran_what_failed_and_what_was_spent(page: TestClient) -> None:
    run = record_run()
    failed = runcard.start()
    failed.add_error("the reply was empty")
    failed.finish(status="failed")
    text = page.get("/").text
    assert run.id in text
    assert failed.id in text
    assert "the reply was empty" in text
    spent = page.get("/home/spend").text
    assert "$0.0165" in spent
    assert "This month" in spent
    assert (
        "Of the latest 2 records, 2 are not verified yet, 2 are not signed." in page.get("/home/checks").text
    )


def test_figures_of_an_open_run_are_lower_bounds(page: TestClient) -> None:
    with runcard.record(model="claude-sonnet-4-5", provider="anthropic") as run:
        run.add_usage({"input": 1000, "output": 200})
        assert "≥\N{NO-BREAK SPACE}1,200" in page.get("/").text
        spent = page.get("/home/spend").text
        assert spent.count("≥\N{NO-BREAK SPACE}1 model call") == 3
    assert "≥" not in page.get("/").text + page.get("/home/spend").text


def test_a_record_that_lists_no_calls_and_began_before_the_month_makes_it_a_lower_bound(
    page: TestClient, place: Path
) -> None:
    with runcard.record(model="claude-sonnet-4-5", provider="anthropic") as run:
        run.set_costs(input_tokens=5, output_tokens=5, total_cost_usd=7)
    document = json.loads((run.path / "metadata.json").read_text())
    document["generation"] |= {"timestamp_start": "2026-01-01T00:00:00Z"}
    (run.path / "metadata.json").write_text(json.dumps(document))
    (run.path / "experiment.jsonl").unlink()
    record_run()
    assert place.is_dir()
    spent = page.get("/home/spend").text
    assert (spent.count("≥\N{NO-BREAK SPACE}$0.0165"), spent.count("≥\N{NO-BREAK SPACE}2 model calls")) == (
        3,
        3,
    )


def test_the_budget_is_compared_with_the_month(place: Path, listener: HttpListener) -> None:
    from decimal import Decimal  # noqa: PLC0415

    from runcard.web.app import make_app  # noqa: PLC0415

    assert place.is_dir()
    record_run()
    page = TestClient(make_app(listener, budget=Decimal("0.02")), base_url=listener.url)
    text = page.get("/home/spend").text
    assert "82&nbsp;%" in text
    assert "of $0.02" in text


def test_a_failed_run_without_an_error_has_its_exit_code(page: TestClient, place: Path) -> None:
    subprocess.run((*RUNCARD, "run", "--", "sh", "-c", "exit 3"), cwd=place, check=False, capture_output=True)
    text = page.get("/").text
    assert "exit code 3" in text
    assert "no reason recorded" not in text


def test_a_command_in_a_message_is_marked_up_and_stays_text() -> None:
    assert code_marks("use `runcard <x>` <b>") == "use <code>runcard &lt;x&gt;</code> &lt;b&gt;"
    assert code_marks("a ` <b>") == "a ` &lt;b&gt;"
