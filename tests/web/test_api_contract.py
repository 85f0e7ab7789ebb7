"""The API keeps its OpenAPI document, whatever is asked: schemathesis makes up the questions."""

from pathlib import Path
from typing import Any

import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from starlette.testclient import TestClient

from web.page_server import PageThread
from web.sample_records import import_session, record_run

_CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]


def test_the_api_keeps_its_document(page: TestClient, place: Path) -> None:
    run = record_run()
    import_session(place.parent / "home")
    asked = 0
    with PageThread() as server:
        schema = schemathesis.openapi.from_url(f"{server.url}/api/openapi.json")
        for result in schema.get_all_operations():
            operation: Any = result.ok()  # type: ignore[union-attr]  # the document is valid

            @settings(
                max_examples=16,
                derandomize=True,
                database=None,
                deadline=None,
                phases=[Phase.generate],
                suppress_health_check=list(HealthCheck),
            )
            def ask(case: Any) -> None:
                nonlocal asked
                asked += 1
                if "id" in (case.path_parameters or {}) and asked % 2:
                    case.path_parameters["id"] = run.id
                case.call_and_validate(checks=_CHECKS)

            given(case=operation.as_strategy())(ask)()
    assert asked > 50
    assert page.get("/api/openapi.json").status_code == 200
