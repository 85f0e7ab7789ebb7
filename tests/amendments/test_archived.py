"""Amending a record that is archived, or was: what is taken out is in no archive any more."""

import gzip
import json
import shutil
from pathlib import Path

import pytest

import runcard
from amendments.records import CUSTOMER, entries, everything, lines, record
from conftest import Cli
from runcard.operations.amendments.redact import redact
from runcard.operations.archives.archive import archive
from runcard.operations.archives.restore import restore
from runs.runs import kinds, verdict
from sessions.collecting.teams import document

WHY = ("--reason", "she asked for it", "--by", "ada", "--yes")


def holds(archived: Path, text: str) -> bool:
    return text.encode() in gzip.decompress(archived.read_bytes())


def test_an_archived_record_is_redacted_in_its_archive(cli: Cli, run: Path) -> None:
    packed = Path(archive(run).archive)
    assert holds(packed, CUSTOMER)
    done = cli("redact", packed, "--file", "**/notes.*", *WHY)
    assert (done.code, done.err) == (0, "")
    assert cli("redact", run, "--event", "2", *WHY).code == 0  # by the name that it had
    assert not run.exists()
    assert not holds(packed, CUSTOMER)
    said = verdict(run.parent)
    assert (said["intact"], said["complete"]) == (True, True)
    assert ("withheld", "notes.txt") in kinds(said)
    (ledger,) = (run.parent / ".runcard").glob("ledger-*")
    digests = [line["payload"].get("archive_sha256") for line in lines(ledger) if "payload" in line]
    assert len({digest for digest in digests if digest}) == 3  # the old ones stay in the ledger


def test_a_redaction_that_was_killed_before_the_record_was_archived_again_goes_on(run: Path) -> None:
    packed = Path(archive(run).archive)
    restore(packed)
    redact(run, files=["**/notes.*"], reason="x")
    redact(packed, files=["**/notes.*"], reason="x")
    assert not run.exists()
    restore(packed)
    assert [entry["path"] for entry in entries(run)] == ["deep/er/notes.md", "notes.txt"]


@pytest.mark.parametrize("folder", [None, "elsewhere"])
def test_a_record_that_was_restored_still_has_an_archive_and_that_is_said(
    cli: Cli, run: Path, tmp_path: Path, folder: str | None
) -> None:
    packed = Path(archive(run, to=folder and tmp_path / folder).archive)
    restore(packed)
    done = cli("redact", run, "--file", "notes.txt", *WHY)
    assert done.code == 2
    assert done.err == f"Warning: {packed} still contains the removed data: archive the record again\n"
    said = verdict(run.parent)
    assert (said["intact"], said["complete"]) == (True, True)
    for place in (packed, *([] if folder else [run.parent])):
        assert (
            "notes.txt: this archive still has it; in the restored record it was withheld by "
            in cli("verify", place).out
        )
    archive(run, to=folder and tmp_path / folder)
    assert "still has it" not in cli("verify", packed).out


def test_an_amended_record_can_be_restored_into_another_store(cli: Cli, run: Path, tmp_path: Path) -> None:
    """The ledger there learns where its amendments end: what is added by hand later is not built on."""
    assert cli("redact", run, "--file", "notes.txt", *WHY).code == 0
    packed = Path(archive(run).archive)
    with runcard.record(tmp_path / "other", strict=True) as other:
        pass
    shutil.rmtree(other.path)  # in the same second it has the same name; its ledger stays
    back = Path(restore(packed, to=tmp_path / "other").path)
    assert cli("verify", "-q", back).out == ""
    assert cli("amend", back, "note", "seen").code == 0
    assert cli("verify", "-q", back).out == ""
    file = back / "amendments.jsonl"
    file.write_bytes(b"".join(file.read_bytes().splitlines(keepends=True)[:-1]))
    refused = cli("amend", back, "note", "seen again")
    assert (refused.code, "the ledger of its store does not know" in refused.err) == (1, True)


def test_a_record_that_was_amended_in_a_folder_without_a_ledger_can_be_archived_there(
    cli: Cli, run: Path, tmp_path: Path
) -> None:
    back = Path(restore(archive(run).archive, to=tmp_path / "other").path)
    assert cli("amend", back, "note", "seen").code == 0
    archive(back)
    assert cli("verify", "-q", tmp_path / "other").out == ""


def test_a_look_into_an_archive_changes_nothing(cli: Cli, run: Path, session: Path) -> None:
    packed, other = Path(archive(run).archive), Path(archive(session).archive)
    before = everything(run.parent) + everything(session.parent)
    done = cli("redact", packed, "--file", "**/notes.*", "--reason", "x", "--dry-run", "--json")
    told = json.loads(done.out)
    assert (done.code, told["done"], told["record"]) == (0, False, str(packed))
    assert [one["path"] for one in told["redacted"]] == ["deep/er/notes.md", "notes.txt"]
    assert cli("redact", packed, "--file", "notes.txt", "--reason", "x").code == 64  # nobody can be asked
    done = cli("migrate", session, "--to", "1.0.0", "--dry-run", "--json")
    changed = {moved["path"]: moved["changed"] for moved in json.loads(done.out)["documents"]}
    assert changed[f"{other}/metadata.json"]
    assert everything(run.parent) + everything(session.parent) == before


def test_a_redaction_of_an_archive_that_fails_leaves_it_as_it_was(cli: Cli, run: Path) -> None:
    packed = Path(archive(run).archive)
    before = packed.read_bytes()
    assert cli("redact", packed, "--file", "nothing-like-it", *WHY).code == 1
    assert (packed.read_bytes(), run.exists()) == (before, False)


def test_an_archived_record_is_amended_in_its_archive(cli: Cli, run: Path) -> None:
    packed = Path(archive(run).archive)
    done = cli("amend", packed, "note", "a good one", "--by", "ada")
    assert (done.code, done.out) == (0, f"{packed}: note by ada: a good one\n")
    assert cli("amend", run, "tag", "best", "--about", "notes.txt").code == 0  # by the name that it had
    assert not run.exists()
    shown = json.loads(cli("show", packed, "--json").out)
    assert [entry["kind"] for entry in shown["amendments"]] == ["note", "tag"]
    said = verdict(run.parent)
    assert (said["intact"], said["complete"], said["findings"]) == (True, True, [])
    assert cli("amend", run, "note", "x", "--about", "not-there").code == 1
    assert not run.exists()


def test_an_archived_record_is_migrated_in_its_archive(cli: Cli, session: Path) -> None:
    packed = Path(archive(session).archive)
    done = cli("migrate", packed, "--to", "1.0.0", "--json")
    assert done.code == 2  # what 1.0.0 has no room for
    assert not session.exists()
    first = json.loads(done.out)["documents"][0]
    assert first["path"] == first["written"] == f"{packed}/metadata.json"
    assert Path(first["backup"]).is_file()
    copy = json.loads(Path(str(packed).replace(".tar.gz", ".metadata.json")).read_bytes())
    assert copy["version"] == "1.0.0"
    said = verdict(session.parent)
    assert (said["intact"], said["complete"]) == (True, True)
    assert {kind for kind, _ in kinds(said)} == {"amended"}
    restore(packed)
    said = verdict(session.parent)
    assert (said["intact"], said["complete"]) == (True, True)
    assert [document(session)["version"], entries(session)[0]["kind"]] == ["1.0.0", "migration"]


def test_of_two_archived_sessions_with_the_same_id_one_is_to_be_named(
    cli: Cli, session: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    again = shutil.copytree(
        session, session.with_name(f"2026-01-02_03-04-05{session.name[19:]}"), symlinks=True
    )
    archive(session)
    archive(again, force=True)  # a journal knows its directory
    monkeypatch.chdir(session.parent)
    own = session.name[20:]
    for change in (("amend", own, "note", "x"), ("migrate", own), ("redact", own, "--file", "*", *WHY)):
        message, *candidates, hint = cli(*change).err.splitlines()
        assert (message, hint) == (f"Error: 2 records match {own}", "  hint: name one by its path")
        assert len(candidates) == 2


def test_an_archive_that_came_from_elsewhere_is_not_changed(cli: Cli, run: Path, tmp_path: Path) -> None:
    packed = Path(archive(run).archive)
    other = tmp_path / "elsewhere.tar.gz"
    other.write_bytes(packed.read_bytes())
    done = cli("amend", other, "note", "x")
    assert (done.code, "is not in a store" in done.err) == (64, True)
    assert cli("migrate", tmp_path / "nothing", "--to", "1.0").err.startswith("Error: ")


def test_another_record_in_the_place_of_an_archived_one_is_left_alone(
    cli: Cli, run: Path, tmp_path: Path
) -> None:
    packed = Path(archive(run).archive)
    shutil.copytree(record(tmp_path / "others"), run)
    before = everything(run)
    for done in (
        cli("redact", packed, "--file", "notes.txt", *WHY),
        cli("amend", packed, "note", "x"),
        cli("migrate", packed),
    ):
        assert (done.code, "is another record than the archived one" in done.err) == (1, True)
    assert everything(run) == before
    assert holds(packed, CUSTOMER)
