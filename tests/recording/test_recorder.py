"""MetadataRecorder: one document, made in memory, for those who own their directory."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

import runcard
from accounting.replies import ANTHROPIC
from runcard.errors import EncodingError, MachineError, StoreError, UsageError
from runs.runs import read

DIGEST = "sha256:" + "ab" * 32


@pytest.fixture
def recorder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> runcard.MetadataRecorder:
    monkeypatch.delenv("RUNCARD_PARENT", raising=False)
    monkeypatch.delenv("TRACEPARENT", raising=False)
    monkeypatch.chdir(tmp_path)
    return runcard.MetadataRecorder()


def test_everything_that_can_be_told_is_in_the_document(
    recorder: runcard.MetadataRecorder, tmp_path: Path
) -> None:
    (tmp_path / "a.md").write_text("hello")
    recorder.start(
        model="claude-sonnet-4-5",
        provider="anthropic",
        config={"persona_count": 3},
        experiment="personas",
        labels={"team": "ux"},
        parent="run-of-somebody",
    )
    recorder.set_config(temperature=0.5)
    recorder.add_data_source("*.md", "nothing/*")
    recorder.add_usage(ANTHROPIC, step="ask", cost=0.25)
    recorder.set_costs(reasoning_tokens=100)
    recorder.add_checksum("output", DIGEST)
    recorder.add_checksum("model", DIGEST)
    recorder.add_error(ValueError("bad"))
    recorder.add_warning("slow", type="speed")
    recorder.finish()
    target = tmp_path / "metadata.json"
    recorder.save(target)

    document = runcard.load(target)
    assert document.warnings == ()
    said = document.to_dict()
    generation = said["generation"]
    assert (generation["status"], generation["experiment_name"]) == ("completed", "personas")
    assert generation["labels"] == {"team": "ux"}
    assert generation["timestamp_end"] >= generation["timestamp_start"]
    assert said["relations"] == [{"type": "parent", "id": "run-of-somebody"}]
    assert said["configuration"] == {
        "model": "claude-sonnet-4-5",
        "provider": "anthropic",
        "persona_count": 3,
        "temperature": 0.5,
    }
    assert [file["path"] for file in said["data_sources"]["files"]] == ["a.md"]
    assert (said["costs"]["total_cost_usd"], said["costs"]["input_tokens"]) == (0.25, 189137)
    assert said["token_usage"]["breakdown_by_step"][0]["step"] == "ask"
    assert said["checksums"]["output"] == said["checksums"]["model"] == DIGEST
    assert said["checksums"]["data"].startswith("sha256:")
    assert [error["message"] for error in said["errors"]] == ["bad"]
    assert [warning["type"] for warning in said["warnings"]] == ["input", "speed"]
    assert said["environment"]["python_version"]
    assert said["resources"]["cpu_seconds"] > 0


def test_the_calls_say_which_model_it_was_and_how_long_they_took(recorder: runcard.MetadataRecorder) -> None:
    recorder.start()
    assert recorder.document().to_dict()["configuration"] == {"model": None, "provider": None}
    recorder.add_usage(ANTHROPIC, latency=1.5, provider="anthropic", request={"temperature": 0.2})
    recorder.add_usage(ANTHROPIC | {"id": "msg_other"}, provider="anthropic")
    running = recorder.document().to_dict()
    recorder.finish()
    assert recorder.document().warnings == ()
    for document in (running, recorder.document().to_dict()):
        assert document["configuration"] == {"model": ANTHROPIC["model"], "provider": "anthropic"}
        times = {"count": 1, "mean": 1.5, "p50": 1.5, "p95": 1.5, "max": 1.5}
        assert document["performance"] == {"calls": 2, "latency_seconds": times}


def test_the_same_name_is_the_same_experiment_as_for_a_recorded_run(
    recorder: runcard.MetadataRecorder, tmp_path: Path
) -> None:
    recorder.start(experiment="personas")
    with runcard.record(tmp_path / "outputs", experiment="personas", strict=True) as run:
        pass
    own, other = recorder.document().to_dict()["generation"], read(run.path)["generation"]
    assert own["experiment_id"] == other["experiment_id"]


def test_saving_writes_that_one_file_and_nothing_else(
    recorder: runcard.MetadataRecorder, tmp_path: Path
) -> None:
    recorder.start()
    recorder.finish()
    (tmp_path / "mine").mkdir()
    recorder.save(tmp_path / "mine" / "record.json")
    assert [path.name for path in tmp_path.rglob("*")] == ["mine", "record.json"]


def test_saving_replaces_a_document_in_one_step(recorder: runcard.MetadataRecorder, tmp_path: Path) -> None:
    recorder.start()
    target = tmp_path / "metadata.json"
    target.write_text("old")
    before = target.stat().st_ino
    with target.open() as old:
        recorder.save(str(target))
        assert old.read() == "old"  # who was reading goes on reading what he began
    assert target.stat().st_ino != before
    assert read(tmp_path)["generation"]["status"] == "running"


def test_a_place_that_cannot_be_written_is_an_error_that_names_it(
    recorder: runcard.MetadataRecorder, tmp_path: Path
) -> None:
    recorder.start()
    for target in (tmp_path / "missing" / "metadata.json", tmp_path):
        with pytest.raises((StoreError, MachineError), match=str(target)):
            recorder.save(target)
    assert list(tmp_path.iterdir()) == []


def test_before_its_end_the_document_says_running_and_what_is_known_so_far(
    recorder: runcard.MetadataRecorder, tmp_path: Path
) -> None:
    recorder.start(model="m")
    recorder.add_usage({"input": 1, "output": 2}, cost=1)
    recorder.save(tmp_path / "metadata.json")
    said = read(tmp_path)
    assert said["generation"]["status"] == "running"
    assert said["generation"]["timestamp_end"] is said["generation"]["duration_seconds"] is None
    assert said["generation"]["estimated"] == []
    assert said["generation"]["process"]["pid"] == os.getpid()
    assert said["costs"]["total_cost_usd"] == 1
    assert said["environment"]["runcard_version"] == runcard.__version__
    recorder.finish("failed")
    recorder.save(tmp_path / "metadata.json")
    assert read(tmp_path)["generation"]["status"] == "failed"
    recorder.save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "metadata.json").read_bytes()


def test_parent_and_trace_come_from_the_environment(
    recorder: runcard.MetadataRecorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    monkeypatch.setenv("RUNCARD_PARENT", "run-outside")
    monkeypatch.setenv("TRACEPARENT", trace)
    recorder.start()
    said = recorder.document().to_dict()
    assert said["relations"] == [{"type": "parent", "id": "run-outside"}]
    assert said["trace"] == {"traceparent": trace}


def test_inputs_are_named_from_where_it_was_started(
    recorder: runcard.MetadataRecorder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "x.md").write_text("x")
    recorder.start()
    monkeypatch.chdir(tmp_path / "a")
    recorder.add_data_source("x.md")
    assert [file["path"] for file in recorder.document().to_dict()["data_sources"]["files"]] == ["a/x.md"]


def test_secrets_are_masked_and_counted(recorder: runcard.MetadataRecorder, tmp_path: Path) -> None:
    secret = "sk-ant-" + "api03-" + "Zq8vJ2mX7tLw4RbN9cKd3HfG6pSyE1uA"
    recorder.start(config={"api_key": secret}, labels={"note": secret})
    recorder.add_error(f"refused {secret}")
    recorder.save(tmp_path / "metadata.json")
    assert secret not in (tmp_path / "metadata.json").read_text()
    assert {said["where"] for said in read(tmp_path)["redactions"]} == {"configuration", "labels", "errors"}
    keeper = runcard.MetadataRecorder(keep_secrets=True)
    keeper.start(config={"api_key": secret})
    said = keeper.document().to_dict()
    assert (said["keep_secrets"], said["configuration"]["api_key"]) == (True, secret)


def test_what_was_told_stays_as_it_was(recorder: runcard.MetadataRecorder) -> None:
    config: dict[str, Any] = {"steps": [1]}
    keeper = runcard.MetadataRecorder(keep_secrets=True)
    for one in (recorder, keeper):
        one.start(config=config)
        one.set_config(more=config)
        one.log("told", config=config)
    config["steps"].append(2)
    for one in (recorder, keeper):
        said = one.document().to_dict()["configuration"]
        assert (said["steps"], said["more"]) == ([1], {"steps": [1]})


@pytest.mark.parametrize(
    "too_early",
    [
        lambda recorder: recorder.set_config(a=1),
        lambda recorder: recorder.add_data_source("nothing"),
        lambda recorder: recorder.add_usage({"input": 1, "output": 1}, cost=1),
        lambda recorder: recorder.set_costs(total_cost_usd=1),
        lambda recorder: recorder.add_checksum("output", DIGEST),
        lambda recorder: recorder.add_error("x"),
        lambda recorder: recorder.add_warning("x"),
        lambda recorder: recorder.finish(),
        lambda recorder: recorder.save("metadata.json"),
        lambda recorder: recorder.document(),
    ],
)
def test_nothing_can_be_told_before_the_start(
    recorder: runcard.MetadataRecorder, tmp_path: Path, too_early: Any
) -> None:
    with pytest.raises(UsageError, match="was not started"):
        too_early(recorder)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "too_late",
    [
        lambda recorder: recorder.add_usage({"input": 1, "output": 1}, cost=1),
        lambda recorder: recorder.add_checksum("output", DIGEST),
        lambda recorder: recorder.finish(),
    ],
)
def test_nothing_can_be_told_after_the_end(recorder: runcard.MetadataRecorder, too_late: Any) -> None:
    recorder.start()
    recorder.finish()
    before = recorder.document().to_bytes()
    with pytest.raises(UsageError, match="is finished"):
        too_late(recorder)
    assert recorder.document().to_bytes() == before


def test_prices_are_a_table() -> None:
    with pytest.raises(UsageError, match="prices is a str"):
        runcard.MetadataRecorder(prices="prices.json")  # type: ignore[arg-type]


def test_a_recorder_is_for_one_run(recorder: runcard.MetadataRecorder) -> None:
    recorder.start()
    with pytest.raises(UsageError, match="already been started"):
        recorder.start()


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        ({"experiment": "a/b"}, UsageError),
        ({"parent": ""}, UsageError),
        ({"model": 3}, UsageError),
        ({"config": {"provider": []}}, UsageError),
        ({"config": {"x": object()}}, EncodingError),
        ({"labels": {"x": "\udc80"}}, EncodingError),
    ],
)
def test_wrong_arguments_raise_at_once(
    recorder: runcard.MetadataRecorder, wrong: Any, error: type[Exception]
) -> None:
    with pytest.raises(error):
        recorder.start(**wrong)
    recorder.start()  # nothing was begun


@pytest.mark.parametrize("status", ["running", "done", "", None])
def test_a_run_ends_in_one_of_three_ways(recorder: runcard.MetadataRecorder, status: Any) -> None:
    recorder.start()
    with pytest.raises(UsageError) as raised:
        recorder.finish(status)
    assert raised.value.hint == "use one of completed, failed, interrupted"
    recorder.finish("interrupted")


@pytest.mark.parametrize(
    ("name", "digest"),
    [("output", "ab" * 32), ("output", "sha256:" + "AB" * 32), ("output", "md5:abc"), ("config", DIGEST)],
)
def test_a_checksum_is_a_digest_and_that_of_the_configuration_is_runcards(
    recorder: runcard.MetadataRecorder, name: str, digest: str
) -> None:
    recorder.start()
    with pytest.raises(UsageError) as raised:
        recorder.add_checksum(name, digest)
    assert raised.value.hint
    assert recorder.document().to_dict()["checksums"]["output"] is None


def test_what_it_saves_can_be_shown(recorder: runcard.MetadataRecorder, tmp_path: Path) -> None:
    """Its process is alive, so it is running, although no journal says so."""
    recorder.start()
    recorder.save(tmp_path / "metadata.json")
    (checked,) = runcard.validate(tmp_path / "metadata.json")
    assert [found.message for found in checked.report.warnings] == ["the run is not closed"]
    document = json.loads((tmp_path / "metadata.json").read_bytes())
    document["generation"]["process"] |= {"pid": 2**22 + 1}
    (tmp_path / "metadata.json").write_text(json.dumps(document))
    (checked,) = runcard.validate(tmp_path / "metadata.json")
    assert [found.message for found in checked.report.warnings] == [
        "the run is interrupted: its process is gone"
    ]
