"""Metrics: logged by Python programs and by commands in any language, in the document, on the screen, and verified."""

import json
import math
import os
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import runcard
from runcard.documents.reader import parse_document
from runcard.documents.run.fold import EventFold
from runcard.encoding import encode_json
from runcard.errors import UsageError
from runcard.operations.amendments.redact import redact
from runcard.operations.checks.verify import summary, verify
from runs.runs import read, record_one

RUNCARD = (sys.executable, "-m", "runcard")


class Scalar:
    """A number as array libraries have it."""

    ndim = 0

    def __init__(self, value: float) -> None:
        self._value = value

    def item(self) -> float:
        return self._value


def test_the_document_has_the_last_value_the_range_and_the_count(outputs: Path) -> None:
    with runcard.record(outputs, strict=True) as run:
        for step, value in enumerate((0.1, 0.93, 0.9)):
            run.log_metric("accuracy", value, step=step)
        run.log_metric("epochs", 3)
    assert read(run.path)["metrics"] == {
        "accuracy": {"last": 0.9, "min": 0.1, "max": 0.93, "count": 3},
        "epochs": {"last": 3, "min": 3, "max": 3, "count": 1},
    }
    lines = [json.loads(line) for line in (run.path / "experiment.jsonl").read_text().splitlines()]
    series = [line["payload"] for line in lines if line["event"] == "metric"]
    assert series[:3] == [
        {"name": "accuracy", "value": value, "step": step} for step, value in enumerate((0.1, 0.93, 0.9))
    ]
    assert "step" not in series[3]
    assert summary(list(verify(str(run.path))))["intact"]


def test_a_run_without_metrics_has_no_such_section(outputs: Path) -> None:
    assert "metrics" not in read(record_one(outputs))


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_value_that_is_not_finite_is_unknown_and_counts(outputs: Path, value: float) -> None:
    with runcard.record(outputs, strict=True) as run:
        run.log_metric("loss", 0.5)
        run.log_metric("loss", value)
    assert read(run.path)["metrics"]["loss"] == {"last": None, "min": 0.5, "max": 0.5, "count": 2}
    events = (run.path / "experiment.jsonl").read_text()
    assert f'"not_finite":"{value}"' in events.replace(" ", "")
    assert summary(list(verify(str(run.path))))["intact"]


@pytest.mark.parametrize(
    ("value", "recorded"), [(Scalar(0.25), 0.25), (Decimal("0.5"), 0.5), (10**30, 10**30), (-0.5, -0.5)]
)
def test_numbers_of_other_libraries_are_numbers(outputs: Path, value: Any, recorded: float) -> None:
    with runcard.record(outputs, strict=True) as run:
        run.log_metric("m", value)
    assert read(run.path)["metrics"]["m"]["last"] == recorded
    assert summary(list(verify(str(run.path))))["intact"]


@pytest.mark.parametrize(
    ("name", "value", "step"),
    [
        *(("m", value, None) for value in ("0.5", True, None, [1], 1j)),
        *((name, 1, None) for name in ("", "m" * 201, 3)),
        *(("m", 1, step) for step in (1.5, "2", True)),
    ],
)
def test_a_wrong_argument_raises_at_once(outputs: Path, name: Any, value: Any, step: Any) -> None:
    with runcard.record(outputs) as run, pytest.raises(UsageError):
        run.log_metric(name, value, step=step)
    assert "metrics" not in read(run.path)


def test_a_recorder_in_memory_has_them_too(tmp_path: Path) -> None:
    recorder = runcard.MetadataRecorder()
    recorder.start()
    recorder.log_metric("accuracy", 0.5)
    recorder.finish()
    recorder.save(tmp_path / "run.json")
    assert json.loads((tmp_path / "run.json").read_bytes())["metrics"]["accuracy"]["last"] == 0.5


def test_commands_in_any_language_log_metrics(tmp_path: Path) -> None:
    script = (
        f"{' '.join(RUNCARD)} log-metric accuracy 0.5 --step 1 && {' '.join(RUNCARD)} log-metric loss -0.25"
    )
    command = (*RUNCARD, "run", "--outputs", "out", "--", "sh", "-ec", script)
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    (run,) = (path for path in (tmp_path / "out").iterdir() if path.name != ".runcard")
    assert read(run)["metrics"] == {
        "accuracy": {"last": 0.5, "min": 0.5, "max": 0.5, "count": 1},
        "loss": {"last": -0.25, "min": -0.25, "max": -0.25, "count": 1},
    }
    checked = summary(list(verify(str(run))))
    assert (checked["intact"], checked["complete"], checked["findings"]) == (True, True, [])
    shown = subprocess.run(
        (*RUNCARD, "show", str(run)), cwd=tmp_path, capture_output=True, text=True, timeout=60, check=True
    )
    assert "Metrics\n  accuracy  0.5\n  loss      -0.25\n" in shown.stdout
    assert "## Metrics" in (run / "README.md").read_text()


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["accuracy", "0.5"], 1, "this is not a recorded command"),
        (["accuracy", "much"], 64, "'much' is not a number"),
        (["accuracy"], 64, "VALUE"),
    ],
)
def test_outside_of_a_run_it_says_so(tmp_path: Path, arguments: list[str], code: int, words: str) -> None:
    environ = {name: value for name, value in os.environ.items() if not name.startswith("RUNCARD")}
    command = (*RUNCARD, "log-metric", *arguments)
    done = subprocess.run(
        command, cwd=tmp_path, env=environ, capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout) == (code, "")
    assert done.stderr.startswith("Error:")
    assert words in done.stderr


def test_a_closed_run_takes_no_more_values(outputs: Path) -> None:
    run = record_one(outputs)
    environ = os.environ | {"RUNCARD_RUN_DIR": str(run)}
    command = (*RUNCARD, "log-metric", "accuracy", "0.5")
    done = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert "closed" in done.stderr


def test_a_withheld_value_is_not_compared(outputs: Path) -> None:
    with runcard.record(outputs, strict=True) as run:
        run.log_metric("accuracy", 0.5)
    lines = [json.loads(line) for line in (run.path / "experiment.jsonl").read_text().splitlines()]
    seq = next(line["seq"] for line in lines if line["event"] == "metric")
    redact(run.path, events=[str(seq)], reason="private")
    assert summary(list(verify(str(run.path))))["intact"]


def test_a_changed_metric_is_found(outputs: Path) -> None:
    with runcard.record(outputs, strict=True) as run:
        run.log_metric("accuracy", 0.5)
    document = read(run.path)
    document["metrics"]["accuracy"] |= {"last": 0.9, "max": 0.9}
    (run.path / "metadata.json").write_bytes(encode_json(document))
    paths = [finding["path"] for finding in summary(list(verify(str(run.path))))["findings"]]
    assert "metadata.json" in paths


def test_a_document_from_before_with_an_event_of_that_name_is_intact(outputs: Path) -> None:
    """`metric` was a name that users could choose: their events had no section in the document."""
    folded = EventFold()
    folded.add({"event": "metric", "payload": {"name": "accuracy", "value": True}})
    with runcard.record(outputs, strict=True) as run:
        pass
    assert "metrics" not in folded.document(read(run.path))


@pytest.mark.parametrize(
    ("values", "pointer"),
    [
        ({"last": 2, "min": 0, "max": 1, "count": 2}, "/metrics/a~1b/last"),
        ({"last": 0.5, "min": 1, "max": 0, "count": 2}, "/metrics/a~1b/min"),
    ],
)
def test_values_outside_of_their_range_are_errors(
    outputs: Path, values: dict[str, Any], pointer: str
) -> None:
    document = read(record_one(outputs)) | {"metrics": {"a/b": values}}
    report = parse_document(encode_json(document)).report
    assert pointer in [finding.path for finding in report.errors]
    assert {finding.rule for finding in report.errors} == {"metric.range"}
