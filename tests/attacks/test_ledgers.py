"""Somebody tampers with the ledger of a store, or puts one there: a ledger is believed only where records name it."""

import os
import shutil
import signal
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

import pytest

from attacks.edited import (
    alone,
    change,
    closed_entry,
    kinds,
    ledger_lines,
    ledger_of,
    messages,
    session,
    small_run,
    verify,
)
from runcard.documents import chain
from runcard.encoding import COMPACT, encode_json
from runcard.operations.amendments.amend import amend
from runcard.operations.archives.archive import archive
from runcard.operations.runs.close import close
from runcard.store.runs.directory import open_runs

OPEN = """
import os, sys, time, runcard
with runcard.record(sys.argv[1], strict=True) as run:
    run.log("page.read", number=1)
    print(run.path, flush=True)
    {end}
"""


@pytest.fixture
def outputs(here: Path) -> Path:
    """A store with three runs: all but the first name an entry of the ledger."""
    for _ in range(3):
        small_run(here / "outputs")
    return here / "outputs"


def runs(store: Path) -> list[Path]:
    return sorted(store.glob("2*"))


def add_amendment(run: Path) -> None:
    """An amendment that holds in itself, as anybody can write one who may write to the record."""
    first = sha256((run / "metadata.json").read_bytes()).hexdigest()
    payload = {"text": "approved by the board", "who": "ada", "when": "2026-01-01T00:00:00Z", "why": None}
    fields = {"seq": 1, "timestamp": "2026-01-01T00:00:00Z", "event": "note", "writer": "amendments"}
    line = chain.make_line(fields, payload, "0" * 32, first)
    (run / "amendments.jsonl").write_bytes(encode_json(line, COMPACT))


def test_an_amendment_that_the_ledger_does_not_know(outputs: Path) -> None:
    amend(runs(outputs)[1], "note", "known")
    assert verify(outputs)[0] == 0
    add_amendment(runs(outputs)[0])
    for path in (outputs, runs(outputs)[0]):
        code, report = verify(path)
        assert (code, report["intact"], kinds(report)) == (2, True, {"ledger"})
        assert messages(report, "ledger") == ["the ledger does not know the last amendment"]


def test_one_more_amendment_than_the_ledger_knows(here: Path) -> None:
    record = session(here)
    amend(record, "note", "known")
    known = (record / "amendments.jsonl").read_bytes()
    ledger = ledger_of(record.parent).read_bytes()
    amend(record, "note", "added")
    ledger_of(record.parent).write_bytes(ledger)
    assert verify(record)[0] == 2
    (record / "amendments.jsonl").write_bytes(known)
    assert verify(record)[0] == 0


def test_a_single_record_is_held_to_a_ledger_whose_chain_is_checked(outputs: Path) -> None:
    """The entry of the first run is exchanged for one that fits its edited document."""
    ledger, (first, second, _) = ledger_of(outputs), runs(outputs)
    old = closed_entry(first)[1]["sha256"]
    change(first / "metadata.json", "ledger_head", "0" * 64)
    new = closed_entry(first)[1]["sha256"]
    ledger.write_text(ledger.read_text().replace(old, new))
    for run in (first, second):
        code, report = verify(run)
        assert (code, report["intact"]) == (1, False)
        assert "chain" in kinds(report)
    code, report = verify(*runs(outputs))
    assert len(messages(report, "chain")) == 1  # once for the store


def test_a_ledger_that_is_gone(outputs: Path) -> None:
    ledger_of(outputs).unlink()
    for path in (outputs, runs(outputs)[2]):
        code, report = verify(path)
        assert (code, report["intact"], report["complete"], kinds(report)) == (2, True, True, {"ledger"})
    shutil.rmtree(outputs / ".runcard")
    code, report = verify(outputs)
    assert (code, kinds(report)) == (2, {"ledger"})
    named = len(runs(outputs)) - 1  # the first was closed when there was no ledger yet
    assert messages(report, "ledger") == [
        f"{named} records name a ledger that is not here: it was removed, perhaps with other records, or these are copies"
    ]
    for run in runs(outputs)[:-1]:
        shutil.rmtree(run)
    code, report = verify(outputs)
    assert (code, "1 record names a ledger" in messages(report, "ledger")[0]) == (2, True)


def test_a_ledger_that_is_gone_with_every_head_that_named_it(outputs: Path) -> None:
    """The head is in no event, so it can be edited unseen; that there is no ledger is seen all the same."""
    ledger_of(outputs).unlink()
    for run in runs(outputs):
        change(run / "metadata.json", "ledger_head", None)
    shutil.rmtree(runs(outputs)[1])
    assert verify(outputs)[0] == 2
    shutil.rmtree(outputs / ".runcard")
    assert verify(outputs)[0] == 2


def test_a_ledger_that_is_gone_from_a_store_of_sessions(here: Path) -> None:
    for name in ("a", "b"):
        session(here, name)
    last = max((here / "artifacts").glob("2*"))
    ledger_of(here / "artifacts").unlink()
    for path in (here / "artifacts", last):
        assert verify(path)[0] == 2
    shutil.rmtree(here / "artifacts" / ".runcard")
    for path in (here / "artifacts", last):
        assert verify(path)[0] == 2  # sessions are collected here: `.open` says so


def test_a_ledger_that_a_copy_names_is_a_note_and_for_a_folder_a_warning(outputs: Path, here: Path) -> None:
    copy = alone(runs(outputs)[2], here)
    code, report = verify(copy)
    assert (code, kinds(report)) == (0, {"limits"})
    assert "the ledger that it names is not here" in messages(report, "limits")[0]
    assert verify(copy.parent)[0] == 2


def test_a_second_ledger_does_not_vouch(outputs: Path) -> None:
    """A run is edited, and a ledger of a host that nobody knows has it as it is now."""
    last = runs(outputs)[2]
    change(last / "metadata.json", "generation/estimated", [])
    edited = (last / "metadata.json").read_bytes() + b"\n"
    (last / "metadata.json").write_bytes(edited)
    evil = outputs / ".runcard" / "ledger-evil.jsonl"
    evil.write_bytes(ledger_lines(*(closed_entry(run) for run in runs(outputs)), host="evil"))
    for path in (outputs, last):
        code, report = verify(path)
        assert (code, report["intact"]) == (1, False)
        assert "the ledger knows this run with another metadata document" in messages(report, "ledger")


def test_a_second_ledger_for_a_record_that_names_none(outputs: Path) -> None:
    """The first run of a store saw no entry: two ledgers that differ are not believed."""
    first = runs(outputs)[0]
    (first / "metadata.json").write_bytes((first / "metadata.json").read_bytes() + b"\n")
    evil = outputs / ".runcard" / "ledger-evil.jsonl"
    evil.write_bytes(ledger_lines(closed_entry(first), host="evil"))
    code, report = verify(first)
    assert (code, report["intact"]) == (1, False)


def test_a_ledger_of_a_stranger_in_the_place_of_ours(outputs: Path) -> None:
    evil = ledger_lines(*(closed_entry(run) for run in runs(outputs)), host="evil")
    ledger_of(outputs).unlink()
    (outputs / ".runcard" / "ledger-evil.jsonl").write_bytes(evil)
    code, report = verify(runs(outputs)[2])
    assert (code, report["complete"]) == (1, False)


def test_a_record_that_only_a_second_ledger_has(outputs: Path) -> None:
    """Ours lost the entry, its last one; a stranger's has it."""
    last, ledger = runs(outputs)[2], ledger_of(outputs)
    ledger.write_bytes(b"".join(ledger.read_bytes().splitlines(keepends=True)[:-1]))
    evil = outputs / ".runcard" / "ledger-evil.jsonl"
    evil.write_bytes(ledger_lines(closed_entry(last), host="evil"))
    code, report = verify(last)
    assert code == 2
    assert "proves nothing" in messages(report, "ledger")[0]


def test_a_store_that_two_hosts_share_is_well(here: Path) -> None:
    """Each host has a ledger of its own; one archives and amends what the other closed."""
    store = here / "outputs"
    other = {"PYTHONPATH": os.pathsep.join(sys.path), "PATH": os.environ["PATH"]}
    code = (
        "import os, sys, runcard\n"
        "uname = os.uname()\n"
        "os.uname = lambda: os.uname_result((uname[0], 'other', *uname[2:]))\n"
        "with runcard.record(sys.argv[1], strict=True) as run: run.log('a')"
    )
    for _ in range(2):
        small_run(store)
        subprocess.run([sys.executable, "-c", code, store], check=True, env=other, timeout=60)
    assert len(list((store / ".runcard").glob("ledger-*"))) == 2
    amend(runs(store)[1], "note", "from here")
    archive(runs(store)[3])
    exit_code, report = verify(store)
    assert (exit_code, len(report["records"]), report["findings"]) == (0, 4, [])


def leave_open(store: Path) -> Path:
    """A run whose process was killed."""
    code = OPEN.format(end="os.kill(os.getpid(), 9)")
    done = subprocess.run(
        [sys.executable, "-c", code, store], check=False, capture_output=True, text=True, timeout=60
    )
    return Path(done.stdout.strip())


def test_an_open_run_whose_directory_vanished(outputs: Path) -> None:
    lost = leave_open(outputs)
    shutil.rmtree(lost)
    for _ in range(2):
        code, report = verify(outputs)
        assert (code, report["complete"], kinds(report)) == (1, False, {"missing"})
        assert report["findings"][0]["record"] == lost.name
        small_run(outputs)  # which tidies up, and keeps what is left of the run
        assert list(close(store=outputs)) == []
    mark = outputs / ".runcard" / "open" / lost.name
    assert b"page.read" in mark.read_bytes()
    mark.unlink()
    assert verify(outputs)[0] == 0


def test_a_run_at_work_whose_directory_vanished(outputs: Path) -> None:
    code = OPEN.format(end="time.sleep(60)")
    with subprocess.Popen(
        [sys.executable, "-c", code, outputs], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        path = Path(process.stdout.readline().strip())
        shutil.rmtree(path)
        code_now, report = verify(outputs)
        process.send_signal(signal.SIGKILL)
    assert (code_now, kinds(report)) == (2, {"open"})


def test_a_run_that_was_killed_before_it_had_its_name_is_no_loss(outputs: Path) -> None:
    own = outputs / ".runcard"
    (own / "new-run-1").mkdir()
    (own / "new-run-1" / "experiment.jsonl").write_text("{}\n")
    os.link(own / "new-run-1" / "experiment.jsonl", own / "open" / "2026-01-01_000000")
    assert verify(outputs)[0] == 0
    assert open_runs(str(outputs)) == []
    assert list((own / "open").iterdir()) == []
