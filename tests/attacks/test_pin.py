"""Somebody who may write to the whole store shortens or rewrites its history; whoever pinned it finds out."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from attacks.edited import closed_entry, kinds, ledger_lines, ledger_of, messages, session, small_run, verify
from conftest import Cli


@pytest.fixture
def outputs(here: Path) -> Path:
    for _ in range(3):
        small_run(here / "outputs")
    return here / "outputs"


@pytest.fixture
def pin(here: Path, outputs: Path) -> Path:
    """A pin file that saw the store with three runs."""
    file = here / "elsewhere" / "pin.json"
    file.parent.mkdir()
    code, report = verify(outputs, "--pin", file)
    assert (code, report["pin"]) == (0, {"file": str(file), "ledgers": 1, "new": 1, "updated": True})
    return file


def test_a_store_that_grows(outputs: Path, pin: Path) -> None:
    before = json.loads(pin.read_bytes())
    small_run(outputs)
    assert verify(outputs, "--pin", pin)[0] == 0
    ((store, known),) = json.loads(pin.read_bytes())["stores"].items()
    assert store == str(outputs)
    assert [seen["entries"] for seen in known.values()] == [4]
    assert before != json.loads(pin.read_bytes())


def test_the_last_runs_removed_with_their_entries(outputs: Path, pin: Path, cli: Cli) -> None:
    """Without the pin nobody can see it."""
    ledger, seen = ledger_of(outputs), pin.read_bytes()
    shutil.rmtree(max(outputs.glob("2*")))
    ledger.write_bytes(b"".join(ledger.read_bytes().splitlines(keepends=True)[:-1]))
    assert verify(outputs)[0] == 0
    code, report = verify(outputs, "--pin", pin)
    assert (code, report["complete"], kinds(report)) == (1, False, {"ledger"})
    assert "had 3 entries at the last check, and has 2" in messages(report, "ledger")[0]
    assert report["pin"]["updated"] is False
    assert pin.read_bytes() == seen
    done = cli("verify", outputs, "--pin", pin)
    assert done.code == 1
    assert "the ledger was shortened" in done.out
    assert "delete the file and pin again" in done.out
    pin.unlink()
    assert verify(outputs, "--pin", pin)[0] == 0


def test_a_history_that_was_rewritten(outputs: Path, pin: Path) -> None:
    """Every run replaced by another, and a ledger that fits them, with more entries than before."""
    host = ledger_of(outputs).name.removeprefix("ledger-").removesuffix(".jsonl")
    name = ledger_of(outputs).name
    shutil.rmtree(outputs)
    for _ in range(4):
        small_run(outputs)
    entries = [closed_entry(run) for run in sorted(outputs.glob("2*"))]
    assert verify(outputs)[0] == 0
    code, report = verify(outputs, "--pin", pin)
    assert (code, report["intact"]) == (1, False)
    assert messages(report, "ledger") == [
        "the ledger was rewritten: entry 3 is not the one of the last check"
    ]
    (outputs / ".runcard" / name).write_bytes(ledger_lines(*entries, host=host))
    assert verify(outputs, "--pin", pin)[0] == 1


@pytest.mark.parametrize("what", ["ledger", "folder", "store"])
def test_what_is_gone(outputs: Path, pin: Path, here: Path, what: str) -> None:
    if what == "ledger":
        ledger_of(outputs).unlink()
    else:
        shutil.rmtree(outputs / ".runcard" if what == "folder" else outputs)
    code, report = verify(outputs, "--pin", pin)
    assert (code, report["complete"]) == (1, False)
    assert any("the ledger is missing" in one for one in messages(report, "ledger"))
    small_run(here / "other")
    code, report = verify(here, "--pin", pin)  # the folder above: the store was below it
    assert code == 1
    assert any("the ledger is missing" in one for one in messages(report, "ledger"))
    assert verify(here / "other", "--pin", here / "second.json")[0] == 0


def test_a_broken_chain_does_not_move_the_pin(outputs: Path, pin: Path) -> None:
    small_run(outputs)
    seen, ledger = pin.read_bytes(), ledger_of(outputs)
    ledger.write_bytes(ledger.read_bytes().replace(b'"seq":1', b'"seq":9', 1))
    code, report = verify(outputs, "--pin", pin)
    assert (code, report["pin"]["updated"]) == (1, False)
    assert pin.read_bytes() == seen


def test_a_ledger_that_came_since_is_a_warning_once(outputs: Path, pin: Path) -> None:
    other = outputs / ".runcard" / "ledger-other.jsonl"
    entry = closed_entry(min(outputs.glob("2*")))[1]
    other.write_bytes(ledger_lines(("record.amended", entry), host="other"))
    code, report = verify(outputs, "--pin", pin)
    assert code == 2
    assert "the ledger was not here at the last check" in messages(report, "ledger")
    assert verify(outputs, "--pin", pin)[0] == 0


def test_a_single_record_pins_the_ledger_of_its_store(outputs: Path, here: Path) -> None:
    run, pin = min(outputs.glob("2*")), here / "pin.json"
    assert verify(run, "--pin", pin)[0] == 0
    assert list(json.loads(pin.read_bytes())["stores"]) == [str(outputs)]
    ledger = ledger_of(outputs)
    ledger.write_bytes(b"".join(ledger.read_bytes().splitlines(keepends=True)[:-1]))
    assert verify(run, "--pin", pin)[0] == 1


def test_many_paths_and_stores_that_are_not_looked_at(outputs: Path, pin: Path, here: Path) -> None:
    artifacts = session(here).parent
    assert verify(outputs, artifacts, "--pin", pin)[1]["pin"]["ledgers"] == 2
    shutil.rmtree(outputs)
    assert verify(artifacts, "--pin", pin)[0] == 0  # nobody asked about the other one
    assert len(json.loads(pin.read_bytes())["stores"]) == 2


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b'{"version": "1.0.0"}',
        b'{"version": "2.0.0", "stores": {}}',
        b'{"version": 1, "stores": {}}',
        b'{"version": "1.0.0", "stores": {"/x": {"ledger-a.jsonl": {"entries": "3", "head": "a"}}}}',
        b'{"version": "1.0.0", "stores": {"/x": {"ledger-a.jsonl": {"entries": true, "head": "a"}}}}',
        b'{"version": "1.0.0", "stores": {"/x": []}}',
        b'{"version": "1.0.0", "stores": [1]}',
        b"[" * 100_000,
    ],
)
def test_a_pin_file_that_is_damaged(outputs: Path, here: Path, content: bytes) -> None:
    (here / "pin.json").write_bytes(content)
    code, report = verify(outputs, "--pin", here / "pin.json")
    assert code == 1
    assert report["error"].startswith(f"{here / 'pin.json'} is not a pin file, or is damaged")
    assert (here / "pin.json").read_bytes() == content


def test_a_pin_file_that_is_none(outputs: Path, here: Path) -> None:
    os.mkfifo(here / "fifo")
    code, report = verify(outputs, "--pin", here / "fifo")
    assert (code, "is a FIFO, not a regular file" in report["error"]) == (1, True)
    assert verify(outputs, "--pin", here)[0] == 1
    assert verify(outputs, "--pin", here / "nowhere" / "pin.json")[0] == 1


def test_many_checks_at_once(outputs: Path, pin: Path) -> None:
    command = [sys.executable, "-m", "runcard", "verify", "--pin", str(pin), str(outputs)]
    checks = [subprocess.Popen(command, stdout=subprocess.DEVNULL) for _ in range(4)]
    small_run(outputs)
    assert {check.wait(60) for check in checks} <= {0, 2}  # 2: a run is at work
    assert verify(outputs, "--pin", pin)[0] == 0


def test_a_link_to_the_store_is_the_same_store(here: Path, outputs: Path, pin: Path) -> None:
    ledger = ledger_of(outputs)
    ledger.write_bytes(b"".join(ledger.read_bytes().splitlines(keepends=True)[:1]))
    (here / "link").symlink_to(outputs)
    code, report = verify(here / "link", "--pin", pin)
    assert (code, report["pin"]["updated"]) == (1, False)


def test_nothing_to_pin_is_a_warning(here: Path, outputs: Path) -> None:
    copy = here / "copy"
    copy.mkdir()
    shutil.copytree(next(outputs.glob("2*")), copy / "run")
    code, report = verify(copy / "run", "--pin", here / "pin.json")
    assert (code, report["pin"]["ledgers"]) == (2, 0)


def test_a_folder_that_does_not_exist_is_said_before_anything_is_read(
    outputs: Path, here: Path, cli: Cli
) -> None:
    small_run(outputs)
    done = cli("verify", "--pin", "nowhere/pin.json", outputs)
    assert (done.code, done.out) == (1, "")
    assert done.err == (
        f"Error: cannot pin to nowhere/pin.json: {here}/nowhere does not exist\n"
        "  hint: create this folder, or name another file\n"
    )
