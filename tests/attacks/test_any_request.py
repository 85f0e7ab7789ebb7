"""Any request to the page and any call of a tool: whatever they ask, the answer is one that was meant, and never a fault of ours."""

import http.client
import re
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle, islice, product
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from starlette.testclient import TestClient

from mcp_server.answers import TOOLS, Tools
from mcp_server.every_tool import calls, make_project, with_run
from runcard.local_http.listener import HttpListener
from runcard.mcp_server.tool_calls import tool_result
from runcard.mcp_server.tools import ToolCall
from web.conftest import listener, page, place
from web.page_server import PageServer
from web.sample_records import SESSION, import_session, record_run

__all__ = ["listener", "page", "place"]

TEXTS = (
    *(
        "",
        "\0",
        "..",
        "../..",
        "/",
        "//",
        "\\",
        "é",
        "\udcff",
        "\u202e",
        "x" * 5000,
        "\n",
        "日本" * 100,
        "%s",
        "'",
        '"',
        "(",
        "*",
    ),
    *(
        "-1",
        "0",
        "1e309",
        "NaN",
        "9" * 30,
        "9" * 5000,
        "٣",
        "²",
        "1.5",
        "0x10",
        "@latest~99999999999999999999",
        "-",
        "--cost",
    ),
    *(
        "999999w",
        "999999s",
        "0001-01-01",
        "0001-01-01T00:00:00+14:00",
        "9999-12-31",
        "9999-12-31T23:59:59-14:00",
        "2026-13",
    ),
    *(
        "label.",
        "config.'",
        "cost > 1e999",
        "started > 999999w",
        "id ~ '('",
        "a=b and " * 100 + "a=b",
        "null",
        "[]",
    ),
)
_VALUES: tuple[Any, ...] = (
    *TEXTS,
    *(
        -1,
        0,
        1e308,
        10**30,
        -(10**30),
        2**63,
        None,
        True,
        0.5,
        [],
        {},
        [[]],
        ["\0"],
        [""],
        {"": 1},
        {"\0": "\0"},
    ),
    *({"a": {"b": [1] * 50}}, "\ud83d\ude00"),
)
_PARAMETERS = (
    "at",
    "by",
    "columns",
    "experiment",
    "file",
    "limit",
    "model",
    "name",
    "page",
    "record",
    "since",
    "sort",
)
_MORE = ("start", "status", "tag", "text", "token", "until", "where", "x", "y", "q", "offset")


def _addresses(page: TestClient) -> list[tuple[str, list[str]]]:
    """The path of each route that only reads, and with each hole filled with each text."""
    run = record_run()
    ids = {"id": run.id, "agent": "main", "what": "runs", "folder": "runs", "key": "0123456789"}
    found = []
    for route in page.app._app.routes:  # type: ignore[attr-defined]
        path = getattr(route, "path", "")
        if "GET" not in (getattr(route, "methods", None) or ()) or path.endswith("/live"):
            continue
        own = ids | ({"id": SESSION} if path.startswith("/sessions") else {})
        holes = re.findall(r"{(\w+)(?::\w+)?}", path)
        filled = []
        for hole, text in product(holes, TEXTS):
            values = own | {hole: text}
            filled.append(_fill(path, values))
        found.append((_fill(path, own), filled))
    return found


def _fill(path: str, values: dict[str, str]) -> str:
    return re.sub(
        r"{(\w+)(?::\w+)?}",
        lambda hole: quote(values.get(hole[1], "x"), safe="", errors="surrogateescape"),
        path,
    )


def _check(page: TestClient, address: str) -> None:
    answer = page.get(address, follow_redirects=False)
    assert answer.status_code < 500, (address[:200], answer.text[-300:])
    assert "Traceback" not in answer.text
    assert "/site-packages/" not in answer.text


@pytest.mark.parametrize("since", ["999999w", "0001-01-01", "9999-12-31", "9999-12-31T23:59:59-14:00"])
def test_a_time_that_no_calendar_has_is_explained(page: TestClient, since: str) -> None:
    for path in ("/api/costs", "/api/runs", "/costs", "/costs.csv", "/costs.json", "/runs.csv"):
        answer = page.get(path, params={"since": since})
        assert answer.status_code == 400, path
        assert "is not a time" in answer.text
    assert "is not a time" in Tools().error("cost_report", since=since)["error"]


def test_every_route_with_hostile_parts_of_its_path(page: TestClient, place: Path) -> None:
    import_session(place.parent / "home")
    for good, filled in _addresses(page):
        _check(page, good)
        for address in islice(cycle(filled), 0, min(len(filled), 12)):
            _check(page, address)


@pytest.mark.long
@pytest.mark.parametrize("part", range(8))
def test_every_route_with_every_hostile_parameter(page: TestClient, place: Path, part: int) -> None:
    import_session(place.parent / "home")
    texts = cycle(TEXTS)
    for good, filled in _addresses(page):
        for address in filled[part::8]:
            _check(page, address)
        for name in (*_PARAMETERS, *_MORE)[part::8]:
            for text in islice(texts, 11):
                _check(page, f"{good}?{name}={quote(text, safe='', errors='surrogateescape')}")


@pytest.mark.filterwarnings("ignore")  # of the recorder: a server prints them
@pytest.mark.parametrize("step", [9, pytest.param(1, marks=pytest.mark.long)], ids=["some", "all"])
@pytest.mark.parametrize("name", TOOLS)
def test_every_tool_with_hostile_arguments(
    name: str, step: int, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(make_project(here))
    scope = Tools(allows_write=True).scope
    run_id, good = "", {}
    for tool, arguments in calls():
        if tool not in {"record_run_start", "session_start", "instance_start"} and tool != name:
            continue
        good = with_run(arguments, run_id)
        if tool == name:
            break
        answer = tool_result(TOOLS[tool], good, ToolCall(scope))
        run_id = run_id or (answer.structured_content or {}).get("run_id", "")
    for argument, value in islice(product(TOOLS[name].arguments["properties"], _VALUES), 0, None, step):
        result = tool_result(TOOLS[name], {**good, argument: value}, ToolCall(scope))
        text = result.content[0].text  # type: ignore[union-attr]  # all are texts
        assert "internal error" not in text, (argument, value, text)
        assert text.encode()
    scope.runs.close()


def test_many_ask_at_the_same_time(place: Path) -> None:
    record_run()
    with PageServer(place) as server:
        host = server.url.removeprefix("http://")

        def ask(path: str) -> int:
            connection = http.client.HTTPConnection(host, timeout=60)
            connection.request("GET", path, headers={"authorization": f"Bearer {server.token}"})
            status = connection.getresponse().status
            connection.close()
            return status

        with ThreadPoolExecutor(16) as pool:
            statuses = list(
                pool.map(ask, ["/", "/runs", "/costs", "/api/runs", "/home/checks", "/api/costs"] * 10)
            )
        assert set(statuses) == {200}


def test_requests_that_no_browser_of_the_user_sends(place: Path) -> None:
    """Other names of the host, forms of other pages, two of what there is one of, bodies of unknown length."""
    with PageServer(place) as server:
        host = server.url.removeprefix("http://")
        key, form = ("authorization", f"Bearer {server.token}"), ("content-length", "0")
        json = ("content-type", "application/json")
        refused: list[tuple[str, list[tuple[str, str]], int]] = [
            ("GET", [("host", "evil.example"), key], 421),
            ("GET", [("host", f"{host}@evil.example"), key], 421),
            ("GET", [key], 400),
            ("GET", [("host", host), ("host", host), key], 400),
            ("GET", [("host", host)], 401),
            ("GET", [("host", host), key, key], 401),
            ("GET", [("host", host), ("authorization", f"Basic {server.token}")], 401),
            ("GET", [("host", host), ("authorization", "Bearer ")], 401),
            ("GET", [("host", host), ("cookie", f"runcard-{host.rpartition(':')[2]}={server.token}")], 401),
            ("GET", [("host", host), key, ("origin", "http://evil.example")], 403),
            ("POST", [("host", host), key, form], 403),
            ("POST", [("host", host), key, form, ("content-type", "text/plain;application/json")], 403),
            ("POST", [("host", host), key, form, ("origin", "http://127.0.0.1:1")], 403),
            ("POST", [("host", host), form, json], 401),
            ("POST", [("host", host), key, json, ("transfer-encoding", "chunked")], 413),
            ("POST", [("host", host), key, json, ("content-length", "99999999")], 413),
            ("POST", [("host", host), key, json, ("content-length", "-1")], 400),
            ("BREW", [("host", host), key, json], 405),
        ]
        for method, headers, status in refused:
            connection = http.client.HTTPConnection(host, timeout=60)
            connection.putrequest(method, "/import/codex", skip_host=True, skip_accept_encoding=True)
            for name, value in headers:
                connection.putheader(name, value)
            connection.endheaders()
            answer = connection.getresponse()
            text = answer.read().decode()
            assert answer.status == status, (method, headers, text)
            assert (server.token or "") not in text
            connection.close()


def test_a_token_in_the_address_of_a_request_that_changes_something_is_none(
    page: TestClient, listener: HttpListener, place: Path
) -> None:
    from runcard.web.app import make_app  # noqa: PLC0415

    assert (page.get("/").status_code, place.is_dir()) == (200, True)
    guarded = TestClient(make_app(listener, "a-token-of-a-good-length"), base_url=listener.url)
    answer = guarded.post("/import/codex", params={"token": "a-token-of-a-good-length"}, json={})
    assert answer.status_code == 401
    assert "set-cookie" not in answer.headers
