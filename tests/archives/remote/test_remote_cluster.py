"""How many requests a folder of archives takes, and the same folder read by the workers of a cluster."""

import json
from collections import Counter
from pathlib import Path

import pytest

import runcard
from archives.remote.records_there import Server, archived
from archives.remote.scripted_proxy import ScriptedProxy
from cluster.dask_processes import start_dask_library
from conftest import Cli


@pytest.fixture(scope="session", autouse=True)
def _dask_library() -> None:
    start_dask_library()


@pytest.fixture
def urls(cli: Cli, here: Path, folder: str) -> list[str]:
    """Three archives in a folder."""
    urls = []
    for number in range(3):
        with runcard.record("outputs", model="m", provider="p", strict=True) as run:
            (run.path / "out.txt").write_text(f"{number}\n" * 1000)
        urls.append(archived(cli, here / run.path, folder))
    return urls


@pytest.mark.usefixtures("urls")
def test_the_requests_are_those_of_the_cost_model(cli: Cli, folder: str, proxy: ScriptedProxy) -> None:
    """It is in docs/scaling.md."""
    for command, of_each in (("verify", {"GET": 6, "HEAD": 1}), ("index", {"GET": 3})):
        proxy.reset()
        assert cli(command, folder).code in {0, 2}
        found = Counter(request.method for request in proxy.requests) - Counter(GET=1)  # the listing
        assert found == {method: 3 * count for method, count in of_each.items()}, command


@pytest.mark.long
def test_workers_say_the_same_of_a_folder(
    cli: Cli, here: Path, folder: str, server: Server, urls: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    data = bytearray(server.get(urls[1]))
    data[len(data) // 2] ^= 1
    server.put(urls[1], bytes(data))
    alone = cli("verify", folder, "--json")
    assert (alone.code, json.loads(alone.out)["intact"]) == (1, False)
    assert cli("verify", folder, "--json", "--workers", "2") == alone
    listed = []
    for options in ((), ("--workers", "2")):
        monkeypatch.setenv("RUNCARD_CATALOG", str(here / f"{len(options)}.db"))
        assert cli("index", folder, *options).code == 0
        listed.append(cli("export", "runs", "--to", "csv").out)
    assert listed[0] == listed[1]
    assert len(listed[0].splitlines()) == 4
