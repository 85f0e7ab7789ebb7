"""The token of the page, as a person meets it: in a real browser, and beside another user of the machine."""

import shlex
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from runcard.local_http.access_token import OpeningCode
from runcard.local_http.peer_user import is_of_this_user
from waiting import wait_until
from web.page_server import PageServer
from web.sample_records import record_run

# Asks for paths as another user, if one is named, and reads what the system says of the server to anybody.
_ASK = """
import encodings.idna, http.client, os, sys  # nothing is loaded later: the other user cannot read it
user, port, process, *paths = sys.argv[1:]
if user:
    os.setgroups([])
    os.setgid(int(user))
    os.setuid(int(user))
for path in paths:
    connection = http.client.HTTPConnection("127.0.0.1", int(port), timeout=20)
    connection.request("GET", path)
    print(connection.getresponse().status)
    connection.close()
for name in ("cmdline", "environ"):
    try:
        print(open(f"/proc/{process}/{name}").read())
    except PermissionError:
        print("refused")
"""
_NOBODY = "65534"


def _ask(server: PageServer, *paths: str, user: str = "") -> list[str]:
    words = (
        sys.executable,
        "-c",
        _ASK,
        user,
        str(urlsplit(server.url).port),
        str(server.process.pid),
        *paths,
    )
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout.splitlines()


@pytest.fixture
def window(browser: Browser) -> Iterator[BrowserContext]:
    """A browser that was never here."""
    context = browser.new_context()
    yield context
    context.close()


def _is_in(tab: Page) -> None:
    expect(tab.get_by_role("navigation", name="Main")).to_contain_text("Costs")


def test_the_address_opens_the_page_and_then_every_link_works(place: Path, window: BrowserContext) -> None:
    run = record_run()
    with PageServer(place) as server:
        tab = window.new_page()
        tab.goto(server.address)
        _is_in(tab)
        assert tab.url == f"{server.url}/"  # the token is not in the history, and in no picture of the screen
        tab.get_by_role("link", name="Runs", exact=True).first.click()
        tab.get_by_role("link", name=run.id).first.click()
        tab.get_by_role("button", name="Verify now").click()
        expect(tab.locator("#verdict")).to_contain_text("Intact")
        other = window.new_page()
        other.goto(f"{server.url}/costs")
        _is_in(other)
        assert server.token
        assert server.token not in tab.content() + other.content()
        assert tab.evaluate("document.cookie") == ""


@pytest.mark.long
def test_a_link_on_another_page_works_as_well(place: Path, window: BrowserContext, tmp_path: Path) -> None:
    """A browser keeps a strict cookie back when a link elsewhere is followed, and so the page asks once more."""
    run = record_run()
    with PageServer(place) as server:
        elsewhere = tmp_path / "notes.html"
        elsewhere.write_text(
            f"<a href='{server.address}'>in</a> <a href='{server.url}/runs/{run.id}'>the run</a>"
        )
        tab = window.new_page()
        tab.goto(elsewhere.as_uri())
        tab.get_by_text("the run").click()
        expect(tab.get_by_role("heading")).to_have_text("This page needs its token")
        tab.goto(elsewhere.as_uri())
        tab.get_by_text("in", exact=True).click()
        _is_in(tab)
        tab.goto(elsewhere.as_uri())
        tab.get_by_text("the run").click()
        _is_in(tab)
        expect(tab.locator("main")).to_contain_text(run.id)


@pytest.mark.long
def test_who_has_only_the_token_types_it(place: Path, window: BrowserContext) -> None:
    with PageServer(place) as server:
        tab = window.new_page()
        tab.goto(f"{server.url}/costs")
        expect(tab.get_by_role("heading")).to_have_text("This page needs its token")
        tab.get_by_label("Token").fill("wrong")
        tab.get_by_role("button", name="Open").click()
        expect(tab.get_by_role("heading")).to_have_text("That is not the token of this page")
        tab.get_by_label("Token").fill(server.token or "")
        tab.get_by_role("button", name="Open").click()
        _is_in(tab)
        assert tab.url == f"{server.url}/costs"


@pytest.fixture
def opened(place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where a browser that `runcard serve` starts notes its command line."""
    noted = tmp_path / "noted"
    script = tmp_path / "browser"
    script.write_text(
        f'#!/bin/sh\nprintf %s "$1" > {shlex.quote(str(noted))}.new\nmv {shlex.quote(str(noted))}.new {shlex.quote(str(noted))}\n'
    )
    script.chmod(0o755)
    monkeypatch.setenv("BROWSER", f"{script} %s")
    assert place.is_dir()
    return noted


def test_a_browser_is_started_with_a_code_that_opens_once(
    place: Path, opened: Path, window: BrowserContext
) -> None:
    with PageServer(place, "--open") as server:
        wait_until(opened.exists, "the browser")
        address = opened.read_text()
        assert address.startswith(f"{server.url}/?token=")
        assert server.token
        assert server.token not in address
        tab = window.new_page()
        tab.goto(address)
        _is_in(tab)
        assert server.token not in tab.url
        window.clear_cookies()
        tab.goto(address)
        expect(tab.get_by_role("heading")).to_have_text("That is not the token of this page")


@pytest.mark.needs("root")
def test_another_user_of_the_machine_sees_nothing(place: Path, opened: Path) -> None:
    with PageServer(place, "--open") as server:
        wait_until(opened.exists, "the browser")
        code = opened.read_text().removeprefix(server.url)
        refused, shown, environ = (
            _ask(server, "/", "/api/runs", code, user=_NOBODY)[:3],
            *_ask(server, user=_NOBODY),
        )
        assert refused == ["401", "401", "401"]
        assert "serve" in shown
        assert (server.token or "") not in shown
        assert environ == "refused"
        assert _ask(server, code)[0] == "303"  # what the other one tried did not use it up


def test_a_code_is_right_once_and_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as listening,
        socket.create_connection(listening.getsockname()) as client,
    ):
        scope = {"client": client.getsockname(), "server": listening.getsockname()}
        code = OpeningCode()
        assert not code.takes("", scope)
        assert not code.takes(code.text + "x", scope)
        assert code.takes(code.text, scope)
        assert not code.takes(code.text, scope)
        late = OpeningCode()
        now = late._ends
        monkeypatch.setattr("runcard.local_http.access_token.time.monotonic", lambda: now + 1)
        assert not late.takes(late.text, scope)
        assert not late.takes(late.text, scope | {"client": ("127.0.0.1", 1)})


def test_a_code_is_for_programs_of_this_user(monkeypatch: pytest.MonkeyPatch) -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as listening,
        socket.create_connection(listening.getsockname()) as client,
    ):
        scope = {"client": client.getsockname(), "server": listening.getsockname()}
        assert is_of_this_user(scope)
        assert not is_of_this_user(scope | {"client": ("127.0.0.1", 1)})
        assert not is_of_this_user(scope | {"client": ("127.0.0.2", client.getsockname()[1])})
        assert not is_of_this_user(scope | {"client": None})
        monkeypatch.setattr("runcard.local_http.peer_user.os.geteuid", lambda: 4711)
        assert not is_of_this_user(scope)
