"""Migrating documents of a closed record: an amendment for each, and what was sealed is still checked."""

import json
import subprocess
from pathlib import Path

import pytest

from amendments.records import CUSTOMER, assert_tidy, digest, entries, everything, lines
from conftest import Cli
from runcard.errors import StoreError, UsageError
from runcard.operations.amendments.migrate import migrate
from runcard.operations.amendments.record_migration import migrate_in_record
from runcard.operations.amendments.redact import redact
from runcard.operations.archives.archive import archive
from runs.runs import kinds, verdict
from sessions.collecting.teams import document

INSTANCE = "instances/coordinator-1/metadata.json"


def test_every_document_of_a_session_is_migrated_by_an_amendment(cli: Cli, session: Path) -> None:
    old = {name: (session / name).read_bytes() for name in ("metadata.json", INSTANCE)}
    sealed = digest(session / "metadata.json")
    done = cli("migrate", session, "--to", "1.0.0")
    assert done.code == 2  # what 1.0.0 has no room for
    assert [document(session, name)["version"] for name in old] == ["1.0.0", "1.0.0"]
    assert [entry["path"] for entry in entries(session)] == list(old)
    for entry in entries(session):
        assert entry["kind"] == "migration"
        assert entry["old_sha256"] != entry["new_sha256"] == digest(session / entry["path"])
        assert (entry["from"], entry["to"]) == ("2.0.0", "1.0.0")
        original = session.parent / ".runcard" / "originals" / entry["old_sha256"]
        assert original.read_bytes() == old[entry["path"]]
    assert lines(session / "amendments.jsonl")[0]["prev"] == sealed
    assert cli("validate", session).code in {0, 2}
    told = cli("verify", session.parent)
    assert (told.code, told.err) == (0, "")
    assert kinds(verdict(session)) == {("amended", "metadata.json"), ("amended", INSTANCE)}
    assert_tidy(session)
    assert not list(session.rglob("*.bak"))


def test_what_was_sealed_is_checked_by_the_old_bytes(session: Path) -> None:
    """1.0.0 has no room for digests, chains and links: the document that was sealed has."""
    migrate_in_record(session, "1.0.0")
    (session / "SHA256SUMS").write_bytes(b"")
    (session / "instances" / "coordinator-1" / "workspace" / "new").symlink_to("x")
    journal = (session / "audit.jsonl").read_bytes().splitlines(keepends=True)
    (session / "audit.jsonl").write_bytes(b"".join(journal[:-1]))
    assert {kind for kind, _ in kinds(verdict(session))} >= {"changed", "link", "tail"}


def test_there_and_back_again(session: Path) -> None:
    migrate_in_record(session, "1.0.0")
    migrate_in_record(session, "2.0.0")
    assert document(session)["version"] == "2.0.0"
    said = verdict(session.parent)
    assert (said["intact"], said["complete"]) == (True, True)
    assert len(entries(session)) == 4


def test_a_document_that_is_put_back_is_found(session: Path) -> None:
    old = {name: (session / name).read_bytes() for name in ("metadata.json", INSTANCE)}
    migrate_in_record(session, "1.0.0")
    for name, data in old.items():
        new = (session / name).read_bytes()
        (session / name).write_bytes(data)
        assert ("changed", name) in kinds(verdict(session))
        (session / name).write_bytes(new)
    assert verdict(session)["intact"]


def test_old_bytes_that_are_gone_or_changed_are_missed(session: Path) -> None:
    sealed = digest(session / "metadata.json")
    migrate_in_record(session, "1.0.0")
    original = session.parent / ".runcard" / "originals" / sealed
    original.write_bytes(b"{}")
    assert ("missing", "metadata.json") in kinds(verdict(session))


def test_one_document_may_be_named(session: Path) -> None:
    done = migrate(session / INSTANCE, "1.0.0")
    assert done.written == str(session / INSTANCE)
    assert done.backup is not None
    assert [entry["path"] for entry in entries(session)] == [INSTANCE]
    assert verdict(session)["intact"]


def test_a_document_that_has_the_version_needs_no_amendment(cli: Cli, session: Path, run: Path) -> None:
    assert cli("migrate", session, "--to", "2.0.0").code == 0
    assert cli("migrate", run, "--to", "1.0").out == f"{run}/metadata.json: already generation 1.0\n"
    assert not (session / "amendments.jsonl").exists()
    assert not (run / "amendments.jsonl").exists()


def test_a_look_writes_nothing(cli: Cli, session: Path) -> None:
    before = everything(session.parent)
    done = cli("migrate", session, "--to", "1.0.0", "--dry-run")
    assert "(nothing was written)" in done.out
    assert everything(session.parent) == before


def test_a_version_that_no_document_has_is_wrong_usage(session: Path) -> None:
    with pytest.raises(UsageError, match=r"no document of .* has a version 9"):
        migrate_in_record(session, "9")


def test_a_document_that_was_changed_is_not_migrated(session: Path) -> None:
    data = document(session, INSTANCE) | {"labels": {"forged": "yes"}}
    (session / INSTANCE).write_text(json.dumps(data))
    with pytest.raises(StoreError, match="is not what it was when the record was closed"):
        migrate_in_record(session, "1.0.0")
    assert not (session / "amendments.jsonl").exists()


def test_a_folder_that_is_no_closed_record_is_refused(cli: Cli, tmp_path: Path) -> None:
    done = cli("migrate", tmp_path, "--to", "1.0.0")
    assert done.code == 1
    assert "is not a record" in done.err


def test_a_session_that_nobody_sealed_is_migrated_file_by_file(cli: Cli, session: Path) -> None:
    """As another program leaves one: documents and files, and nothing that fixes them."""
    for name in ("SHA256SUMS", "audit.jsonl", "manifest.json"):
        (session / name).unlink()
    for name in ("metadata.json", INSTANCE):
        old = {key: value for key, value in document(session, name).items() if key != "checksums"}
        (session / name).write_text(json.dumps(old))
    assert cli("migrate", session, "--to", "1.0.0", "--dry-run").code == 2
    assert not list(session.rglob("*.bak"))
    done = cli("migrate", session, "--to", "1.0.0")
    assert done.code == 2  # what 1.0.0 has no room for
    assert [document(session, name)["version"] for name in ("metadata.json", INSTANCE)] == ["1.0.0"] * 2
    assert len(list(session.rglob("*.bak"))) == 2
    assert not (session / "amendments.jsonl").exists()
    assert cli("amend", session, "note", "x").code == 1


def test_old_bytes_go_with_what_is_taken_out(session: Path) -> None:
    """Whoever takes a document out wants it to lie nowhere."""
    migrate_in_record(session, "1.0.0")
    redact(session, files=[INSTANCE], reason=f"not {CUSTOMER}")
    originals = {path.name for path in (session.parent / ".runcard" / "originals").iterdir()}
    first, second, _ = entries(session)
    assert (first["path"], originals) == ("metadata.json", {first["old_sha256"]})
    assert second["old_sha256"] not in originals
    assert verdict(session)["complete"]


def test_old_bytes_in_the_record_go_as_well(session: Path, tmp_path: Path) -> None:
    """As `tar` unpacks them with the archive of a migrated record."""
    migrate_in_record(session, "1.0.0")
    packed = archive(session).archive
    (tmp_path / "unpacked").mkdir()
    subprocess.run(["tar", "xzf", packed], cwd=tmp_path / "unpacked", check=True)
    copy = tmp_path / "unpacked" / session.name
    inside = copy / ".runcard" / "originals"
    assert len(list(inside.iterdir())) == 2
    assert verdict(copy)["complete"]
    redact(copy, files=[INSTANCE], reason=f"not {CUSTOMER}")
    first, *_ = entries(copy)
    assert [path.name for path in inside.iterdir()] == [first["old_sha256"]]
    assert verdict(copy)["complete"]
