"""All tests of the catalog run twice: with a file, and with a real PostgreSQL server, started once for each test process.

Tests that are about the file itself are marked with `file_only`. Each test finds an empty server.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))

from bench.postgres_server import PostgresServer


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "file_only: about a catalog in a file")
    config.addinivalue_line("markers", "new_server: needs a server without the tables of a catalog")
    config.addinivalue_line("markers", "server_only: about a catalog on a server")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "back_end" in metafunc.fixturenames:
        is_only = {
            name: metafunc.definition.get_closest_marker(f"{name}_only") for name in ("file", "server")
        }
        names = ["sqlite"] * (not is_only["server"]) + ["postgres"] * (not is_only["file"])
        metafunc.parametrize("back_end", names, scope="session")


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    server = PostgresServer()
    yield server
    server.remove()


@pytest.fixture(scope="session")
def server(postgres: PostgresServer) -> PostgresServer:
    return postgres


@pytest.fixture(scope="session")
def _server_of_back_end(back_end: str, request: pytest.FixtureRequest) -> PostgresServer | None:
    """Of the session, so that the server is there before the test begins."""
    return request.getfixturevalue("postgres") if back_end == "postgres" else None


@pytest.fixture(autouse=True)
def _catalog_of_back_end(
    _server_of_back_end: PostgresServer | None,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """By default, the settings name the catalog of this test."""
    if _server_of_back_end is not None:
        is_new = request.node.get_closest_marker("new_server") is not None
        url = _server_of_back_end.empty_database if is_new else _server_of_back_end.cleared_database
        monkeypatch.setenv("RUNCARD_CATALOG", url())
