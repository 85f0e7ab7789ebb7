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
    if "back_end" in metafunc.fixturenames and not metafunc.definition.get_closest_marker("server_only"):
        is_file_only = metafunc.definition.get_closest_marker("file_only") is not None
        metafunc.parametrize(
            "back_end", ["sqlite"] if is_file_only else ["sqlite", "postgres"], scope="session"
        )


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    server = PostgresServer()
    yield server
    server.remove()


@pytest.fixture(scope="session")
def server(postgres: PostgresServer) -> PostgresServer:
    return postgres


@pytest.fixture(autouse=True)
def _catalog_of_back_end(
    back_end: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By default, the settings name the catalog of this test."""
    if back_end == "postgres":
        server = request.getfixturevalue("postgres")
        is_new = request.node.get_closest_marker("new_server") is not None
        monkeypatch.setenv(
            "RUNCARD_CATALOG", server.empty_database() if is_new else server.cleared_database()
        )
