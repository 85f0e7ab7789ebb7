"""Every view in a browser, over one store: accessible by axe-core, by the keyboard alone, in light and dark, and on a phone."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, NamedTuple

import pytest
from install_tools import CLIENTS
from playwright.sync_api import Browser, Page, expect

import runcard
from plans.projects import RubyProject
from runcard.plans.known_projects import note_project
from runcard.web.compare import compare_url
from runcard.web.experiment import experiment_url
from runcard.web.plan import plan_url
from web.chromium import open_view
from web.page_server import PageThread
from web.sample_records import SESSION, import_session, record_run

pytestmark = [pytest.mark.long, pytest.mark.needs("chromium")]
_AXE = CLIENTS / "node_modules" / "axe-core" / "axe.min.js"
_CONTROLS = 'a[href], button, input:not([type="hidden"]), select, summary, [tabindex="0"]'


class ServedViews(NamedTuple):
    """The page over records of each kind, and the paths of its views."""

    url: str
    run: str
    paths: list[str]


@pytest.fixture
def views(place: Path) -> Iterator[ServedViews]:
    runs = [
        record_run(temperature=number / 10, mode="ab"[number], text="a-word-without-a-space" * 30)
        for number in range(2)
    ]
    import_session(place.parent / "home")
    with runcard.Session("plain") as session:
        worker = session.start_instance("worker")
        worker.log("a line of a log that is longer than a phone is wide " * 3)
        worker.finish()
    plan = RubyProject(place).write()
    note_project(str(place))
    rows = [{"id": run.id, "path": os.path.abspath(run.path)} for run in runs]
    lists = ("records", "runs", "sessions", "instances", "calls", "plans", "experiments")
    paths = [
        *("/", *(f"/{what}" for what in lists), f"/runs/{runs[0].id}", f"/sessions/{SESSION}"),
        *(f"/sessions/{SESSION}/agents/main", "/sessions/plain/agents/worker", plan_url(str(plan))),
        *(
            compare_url(*rows),
            experiment_url("personas"),
            "/costs",
            "/runs/none",
            "/runs?columns=id,cost",
        ),
    ]
    with PageThread() as server:
        yield ServedViews(server.url, runs[0].id, paths)


def _serious(page: Page, rules: list[str]) -> list[tuple[str, list[str]]]:
    """The serious violations that axe-core finds; of all rules, or only of some."""
    only = {"runOnly": rules} if rules else {}
    found = page.evaluate("async only => (await axe.run(document, only)).violations", only)
    return [
        (one["id"], [node["html"][:200] for node in one["nodes"]])
        for one in found
        if one["impact"] in {"serious", "critical"}
    ]


@pytest.mark.needs("npm programs")
def test_no_view_has_a_serious_violation(browser: Browser, views: ServedViews) -> None:
    context = browser.new_context(color_scheme="light", reduced_motion="reduce")
    page = context.new_page()
    for path in views.paths:
        page.emulate_media(color_scheme="light")
        open_view(page, views.url + path)
        page.evaluate(_AXE.read_text())
        assert _serious(page, []) == [], path
        page.emulate_media(color_scheme="dark")
        assert _serious(page, ["color-contrast"]) == [], f"{path}, dark"  # only colors are different
    context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_view_fits_a_phone_and_does_not_move(
    browser: Browser, views: ServedViews, scheme: Literal["light", "dark"]
) -> None:
    context = browser.new_context(
        viewport={"width": 360, "height": 700}, reduced_motion="reduce", color_scheme=scheme
    )
    page = context.new_page()
    missing: list[str] = []
    page.on("response", lambda answer: missing.append(answer.url) if answer.status >= 400 else None)
    for path in views.paths if scheme == "light" else views.paths[:2]:
        open_view(page, views.url + path)
        assert page.evaluate("document.documentElement.scrollWidth") == 360, path
        assert page.evaluate("document.getAnimations().length") == 0, path
        if path == "/records":
            expect(page.get_by_label("Condition")).not_to_be_visible()
            for cell in page.locator("td[data-name=status], td[data-name=cost]").all():
                box = cell.bounding_box()
                assert box is None or box["x"] + box["width"] <= 360
    assert [url for url in missing if not url.endswith("/runs/none")] == []
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert background == {"light": "rgb(251, 251, 249)", "dark": "rgb(20, 22, 25)"}[scheme]
    context.close()


def test_the_tab_key_reaches_every_control_and_shows_where_it_is(
    browser: Browser, views: ServedViews
) -> None:
    page = browser.new_page()
    page.add_init_script(
        "window.reached = new Set(); window.unseen = []; addEventListener('focusin', event => {"
        " reached.add(event.target); const style = getComputedStyle(event.target);"
        " if (event.target.id !== 'main' && style.outlineStyle === 'none') unseen.push(event.target.outerHTML.slice(0, 120)); });"
    )
    wanted = (
        f"[...document.querySelectorAll('{_CONTROLS}')].filter(one => one.checkVisibility() && !one.disabled)"
    )
    same = {"/records", "/instances", "/calls", "/experiments"}  # they are lists like the others
    for path in [path for path in views.paths if path not in same]:
        open_view(page, views.url + path)
        for _ in range(page.evaluate(f"{wanted}.length")):
            page.keyboard.press("Tab")
        missed = page.evaluate(
            f"{wanted}.filter(one => !reached.has(one)).map(one => one.outerHTML.slice(0, 120))"
        )
        assert missed == [], path
        assert page.evaluate("unseen") == [], path
        assert page.locator('[tabindex]:not([tabindex="0"], [tabindex="-1"])').count() == 0
    page.close()


def test_enter_space_and_escape_do_what_they_do_elsewhere(browser: Browser, views: ServedViews) -> None:
    page = browser.new_page()
    open_view(page, views.url)
    page.keyboard.press("Tab")
    expect(page.locator(".skip")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()
    page.get_by_role("button", name="Switch between light and dark").focus()
    page.keyboard.press("Space")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"

    open_view(page, f"{views.url}/runs")
    page.locator(".chooser summary").focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    expect(page.get_by_label("id", exact=True)).to_be_focused()
    for name in ("kind", "branch"):
        page.get_by_label(name, exact=True).focus()
        page.keyboard.press("Space")
    page.keyboard.press("Enter")
    expect(page.locator("thead th").last).to_have_text("branch")
    assert page.url.endswith(
        "/runs?columns=id%2Cstarted%2Cstatus%2Cexperiment%2Cmodel%2Ctokens%2Ccost%2Cduration%2Ckind%2Cbranch"
    )
    page.get_by_label("kind", exact=True).focus()
    page.keyboard.press("Escape")
    expect(page.locator(".chooser summary")).to_be_focused()
    expect(page.get_by_label("kind", exact=True)).not_to_be_visible()

    open_view(page, f"{views.url}/runs/{views.run}")
    page.locator("summary", has_text="report.md").focus()
    page.keyboard.press("Space")
    expect(page.locator(".markdown h1")).to_be_visible()
    page.get_by_role("button", name="Verify now").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#verdict")).to_contain_text("Intact")
    page.close()


def test_marked_records_are_compared_with_the_keyboard(browser: Browser, views: ServedViews) -> None:
    page = browser.new_page()
    open_view(page, f"{views.url}/runs")
    page.get_by_role("button", name="Compare").click()
    expect(page.get_by_text("Mark two or more records first.")).to_be_visible()
    for box in page.locator(".mark input").all():
        box.focus()
        page.keyboard.press("Space")
    page.get_by_role("button", name="Compare").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="What differs")).to_be_visible()
    page.close()
