"""Record something, read it back, damage it, and see the damage reported."""

import json
import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import runcard
from runs.runs import copy_store, kinds, read, record_one, verdict


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with two runs."""
    outputs = tmp_path_factory.mktemp("store") / "outputs"
    record_one(outputs)
    record_one(outputs)
    return outputs


def runs_of(store: Path) -> list[Path]:
    return sorted(path for path in store.iterdir() if path.name != ".runcard")


def test_a_run_is_recorded_and_read_back(store: Path) -> None:
    run = runs_of(store)[0]
    document = runcard.load(run / "metadata.json")
    assert isinstance(document, runcard.Generation)
    assert document.warnings == ()
    said = document.to_dict()
    assert said["generation"]["status"] == "completed"
    assert said["generation"]["experiment_name"] == "personas"
    assert said["configuration"] == {
        "model": "claude-sonnet-4-5-20250929",
        "provider": "anthropic",
        "persona_count": 3,
    }
    assert said["costs"]["total_cost_usd"] == 0.26694
    assert said["costs"]["cost_source"] == "priced"
    assert said["costs"]["price_rows"][0]["usd_per_million"]["input"] == 3
    assert said["costs"]["token_source"] == "reported"  # noqa: S105
    assert said["token_usage"]["breakdown_by_step"][0]["step"] == "generate"
    assert [Path(file["path"]).name for file in said["data_sources"]["files"]] == ["a.md"]
    assert said["data_sources"]["total_bytes"] == 16
    assert said["symlinks"] == [{"path": "latest", "target": "personas"}]
    assert said["environment"]["python_version"]
    assert said["event_chains"][0]["count"] == len((run / "experiment.jsonl").read_text().splitlines())
    assert all(digest.startswith("sha256:") for digest in said["checksums"].values())


def test_what_was_recorded_is_intact_and_complete(store: Path) -> None:
    report = verdict(*runs_of(store))
    assert (report["intact"], report["complete"], report["signed"]) == (True, True, None)
    assert (len(report["records"]), report["findings"]) == (2, [])
    assert verdict(store)["findings"] == []


def test_sha256sum_agrees(store: Path) -> None:
    for run in runs_of(store):
        command = ["sha256sum", "--check", "--strict", "SHA256SUMS"]
        done = subprocess.run(command, cwd=run, check=False, capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, "")
        assert len(done.stdout.splitlines()) == len((run / "SHA256SUMS").read_text().splitlines()) > 0


def files_of(run: Path) -> list[str]:
    return sorted(
        str(path.relative_to(run)) for path in run.rglob("*") if path.is_file() and not path.is_symlink()
    )


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_one_flipped_bit_in_any_file_is_found(
    store: Path, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    copied = copy_store(store, tmp_path_factory.mktemp("flip") / "outputs")
    run = runs_of(copied)[0]
    name = data.draw(st.sampled_from(files_of(run)))
    content = bytearray((run / name).read_bytes())
    place = data.draw(st.integers(0, len(content) - 1))
    content[place] ^= 1 << data.draw(st.integers(0, 7))
    (run / name).write_bytes(content)
    said = verdict(run)
    assert said["intact"] is False or said["complete"] is False
    assert name in {found["path"] for found in said["findings"]}


@pytest.mark.parametrize("name", ["notes.txt", "personas/1.json", "README.md", "experiment.jsonl"])
def test_a_removed_file_is_missing(store: Path, tmp_path: Path, name: str) -> None:
    run = runs_of(copy_store(store, tmp_path / "outputs"))[0]
    (run / name).unlink()
    said = verdict(run)
    assert ("missing", name) in kinds(said)
    assert said["complete"] is False


def test_a_removed_list_of_checksums_and_metadata_are_missing(store: Path, tmp_path: Path) -> None:
    run = runs_of(copy_store(store, tmp_path / "outputs"))[0]
    (run / "SHA256SUMS").unlink()
    assert kinds(verdict(run)) == {("missing", "SHA256SUMS")}
    (run / "metadata.json").unlink()
    assert ("missing", "metadata.json") in kinds(verdict(run))


def test_an_added_file_is_unexpected(store: Path, tmp_path: Path) -> None:
    run = runs_of(copy_store(store, tmp_path / "outputs"))[0]
    (run / "personas" / "2.json").write_text("{}")
    os.mkfifo(run / "pipe")
    assert kinds(verdict(run)) == {("unexpected", "personas/2.json"), ("unexpected", "pipe")}


def test_a_file_swapped_for_a_link_to_the_same_bytes_is_found(store: Path, tmp_path: Path) -> None:
    run = runs_of(copy_store(store, tmp_path / "outputs"))[0]
    (run / "notes.txt").rename(tmp_path / "notes.txt")
    (run / "notes.txt").symlink_to(tmp_path / "notes.txt")
    said = verdict(run)
    assert ("link", "notes.txt") in kinds(said)
    assert said["intact"] is False


def test_a_link_that_leads_elsewhere_is_found(store: Path, tmp_path: Path) -> None:
    run = runs_of(copy_store(store, tmp_path / "outputs"))[0]
    (run / "latest").unlink()
    (run / "latest").symlink_to("/etc")
    assert kinds(verdict(run)) == {("link", "latest")}


def test_lines_cut_from_the_end_of_the_journal_are_found(store: Path, tmp_path: Path) -> None:
    count = len((runs_of(store)[0] / "experiment.jsonl").read_text().splitlines())
    for cut in range(1, count + 1):
        run = runs_of(copy_store(store, tmp_path / str(cut) / "outputs"))[0]
        lines = (run / "experiment.jsonl").read_text().splitlines(keepends=True)
        (run / "experiment.jsonl").write_text("".join(lines[:-cut]))
        said = verdict(run)
        assert ("tail", "experiment.jsonl") in kinds(said)
        assert said["complete"] is False


def test_a_line_taken_from_the_middle_and_two_swapped_lines_break_the_chain(
    store: Path, tmp_path: Path
) -> None:
    run = runs_of(copy_store(store, tmp_path / "outputs"))[0]
    lines = (run / "experiment.jsonl").read_text().splitlines(keepends=True)
    for changed in ([lines[0], *lines[2:]], [lines[1], lines[0], *lines[2:]]):
        (run / "experiment.jsonl").write_text("".join(changed))
        assert ("chain", "experiment.jsonl") in kinds(verdict(run))


def test_a_metadata_document_rewritten_with_all_its_digests_is_found_by_the_ledger(
    store: Path, tmp_path: Path
) -> None:
    run = runs_of(copy_store(store, tmp_path / "outputs"))[0]
    document = read(run)
    document["generation"]["labels"]["team"] = "other"
    (run / "metadata.json").write_text(json.dumps(document))
    said = verdict(run)
    assert kinds(said) == {("ledger", "metadata.json"), ("document", "metadata.json")}
    assert said["intact"] is False


def test_a_removed_run_is_found_by_the_ledger(store: Path, tmp_path: Path) -> None:
    copied = copy_store(store, tmp_path / "outputs")
    gone = runs_of(copied)[0]
    for path in sorted(gone.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()
    gone.rmdir()
    said = verdict(copied)
    assert said["complete"] is False
    assert [(found["kind"], found["record"]) for found in said["findings"]] == [("ledger", gone.name)]


def test_a_cut_ledger_is_noticed(store: Path, tmp_path: Path) -> None:
    copied = copy_store(store, tmp_path / "outputs")
    (ledger,) = (copied / ".runcard").glob("ledger-*.jsonl")
    lines = ledger.read_text().splitlines(keepends=True)
    first, second = runs_of(copied)
    ledger.write_text(lines[0])  # the very last entry
    assert verdict(second)["complete"] is True
    assert [found["kind"] for found in verdict(second)["findings"]] == ["ledger"]
    ledger.write_text("")  # all of it: the second run names the first one's entry as the head it saw
    assert [found["kind"] for found in verdict(second)["findings"]] == ["ledger", "ledger"]
    assert [found["kind"] for found in verdict(first)["findings"]] == ["ledger"]


def test_a_run_that_was_copied_elsewhere_needs_no_ledger(store: Path, tmp_path: Path) -> None:
    run = copy_store(runs_of(store)[0], tmp_path / "elsewhere")
    assert verdict(run)["findings"] == []
