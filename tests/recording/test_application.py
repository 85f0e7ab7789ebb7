"""The version of the program that generated, in `environment.<name>_version`."""

import json
import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

import runcard
from runcard.errors import UsageError
from runcard.version import __version__
from runs.runs import read

KEY = "sk-ant-" + "api03-" + "Zq8vJ2mX7tLw4RbN9cKd3HfG6pSyE1uA"
PROGRAM = """
import sys, runcard
def generate(outputs):
    with runcard.record(outputs, strict=True) as run:
        return run.path
@runcard.record(sys.argv[1], strict=True)
def decorated():
    return runcard.current_run().path
def main():
    recorder = runcard.MetadataRecorder()
    recorder.start()
    recorder.finish()
    recorder.save(sys.argv[1] + "/metadata.json")
    print(generate(sys.argv[1]), decorated(), sep="\\n")
"""


def environment(outputs: Path, **settings: Any) -> dict[str, Any]:
    with runcard.record(outputs, strict=True, **settings) as run:
        pass
    found: dict[str, Any] = read(run.path)["environment"]
    return found


def test_a_program_is_recorded_with_the_version_that_is_given(outputs: Path) -> None:
    found = environment(outputs, application="persona", application_version="0.9.0")
    assert list(found)[:2] == ["persona_version", "runcard_version"]
    assert (found["persona_version"], found["runcard_version"]) == ("0.9.0", __version__)
    assert found["python_version"] == sys.version.split()[0]


@pytest.mark.parametrize("name", ["My-Persona.tool", "my_persona_tool", "MY--persona-tool"])
def test_the_key_is_the_normalised_name(outputs: Path, name: str) -> None:
    found = environment(outputs, application=name, application_version="1")
    assert [key for key in found if key.startswith("my")] == ["my_persona_tool_version"]


def test_without_a_version_it_is_that_of_the_installed_distribution(outputs: Path) -> None:
    assert environment(outputs, application="PyTest")["pytest_version"] == version("pytest")


def test_a_version_that_is_not_known_is_absent_with_a_warning(outputs: Path) -> None:
    with pytest.warns(runcard.RuncardWarning, match="the version of persona is not recorded"):
        run = runcard.start(outputs, application="persona")
    run.finish()
    document = read(run.path)
    assert "persona_version" not in document["environment"]
    assert [warning["type"] for warning in document["warnings"]] == ["application"]


@pytest.mark.parametrize("name", ["runcard", "Python", "", "-x", "x-", "a b", "pérsona", "x" * 101, 1, "a\n"])
def test_a_name_that_cannot_be_used_raises_at_once(outputs: Path, name: object) -> None:
    with pytest.raises(UsageError):
        runcard.record(outputs, application=name, application_version="1")  # type: ignore[call-overload]
    with pytest.raises(UsageError):
        runcard.MetadataRecorder().start(application=name)  # type: ignore[arg-type]


@pytest.mark.parametrize("given", ["", "1\n", "1 2", "x" * 201, 1])
def test_a_version_that_is_no_text_on_one_line_raises_at_once(outputs: Path, given: object) -> None:
    with pytest.raises(UsageError, match="version of persona"):
        runcard.start(outputs, application="persona", application_version=given)  # type: ignore[arg-type]


def test_a_version_needs_a_name(outputs: Path) -> None:
    with pytest.raises(UsageError):
        runcard.record(outputs, application_version="0.9.0")
    assert not outputs.exists()


def test_a_secret_in_a_version_is_masked(outputs: Path) -> None:
    with runcard.record(outputs, application="persona", application_version=KEY) as run:
        pass
    assert KEY not in (run.path / "metadata.json").read_text()
    assert ("environment", 1) in {(one["where"], one["count"]) for one in read(run.path)["redactions"]}


def test_the_recorder_of_a_document_has_it_too() -> None:
    recorder = runcard.MetadataRecorder()
    recorder.start(application="persona", application_version="0.9.0")
    recorder.finish()
    assert recorder.document().to_dict()["environment"]["persona_version"] == "0.9.0"
    unknown = runcard.MetadataRecorder()
    unknown.start(application="persona")
    unknown.finish()
    document = unknown.document().to_dict()
    assert "persona_version" not in document["environment"]
    assert [warning["type"] for warning in document["warnings"]] == ["application"]


def test_a_program_of_an_installed_distribution_is_found_by_itself(tmp_path: Path) -> None:
    site, outputs = tmp_path / "site", tmp_path / "outputs"
    (site / "persona").mkdir(parents=True)
    (site / "persona" / "__init__.py").touch()
    (site / "persona" / "cli.py").write_text(PROGRAM)
    (site / "persona-0.9.0.dist-info").mkdir()
    (site / "persona-0.9.0.dist-info" / "RECORD").write_text("persona/__init__.py,,\npersona/cli.py,,\n")
    outputs.mkdir()
    runs = subprocess.run(
        [sys.executable, "-c", "from persona.cli import main; main()", str(outputs)],
        env={**os.environ, "PYTHONPATH": str(site)},
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    documents = [read(Path(run)) for run in runs] + [json.loads((outputs / "metadata.json").read_text())]
    assert [one["environment"].get("persona_version") for one in documents] == ["0.9.0"] * 3


def test_a_program_that_is_not_installed_has_no_version(outputs: Path) -> None:
    others = {"python_version", "runcard_version"}
    assert {key for key in environment(outputs) if key.endswith("_version")} == others


def test_the_version_is_seen_in_the_page_of_the_run(outputs: Path) -> None:
    with runcard.record(outputs, application="persona", application_version="0.9.0") as run:
        pass
    assert "| persona version | `0.9.0` |" in (run.path / "README.md").read_text()
