"""Records that were made to break the page, in a browser."""

import json
import shutil
import threading
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

import runcard
from plans.projects import RubyProject
from runcard.plans.known_projects import note_project
from runcard.web.experiment import experiment_url
from runcard.web.plan import plan_url
from runcard.web.static_file import static_page
from web.chromium import open_view
from web.page_server import PageThread
from web.sample_records import SESSION, import_session, record_run

pytestmark = [pytest.mark.long, pytest.mark.needs("chromium")]
_HOSTILE = "<script>window.hacked=1</script><img src=x onerror=window.hacked=1>\"'`{{7*7}}\u202e"
_MARKDOWN = (
    f"# {_HOSTILE}\n[a](javascript:window.hacked=1) [b](data:text/html,<script>window.hacked=1</script>) "
    "[c](//evil.example) ![d](http://evil.example/x.png) <svg onload=window.hacked=1> <a href='vbscript:x'>e</a>\n"
    '[f]: javascript:window.hacked=1 "x"\n[f]\n\n<style>body{display:none}</style>'
)


def _hostile_run() -> runcard.Run:
    with runcard.record(
        model=_HOSTILE,
        provider=_HOSTILE,
        config={_HOSTILE: _HOSTILE, "x": {"y": [_HOSTILE]}},
        labels={"team": _HOSTILE},
        experiment="bad",
    ) as run:
        run.add_usage({"input": 1, "output": 1}, step=_HOSTILE)
        run.log_metric("<b>accuracy", 0.5)
        run.add_error(_HOSTILE, type=_HOSTILE)
        (run.path / "<img src=x onerror=alert(1)>.txt").write_text(_HOSTILE)
        (run.path / "long.txt").write_text("x" * 10_000_000)
        (run.path / "page.md").write_text(_MARKDOWN)
        (run.path / "image.svg").write_text(
            "<svg xmlns='http://www.w3.org/2000/svg' onload='window.hacked=1'/>"
        )
        (run.path / "picture.png").write_text(
            "<svg xmlns='http://www.w3.org/2000/svg' onload='window.hacked=1'/>"
        )
        (run.path / "page.html").write_text(_HOSTILE)
        (run.path / "cells.csv").write_text(f'{_HOSTILE},"=cmd|calc"\n\u200b\u2066,"{"y" * 100_000}"\n')
    return run


def test_records_that_were_made_to_break_the_page(tab: Page, place: Path) -> None:
    run = _hostile_run()
    import_session(place.parent / "home", text=_HOSTILE + _MARKDOWN)
    project = RubyProject(place)
    plan = project.plan_of()
    for one in plan["characteristics"]:
        one["name"] = one["source"] = _HOSTILE
    project.write(plan)
    note_project(str(place))
    paths = [
        *("/", "/records", "/runs", "/sessions", "/calls", "/plans", "/experiments", "/costs?by=model"),
        *(f"/sessions/{SESSION}", f"/sessions/{SESSION}/agents/main"),
        *(plan_url(str(project.plan)), experiment_url("bad"), f"/runs/{run.id}"),
    ]
    with PageThread() as server:
        for path in paths:
            open_view(tab, server.url + path)
            assert tab.evaluate("window.hacked") is None, path
        names = ("long.txt", "page.md", "onerror", "image.svg", "picture.png", "page.html", "cells.csv")
        for name in names:
            tab.locator("summary", has_text=name).click()
        expect(tab.locator(".preview pre")).to_have_count(5)
        expect(tab.locator(".markdown h1")).to_be_visible()
        assert tab.evaluate("window.hacked") is None
        assert tab.locator(".preview img, .markdown a[href*=script], .markdown a[href^=data]").count() == 0
        assert tab.locator("body *").count() < 5_000


def test_a_broken_document_and_a_record_that_vanishes(browser: Browser, place: Path) -> None:
    assert place.is_dir()
    broken, gone = record_run(), record_run()
    page = browser.new_page()
    with PageThread() as server:
        open_view(page, f"{server.url}/runs/{gone.id}")
        shutil.rmtree(gone.path)
        page.get_by_role("button", name="Verify now").click()
        expect(page.get_by_role("heading", name=gone.id)).to_be_visible()
        Path(broken.path, "metadata.json").write_text('{"generation": [')
        for run in (broken, gone):
            answer = page.goto(f"{server.url}/runs/{run.id}")
            assert answer
            assert answer.status == 404
            expect(page.get_by_role("alert")).to_be_visible()
        page.goto(f"{server.url}/runs")
        expect(page.locator("main h1")).to_have_text("Runs")
    page.close()


def test_a_static_file_opens_from_disk_and_asks_nobody(browser: Browser, place: Path) -> None:
    run = _hostile_run()
    target = place / "run.html"
    # A thread: asyncio has a loop in this one, which drives the browser.
    writer = threading.Thread(target=lambda: target.write_bytes(static_page(run.path).data))
    writer.start()
    writer.join()
    page = browser.new_page()
    problems: list[str] = []
    page.on("console", lambda line: problems.append(line.text))
    page.on("request", lambda request: problems.append(request.url) if "http" in request.url[:4] else None)
    page.goto(target.as_uri())
    expect(page.get_by_role("heading", name=run.id)).to_be_visible()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(251, 251, 249)"
    page.locator("summary", has_text="page.md").click()
    expect(page.locator(".markdown h1")).to_be_visible()
    assert page.evaluate("window.hacked") is None
    assert page.locator("script, [style], iframe, form, object, embed, [onload], [onerror]").count() == 0
    links = page.evaluate("[...document.querySelectorAll('[href], [src]')].map(one => one.href || one.src)")
    assert [
        link for link in links if not link.startswith(("data:image/", "http:", "https:", "mailto:"))
    ] == []
    assert problems == [], json.dumps(problems)
    page.close()
