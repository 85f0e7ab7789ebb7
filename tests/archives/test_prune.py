"""Deleting what is old or too much, and the settings about archives."""

import json
import os
import pty
import sys
from pathlib import Path

import pytest

import runcard
from amendments.records import environment_at_the_end
from archives.records import archives, events, judged, make_run, make_session, state
from conftest import Cli
from runcard.operations.amendments.amend import amend
from runcard.operations.archives.archive import archive
from runcard.operations.archives.restore import restore
from sessions.collecting.teams import lay_out


@pytest.mark.parametrize("command", [["archive"], ["prune", "--dry-run"]], ids=lambda command: command[0])
def test_nothing_is_older_than_the_calendar(here: Path, cli: Cli, command: list[str]) -> None:
    make_run(here / "outputs")
    done = cli(*command, "--older-than", "999999w")
    assert (done.code, done.err) == (0, "")
    assert done.out in {"nothing to archive: no closed record is that old\n", "nothing to delete\n"}


def test_what_would_go_is_told_and_nothing_else_goes(here: Path, cli: Cli) -> None:
    run, session = make_run(here / "outputs"), make_session(here)
    archive(session)
    (packed,) = archives(here / "artifacts")
    before = state(here)
    told = cli("prune", "--older-than", "0s", "--dry-run").out
    assert str(run.relative_to(here)) in told
    assert str(packed.relative_to(here)) in told
    assert "2 to delete, 3.2 MB" in told
    data = json.loads(cli("prune", "--older-than", "0s", "--dry-run", "--json").out)
    assert (len(data["candidates"]), data["deleted"], data["dry_run"]) == (2, [], True)
    assert cli("prune", "--older-than", "0s").code == 64  # nobody can be asked here
    assert cli("prune", "--older-than", "9999w", "--yes").out == "nothing to delete\n"
    assert state(here) == before
    assert cli("prune").code == cli("prune", "--retention", "--max-size", "1GB").code == 64


def test_a_session_is_as_old_as_its_work(here: Path, cli: Cli) -> None:
    run, session = make_run(here / "outputs"), make_session(here)  # of November 2025, collected now
    assert cli("prune", "--older-than", "1d", "--yes").code == 0
    assert (run.exists(), session.exists()) == (True, False)


def test_a_session_of_the_future_does_not_stay_the_newest(here: Path, cli: Cli) -> None:
    """Otherwise other sessions would be deleted in its place, for ever."""
    agent = {"name": "a", "status": "completed", "created_at": "2025-11-06T14:00:00Z"}
    sessions = []
    for name, end in (("first", "9999-12-31T23:59:59Z"), ("second", None)):
        instance = agent | {"terminated_at": end, "workspace": os.fspath(here)}
        spec = {"team_session_id": name, "instances": [instance]}
        sessions.append(runcard.collect(spec, metadata_only=True).path)
    shown = cli("prune", "--max-size", "1B", "--dry-run").out
    assert shown.index("first") < shown.index("second")
    cli("prune", "--older-than", "0s", "--yes")
    assert not any(session.exists() for session in sessions)


def test_what_goes_leaves_a_tombstone(here: Path, cli: Cli) -> None:
    run, session = make_run(here / "outputs"), make_session(here)
    archive(session)
    outcome = cli("prune", "--older-than", "0s", "--yes", "--json")
    assert (outcome.code, len(json.loads(outcome.out)["deleted"])) == (0, 2)
    assert not run.exists()
    assert not list((here / "artifacts" / "archive").glob("*/*"))
    for store in ("outputs", "artifacts"):
        assert events(here / store)[-1] == "record.deleted"
        assert judged(here / store)["findings"] == []


def test_a_store_whose_records_were_all_deleted_has_no_records(here: Path, cli: Cli) -> None:
    for _ in range(2):
        make_run(here / "outputs")
    assert cli("prune", "--older-than", "0s", "--yes").code == 0
    done = cli("verify", "outputs")
    assert (done.code, done.out) == (0, "outputs: no records; 2 were deleted on purpose\n")
    data = json.loads(cli("verify", "outputs", "--json").out)
    assert (len(data["records"]), data["findings"]) == (0, [])
    make_run(here / "outputs")
    assert "no records" not in cli("verify", "outputs").out


def test_what_was_changed_stays(here: Path, cli: Cli) -> None:
    good, bad = make_run(here / "outputs"), make_run(here / "outputs")
    (bad / "a.txt").write_text("forged")
    outcome = cli("prune", "--older-than", "0s", "--yes")
    assert (outcome.code, good.exists(), bad.exists()) == (2, False, True)
    assert "a.txt: the file was changed" in outcome.err


def test_open_runs_stay(here: Path, cli: Cli) -> None:
    with runcard.record(here / "outputs", model="m", provider="p") as run:
        assert cli("prune", "--max-size", "1", "--yes").code == 0
        assert Path(run.path).is_dir()


def test_the_oldest_go_until_a_store_is_small_enough(here: Path, cli: Cli) -> None:
    first, second = make_run(here / "outputs"), make_run(here / "outputs")
    assert cli("prune", "--max-size", "4MB", "--yes").code == 0
    assert (first.exists(), second.exists()) == (False, True)
    assert judged(here / "outputs")["findings"] == []


def test_a_size_limit_is_shown_with_the_sizes_of_the_stores(here: Path, cli: Cli) -> None:
    first, second = make_run(here / "outputs"), make_run(here / "outputs")
    with environment_at_the_end(), runcard.record(here / "outputs", model="m", provider="p") as run:
        (run.path / "large").write_bytes(b"x" * 4_990_000)
        *_, count, size = cli("prune", "--max-size", "9MB", "--dry-run").out.splitlines()
        assert count.startswith("1 to delete, 3.2 MB")
        assert size == "outputs: 11.3 MB now, 8.2 MB afterwards, within the limit of 9.0 MB"
        *_, size = cli("prune", "--max-size", "4MB", "--dry-run").out.splitlines()
        assert size == (
            "outputs: 11.3 MB now, 5.0 MB afterwards, above the limit of 4.0 MB: open records and other files stay"
        )
        *_, size = cli("prune", "--max-size", "20MB", "--dry-run").out.splitlines()
        assert size == "outputs: 11.3 MB, within the limit of 20.0 MB"
        data = json.loads(cli("prune", "--max-size", "4MB", "--dry-run", "--json").out)
        (outputs, _) = data["stores"]
        assert outputs["bytes"] - outputs["bytes_after"] == data["bytes"]
    assert first.exists()
    assert second.exists()


def test_a_dry_run_also_leaves_the_remains_of_killed_commands(here: Path, cli: Cli) -> None:
    make_run(here / "outputs")
    (here / "outputs/.runcard/pruned-old").mkdir()
    before = state(here)
    assert cli("prune", "--older-than", "0s", "--dry-run").code == 0
    assert state(here) == before


def test_of_a_restored_record_both_can_go_one_after_the_other(here: Path, cli: Cli) -> None:
    run = make_run(here / "outputs")
    archive(run)
    (packed,) = archives(run.parent)
    restore(packed)
    size = sum(path.stat().st_size for path in packed.parent.iterdir()) + 60_000
    assert cli("prune", "--max-size", str(size), "--yes").code == 0
    assert (run.exists(), packed.exists()) == (False, True)
    assert judged(run.parent)["findings"] == []
    packed.rename(here / "away")
    assert [found["kind"] for found in judged(run.parent)["findings"]] == ["ledger"]
    (here / "away").rename(packed)
    assert cli("prune", "--max-size", "1", "--yes").code == 0
    assert judged(run.parent)["findings"] == []
    assert events(run.parent)[-1] == "record.deleted"


def test_of_a_record_that_was_restored_and_amended_the_archive_goes_first(
    here: Path, cli: Cli, run: Path
) -> None:
    archive(run)
    restore(archives(run.parent)[0])
    amend(run, "note", "since then")
    files = [path for path in (here / "outputs").rglob("*") if path.is_file() and not path.is_symlink()]
    too_little = sum(path.stat().st_size for path in files) - 1
    assert cli("prune", "--max-size", str(too_little), "--yes").code == 0
    assert (archives(run.parent), run.is_dir()) == ([], True)
    assert judged(run.parent)["findings"] == []
    archive(run)
    restore(archives(run.parent)[0])
    amend(run, "note", "and then")
    assert cli("prune", "--older-than", "0s", "--yes").code == 0
    assert (archives(run.parent), run.is_dir()) == ([], False)
    assert judged(run.parent)["findings"] == []


def test_retention_comes_from_the_settings_when_asked_for(
    here: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    session, run = make_session(here), make_run(here / "outputs")
    for words in (("--retention",), ()):
        outcome = cli("prune", *words, "--yes")
        assert (outcome.code, "no retention is configured" in outcome.err) == (64, True)
    monkeypatch.setenv("ARTIFACTS_RETENTION_DAYS", "99999")
    for words in (("--retention",), ()):
        assert cli("prune", *words, "--yes").out == "nothing to delete\n"
    assert cli("prune", "--retention", "--older-than", "1d", "--yes").code == 64
    monkeypatch.setenv("ARTIFACTS_RETENTION_DAYS", "0")
    assert cli("prune", "--retention", "--yes").code == 1
    assert (session.exists(), run.exists()) == (True, True)
    monkeypatch.delenv("ARTIFACTS_RETENTION_DAYS")
    monkeypatch.setenv("ARTIFACTS_MAX_SIZE_GB", "1")
    with (here / "artifacts" / "large").open("wb") as file:
        file.truncate(1_000_000_001)
    assert cli("prune", "--retention", "--yes").code == 0
    assert (session.exists(), run.exists()) == (False, True)


def test_the_settings_about_sessions_are_not_about_runs(
    here: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One store can hold both."""
    session, run = make_session(here), make_run(here / "artifacts")
    monkeypatch.setenv("ARTIFACTS_MAX_SIZE_GB", "1")
    with (here / "artifacts" / "large").open("wb") as file:
        file.truncate(1_000_000_001)
    assert cli("prune", "--yes").code == 0
    assert (session.exists(), run.exists()) == (False, True)


def test_over_the_quota_nothing_is_collected(here: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = lay_out(here)
    monkeypatch.setenv("ARTIFACTS_MAX_SIZE_GB", "1.5")
    assert cli("collect", spec).code == 0
    with (here / "artifacts" / "large").open("wb") as file:
        file.truncate(1_500_000_000)
    outcome = cli("collect", spec, "--json")
    assert (outcome.code, json.loads(outcome.out)["error"]) == (1, "Artifacts storage limit exceeded")
    assert len([path for path in (here / "artifacts").iterdir() if path.name[0] == "2"]) == 1


def test_a_session_can_be_archived_right_after_collecting(
    here: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ARTIFACTS_COMPRESS", "yes")
    outcome = cli("collect", lay_out(here))
    (packed,) = archives(here / "artifacts")
    assert (outcome.code, outcome.out.strip()) == (0, str(packed))
    assert events(here / "artifacts") == ["record.closed", "record.archived"]
    assert judged(here / "artifacts")["findings"] == []


def test_a_person_is_asked(here: Path) -> None:
    """At a terminal, only a yes deletes."""
    run = make_run(here / "outputs")
    for answer, stays in ((b"n\n", True), (b"y\n", False)):
        pid, terminal = pty.fork()
        if pid == 0:
            os.execv(sys.executable, [sys.executable, "-m", "runcard", "prune", "--older-than", "0s"])  # noqa: S606
        os.write(terminal, answer)
        said = b""
        try:
            while data := os.read(terminal, 4096):
                said += data
        except OSError:
            pass  # the terminal ends with its program
        finally:
            os.close(terminal)
        _, status = os.waitpid(pid, 0)
        assert b"Permanently delete this?" in said
        assert (run.exists(), os.waitstatus_to_exitcode(status)) == (stays, 1 if stays else 0)
