"""What somebody tries who can write records, or send any request."""

import asyncio
import html
import os
import re
from pathlib import Path

from starlette.testclient import TestClient

import runcard
from runcard.web.live import _MOST_WATCHERS, Watchers, _events, _OpenSessionWatch
from web.sample_records import SESSION, import_session, record_run

_FILES = (
    *("../../../etc/passwd", "..%2f..%2f..%2fetc%2fpasswd", "%2e%2e/%2e%2e/%2e%2e/etc/passwd", "/etc/passwd"),
    *("%252e%252e%252fetc%252fpasswd", "//etc/passwd", "a%00b", "..%5c..%5cetc", "%c0%ae%c0%ae/etc/passwd"),
    *(
        "linked.txt",
        "folder/passwd",
        "swapped.txt",
        "late/passwd",
        "pipe",
        ".",
        "",
        "report.md/../x",
        "x" * 5000,
    ),
)
_ADDRESSES = (
    *(
        "/runs/..%2f..",
        "/runs/%00",
        "/runs/%ff",
        "/sessions/s/agents/..%2f..%2fx",
        "/plans/%00",
        "/plans/..%2f",
    ),
    *(
        "/experiment?name=%00",
        "/costs?by=nonsense",
        "/costs?since=zzz",
        "/costs.json?by=;drop",
        "/costs.csv?by=%00",
    ),
    *("/compare?record=a:b&record=c", "/runs?where=%00", f"/runs?where={'(' * 4000}", "/runs?sort=%00"),
    *("/runs?page=99999999999999", "/runs?limit=0", "/runs?limit=500&page=20000", "/runs?text=%22%27%5c*"),
    *(
        "/runs?model=%ff%fe",
        "/runs.csv?where=(",
        "/api/runs?where=(",
        "/api/costs?since=9999999999999d",
        "/import",
    ),
    *(
        "/api/runs/x/events?start=-1",
        "/runs/none/live",
        "/sessions/none/live",
        "/static/%00",
        "/static/..%5capp.py",
    ),
)


def test_no_path_leaves_a_record(page: TestClient) -> None:
    with runcard.record() as run:
        (run.path / "swapped.txt").write_text("mine")
        os.symlink("/etc/passwd", run.path / "linked.txt")
        os.symlink("/etc", run.path / "folder")
    (run.path / "swapped.txt").unlink()
    os.symlink("/etc/passwd", run.path / "swapped.txt")
    os.symlink("/etc", run.path / "late")
    os.mkfifo(run.path / "pipe")
    for name in _FILES:
        for part in ("preview", "download", "image"):
            answer = page.get(f"/runs/{run.id}/{part}?file={name}")
            assert answer.status_code in {200, 400, 404}, (part, name)
            assert answer.status_code != 200 or "not in the record any more" in answer.text, (part, name)
            assert "root:" not in answer.text


def test_odd_names_are_shown_and_lead_to_their_files(page: TestClient) -> None:
    names = (
        b"bad\xff\xfe.txt",
        "rtl\u202etxt.exe".encode(),
        b"new\nline.txt",
        b"q?&#%2e\"'<.txt",
        b"..dots..",
    )
    with runcard.record() as run:
        for name in names:
            Path(os.fsdecode(os.fsencode(run.path) + b"/" + name)).write_bytes(name)
    text = page.get(f"/runs/{run.id}").text
    assert "\u202e" not in text
    links = [html.unescape(link) for link in re.findall(r'href="([^"]+/download[^"]+)"', text)]
    assert {page.get(link).content for link in links} == {*names}
    for link in links:
        assert page.get(link).headers["content-disposition"].startswith("attachment; filename*=UTF-8''")


def test_no_address_is_an_error_of_the_server(page: TestClient) -> None:
    for address in _ADDRESSES:
        assert page.get(address).status_code < 500, address


def test_numbers_without_end_are_answered(page: TestClient, place: Path) -> None:
    run = record_run()
    import_session(place.parent / "home")
    most = "9" * 15
    assert page.get(f"/api/runs/{run.id}/events", params={"start": most}).json()["events"] == []
    assert page.get(f"/runs/{run.id}/events", params={"start": most}).status_code == 200
    for query in ({"start": most * 2}, {"before": "-1"}, {"start": most, "before": most}, {"words": "\0"}):
        assert page.get(f"/sessions/{SESSION}/agents/main", params=query).status_code == 200


def test_other_verbs_change_nothing(page: TestClient) -> None:
    run = record_run()
    own = {"origin": str(page.base_url).rstrip("/")}
    for verb in ("TRACE", "OPTIONS", "PUT", "DELETE", "PATCH"):
        for path in (
            "/",
            "/runs",
            f"/runs/{run.id}/verify",
            "/import/codex",
            "/api/runs",
            "/static/page.css",
        ):
            assert page.request(verb, path).status_code == 403, (verb, path)
            assert page.request(verb, path, headers=own).status_code == 405, (verb, path)
    assert page.get(f"/runs/{run.id}/verify").status_code == 405


def test_no_cache_keeps_a_record(page: TestClient) -> None:
    run = record_run()
    paths = (
        "/",
        "/runs",
        f"/runs/{run.id}",
        "/runs.csv",
        "/api/runs",
        f"/runs/{run.id}/download?file=data.json",
    )
    for path in paths:
        assert page.get(path).headers["cache-control"] == "no-store", path
    style = page.get("/static/page.css")
    assert style.headers["cache-control"] == "no-cache"
    assert page.get("/static/page.css", headers={"if-none-match": style.headers["etag"]}).status_code == 304


def test_too_many_watchers_are_asked_to_come_later(page: TestClient, place: Path) -> None:
    run = record_run()
    watchers = page.app._app.state.watchers = Watchers()  # type: ignore[attr-defined]
    watchers.count = _MOST_WATCHERS
    assert page.get(f"/runs/{run.id}/live").status_code == 503

    async def first() -> str:
        return await anext(_events(_OpenSessionWatch(str(place)), watchers))

    assert asyncio.run(first()) == "retry: 30000\n\n"


def test_every_field_of_a_document_is_a_text(page: TestClient, place: Path) -> None:
    bad = "<script>x</script>\u202e\u2066\x07"
    agents = [
        {
            "name": f"agent {bad}",
            "instance_id": "a",
            "role": bad,
            "model": bad,
            "status": "error",
            "error_message": bad,
            "created_at": "2026-11-01T10:00:00Z",
            "terminated_at": "2026-11-01T10:20:00Z",
        }
    ]
    assert place.is_dir()
    runcard.collect({"team_session_id": "bad", "labels": {"k": bad}, "instances": agents})
    for path in (
        "/sessions/bad",
        "/sessions/bad/agents/a",
        "/instances",
        "/",
        "/costs?by=role",
        "/sessions/bad/audit",
    ):
        text = page.get(path).text
        assert "<script>x" not in text, path
        assert not {"\u202e", "\u2066", "\x07"}.intersection(text), path
