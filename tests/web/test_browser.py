"""The main paths in a real browser: Debian's Chromium, by its keyboard, dark, and on a small screen."""

import subprocess
import time
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

import runcard
from acceptance.command import RUNCARD
from web.chromium import open_view
from web.page_server import PageThread
from web.sample_records import SESSION, record_run, write_session

pytestmark = [pytest.mark.long, pytest.mark.needs("chromium")]


def test_the_first_day_from_an_empty_page_to_a_transcript(tab: Page, place: Path) -> None:
    write_session(place.parent / "home")
    with PageThread() as server:
        tab.goto(server.url)
        tab.get_by_role("button", name="Import 1").click()
        tab.get_by_role("link", name="Show them").click()
        tab.get_by_role("link", name=SESSION).first.click()
        expect(tab.get_by_role("heading", name="The team")).to_be_visible()
        expect(tab.locator(".chart canvas")).to_be_visible()
        tab.get_by_role("link", name="main", exact=True).click()
        fold = tab.locator("details.step-tool-use").first
        expect(fold.locator("pre")).not_to_be_visible()
        fold.locator("summary").click()
        expect(fold.locator("pre")).to_contain_text("make 0")
        tab.get_by_placeholder("Search in this transcript").fill("make 3")
        tab.keyboard.press("Enter")
        tab.locator(".hits a").first.click()
        expect(tab.locator(".transcript")).to_contain_text("make 3")


def test_a_run_is_verified_and_its_files_are_looked_into(tab: Page) -> None:
    run = record_run()
    with PageThread() as server:
        tab.goto(f"{server.url}/runs/{run.id}")
        tab.get_by_role("button", name="Verify now").click()
        expect(tab.locator("#verdict")).to_contain_text("Intact")
        tab.locator("summary", has_text="report.md").click()
        expect(tab.locator(".markdown h1")).to_have_text("Report")
        tab.locator("summary", has_text="note.html").click()
        expect(tab.locator(".preview pre").last).to_contain_text("<script>alert(2)</script>")
        tab.get_by_text("Show the journal").click()
        expect(tab.locator("table.events")).to_contain_text("model.called")


def test_events_appear_while_the_run_goes_on_in_two_tabs(browser: Browser, tab: Page, place: Path) -> None:
    program = (
        "import runcard, sys\n"
        "with runcard.record() as run:\n"
        "    print(run.id, flush=True)\n"
        "    for number, line in enumerate(sys.stdin):\n"
        "        run.log_metric('loss', number)\n"
    )
    child = subprocess.Popen(
        (RUNCARD[0], "-c", program), cwd=place, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    assert child.stdin is not None
    run = child.stdout.readline().strip()
    with PageThread() as server:
        other = browser.new_page()
        for page in (tab, other):
            page.goto(f"{server.url}/runs/{run}")
            expect(page.locator("table.events")).to_contain_text("run.started")
        print("next", file=child.stdin, flush=True)
        for page in (tab, other):
            expect(page.locator("table.events")).to_contain_text("loss = 0", timeout=10_000)
        child.communicate(timeout=20)
        for page in (tab, other):
            expect(page.locator("#live-state")).to_contain_text("The run has ended", timeout=10_000)
        other.close()


def test_the_events_of_an_open_session_appear_until_it_ends(tab: Page, place: Path) -> None:
    assert place.is_dir()
    with PageThread() as server, runcard.Session("team-1") as session:
        worker = session.start_instance("worker", role="tech_writer")
        open_view(tab, f"{server.url}/sessions/team-1")
        expect(tab.locator("table.events")).to_contain_text("worker · tech_writer")
        worker.add_usage({"input": 1234, "output": 5}, model="claude-sonnet-4-5")
        expect(tab.locator("table.events")).to_contain_text("1,234 input", timeout=10_000)
        worker.finish()
        session.finish()
        expect(tab.locator("#live-state")).to_contain_text("The session has ended", timeout=10_000)
        tab.get_by_role("link", name="Show the final record").click()
        expect(tab.get_by_role("button", name="Verify now")).to_be_visible()


def test_a_filter_stays_in_a_tidy_address(tab: Page) -> None:
    for number in range(3):
        record_run(temperature=number / 10)
    with PageThread() as server:
        tab.goto(f"{server.url}/runs")
        tab.get_by_label("Condition").fill("config.temperature > 0.1")
        tab.get_by_role("button", name="Apply").click()
        expect(tab.get_by_text("1 found")).to_be_visible()
        assert tab.url.endswith("/runs?where=config.temperature+%3E+0.1")
        tab.go_back()
        expect(tab.get_by_text("3 found")).to_be_visible()


def test_the_theme_is_switched_and_kept(tab: Page) -> None:
    with PageThread() as server:
        tab.goto(server.url)
        tab.get_by_role("button", name="Switch between light and dark").click()
        tab.goto(f"{server.url}/runs")
        assert tab.evaluate("document.documentElement.dataset.theme") == "dark"


def _chart_labels(tab: Page, url: str) -> list[str]:
    """The texts that the chart of a page draws into its canvas."""
    tab.add_init_script(
        "window.drawn = []; const write = CanvasRenderingContext2D.prototype.fillText;"
        "CanvasRenderingContext2D.prototype.fillText = function(text, ...rest)"
        "{ drawn.push(text); return write.call(this, text, ...rest); };"
    )
    open_view(tab, url)
    tab.evaluate("new Promise(requestAnimationFrame)")
    labels: list[str] = tab.evaluate("drawn")
    return labels


def test_the_chart_of_one_day_is_about_that_day(tab: Page) -> None:
    record_run()
    with PageThread() as server:
        drawn = _chart_labels(tab, f"{server.url}/costs")
    assert time.strftime("%m-%d") in drawn
    assert sum(text.count("-") for text in drawn) == 1


@pytest.mark.parametrize("ends", [("14:10:00", "14:20:00"), ("14:00:00.001", "14:00:00.001")])
def test_a_small_cost_over_time_has_an_axis_that_fits(tab: Page, ends: tuple[str, str]) -> None:
    agents = [
        {
            "name": name,
            "status": "completed",
            "cost": cost,
            "created_at": "2025-11-06T14:00:00Z",
            "terminated_at": f"2025-11-06T{end}Z",
        }
        for name, end, cost in zip(("one", "two"), ends, (0.0006, 0), strict=True)
    ]
    runcard.collect({"team_session_id": "cheap", "instances": agents})
    with PageThread() as server:
        labels = _chart_labels(tab, f"{server.url}/sessions/cheap")
    drawn = [text for text in labels if text.startswith("$")]
    assert len(set(drawn)) > 2
    assert all(float(text[1:]) < 0.001 for text in drawn)
