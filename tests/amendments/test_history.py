"""The ledger of a store: its history for people and machines, and what it makes visible of amendments."""

import json
import shutil
from pathlib import Path

import pytest

from amendments.records import entries, lines, record
from conftest import Cli
from runcard.operations.amendments.amend import amend
from runcard.operations.amendments.redact import redact
from runcard.store.ledger import DELETED, Ledger
from runs.runs import kinds, read, verdict


def test_the_history_of_a_store_is_told_in_order(cli: Cli, run: Path) -> None:
    redact(run, files=["notes.txt"], reason="law", by="ada")
    amend(run, "note", "x", by="ben")
    done = cli("ledger", run.parent)
    assert done.code == 0
    run_id = read(run)["generation"]["run_id"]
    told = [line.split("  ", 1)[1] for line in done.out.splitlines()]
    assert told == [
        f"closed      run {run.name} ({run_id})",
        f"redacted    run {run.name} ({run_id}) by ada because law",
        f"amended     run {run.name} ({run_id}) by ben",
    ]


def test_the_history_as_data(cli: Cli, run: Path) -> None:
    sealed = read(run)
    redact(run, files=["notes.txt"], reason="law", by="ada")
    said = json.loads(cli("ledger", run.parent, "--json").out)
    (book,) = said["ledgers"]
    assert book["intact"] is True
    closed, redacted = book["entries"]
    assert (closed["event"], redacted["event"]) == ("record.closed", "record.redacted")
    assert redacted["sha256"] == closed["sha256"]
    assert (redacted["kind"], redacted["id"]) == ("run", sealed["generation"]["run_id"])
    assert redacted["amendments"]["count"] == 1


def test_the_history_of_the_store_that_is_set_is_shown_unless_another_is_named(
    cli: Cli, run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(run.parent.parent)
    assert cli("ledger").out == cli("ledger", run.parent).out != ""


def test_a_ledger_that_does_not_hold_is_shown_with_a_warning(cli: Cli, run: Path) -> None:
    (path,) = (run.parent / ".runcard").glob("ledger-*")
    path.write_bytes(path.read_bytes().replace(b'"kind":"run"', b'"kind":"ran"') + b'{"seq"')
    done = cli("ledger", run.parent)
    assert done.code == 2
    assert "line 1: the payload does not match its digest" in done.err
    assert "the last line is torn" in done.err
    assert "closed" in done.out


def test_a_folder_without_a_ledger_is_an_error(cli: Cli, tmp_path: Path) -> None:
    assert cli("ledger", tmp_path).code == 1
    assert cli("ledger", tmp_path / "nowhere").code == 1


@pytest.mark.parametrize("left", [0, 1])
def test_amendments_that_were_cut_off_are_missed(run: Path, left: int) -> None:
    amend(run, "note", "one")
    amend(run, "approval", "ada")
    path = run / "amendments.jsonl"
    whole = path.read_bytes().splitlines(keepends=True)
    if left:
        path.write_bytes(b"".join(whole[:left]))
    else:
        path.unlink()
    said = verdict(run)
    assert kinds(said) == {("tail", "amendments.jsonl")}
    assert said["complete"] is False
    gone = "amendment was" if left == 1 else f"{2 - left} amendments were"
    assert said["findings"][0]["message"] == f"the last {gone} cut off"


def test_amendments_that_were_written_anew_are_found(run: Path) -> None:
    amend(run, "note", "one")
    (run / "amendments.jsonl").unlink()
    shutil.copytree(run.parent / ".runcard", run.parent / "kept")
    shutil.rmtree(run.parent / ".runcard")
    amend(run, "note", "another")
    shutil.rmtree(run.parent / ".runcard")
    (run.parent / "kept").rename(run.parent / ".runcard")
    assert kinds(verdict(run)) == {("chain", "amendments.jsonl")}


def test_a_tombstone_is_told_from_a_loss(cli: Cli, run: Path) -> None:
    (entry,) = lines(next((run.parent / ".runcard").glob("ledger-*")))
    shutil.move(run, run.parent.parent / "aside")
    assert cli("verify", run.parent).code == 1
    with Ledger(str(run.parent)) as ledger:
        ledger.append(DELETED, "2999-01-01T00:00:00Z", entry["payload"])
    assert verdict(run.parent)["findings"] == []
    shutil.move(run.parent.parent / "aside", run)
    (found,) = verdict(run.parent)["findings"]
    assert "was deleted on purpose, and it is here" in found["message"]
    assert cli("verify", run.parent).code == 2


def test_a_tombstone_of_another_host_counts_as_well(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (entry,) = lines(next((run.parent / ".runcard").glob("ledger-*")))
    monkeypatch.setattr("runcard.store.ledger.host_name", lambda: "elsewhere")
    with Ledger(str(run.parent)) as ledger:
        ledger.append(DELETED, "2999-01-01T00:00:00Z", entry["payload"])
    shutil.rmtree(run)
    assert verdict(run.parent)["findings"] == []


def test_a_store_tells_what_was_removed_replaced_added_and_moved(cli: Cli, tmp_path: Path) -> None:
    store = tmp_path / "outputs"
    removed, replaced, moved, good = (record(store) for _ in range(4))
    redact(good, files=["notes.txt"], reason="law")
    added = record(tmp_path / "elsewhere").rename(store / "2020-01-01_000000")
    shutil.rmtree(removed)
    document = (replaced / "metadata.json").read_bytes()
    (replaced / "metadata.json").write_bytes(document.replace(b'"m"', b'"n"'))
    moved.rename(store / "2019-01-01_000000")
    done = cli("verify", store)
    assert done.code == 1
    found = {(one["record"], one["kind"], one["message"]) for one in verdict(store)["findings"]}
    assert {
        (removed.name, "ledger", "the ledger has this run, the store does not: it was removed"),
        (replaced.name, "ledger", "the ledger knows this run with another metadata document"),
        (added.name, "ledger", "the ledger of the store does not know this run"),
        ("2019-01-01_000000", "ledger", f"the ledger has this run as {moved.name}: it was moved, or copied"),
    } <= found
    assert entries(good)[0]["why"] == "law"
    assert {one[1] for one in found if one[0] == good.name} == {"withheld"}
