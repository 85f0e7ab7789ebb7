"""A session that is collected a second time: the same content is one record."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import runcard
from conftest import Cli
from runcard.operations.archives.archive import archive
from sessions.collecting.teams import (
    COORDINATOR,
    RESEARCHER,
    assert_tidy,
    instance,
    sessions,
    team,
    write_spec,
)

Fields = dict[str, Any]


def test_the_second_time_the_earlier_session_is_named(cli: Cli, here: Path, spec: Path) -> None:
    first = cli("collect", spec)
    second = cli("collect", spec)
    assert (second.code, second.out) == (2, first.out)
    warning, hint = second.err.splitlines()
    assert warning.startswith("Warning: research-team-001 was collected before with the same content, at 20")
    assert hint == "  hint: to store it once more, pass --again"
    assert len(sessions(here / "artifacts")) == 1
    assert_tidy(here / "artifacts")
    third = cli("collect", spec, "--again")
    assert (third.code, third.out == first.out) == (0, False)
    assert len(sessions(here / "artifacts")) == 2
    assert_tidy(here / "artifacts")


def test_json_says_so(cli: Cli, spec: Path) -> None:
    first = json.loads(cli("collect", spec, "--json").out)
    second = cli("collect", spec, "--json")
    assert second.code == 2
    assert json.loads(second.out) == first | {"already_collected": True}


def test_the_library_returns_the_earlier_session(spec: Path) -> None:
    first, second = runcard.collect(spec), runcard.collect(spec)
    assert (first.is_new, first.is_whole) == (True, True)
    assert (second.is_new, second.is_whole, second.path) == (False, False, first.path)
    assert second.document.to_bytes() == first.document.to_bytes()
    assert runcard.collect(spec, again=True).is_new


def test_an_archived_session_counts_wherever_the_archive_is(here: Path, spec: Path) -> None:
    for target in (None, here / "elsewhere"):
        shutil.rmtree(here / "artifacts", ignore_errors=True)
        archived = archive(runcard.collect(spec).path, to=target).archive
        again = runcard.collect(spec)
        assert (again.is_new, again.path) == (False, archived)
        archived.unlink()
        assert runcard.collect(spec).is_new


def test_a_session_that_was_deleted_or_lost_a_file_is_collected_again(
    cli: Cli, here: Path, spec: Path
) -> None:
    first = runcard.collect(spec).path
    (first / "instances/coordinator-1/workspace/report.md").unlink()
    second = runcard.collect(spec)
    assert second.is_new
    shutil.rmtree(first)
    cli("prune", "--older-than", "0s", "--yes")
    assert sessions(here / "artifacts") == []
    assert runcard.collect(spec).is_new


@pytest.mark.parametrize("archived", [False, True])
def test_a_session_that_was_changed_is_collected_again(spec: Path, archived: bool) -> None:  # noqa: FBT001
    """Its list of digests is that of the same content, its files are not."""
    first = runcard.collect(spec).path
    damaged = archive(first).archive if archived else first / "instances/coordinator-1/workspace/report.md"
    content = damaged.read_bytes()
    damaged.chmod(0o600)
    damaged.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    assert runcard.collect(spec).is_new
    assert not runcard.collect(spec).is_new


def test_a_redacted_session_is_not_collected_again(cli: Cli, spec: Path) -> None:
    """What was removed from a record must not come back unnoticed."""
    first = runcard.collect(spec).path
    report = "instances/coordinator-1/workspace/report.md"
    assert cli("redact", first, "--file", report, "--reason", "a name", "--yes").code == 0
    assert runcard.collect(spec).path == first


def test_amendments_do_not_make_another_session(cli: Cli, spec: Path) -> None:
    first = runcard.collect(spec).path
    assert cli("amend", first, "note", "good").code == 0
    assert not runcard.collect(spec).is_new


@pytest.mark.parametrize(
    "change",
    [
        {"status": "error"},
        {"cost": 0.33},
        {"tokens_used": 5},
        {"terminated_at": "2025-11-06T15:28:01+01:00"},
        {"labels": {"a": "b"}},
        {"error_message": "429"},
        {"performance": {"active_seconds": 3}},
        {"resources": {"cpu_seconds": 3}},
        {"name": "finder"},
        {"parent": None},
    ],
    ids=lambda change: next(iter(change)),
)
def test_another_fact_is_another_session(here: Path, spec: Path, change: Fields) -> None:
    runcard.collect(spec)
    other = write_spec(here, team(COORDINATOR, RESEARCHER | {"instance_id": "r-1"} | change))
    runcard.collect(write_spec(here, team(COORDINATOR, RESEARCHER | {"instance_id": "r-1"}), "same.json"))
    assert runcard.collect(other).is_new
    assert not runcard.collect(other).is_new
    assert len(sessions(here / "artifacts")) == 3


def test_a_corrected_price_is_another_session(here: Path, spec: Path) -> None:
    """Documents do not state the tier, only the cost that follows from it."""
    assert runcard.collect(spec).is_new
    other = write_spec(here, team(COORDINATOR | {"service_tier": "batch"}, RESEARCHER))
    corrected = runcard.collect(other)
    assert corrected.is_new
    assert not runcard.collect(other).is_new
    spaced = here / "spaced.json"
    spaced.write_bytes(other.read_bytes() + b"\n")
    assert runcard.collect(spaced).path == corrected.path


@pytest.mark.parametrize("change", ["changed", "added", "removed", "renamed", "link", "transcript"])
def test_other_files_are_another_session(here: Path, spec: Path, change: str) -> None:
    runcard.collect(spec)
    workspace = here / "workspaces/coordinator"
    match change:
        case "changed":
            (workspace / "report.md").write_text("# Something else\n")
        case "added":
            (workspace / "empty").write_text("")
        case "removed":
            (workspace / "sub/Data.CSV").unlink()
        case "renamed":
            (workspace / "sub").rename(workspace / "other")
        case "link":
            (workspace / "latest").unlink()
            (workspace / "latest").symlink_to("sub/Data.CSV")
        case _:
            (here / "logs/researcher.log").write_text("one\ntwo\nthree\n")
    assert runcard.collect(spec).is_new


def test_the_collection_itself_does_not_count(
    here: Path, spec: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither its options nor its machine, nor the place of the files, nor the price table."""
    first = runcard.collect(spec).path
    assert runcard.collect(spec, max_size="1GiB", exclude=["nothing"]).path == first
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    monkeypatch.setenv("LANG", "ja_JP.UTF-8")
    assert runcard.collect(spec).path == first
    moved = here / "moved"
    moved.mkdir()
    for name in ("workspaces", "logs", "spec.json"):
        (here / name).rename(moved / name)
    assert runcard.collect(moved / "spec.json").path == first
    row = {"model": "claude-sonnet-4-5", "usd_per_million": {"input": 1, "output": 1, "cache_read": 1}}
    table = {"source": "ours", "as_of": "2025-11-01", "providers": {"anthropic": {"models": [row]}}}
    (here / "prices.json").write_text(json.dumps(table))
    monkeypatch.setenv("RUNCARD_PRICES", str(here / "prices.json"))
    assert runcard.collect(moved / "spec.json").path == first


def test_an_agent_that_still_runs_and_did_nothing_more_is_the_same(here: Path) -> None:
    running = {"name": "a", "status": "running", "created_at": "2025-11-06T14:00:00Z"}
    for number, schema in enumerate(("2.0.0", "1.0.0"), 1):
        assert runcard.collect(team(running), schema=schema).is_new
        assert not runcard.collect(team(running), schema=schema).is_new
        assert len(sessions(here / "artifacts")) == number


def test_another_version_of_the_documents_is_another_session(spec: Path) -> None:
    assert runcard.collect(spec).is_new
    assert runcard.collect(spec, schema="1.0.0").is_new
    assert not runcard.collect(spec, schema="1.0.0").is_new


def test_ids_that_are_made_are_the_same_for_the_same_agent() -> None:
    """Also beside others, and different for two agents of the same name."""
    twins = [instance("twin"), instance("twin")]
    first = [entry["instance_id"] for entry in runcard.collect(team(*twins)).document.instances]
    assert len(set(first)) == 2
    more = team(instance("other"), *twins)
    second = [entry["instance_id"] for entry in runcard.collect(more).document.instances]
    assert second[1:] == first
    other = team(*twins) | {"team_session_id": "another"}
    assert not set(first) & {entry["instance_id"] for entry in runcard.collect(other).document.instances}


def test_an_earlier_session_that_cannot_be_read_is_no_obstacle(here: Path, spec: Path) -> None:
    first = runcard.collect(spec).path
    (first / "SHA256SUMS").write_text("nonsense")
    assert runcard.collect(spec).is_new
    (first / "metadata.json").write_text("{}")
    assert not runcard.collect(spec).is_new  # the second one
    archives = here / "artifacts/archive"
    archives.mkdir()
    (archives / "archive_index.json").write_text("{")
    assert not runcard.collect(spec).is_new
