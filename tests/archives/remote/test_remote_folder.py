"""A folder of archives in object storage: its ledgers, the catalog, names, and deleting."""

import json
import shutil
import time
from pathlib import Path

import pytest

from archives.records import make_run
from archives.remote.records_there import Server, archived, found
from conftest import Cli
from waiting import wait_until


def test_ledgers_of_all_hosts_are_segments_that_chain(
    cli: Cli, here: Path, folder: str, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(3):
        archived(cli, make_run(here / "outputs"), folder)
    monkeypatch.setattr("runcard.store.remote.ledger.host_name", lambda: "other")
    archived(cli, make_run(here / "outputs"), folder)
    segments = [key for key in server.keys(folder) if key.startswith(".runcard/")]
    own = [key for key in segments if "ledger-other" not in key]
    assert [key[-14:] for key in own] == [f"{number:08}.jsonl" for number in (1, 2, 3)]
    assert len(segments) == 4
    good = found(cli, folder)
    assert (good["intact"], good["complete"], good["tally"]["good"], good["findings"]) == (True, True, 4, [])

    server.delete(f"{folder}/{own[1]}")
    kinds = {(finding["kind"], finding["message"]) for finding in found(cli, folder)["findings"]}
    assert ("ledger", "segment 2 is missing") in kinds
    assert any(kind == "chain" for kind, _ in kinds)
    assert ("ledger", "no ledger has this archive") in kinds


def test_what_changes_behind_our_back_is_found_and_named(
    cli: Cli, here: Path, folder: str, server: Server
) -> None:
    urls = [archived(cli, make_run(here / "outputs"), folder) for _ in range(4)]
    data = bytearray(server.get(urls[0]))
    data[len(data) // 2] ^= 1
    server.put(urls[0], bytes(data))
    server.delete(urls[1])
    copy = urls[2].replace(".tar.gz", ".metadata.json")
    server.put(copy, server.get(copy) + b" ")
    server.delete(urls[3].replace(".tar.gz", ".index.json"))
    result = found(cli, folder)
    assert not result["intact"]
    assert not result["complete"]
    text = json.dumps(result["findings"])
    by_place = {(finding.get("record") or "", finding.get("path") or "") for finding in result["findings"]}
    assert "large.bin" in text or "the archive is damaged" in text
    assert (urls[1], "") in by_place
    assert any(path == Path(copy).name for _, path in by_place)
    assert any(path.endswith(".index.json") for _, path in by_place)
    assert cli("verify", urls[1]).code == 1
    assert cli("restore", urls[0], "--to", str(here / "x")).code == 1
    assert (
        cli("restore", urls[3], "--to", str(here / "x")).code == 0
    )  # without its index, it is read as a whole


def test_index_of_a_mistyped_prefix_is_an_error(cli: Cli, folder: str) -> None:
    result = cli("index", f"{folder}/nowhere")
    assert (result.code, result.out) == (1, "")
    assert result.err.startswith(f"Error: there are no archives at {folder}/nowhere or below")


def test_index_makes_rows_that_are_found_by_id(cli: Cli, here: Path, folder: str, run: Path) -> None:
    run_id = json.loads((run / "metadata.json").read_bytes())["generation"]["run_id"]
    url = archived(cli, run, folder)
    assert cli("show", run_id).code == 0  # by the ledger of the store
    assert cli("index", folder).code == 0
    rows = json.loads(cli("ls", "--json").out)["records"]
    assert [(row["id"], row["path"]) for row in rows] == [(run_id, url)]
    (here / "elsewhere").mkdir()
    again = cli("index", folder, "--json")
    assert json.loads(again.out)["stores"][0] == {
        "path": folder, "records": 1, "read": 0, "removed": 0, "reachable": True,
    }  # fmt: skip
    shutil.rmtree(here / "outputs")
    assert cli("show", run_id[:8]).code == 0
    assert cli("extract", run_id, "a.txt", "-o", str(here / "elsewhere")).code == 0
    assert cli("rm", run_id, "--yes").code == 0
    assert cli("index", folder).code == 0
    assert json.loads(cli("ls", "--json").out)["records"] == []
    assert found(cli, folder)["findings"] == []


def test_prune_deletes_the_archive_first_and_leaves_an_entry(
    cli: Cli, here: Path, folder: str, server: Server, session: Path
) -> None:
    archived(cli, session, folder)
    assert cli("log", session.name, "coordinator").code == 0
    archived(cli, make_run(here / "outputs"), folder)
    listed = json.loads(cli("prune", folder, "--max-size", "1", "--dry-run", "--json").out)
    assert [candidate["archive"] for candidate in listed["candidates"]] == [True, True]
    assert cli("prune", folder, "--max-size", "1", "--yes").code == 0
    assert all(key.startswith(".runcard/ledger-") for key in server.keys(folder))
    result = found(cli, folder)
    assert (result["intact"], result["complete"], result["findings"]) == (True, True, [])
    assert cli("verify", str(here / "outputs")).code == 0


def test_settings_say_where_sessions_and_runs_go(
    cli: Cli, run: Path, session: Path, folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ARTIFACTS_REMOTE", folder)
    monkeypatch.setenv("RUNCARD_REMOTE_OUTPUTS", f"{folder}/runs")
    for record, place in ((session, folder), (run, f"{folder}/runs")):
        planned = json.loads(cli("archive", str(record), "--dry-run", "--json").out)["candidates"][0]
        done = json.loads(cli("archive", str(record), "--json").out)["archived"][0]
        assert planned["archive"] == done["archive"]
        assert done["archive"].startswith(f"{place}/20")
    monkeypatch.setenv("ARTIFACTS_REMOTE", "s3://AKIA:topsecret@bucket/x")
    refused = cli("config")
    assert "s3://…" in refused.err
    assert "topsecret" not in refused.out + refused.err


def test_a_host_whose_clock_is_wrong_does_not_confuse_the_ledgers(
    cli: Cli, here: Path, folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as other:
        other.setattr("runcard.store.remote.ledger.host_name", lambda: "other")
        other.setattr(
            "runcard.operations.archives.archive_remote.Clock.timestamp", lambda _: "2031-01-01T00:00:00Z"
        )
        url = archived(cli, make_run(here / "outputs"), folder)
    made = int(time.time())
    wait_until(lambda: int(time.time()) > made, "the next second: that of an object is a whole one")
    assert cli("rm", url, "--yes").code == 0
    assert found(cli, folder)["findings"] == []


def test_verifying_a_folder_shows_progress(cli: Cli, run: Path, folder: str) -> None:
    archived(cli, run, folder)
    assert " MB done\n" in cli("verify", folder, "--progress").err


def test_a_report_about_a_folder(cli: Cli, run: Path, folder: str, here: Path) -> None:
    url = archived(cli, run, folder)
    assert cli("verify", "--report", "report.csv", folder).code == 0
    row = (here / "report.csv").read_text().splitlines()[1]
    assert row.startswith(f'"{url}","good","unchanged since it was closed, and complete",')
