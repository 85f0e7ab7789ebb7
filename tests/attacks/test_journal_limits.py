"""Events and documents that are too large: they are cut and say so, and the record can be read, checked and folded."""

import json
import os
import warnings
from pathlib import Path
from typing import Any

import pytest

import runcard
from attacks.command_server import runcard as command
from runcard.documents.run import size_limit
from runcard.documents.run.events import INPUTS_ADDED
from runcard.documents.run.size_limit import MOST
from runcard.encoding.shorten import fitted, shortened, size
from runcard.errors import UsageError
from runcard.recording.recorder import events_of
from runs.harness import assert_closed, document_of, lines_of, runs_of, warnings_of

MIB = 1 << 20


def assert_good(place: Path) -> Path:
    """The only run of a store is closed, verifies, is valid, and no line of its journal is over 1 MiB."""
    (run,) = runs_of(place / "outputs")
    assert_closed(place / "outputs", runs=1)
    runcard.load(run / "metadata.json")
    done = command(place, "validate", run / "metadata.json")
    assert done.returncode == 0, done.stdout + done.stderr
    assert max(map(len, (run / "experiment.jsonl").read_bytes().splitlines(keepends=True))) <= MIB
    return run


def events(run: Path, name: str) -> list[dict[str, Any]]:
    return [line for line in lines_of(run) if line["event"] == name]


SIZES = [2, pytest.param(70, marks=pytest.mark.long)]  # MiB


@pytest.mark.parametrize("size", SIZES)
def test_an_event_of_many_mib_is_cut_and_marked(place: Path, size: int) -> None:
    with runcard.record("outputs", strict=True) as run:
        run.log("huge", text="x" * (size * MIB), number=7, nested={"deep": ["y" * (3 * MIB), 1.5]})
        run.log("after", text="small")
    recorded = assert_good(place)
    (line,) = events(recorded, "huge")
    assert line["truncated"]["original_bytes"] > (size + 3) * MIB
    assert line["payload"]["number"] == 7
    assert line["payload"]["nested"]["deep"][1] == 1.5
    assert line["payload"]["text"].endswith(f"… [cut: {size * MIB:,} characters]")
    assert len(line["payload"]["text"]) > MIB // 10
    assert "truncated" not in events(recorded, "after")[0]
    assert warnings_of(recorded) == ["truncated"]


@pytest.mark.parametrize("size", SIZES)
def test_an_error_message_of_many_mib_is_cut(place: Path, size: int) -> None:
    with runcard.record("outputs", strict=True) as run:
        run.add_error("é" * (size * MIB))
    recorded = assert_good(place)
    (error,) = document_of(recorded)["errors"]
    assert f"… [cut: {size * MIB:,} characters]" in error["message"]


@pytest.mark.long
def test_a_configuration_of_20_mib_is_cut_when_the_run_begins(place: Path) -> None:
    config = {"prompt": "p" * (19 * MIB), "seed": 7, "many": {f"k{n}": n for n in range(20_000)}}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        labels = {"a": "l" * MIB}
        with runcard.record("outputs", config=config, labels=labels, model="m", strict=True) as run:
            begun = document_of(run.path)
    assert [str(warning.message) for warning in caught] == [
        "the configuration had 20,200,784 bytes; at most 524,288 are recorded, so it was cut",
        "the labels had 1,048,585 bytes; at most 131,072 are recorded, so it was cut",
    ]
    recorded = assert_good(place)
    document = document_of(recorded)
    assert document["configuration"] == begun["configuration"]
    assert document["configuration"]["seed"] == 7
    assert document["configuration"]["model"] == "m"
    assert events(recorded, "run.started")[0]["payload"]["configuration"] == document["configuration"]
    assert warnings_of(recorded) == ["truncated", "truncated"]


def test_usage_is_never_cut(place: Path) -> None:
    with runcard.record("outputs", strict=True) as run:
        run.add_usage({"input": 123, "output": 45}, step="s" * (2 * MIB), model="m" * (2 * MIB), cost=1.25)
    recorded = assert_good(place)
    costs = document_of(recorded)["costs"]
    assert (costs["input_tokens"], costs["output_tokens"], costs["total_cost_usd"]) == (123, 45, 1.25)


def test_many_inputs_are_kept_in_many_events(place: Path) -> None:
    folder = place / "in"
    folder.mkdir()
    for number in range(6000):
        (folder / f"{'long-name-' * 15}{number}").touch()
    with runcard.record("outputs", inputs=["in"], strict=True):
        pass
    recorded = assert_good(place)
    assert document_of(recorded)["data_sources"]["total_files"] == 6000
    assert len(events(recorded, "inputs.added")) > 1
    assert warnings_of(recorded) == []


def test_the_name_of_an_event_is_cut_as_well(place: Path) -> None:
    with runcard.record("outputs", strict=True) as run:
        run.log("n" * (2 * MIB), a=1)
    recorded = assert_good(place)
    assert [line["payload"] for line in lines_of(recorded) if line["event"].startswith("nnn")] == [{"a": 1}]


@pytest.mark.long
def test_too_many_members_and_a_thousand_levels_are_cut(place: Path) -> None:
    deep: Any = list(range(20_000))
    for _ in range(900):
        deep = [deep]
    with runcard.record("outputs", strict=True) as run:
        run.log("wide", numbers=list(range(200_000)), **{f"k{n}": n for n in range(20_000)})
        run.set_config(deep=deep)  # 110 KB on one line, 36 MB with each number on a line of its own
    recorded = assert_good(place)
    (line,) = events(recorded, "wide")
    assert line["payload"]["numbers"][:3] == [0, 1, 2]
    assert (recorded / "metadata.json").stat().st_size <= MOST + 4096
    assert warnings_of(recorded) == ["truncated", "truncated"]


@pytest.mark.long
def test_errors_that_add_up_to_more_than_can_be_read_are_cut_in_the_document_alone(place: Path) -> None:
    with runcard.record("outputs", strict=True) as run:
        for number in range(100):
            run.add_error(f"{number} " + "e" * 900_000)
        run.add_usage({"input": 10, "output": 1}, cost=0.5)
    recorded = assert_good(place)
    document = document_of(recorded)
    assert len(document["errors"]) == 100
    assert (recorded / "README.md").stat().st_size < MOST
    assert len(events(recorded, "error.added")[99]["payload"]["message"]) > 900_000
    assert document["costs"]["total_cost_usd"] == 0.5
    (warning,) = document["warnings"]
    assert warning["type"] == "truncated"
    assert "texts to 65,536 characters" in warning["message"]


@pytest.mark.parametrize("limit", [0, 1000, 1 << 30])
def test_a_limit_that_makes_no_sense_is_refused(limit: int) -> None:
    with pytest.raises(UsageError, match="max_event_bytes"):
        runcard.record("outputs", max_event_bytes=limit)


def test_the_limit_can_be_set_and_holds_for_children(place: Path) -> None:
    with runcard.record("outputs", max_event_bytes=1 << 16, strict=True) as run:
        child = os.fork()
        if child == 0:
            run.log("child", text="x" * 100_000)
            os._exit(0)
        os.waitpid(child, 0)
        run.log("parent", text="x" * 100_000)
    recorded = assert_good(place)
    assert all("truncated" in line for name in ("child", "parent") for line in events(recorded, name))


# The document alone, with a lower limit: the real one takes hundreds of thousands of events


@pytest.fixture
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(size_limit, "MOST", MIB)


def recorded(**counts: int) -> dict[str, Any]:
    """The document that is made of many events of one kind; it is valid, or this raises."""
    recorder = runcard.MetadataRecorder(strict=True)
    recorder.start(model="m")
    for _ in range(counts.get("errors", 0)):
        recorder.add_error("an error that comes again and again")
    for number in range(counts.get("steps", 0)):
        recorder.add_usage({"input": 1, "output": 1}, step=f"step-{number}", cost=0.5)
    for number in range(counts.get("inputs", 0)):
        file = {"path": f"data/{number}/{'long-name' * 20}", "bytes": 1, "sha256": "0" * 64, "tokens": None}
        events_of(recorder).emit(INPUTS_ADDED, {"files": [file]})
    recorder.finish()
    document = recorder.document()
    assert document.warnings == ()
    assert len(document.to_bytes()) <= MIB + 4096
    return document.to_dict()


@pytest.mark.usefixtures("_small")
def test_many_errors_are_cut_to_the_first_ones() -> None:
    document = recorded(errors=12_000)
    assert len(document["errors"]) == 1_000
    assert "errors to the first 1,000" in document["warnings"][-1]["message"]


@pytest.mark.usefixtures("_small")
def test_steps_that_are_too_many_are_added_up() -> None:
    document = recorded(steps=8_000)
    rows = document["token_usage"]["breakdown_by_step"]
    assert len(rows) == 1001
    assert rows[-1]["step"] == "(7,000 others)"
    assert (rows[-1]["calls"], rows[-1]["input"], rows[-1]["cost_usd"]) == (7_000, 7_000, 3_500)
    assert document["costs"]["input_tokens"] == 8_000
    assert document["costs"]["total_cost_usd"] == 4_000


@pytest.mark.usefixtures("_small")
def test_inputs_that_are_too_many_leave_a_document_that_is_valid() -> None:
    document = recorded(inputs=4_000)
    assert document["data_sources"]["total_files"] == len(document["data_sources"]["files"]) == 1_000
    assert "inputs to the first 1,000" in document["warnings"][-1]["message"]


def test_shortening_keeps_numbers_and_leaves_its_argument_alone() -> None:
    value = {"a": ["x" * 100, 1, 2.5, None, True, {"b": "y" * 100}], "c": 10**30}
    before = json.dumps(value)
    short = shortened(value, 10)
    assert short["a"][1:5] == [1, 2.5, None, True]
    assert short["c"] == 10**30
    assert short["a"][0] == "x" * 10 + "… [cut: 100 characters]"
    assert json.dumps(value) == before


@pytest.mark.parametrize(
    "value",
    [
        {"t": "x" * 10**6},
        {f"key {n}": n for n in range(100_000)},
        {"k" * 10**6: 1},
        {"l": [[[str(n) for n in range(50)] for _ in range(50)] for _ in range(50)], "tokens": {"input": 1}},
        {f"t{n}": "z" * 1000 for n in range(5000)},
    ],
    ids=["text", "members", "key", "tree", "texts"],
)
def test_whatever_it_is_it_fits(value: dict[str, Any]) -> None:
    small = fitted(value, 50_000)
    assert size(small) <= 50_000
    assert small
    if "tokens" in value:
        assert small["tokens"] == {"input": 1}
