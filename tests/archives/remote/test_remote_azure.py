"""Archives on Azure, by an emulator of it that runs on this machine."""

import base64
import hashlib
import hmac
import http.client
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from email.utils import formatdate
from pathlib import Path

import pytest
from install_tools import CLIENTS

from archives.records import state
from archives.remote.records_there import archived, copied_to_other_host, found
from conftest import Cli
from needs import skip_without
from s3_server import no_connections_left
from waiting import wait_until

pytestmark = pytest.mark.long
_ACCOUNT = "devstoreaccount1"
_KEY = base64.b64encode(hashlib.sha512(b"a key of nobody").digest()).decode()


@pytest.fixture
def port(tmp_path: Path) -> Iterator[int]:
    """The port of an emulator, which is ended afterwards."""
    skip_without("npm programs")
    program, node = CLIENTS / "bin" / "azurite-blob", shutil.which("node") or CLIENTS / "bin" / "node22"
    folder = tmp_path / "azure"
    folder.mkdir()
    log = folder / "log"
    options = [
        "--silent",
        "--disableTelemetry",
        "--inMemoryPersistence",
        "--skipApiVersionCheck",
        "--blobPort",
        "0",
    ]
    with log.open("wb") as file:
        process = subprocess.Popen(
            [str(node), str(program.resolve()), *options],
            stdout=file,
            stderr=file,
            cwd=folder,
            env={**os.environ, "AZURITE_ACCOUNTS": f"{_ACCOUNT}:{_KEY}"},
        )
    with no_connections_left():
        try:
            yield _port(log, process)
        finally:
            process.kill()
            process.wait()


def _port(log: Path, process: "subprocess.Popen[bytes]") -> int:
    pattern = re.compile(r"listens on http://127\.0\.0\.1:(\d+)")
    wait_until(lambda: pattern.search(log.read_text()) or process.poll() is not None, "the emulator")
    match = pattern.search(log.read_text())
    assert match, log.read_text()
    return int(match[1])


@pytest.fixture
def container(port: int, monkeypatch: pytest.MonkeyPatch) -> str:
    """A new container, with the credentials for it in the environment."""
    headers = {"x-ms-date": formatdate(usegmt=True), "x-ms-version": "2021-08-06"}
    lines = "".join(f"{name}:{value}\n" for name, value in headers.items())
    signed = f"PUT{chr(10) * 12}{lines}/{_ACCOUNT}/{_ACCOUNT}/records\nrestype:container"
    code = base64.b64encode(hmac.digest(base64.b64decode(_KEY), signed.encode(), "sha256")).decode()
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    headers["Authorization"] = f"SharedKey {_ACCOUNT}:{code}"
    connection.request("PUT", f"/{_ACCOUNT}/records?restype=container", headers=headers)
    assert connection.getresponse().status == 201
    connection.close()
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_NAME", _ACCOUNT)
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_KEY", _KEY)
    monkeypatch.setenv("AZURE_STORAGE_ENDPOINT", f"http://127.0.0.1:{port}/{_ACCOUNT}")
    return "az://records"


def test_a_record_goes_to_azure_and_comes_back(
    cli: Cli, run: Path, here: Path, container: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, before, copy = f"{container}/team", state(run), copied_to_other_host(run, here / "other")
    monkeypatch.setattr(
        "runcard.store.remote.upload._LARGE", 1 << 20
    )  # in parts, and copied with a condition
    url = archived(cli, run, folder)
    assert found(cli, folder)["findings"] == []
    assert cli("extract", url, "a.txt", "-o", str(here / "x")).code == 0
    assert cli("restore", url).code == 0
    assert state(run) == before
    monkeypatch.setattr("runcard.store.remote.upload.host_name", lambda: "other")
    lost = cli("archive", str(copy), "--to", folder)
    assert (lost.code, "archived it" in lost.err) == (1, True)
    assert cli("rm", url, "--yes").code == 0
    assert found(cli, folder)["findings"] == []
    assert "the bucket does not exist" in cli("verify", "az://no-container/x").err
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_KEY", base64.b64encode(b"wrong").decode())
    assert "access denied" in cli("verify", folder).err
