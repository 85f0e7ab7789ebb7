"""Nobody but the user's own browser gets an answer, and no answer may run anything."""

import pytest
from starlette.testclient import TestClient

from runcard.local_http.listener import HttpListener
from runcard.web.app import make_app
from web.sample_records import record_run

TOKEN = "a-token-of-a-good-length"  # noqa: S105 - of this test


@pytest.fixture
def guarded(place: object, listener: HttpListener) -> TestClient:
    assert place
    return TestClient(
        make_app(listener, TOKEN),
        base_url=listener.url,
        raise_server_exceptions=False,
        follow_redirects=False,
    )


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1", "127.0.0.1:1", ""])
def test_a_host_that_is_not_this_server_is_refused(page: TestClient, host: str) -> None:
    assert page.get("/", headers={"host": host}).status_code == 421


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "https://127.0.0.1", "http://127.0.0.1"])
def test_a_foreign_page_is_refused(page: TestClient, origin: str) -> None:
    assert page.get("/api/runs", headers={"origin": origin}).status_code == 403
    assert page.post("/import/codex", headers={"origin": origin}).status_code == 403


def test_a_form_of_a_foreign_page_changes_nothing(page: TestClient) -> None:
    """A browser sends such a form without an Origin only if it is old; JSON it cannot send."""
    assert page.post("/import/codex", data={"a": "b"}).status_code == 403
    assert page.post("/import/codex", headers={"sec-fetch-site": "cross-site"}).status_code == 403
    assert page.app._app.state.imports.job is None  # type: ignore[attr-defined]


def test_what_a_foreign_page_embeds_is_refused(page: TestClient) -> None:
    embedded = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"}
    followed = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}
    assert page.get("/api/runs", headers=embedded).status_code == 403
    assert page.get("/", headers=followed).status_code == 200


@pytest.mark.parametrize(
    "path",
    ["/", "/runs", "/runs.csv", "/api/runs", "/static/page.js", "/nothing", "/runs/x/live", "/runs?where=("],
)
def test_every_answer_forbids_what_it_does_not_need(page: TestClient, path: str) -> None:
    headers = page.get(path).headers
    policy = headers["content-security-policy"]
    assert "script-src 'self'" in policy
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["cross-origin-resource-policy"] == "same-origin"
    assert headers["referrer-policy"] == "no-referrer"


def test_no_page_has_a_script_or_a_style_of_its_own(page: TestClient) -> None:
    run = record_run()
    for path in ("/", "/runs", f"/runs/{run.id}", "/costs", "/sessions"):
        text = page.get(path).text
        assert "<script>" not in text
        assert " style=" not in text
        assert " onclick=" not in text
        assert "http://" not in text.replace("http://www.w3.org", "")


def test_without_the_token_nothing_is_answered(guarded: TestClient) -> None:
    for path in ("/", "/runs", "/static/page.js", "/api/runs", "/api/openapi.json", "/favicon.ico"):
        answer = guarded.get(path)
        assert answer.status_code == 401
        assert TOKEN not in answer.text
    assert guarded.post("/import/codex", json={}).status_code == 401
    assert guarded.get("/?token=wrong").status_code == 401


def test_a_wrong_token_is_told_from_none(guarded: TestClient) -> None:
    wrong = {"authorization": "Bearer wrong"}
    missing, stated = "This page needs its token", "That is not the token of this page"
    for path, headers, text in (("/", {}, missing), ("/?token=wrong", {}, stated), ("/", wrong, stated)):
        assert f"<h1>{text}</h1>" in guarded.get(path, headers=headers).text
    for path, headers, text in (
        ("/api/runs", {}, "missing"),
        ("/api/runs?token=wrong", {}, "wrong"),
        ("/api/runs", wrong, "wrong"),
    ):
        assert f"the token is {text}: " in guarded.get(path, headers=headers).text
    assert "is missing: " in guarded.post(f"/api/runs?token={TOKEN}", json={}).text


def test_the_token_goes_from_the_address_into_a_cookie_that_scripts_cannot_read(
    guarded: TestClient, listener: HttpListener
) -> None:
    answer = guarded.get(f"/runs?status=failed&token={TOKEN}")
    assert (answer.status_code, answer.headers["location"]) == (303, "/runs?status=failed")
    cookie = answer.headers["set-cookie"]
    assert cookie.startswith(f"runcard-{listener.port}=")
    assert TOKEN not in cookie
    assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= {part.strip() for part in cookie.split(";")}
    for path in ("/runs", "/runs?sort=-tokens", "/records?text=token", "/runs?token=old"):
        assert guarded.get(path).status_code == 200, path
    assert guarded.get(f"/runs?token={TOKEN}").headers["location"] == "/runs"


def test_cookies_of_other_programs_lock_nobody_out(guarded: TestClient, listener: HttpListener) -> None:
    own = guarded.get(f"/?token={TOKEN}").headers["set-cookie"].split(";")[0]
    guarded.cookies.clear()
    for others in (
        'a={"b": 1}; ',
        f"runcard-{listener.port}=planted; ",
        "x; =; ;; é\xff=\x01; ",
        "a=b; " * 500,
    ):
        cookies = (others + own).encode("latin-1")
        assert guarded.get("/", headers={b"cookie": cookies}).status_code == 200, others
        assert guarded.get("/", headers={b"cookie": cookies[:-1]}).status_code == 401
        assert guarded.get("/", headers={b"cookie": others.encode("latin-1")}).status_code == 401


def test_a_token_of_any_characters_becomes_a_cookie(place: object, listener: HttpListener) -> None:
    assert place
    odd = 'a;b,c"d\\e%20f&g=h+i#j?k'
    client = TestClient(make_app(listener, odd), base_url=listener.url, follow_redirects=True)
    assert client.get("/", params={"token": odd}).status_code == 200
    assert client.get("/runs").status_code == 200


def test_who_follows_a_link_elsewhere_is_asked_again_by_the_page_itself(guarded: TestClient) -> None:
    """A browser holds a strict cookie back the first time."""
    elsewhere = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}
    first, again = guarded.get("/runs", headers=elsewhere), guarded.get("/runs")
    assert (first.status_code, again.status_code) == (401, 401)
    assert "http-equiv=refresh" in first.text
    assert "http-equiv=refresh" not in again.text


def test_a_path_after_the_token_leads_nowhere_else(guarded: TestClient) -> None:
    answer = guarded.get(f"//evil.example/?token={TOKEN}")
    assert not answer.headers["location"].startswith("//")


def test_the_api_takes_the_token_as_a_header(guarded: TestClient) -> None:
    right, wrong = {"authorization": f"Bearer {TOKEN}"}, {"authorization": f"Bearer {TOKEN}x"}
    assert guarded.get("/api/runs", headers=right).status_code == 200
    assert guarded.get("/api/runs", headers=wrong).status_code == 401


def test_a_long_address_and_a_large_body_are_refused(page: TestClient) -> None:
    assert page.get("/runs", params={"text": "x" * 20_000}).status_code == 414
    assert page.post("/import/codex", json={"x": "y" * 100_000}).status_code == 413


@pytest.mark.parametrize(
    "path", ["/static/../app.py", "/static/%2e%2e/app.py", "/static/..%2fapp.py", "/static//etc/passwd"]
)
def test_only_the_files_of_the_page_are_served(page: TestClient, path: str) -> None:
    assert page.get(path).status_code in {400, 404}
