"""Entries that somebody without the key adds to a signed ledger, with a right chain, as the documentation describes them."""

import json
import os
import shutil
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

import runcard
from attacks.command_server import runcard as command
from attacks.edited import Fields, messages, verify
from conftest import Cli
from runcard.documents import chain
from runcard.encoding import COMPACT, encode_json
from runcard.operations.signatures.keygen import keygen

WHEN = "2026-01-01T00:00:00Z"
UNSIGNED = "says an entry of the ledger that nobody signed"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "signers").write_text(keygen(tmp_path / "alice", name="alice").signers_line + "\n")
    return tmp_path


@pytest.fixture
def store(here: Path) -> Path:
    """A store of three signed runs, whose ledger is signed."""
    for number in range(3):
        with runcard.record(here / "outputs", strict=True) as run:
            (run.path / "notes.txt").write_text(f"{number}\n")
    for run_path in runs_of(here / "outputs"):
        run_command("sign", run_path, "--key", "alice")
    run_command("sign", "outputs", "--key", "alice")
    return here / "outputs"


def run_command(*arguments: str | Path) -> None:
    done = command(Path.cwd(), *arguments)
    assert done.returncode in {0, 2}, done.stderr


def runs_of(store: Path) -> list[Path]:
    return sorted(store.glob("2*"))


def entries(store: Path) -> list[Fields]:
    (ledger,) = (store / ".runcard").glob("ledger-*.jsonl")
    return [json.loads(line) for line in ledger.read_bytes().splitlines()]


def forge_entry(store: Path, event: str, run: Path, **fields: Any) -> None:
    """Add an entry about a run."""
    (ledger,) = (store / ".runcard").glob("ledger-*.jsonl")
    known = entries(store)
    of_run = next(entry["payload"] for entry in known if entry["payload"]["path"] == run.name)
    payload = {key: of_run[key] for key in ("kind", "id", "path", "sha256", "time")} | fields
    last = known[-1]
    words = {"seq": last["seq"] + 1, "timestamp": WHEN, "event": event, "writer": last["writer"]}
    line = chain.make_line(words, payload, os.urandom(16).hex(), last["hash"])
    with ledger.open("ab") as opened:
        opened.write(encode_json(line, COMPACT))


def forge_amendment(run: Path, event: str, **fields: Any) -> Fields:
    """The first amendment of a run; the end of the amendments with it."""
    first = sha256((run / "metadata.json").read_bytes()).hexdigest()
    words = {"seq": 1, "timestamp": WHEN, "event": event, "writer": "amendments"}
    payload = {"path": None, "old_sha256": None, "new_sha256": None, "who": "alice", "when": WHEN, "why": "x"}
    line = chain.make_line(words, payload | fields, os.urandom(16).hex(), first)
    (run / "amendments.jsonl").write_bytes(encode_json(line, COMPACT))
    return {"writer": "amendments", "count": 1, "head": line["hash"]}


def claims(store: Path) -> tuple[int, list[str]]:
    code, report = verify(store, "--signers", "signers")
    return code, [message.partition(",")[0] for message in messages(report, "ledger") if UNSIGNED in message]


@pytest.mark.parametrize("place", ["s3://bucket/x.tar.gz", "/etc/hostname", "../signers"])
def test_a_record_that_is_gone_was_not_archived_elsewhere(store: Path, place: str) -> None:
    gone = runs_of(store)[-1]
    shutil.rmtree(gone)
    forge_entry(store, "record.archived", gone, archive=place, archive_sha256="0" * 64)
    assert claims(store) == (2, [f"the record was archived as {place}"])
    assert verify(store, "--signers", "signers")[1]["tally"]["removed"] == 1
    run_command("sign", store, "--key", "alice")
    assert claims(store) == (0, [])


def test_the_archive_of_another_record(store: Path) -> None:
    kept, gone, _ = runs_of(store)
    run_command("archive", kept)
    run_command("sign", store, "--key", "alice")
    assert claims(store) == (0, [])
    archive = entries(store)[-1]["payload"]
    shutil.rmtree(gone)
    digests = {key: archive[key] for key in ("archive", "archive_sha256")}
    forge_entry(store, "record.archived", gone, **digests)
    code, report = verify(store, "--signers", "signers")
    assert (code, report["complete"]) == (1, False)
    assert any("does not hold it: it was removed" in message for message in messages(report, "ledger"))


def test_a_record_that_was_archived_after_the_signature_is_here(store: Path) -> None:
    run_command("amend", runs_of(store)[0], "note", "seen")
    run_command("archive", runs_of(store)[0])
    assert claims(store) == (0, [])
    (archive,) = (store / "archive").glob("*/*.tar.gz")
    run_command("amend", archive, "note", "seen again")
    assert claims(store) == (0, [])


def test_an_event_that_is_spelled_with_an_escape(store: Path) -> None:
    gone = runs_of(store)[-1]
    shutil.rmtree(gone)
    forge_entry(store, "record.deleted", gone)
    (ledger,) = (store / ".runcard").glob("ledger-*.jsonl")
    ledger.write_bytes(ledger.read_bytes().replace(b'"record.deleted"', b'"record.d\\u0065leted"'))
    assert claims(store) == (2, ["the record was deleted"])


@pytest.mark.parametrize("event", ["record.redacted", "record.amended", "record.closed"])
def test_what_an_entry_calls_a_change_does_not_matter(store: Path, event: str) -> None:
    run = runs_of(store)[0]
    (run / "metadata.json.sig").unlink()
    old, new = (run / "notes.txt").read_bytes(), b"forged\n"
    (run / "notes.txt").write_bytes(new)
    digests = {"old_sha256": sha256(old).hexdigest(), "new_sha256": sha256(new).hexdigest()}
    end = forge_amendment(run, "redaction", path="notes.txt", **digests)
    forge_entry(store, event, run, amendments=end)
    code, report = verify(store)
    assert (code, [m for m in messages(report, "ledger") if UNSIGNED in m]) == (
        2,
        [f"the record was changed, {UNSIGNED}"],
    )


def test_an_entry_about_amendments_that_are_gone_counts_as_a_change(store: Path) -> None:
    run = runs_of(store)[0]
    end = forge_amendment(run, "note", text="seen")
    forge_entry(store, "record.amended", run, amendments=end)
    assert claims(store) == (0, [])
    (run / "amendments.jsonl").unlink()
    assert claims(store) == (1, ["the record was changed"])


def test_a_deleted_record_that_is_put_back(store: Path, here: Path) -> None:
    gone = runs_of(store)[-1]
    shutil.copytree(gone, here / "kept")
    run_command("rm", gone, "--yes")
    run_command("sign", store, "--key", "alice")
    shutil.copytree(here / "kept", gone)
    assert claims(store) == (2, [])  # the ledger says that it was deleted
    forge_entry(store, "record.restored", gone)
    assert claims(store) == (2, ["the record was put back"])
    run_command("sign", store, "--key", "alice")
    assert claims(store) == (0, [])


def test_a_copy_that_an_entry_gives_another_name(store: Path) -> None:
    run = runs_of(store)[0]
    shutil.copytree(run, store / "2026-01-01_000000-better")
    forge_entry(store, "record.restored", run, path="2026-01-01_000000-better")
    assert claims(store) == (2, ["the record was put back under another name"])


def test_a_record_that_comes_back_to_its_place_after_the_signature(store: Path) -> None:
    run = runs_of(store)[0]
    run_command("archive", run)
    (archive,) = (store / "archive").glob("*/*.tar.gz")
    run_command("restore", archive)
    assert claims(store) == (0, [])


@pytest.mark.parametrize("event", ["record.closed", "record.restored", "record.amended"])
@pytest.mark.parametrize("signatures", ["ledgers.sig", ""])
def test_a_record_that_an_entry_lets_count_twice(store: Path, event: str, signatures: str) -> None:
    """Also where nobody signed the ledger: a run is closed once."""
    if not signatures:
        (store / ".runcard" / "ledgers.sig").unlink()
    run, name = runs_of(store)[0], "2026-01-01_000000-better"
    shutil.copytree(run, store / name)
    forge_entry(store, event, run, path=name)
    code, report = verify(store)
    said = f"the same run is here as {name} and as {run.name}: one of them is a copy"
    assert (code, said in messages(report, "ledger")) == (2, True)
    shutil.rmtree(store / name)
    assert said not in messages(verify(store)[1], "ledger")


def test_a_remark_in_somebody_else_s_name_is_not_signed_unseen(
    cli: Cli, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever can write to the store can enter a remark in the ledger as well."""
    run = runs_of(store)[0]
    end = forge_amendment(run, "approval", approved_by="alice", who="alice")
    unknown = cli("sign", run, "--key", "alice")
    assert (unknown.code, "--accept" in unknown.err) == (1, True)
    forge_entry(store, "record.amended", run, amendments=end)
    monkeypatch.setenv("RUNCARD_SIGN", "always")
    monkeypatch.setenv("RUNCARD_SIGNING_KEY", "alice")
    noted = cli("amend", run, "note", "my own")
    assert (noted.code, "it has an amendment from before that you did not sign" in noted.err) == (
        2,
        True,
    )
    (record,) = verify(run)[1]["records"]
    assert (record["signature"]["state"], record["signature"]["unsigned_additions"]) == ("current", 2)
    signed = cli("sign", run).out.splitlines()
    assert signed[1] == "  this covers: approved by alice: x"
    assert signed[2].startswith("  this covers: note by ")
    assert cli("amend", run, "note", "seen").err == ""
    (record,) = verify(run)[1]["records"]
    assert record["signature"]["unsigned_additions"] == 0


def test_signing_a_store_shows_what_was_deleted_since(store: Path) -> None:
    """Else a deletion that somebody else entered is signed along with the next signature."""
    gone = runs_of(store)[-1]
    shutil.rmtree(gone)
    forge_entry(store, "record.deleted", gone)
    done = command(Path.cwd(), "sign", store, "--key", "alice", "--json")
    assert json.loads(done.stdout)["records"][0]["covers"] == [f"{gone.name} was deleted"]
    assert (
        json.loads(command(Path.cwd(), "sign", store, "--key", "alice", "--json").stdout)["records"][0][
            "covers"
        ]
        == []
    )
