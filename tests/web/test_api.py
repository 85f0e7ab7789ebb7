"""The API gives the JSON of the commands, and its document says what it gives."""

import json
import os
import re
from pathlib import Path

from starlette.testclient import TestClient

from conftest import Cli
from runcard.web import api
from web.sample_records import SESSION, import_session, record_run


def test_the_answers_are_those_of_the_commands(page: TestClient, place: Path, cli: Cli) -> None:
    def _command(*arguments: str) -> object:
        return json.loads(cli(*arguments, "--json").out)

    run = record_run()
    session = import_session(place.parent / "home")
    assert page.get("/api/runs").json() == _command("ls", "runs")
    assert page.get("/api/instances").json() == _command("ls", "instances")
    assert page.get(f"/api/runs/{run.id}").json() == _command("show", os.path.abspath(run.path))
    assert page.get(f"/api/sessions/{SESSION}").json() == _command("show", session.path)
    assert page.get(f"/api/sessions/{SESSION}/agents/main").json() == _command(
        "show", session.path, "--instance", "main"
    )
    assert page.get("/api/costs", params={"by": "model"}).json() == _command("costs", "--by", "model")
    assert page.post(f"/api/runs/{run.id}/verify", json={}).json() == _command(
        "verify", os.path.abspath(run.path)
    )


def test_errors_are_data_with_a_hint(page: TestClient) -> None:
    answer = page.get("/api/runs", params={"where": "cosst > 1"})
    assert answer.status_code == 400
    assert answer.json()["error"]["hint"] == "did you mean cost?"
    for path in (
        "/api/nothing",
        "/api/runs/none",
        "/api/x/y",
        "/api/sessions/none/agents/x",
        "/api/runs/none/events",
    ):
        answer = page.get(path)
        assert answer.status_code == 404, path
        assert answer.json()["error"]["message"], path


def test_the_document_has_every_route_and_no_other(page: TestClient) -> None:
    document = page.get("/api/openapi.json").json()
    routes = {
        (route.path, method.lower()) for route in api.ROUTES for method in (route.methods or set()) - {"HEAD"}
    }
    assert {(path, method) for path, methods in document["paths"].items() for method in methods} == routes
    for path, methods in document["paths"].items():
        for operation in methods.values():
            stated = {one["name"] for one in operation["parameters"] if one["in"] == "path"}
            assert stated == set(re.findall(r"{(\w+)}", path))


def test_the_events_go_on_where_the_last_answer_ended(page: TestClient) -> None:
    run = record_run()
    first = page.get(f"/api/runs/{run.id}/events").json()
    assert [event["name"] for event in first["events"]][:1] == ["run.started"]
    assert any("1,000 input" in event["about"] for event in first["events"])
    rest = page.get(f"/api/runs/{run.id}/events", params={"start": first["next_byte"]}).json()
    assert rest == {"events": [], "next_byte": first["next_byte"], "is_end": True}
