"""The ledger of a store: what it makes visible, and what it cannot."""

import json
import os
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from conftest import Cli
from runcard.digests import sha256_bytes
from runcard.documents import chain
from runcard.encoding import COMPACT, encode_json
from runcard.operations.checks.ledger import history
from runcard.operations.checks.ledger import in_order as ledger_in_order
from runcard.store.ledger import CLOSED, Ledger, LedgerEntry, host_name, in_order
from runs.runs import complaints, copy_store, read, record_one, verdict
from whole_ledgers import entries, ledgers


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with three closed runs, to be copied."""
    outputs = tmp_path_factory.mktemp("ledger") / "outputs"
    for _ in range(3):
        record_one(outputs)
    return outputs


@pytest.fixture
def store(made: Path, tmp_path: Path) -> Path:
    return copy_store(made, tmp_path / "outputs")


def runs_of(store: Path) -> list[Path]:
    """In the order in which they were made: `-2` stands for the second of a second."""
    runs = [path for path in store.iterdir() if path.name != ".runcard"]
    return sorted(runs, key=lambda run: read(run)["generation"]["run_id"])


def ledger_of(store: Path) -> Path:
    (path,) = (store / ".runcard").glob("ledger-*.jsonl")
    return path


def found(said: dict[str, Any]) -> list[tuple[str, str, str]]:
    return [(one["kind"], one["record"], one["path"]) for one in said["findings"]]


def test_every_closed_run_is_an_entry_and_the_entries_are_a_chain(store: Path) -> None:
    ((path, journal, checked),) = ledgers(str(store))
    assert path == str(ledger_of(store))
    assert checked.faults == ()
    assert checked.heads[0].writer == f"ledger-{host_name()}"
    for run, entry in zip(runs_of(store), entries(journal), strict=True):
        assert entry.event == CLOSED
        assert (entry.kind, entry.path) == ("run", run.name)
        assert entry.id == read(run)["generation"]["run_id"]
        assert entry.sha256 == sha256_bytes((run / "metadata.json").read_bytes()).hex


def test_each_document_names_the_head_that_it_saw(store: Path) -> None:
    ((_, journal, _),) = ledgers(str(store))
    hashes = [entry.hash for entry in entries(journal)]
    assert [read(run)["ledger_head"] for run in runs_of(store)] == [None, *hashes[:-1]]


def test_a_changed_entry_breaks_its_chain(cli: Cli, store: Path) -> None:
    ledger = ledger_of(store)
    ledger.write_bytes(ledger.read_bytes().replace(b'"kind":"run"', b'"kind":"ran"', 1))
    said = verdict(store)
    assert ("chain", f".runcard/{ledger.name}", f".runcard/{ledger.name}") in found(said)
    assert said["intact"] is False
    done = cli("verify", store)
    assert done.code == 1
    assert f"Error: {store}: the store is CHANGED (nothing missing)" in complaints(done.out)
    assert f"  .runcard/{ledger.name}: line 1: the payload does not match its digest [chain]" in complaints(
        done.out
    )


def test_a_torn_entry_is_a_warning(cli: Cli, store: Path) -> None:
    with ledger_of(store).open("ab") as ledger:
        ledger.write(b'{"seq": 4')
    done = cli("verify", store)
    assert done.code == 2
    assert complaints(done.out) == [
        (
            f"Warning: {store}: .runcard/{ledger_of(store).name}: the last line is torn: an entry was not finished"
            " [ledger]"
        )
    ]
    assert verdict(store)["complete"] is True


def test_a_run_that_was_removed_is_named(cli: Cli, store: Path) -> None:
    gone = runs_of(store)[1]
    shutil.rmtree(gone)
    done = cli("verify", store)
    assert done.code == 1
    assert complaints(done.out) == [
        f"Error: {store}: the store is INCOMPLETE (nothing changed)",
        f"  {gone.name}: the ledger has this run, the store does not: it was removed [ledger]",
    ]
    assert "3 records: 2 good, 1 removed" in done.out.splitlines()


def test_a_run_that_was_renamed_is_still_there_and_said_to_be_moved(cli: Cli, store: Path) -> None:
    moved = runs_of(store)[0]
    moved.rename(store / "my-favourite")
    (finding,) = verdict(store)["findings"]
    assert (finding["kind"], finding["record"], finding["expected"]) == ("ledger", "my-favourite", moved.name)
    said = verdict(store)
    assert (said["intact"], said["complete"]) == (True, True)
    assert cli("verify", store).code == 2


def test_a_run_that_the_ledger_lacks_is_a_warning(cli: Cli, store: Path, tmp_path: Path) -> None:
    foreign = record_one(tmp_path / "elsewhere")
    copied = store / "2020-01-01_000000"
    shutil.copytree(foreign, copied, symlinks=True)
    done = cli("verify", store)
    assert done.code == 2
    assert complaints(done.out) == [
        f"Warning: {copied}: the ledger of the store does not know this run [ledger]"
    ]
    said = verdict(store)
    assert (said["intact"], said["complete"]) == (True, True)


def test_a_cut_ledger_is_noticed_by_what_a_later_run_saw(cli: Cli, store: Path) -> None:
    first, second, third = runs_of(store)
    ledger = ledger_of(store)
    lines = ledger.read_bytes().splitlines(keepends=True)
    ledger.write_bytes(lines[0])
    said = verdict(store)
    assert (said["intact"], said["complete"]) == (True, True)
    assert found(said) == sorted(
        [
            ("ledger", second.name, "metadata.json"),  # not known any more
            ("ledger", third.name, "metadata.json"),
            ("ledger", third.name, "metadata.json"),  # names the head of the second
        ]
    )
    assert cli("verify", store).code == 2
    assert verdict(first)["findings"] == []


def test_an_entry_that_was_cut_out_before_a_runs_own_is_a_loss(cli: Cli, store: Path) -> None:
    third = runs_of(store)[2]
    ledger = ledger_of(store)
    lines = ledger.read_bytes().splitlines(keepends=True)
    ledger.write_bytes(lines[0] + lines[2])
    assert verdict(third)["complete"] is False
    assert cli("verify", third).code == 1


def test_an_entry_with_escapes_is_found_in_a_store_as_it_is_for_one_run(store: Path) -> None:
    ledger = ledger_of(store)
    text = ledger.read_text().replace('"hash":"', '"hash":"\\u00')
    ledger.write_text(re.sub(r'(?<="hash":"\\u00)(.)', lambda match: f"{ord(match[1]):02x}", text))
    for path in (store, runs_of(store)[-1]):
        assert verdict(path)["findings"] == []


def test_the_very_last_entry_can_be_taken_away_unseen(store: Path) -> None:
    """What the documentation says that nobody can see, nobody sees; a whole ledger that is gone is seen."""
    ledger = ledger_of(store)
    lines = ledger.read_bytes().splitlines(keepends=True)
    ledger.write_bytes(b"".join(lines[:-1]))
    shutil.rmtree(runs_of(store)[-1])
    assert verdict(store)["findings"] == []
    shutil.rmtree(store / ".runcard")
    assert [found["kind"] for found in verdict(store)["findings"]] == ["ledger"]


def test_the_ledgers_of_other_hosts_count_as_well(store: Path) -> None:
    """A store on a shared disk: each host writes its own, and all are read."""
    first = ledger_of(store)
    identity = "ledger-other.host"
    entry = json.loads(first.read_text().splitlines()[0])
    fields = {"seq": 1, "timestamp": entry["timestamp"], "event": CLOSED, "writer": identity}
    line = chain.make_line(fields, entry["payload"], "0" * 32, chain.first_link(identity, identity))
    (first.parent / f"{identity}.jsonl").write_bytes(encode_json(line, COMPACT))
    assert [os.path.basename(path) for path, _, _ in ledgers(str(store))] == sorted(
        [first.name, f"{identity}.jsonl"]
    )
    assert verdict(store)["findings"] == []


def test_what_is_no_entry_is_passed_over(tmp_path: Path) -> None:
    with Ledger(str(tmp_path)) as ledger:
        assert ledger.head is None
        for payload in ({"kind": "run"}, {"kind": "run", "id": None, "path": "x", "sha256": "x"}):
            ledger.append("note", "2026-11-15T10:00:00Z", payload)
        ledger.append(CLOSED, "2026-11-15T10:00:00Z", {"kind": "run", "id": "r", "path": "p", "sha256": "x"})
    ((_, journal, checked),) = ledgers(str(tmp_path))
    assert [entry.id for entry in entries(journal)] == ["r"]
    assert checked.faults == ()
    assert checked.heads[0].count == 3


def test_a_torn_entry_is_written_over(tmp_path: Path) -> None:
    with Ledger(str(tmp_path)) as ledger:
        ledger.append("one", "2026-11-15T10:00:00Z", {})
    with Path(ledger.path).open("ab") as file:
        file.write(b'{"seq": 2, "timest')
    with Ledger(str(tmp_path)) as ledger:
        ledger.append("two", "2026-11-15T10:00:00Z", {})
    ((_, journal, checked),) = ledgers(str(tmp_path))
    assert [entry.line["event"] for entry in journal.entries] == ["one", "two"]
    assert (checked.faults, journal.torn) == ((), b"")


def test_a_ledger_longer_than_its_tail_goes_on(tmp_path: Path) -> None:
    for number in range(4):
        with Ledger(str(tmp_path)) as ledger:
            ledger.append("long", "2026-11-15T10:00:00Z", {"number": number, "text": "x" * 30_000})
    ((_, journal, checked),) = ledgers(str(tmp_path))
    assert [entry.line["payload"]["number"] for entry in journal.entries] == [0, 1, 2, 3]
    assert checked.faults == ()


def test_entries_of_one_host_stay_in_their_order_when_its_clock_is_set_back(tmp_path: Path) -> None:
    times = ["2026-11-15T10:00:00.000Z", "2026-11-15T09:00:00.000Z", "2026-11-15T11:00:00.000Z"]
    said = {"kind": "run", "path": "p", "sha256": "0" * 64}
    with Ledger(str(tmp_path)) as ledger:
        for number, time in enumerate(times):
            ledger.append(CLOSED, time, said | {"id": str(number)})
    here = next(journal for _, journal, _ in ledgers(str(tmp_path)))
    there = [LedgerEntry(CLOSED, "run", "there", "p", "0" * 64, "", "2026-11-15T10:30:00.000Z")]
    assert [entry.id for entry in in_order([entries(here), there])] == ["0", "1", "there", "2"]
    assert [entry["id"] for entry in ledger_in_order(history(tmp_path))] == ["0", "1", "2"]


def test_a_folder_without_ledgers_has_none(tmp_path: Path) -> None:
    assert list(ledgers(str(tmp_path))) == []
