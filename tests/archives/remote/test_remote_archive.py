"""One archive in object storage: into it, out of it, and one file of it."""

import os
from pathlib import Path

import pytest

import runcard
from archives.records import state
from archives.remote.records_there import archived
from archives.remote.scripted_proxy import ScriptedProxy
from conftest import Cli


@pytest.mark.parametrize("kind", ["run", "session"])
def test_a_record_goes_there_and_comes_back(
    kind: str, cli: Cli, folder: str, request: pytest.FixtureRequest
) -> None:
    record: Path = request.getfixturevalue(kind)
    before, name = state(record), record.name
    url = archived(cli, record, folder)
    assert url.startswith(f"{folder}/20")
    assert url.endswith(f"/{name}.tar.gz")
    assert cli("verify", url).code == 0
    shown = cli("show", url)
    assert shown.code == 0
    assert name in shown.out or "m" in shown.out
    restored = cli("restore", url)
    assert restored.code == 0, restored.err
    assert state(record) == before


def test_the_archive_is_created_last_and_what_is_beside_it_first(
    cli: Cli, run: Path, folder: str, proxy: ScriptedProxy
) -> None:
    name = run.name
    archived(cli, run, folder)
    puts = [
        (Path(request.path).name, request.headers.get("if-none-match"))
        for request in proxy.requests
        if request.method == "PUT"
    ]
    ends = [(file.removeprefix(name), condition) for file, condition in puts]
    assert ends[:4] == [
        (".SHA256SUMS", "*"),
        (".metadata.json", "*"),
        (".index.json", "*"),
        (".tar.gz", "*"),
    ]


def test_one_file_takes_four_requests(
    cli: Cli, run: Path, folder: str, proxy: ScriptedProxy, tmp_path: Path
) -> None:
    data = (run / "large.bin").read_bytes()
    url = archived(cli, run, folder)
    proxy.reset()
    assert cli("extract", url, "large.bin", "-o", str(tmp_path / "x")).code == 0
    assert (tmp_path / "x" / "large.bin").read_bytes() == data
    assert len(proxy.requests) <= 4
    assert proxy.bytes_sent <= 2 * len(data)


def test_showing_a_record_reads_no_more_than_a_part_of_it(
    cli: Cli, here: Path, folder: str, proxy: ScriptedProxy, session: Path
) -> None:
    with runcard.record(here / "outputs", model="m", provider="p") as run:
        (Path(run.path) / "large.bin").write_bytes(os.urandom(9 << 20))
    urls = [archived(cli, Path(run.path), folder), archived(cli, session, folder)]
    for url in urls:
        for command in (("show", url), ("show", url, "--json"), ("validate", url)):
            proxy.reset()
            assert cli(*command).code in {0, 2}, command
            assert proxy.bytes_sent < 5 << 20, command
    assert "large.bin" in cli("show", urls[0], "--json").out
    for change in (("amend", urls[0], "note", "x"), ("sign", urls[0]), ("migrate", urls[0])):
        refused = cli(*change)
        assert refused.code in {1, 64}
        assert "s3:" not in os.listdir(here)
