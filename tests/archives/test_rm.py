"""`runcard rm`: one record is deleted, its ledger says so, and nothing else changes."""

import json
from pathlib import Path

import pytest

import runcard
from conftest import Cli
from runcard.operations.archives.archive import archive
from runcard.operations.archives.restore import restore
from runs.runs import record_one


def test_a_record_is_deleted_and_the_ledger_says_why(cli: Cli, outputs: Path) -> None:
    keep, run = record_one(outputs), record_one(outputs)
    outcome = cli("rm", str(run), "--yes", "--reason", "a test")
    assert (outcome.code, outcome.out) == (0, f"deleted {run}\n")
    assert not run.exists()
    assert keep.exists()
    assert cli("verify", str(outputs)).code == 0
    entries = json.loads(cli("ledger", str(outputs), "--json").out)
    assert "a test" in json.dumps(entries)


def test_directory_and_archive_go_together(cli: Cli, outputs: Path) -> None:
    run = record_one(outputs)
    packed = archive(run).archive
    restore(packed)
    outcome = cli("rm", str(run), "--yes", "--json")
    assert outcome.code == 0, outcome.err
    deleted = json.loads(outcome.out)["deleted"]
    assert [entry["archive"] for entry in deleted] == [False, True]
    assert not run.exists()
    assert not packed.exists()
    assert cli("verify", str(outputs)).code == 0


def test_an_archived_record_is_found_by_its_id(
    cli: Cli, outputs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(outputs.parent)
    run = record_one(outputs)
    run_id = json.loads((run / "metadata.json").read_bytes())["generation"]["run_id"]
    packed = archive(run).archive
    assert cli("rm", run_id, "--yes").code == 0
    assert not packed.exists()


def test_a_link_to_a_record_is_not_a_record(cli: Cli, outputs: Path) -> None:
    run = record_one(outputs)
    link = outputs / "link"
    link.symlink_to(run)
    outcome = cli("rm", str(link), "--yes", "--force")
    assert outcome.code == 1
    assert f"{link} is a link" in outcome.err
    assert link.is_symlink()
    assert run.exists()
    link.unlink()
    assert cli("verify", str(outputs)).code == 0


def test_without_a_terminal_it_does_not_ask(cli: Cli, outputs: Path) -> None:
    run = record_one(outputs)
    outcome = cli("rm", str(run))
    assert (outcome.code, outcome.out) == (64, "")
    assert "--yes" in outcome.err
    assert run.exists()


def test_a_changed_record_is_kept_unless_forced(cli: Cli, outputs: Path) -> None:
    run = record_one(outputs)
    (run / "notes.txt").write_text("other\n")
    outcome = cli("rm", str(run), "--yes")
    assert (outcome.code, outcome.out) == (1, "")
    assert "fails verification" in outcome.err
    assert "--force" in outcome.err
    assert run.exists()
    assert cli("rm", str(run), "--yes", "--force").code == 0
    assert not run.exists()


def test_an_open_run_is_kept(cli: Cli, outputs: Path) -> None:
    with runcard.record(outputs, strict=True) as run:
        outcome = cli("rm", str(run.path), "--yes", "--force")
        assert outcome.code == 1
        assert "is not closed" in outcome.err
        assert run.path.exists()


@pytest.mark.parametrize("word", ["nothing", "."])
def test_what_is_no_record_is_refused(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, word: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "precious.txt").write_text("x")
    assert cli("rm", word, "--yes", "--force").code == 1
    assert (tmp_path / "precious.txt").exists()
