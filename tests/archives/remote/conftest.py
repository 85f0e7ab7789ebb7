"""A real S3 server, and a proxy in front of it that can fail."""

import os
import secrets
from collections.abc import Iterator

import pytest

from archives.remote.records_there import Server
from archives.remote.scripted_proxy import ScriptedProxy
from s3_server import no_connections_left, s3_server_process, start_storage_library

SECRET = "wJalrXUtnFEMI-K7MDENG-the-secret-key"  # noqa: S105 - of nobody
KEY_ID = "AKIAIOSFODNN7EXAMPLE"


@pytest.fixture(scope="session", autouse=True)
def _storage_library() -> None:
    start_storage_library()


@pytest.fixture(scope="session")
def s3_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """The port of a server."""
    with s3_server_process(tmp_path_factory.mktemp("s3")) as port:
        yield port


@pytest.fixture(scope="session")
def session_proxy(s3_server: int) -> Iterator[ScriptedProxy]:
    proxy = ScriptedProxy(s3_server)
    yield proxy
    proxy.close()


@pytest.fixture
def proxy(session_proxy: ScriptedProxy, monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedProxy]:
    """The proxy, with credentials for it in the environment. No connection to it is kept for the next test."""
    for name in list(os.environ):
        if name.startswith(("AWS_", "GOOGLE_", "AZURE_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEY_ID)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    monkeypatch.setenv("AWS_ENDPOINT_URL", session_proxy.url)
    session_proxy.reset()
    with no_connections_left():
        yield session_proxy


@pytest.fixture(scope="session")
def session_server(s3_server: int) -> Server:
    return Server(s3_server)


@pytest.fixture
def server(session_server: Server) -> Iterator[Server]:
    yield session_server
    session_server.client.close()  # its connections: the next request opens one


@pytest.fixture
def folder(proxy: ScriptedProxy, server: Server) -> str:  # noqa: ARG001 - which sets the environment
    """The URL of a folder in a new bucket."""
    bucket = f"records-{secrets.token_hex(4)}"
    server.client.create_bucket(Bucket=bucket)
    return f"s3://{bucket}/team/archives"
