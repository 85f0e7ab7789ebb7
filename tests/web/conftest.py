"""A page over records of its own, and a client that asks it as a browser does."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page
from starlette.testclient import TestClient

from runcard.local_http.listener import HttpListener, listen
from runcard.web.app import make_app
from web.chromium import launch, make_place


@pytest.fixture
def listener() -> Iterator[HttpListener]:
    open_port = listen("127.0.0.1", 0)
    yield open_port
    open_port.listening.close()


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home and a folder for records, where nothing is yet."""
    return make_place(tmp_path, monkeypatch)


@pytest.fixture
def page(place: Path, listener: HttpListener) -> TestClient:
    assert place.is_dir()
    return TestClient(make_app(listener), base_url=listener.url, raise_server_exceptions=False)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    yield from launch()


@pytest.fixture
def tab(browser: Browser, place: Path) -> Iterator[Page]:
    """A page that fails its test when it asks another host, or when its policy or a script complains."""
    assert place.is_dir()
    context = browser.new_context(viewport={"width": 1200, "height": 800})
    page = context.new_page()
    problems: list[str] = []
    page.on("request", lambda request: None if "127.0.0.1" in request.url else problems.append(request.url))
    page.on("console", lambda line: problems.append(line.text) if line.type == "error" else None)
    page.on("pageerror", lambda error: problems.append(str(error)))
    yield page
    context.close()
    # What is still loading when a test ends its server is no problem of the page.
    cut_off = ("net::ERR_", "Failed to fetch")
    assert [problem for problem in problems if not any(words in problem for words in cut_off)] == []
