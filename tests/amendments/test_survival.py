"""Killed anywhere, out of space, not permitted, two at once: what is decided is finished, and nothing is half done for good."""

import gzip
import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from amendments.harness_kill import archive_in, job, record_in
from amendments.records import CUSTOMER, KEY, assert_tidy, digest, entries, everything, lines
from files.unprivileged import as_nobody, everybodys_directory
from runcard.documents import chain
from runcard.encoding import COMPACT, encode_json
from runcard.errors import StoreError
from runcard.operations.amendments.amend import amend
from runcard.operations.amendments.redact import redact
from runcard.operations.archives.archive import archive
from runcard.operations.checks.show import show_record
from runcard.operations.checks.verify import verify
from runs.runs import verdict

TESTS = Path(__file__).parents[1]
LOADED = (  # what nobody may load any more
    "import ctypes; from runcard.documents import reader; reader.parse_document(b'{}', kind='generation');"
    "from runcard.operations.amendments.redact import redact; from runcard.store.archives import record"
)
GONE = {"files": CUSTOMER + " again", "events": '"who":"' + CUSTOMER, "rule": f"three {KEY}"}


def kill_everywhere(name: str, moment: str, template: Path, folder: Path) -> list[Path]:
    """The stores that were left by children who died one step later each."""
    done = subprocess.run(
        [sys.executable, "-m", "amendments.harness_kill", name, moment, template, folder],
        cwd=TESTS,
        env=os.environ | {"PYTHONPATH": str(TESTS)},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return [folder / str(number) for number in range(1, len(done.stdout.splitlines()) + 1)]


def assert_explained(record: Path) -> None:
    """A record that was left half-way is as before, as after, or says of each file that the next amendment finishes it."""
    for found in verdict(record)["findings"]:
        is_half_done = found["kind"] == "changed" and "the next amendment finishes it" in found["message"]
        is_torn = found["kind"] in {"chain", "ledger"} and "the last line is torn" in found["message"]
        is_entered_later = found["kind"] == "ledger" and "does not know the last" in found["message"]
        is_explained = is_half_done or is_torn or is_entered_later
        assert is_explained or found["kind"] in {"amended", "withheld", "limits"}, found


@pytest.mark.parametrize("moment", [pytest.param("before", marks=pytest.mark.long), "within"])
@pytest.mark.parametrize("name", ["files", "events", "rule"])
def test_a_redaction_that_was_killed_is_finished_by_the_next(
    name: str, moment: str, run: Path, tmp_path: Path
) -> None:
    stores = kill_everywhere(name, moment, run.parent, tmp_path / "killed")
    assert len(stores) >= (2 if moment == "within" else 10)
    for store in stores:
        record = record_in(store)
        assert_explained(record)
        job(name, store)
        said = verdict(store)
        assert (said["intact"], said["complete"]) == (True, True), (store, said["findings"])
        assert {found["kind"] for found in said["findings"]} <= {"amended", "withheld", "limits"}
        assert GONE[name].encode() not in everything(store)
        assert_tidy(record)


@pytest.mark.long
def test_a_redaction_of_an_archive_that_was_killed_is_finished_by_the_next(run: Path, tmp_path: Path) -> None:
    packed = archive(run).archive
    secret = GONE["files"].encode()
    assert secret in gzip.decompress(packed.read_bytes())
    stores = kill_everywhere("archived", "within", run.parent, tmp_path / "killed")
    assert len(stores) >= 10
    for store in stores:
        records = [result.verdict for result in verify(store) if result.verdict.records]
        assert any(one.intact and one.complete for one in records), (
            store
        )  # in its directory, or in its archive
        job("archived", store)
        said = verdict(store)
        assert {found["kind"] for found in said["findings"]} == {"withheld"}, (store, said["findings"])
        assert [path.name for path in store.iterdir() if not path.name.startswith(".")] == ["archive"]
        assert secret not in gzip.decompress(archive_in(store).read_bytes())


@pytest.mark.parametrize("moment", [pytest.param("before", marks=pytest.mark.long), "within"])
def test_a_migration_that_was_killed_is_finished_by_the_next(
    moment: str, session: Path, tmp_path: Path
) -> None:
    for store in kill_everywhere("migrate", moment, session.parent, tmp_path / "killed"):
        record = record_in(store)
        assert_explained(record)
        job("migrate", store)
        said = verdict(store)
        assert (said["intact"], said["complete"]) == (True, True), (store, said["findings"])
        assert [line["payload"]["path"] for line in lines(record / "amendments.jsonl")] == [
            "metadata.json",
            "instances/coordinator-1/metadata.json",
        ]
        own = record.parent / ".runcard"
        assert not list(own.glob("amending-*"))


def test_a_remark_that_was_torn_is_written_over(run: Path, tmp_path: Path) -> None:
    for store in kill_everywhere("note", "within", run.parent, tmp_path / "killed"):
        amend(record_in(store), "note", "again")
        assert verdict(store)["findings"] == []
        assert_tidy(record_in(store))


def test_two_who_amend_at_once_come_one_after_the_other(run: Path) -> None:
    """Eight threads and two processes: locks are held by open files, so threads exclude each other as well."""
    code = (
        "import sys; from runcard.operations.amendments.amend import amend\n"
        "for number in range(10): amend(sys.argv[1], 'note', f'{sys.argv[2]} {number}')"
    )
    processes = [subprocess.Popen([sys.executable, "-c", code, run, name]) for name in ("one", "two")]
    threads = [threading.Thread(target=amend, args=(run, "note", f"thread {number}")) for number in range(8)]
    for thread in threads:
        thread.start()
    redact(run, files=["notes.txt"], reason="x")
    for thread in threads:
        thread.join(60)
    assert [process.wait(60) for process in processes] == [0, 0]
    said = verdict(run.parent)
    assert {(found["kind"], found["path"]) for found in said["findings"]} == {("withheld", "notes.txt")}
    assert len(entries(run)) == 29
    texts = [entry["text"] for entry in entries(run) if entry["kind"] == "note"]
    assert [text for text in texts if text.startswith("one")] == [f"one {number}" for number in range(10)]
    assert_tidy(run)


def test_those_who_amend_an_archive_at_once_come_one_after_the_other(run: Path) -> None:
    packed = archive(run).archive
    code = "import sys; from runcard.operations.amendments.amend import amend; amend(sys.argv[1], 'note', sys.argv[2])"
    names = ["one", "two", "three", "four"]
    processes = [subprocess.Popen([sys.executable, "-c", code, packed, name]) for name in names]
    assert [process.wait(60) for process in processes] == [0] * len(names)
    assert not run.exists()
    assert sorted(entry.payload["text"] for entry in show_record(packed).amendments.entries) == sorted(names)
    assert verdict(run.parent)["findings"] == []


def test_two_who_take_the_same_out_leave_one_entry(run: Path) -> None:
    code = "import sys; from runcard.operations.amendments.redact import redact; redact(sys.argv[1], files=['*.txt'], reason='x')"
    processes = [subprocess.Popen([sys.executable, "-c", code, run]) for _ in range(3)]
    assert [process.wait(60) for process in processes] == [0, 0, 0]
    assert sorted(entry["path"] for entry in entries(run)) == ["notes.txt", "plain.txt"]
    assert_tidy(run)


def test_a_full_disk_changes_nothing(run: Path) -> None:
    """No file may grow: neither what is staged nor the amendments can be written."""
    before = everything(run)
    code = (
        "import resource, signal, sys\n"
        "sys.dont_write_bytecode = True\n"
        "from runcard.errors import RuncardError\n"
        "from runcard.operations.amendments.redact import redact\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))\n"
        "for what in ({'files': ['notes.txt']}, {'events': ['2']}, {'rules': ['anthropic-key']}):\n"
        "    try: redact(sys.argv[1], reason='x', **what)\n"
        "    except RuncardError as error: print(error.message)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, run], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.count("File too large") == 3, done.stdout + done.stderr
    (run / "amendments.jsonl").unlink(missing_ok=True)
    assert everything(run) == before
    redact(run, events=["2"], reason="x")
    assert_tidy(run)


def test_who_may_not_write_changes_nothing_and_is_told(run: Path) -> None:
    with everybodys_directory() as folder:
        store = folder / "outputs"
        subprocess.run(["cp", "-a", run.parent, store], check=True)
        record = store / run.name
        subprocess.run(["chmod", "-R", "a+rwX", store], check=True)
        (record / "deep").chmod(0o555)
        before = everything(store)
        said = as_nobody(
            record,
            "try: redact(root, files=['deep/log.txt', 'notes.txt'], reason='x')\n"
            "except errors.MachineError as error: print(error.message, error.hint)\n",
            LOADED,
        )
        assert "deep: Permission denied change its permissions" in said
        assert everything(store) == before


def test_a_folder_that_its_owner_made_read_only_is_no_obstacle(run: Path) -> None:
    """Workspaces have such folders, and what must go from them goes."""
    with everybodys_directory() as folder:
        store = folder / "outputs"
        subprocess.run(["cp", "-a", run.parent, store], check=True)
        record = store / run.name
        (record / "deep").chmod(0o555)
        subprocess.run(["chmod", "-R", "a+rX", store], check=True)
        subprocess.run(["chown", "-R", "nobody", store], check=True)
        said = as_nobody(record, "print(redact(root, files=['deep/log.txt'], reason='x').taken)\n", LOADED)
        assert "deep/log.txt" in said
        assert not (record / "deep" / "log.txt").exists()
        assert stat.S_IMODE((record / "deep").stat().st_mode) == 0o555
        assert verdict(store)["complete"]


def test_a_ledger_that_nobody_may_write_is_a_warning_and_an_accepted_amendment_enters_it(run: Path) -> None:
    with everybodys_directory() as folder:
        store = folder / "outputs"
        subprocess.run(["cp", "-a", run.parent, store], check=True)
        subprocess.run(["chmod", "-R", "a+rwX", store], check=True)
        (ledger,) = (store / ".runcard").glob("ledger-*")
        ledger.chmod(0o444)
        said = as_nobody(
            store / run.name,
            "print(redact(root, files=['notes.txt'], reason='x').warnings)\n",
            LOADED,
        )
        assert "not in the ledger yet: your next amendment enters it" in said
        ledger.chmod(0o666)
        with pytest.raises(StoreError, match="may be forged"):  # it was another user's
            amend(store / run.name, "note", "x")
        amend(store / run.name, "note", "x", accept=True)
        assert_tidy(store / run.name)
        assert verdict(store)["intact"]


def test_a_run_whose_closing_was_not_finished_keeps_its_events_elsewhere_and_is_not_redacted(
    run: Path,
) -> None:
    os.link(run / "experiment.jsonl", run.parent / ".runcard" / "open" / run.name)
    with pytest.raises(StoreError, match="was not finished"):
        redact(run, events=["2"], reason="x")


def test_amendments_of_another_program_are_continued(run: Path) -> None:
    """One chain, whoever began it."""
    first = digest(run / "metadata.json")
    fields = {"seq": 1, "timestamp": "2026-12-01T09:00:00Z", "event": "note", "writer": "w-theirs"}
    line = chain.make_line(fields, {"text": "theirs", "who": "ben"}, "0" * 32, first)
    (run / "amendments.jsonl").write_bytes(encode_json(line, COMPACT))
    with pytest.raises(StoreError, match="does not know"):
        amend(run, "note", "ours")
    amend(run, "note", "ours", accept=True)
    assert [line["writer"] for line in lines(run / "amendments.jsonl")] == ["w-theirs"] * 2
    assert verdict(run)["findings"] == []
