"""What `runcard run` records, and what it tells the command."""

import json
import os
import re
import shutil
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from child_process.commands import Runner, document, is_intact, runs

MIB = 1 << 20
SHOW = "import json, os; print(json.dumps(dict(os.environ) | {'PWD': os.getcwd()}))"
CALLER = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def test_the_command_is_told_where_its_record_is_and_in_which_trace(runner: Runner) -> None:
    done = runner.python(SHOW, TRACEPARENT=CALLER)
    told = json.loads(done.out)
    generation = done.document["generation"]
    assert told["RUNCARD_RUN_DIR"] == str(done.run)
    assert told["RUNCARD_RUN_ID"] == told["RUNCARD_PARENT"] == generation["run_id"]
    assert told["PWD"] == str(runner.place)
    assert generation["command"] == [sys.executable, "-c", SHOW]
    passed = told["TRACEPARENT"]
    assert re.fullmatch("00-0af7651916cd43dd8448eb211c80319c-[0-9a-f]{16}-01", passed)
    assert passed != CALLER
    assert done.document["trace"] == {"traceparent": CALLER, "passed_on": passed}


def test_without_a_trace_one_begins(runner: Runner) -> None:
    done = runner.python(SHOW, TRACEPARENT="nonsense")
    passed = json.loads(done.out)["TRACEPARENT"]
    assert re.fullmatch("00-[0-9a-f]{32}-[0-9a-f]{16}-01", passed)
    assert done.document["trace"] == {"traceparent": None, "passed_on": passed}


def test_the_parent_is_named_or_taken_from_the_caller(runner: Runner) -> None:
    assert runner("--", "true", RUNCARD_PARENT="run-outer").document["relations"] == [
        {"type": "parent", "id": "run-outer"}
    ]
    (first,) = runs(runner.place)
    runner("--parent", "run-named", "--", "true", RUNCARD_PARENT="run-outer")
    (second,) = set(runs(runner.place)) - {first}
    assert document(second)["relations"] == [{"type": "parent", "id": "run-named"}]


def test_a_run_inside_a_run_has_it_as_its_parent(runner: Runner) -> None:
    command = [sys.executable, "-m", "runcard", "run", "--quiet", "--outputs", "inner", "--", "true"]
    done = runner("--", *command)
    (inner,) = runs(runner.place, "inner")
    assert document(inner)["relations"] == [{"type": "parent", "id": done.document["generation"]["run_id"]}]


def test_the_store_is_named_or_taken_from_the_environment(runner: Runner) -> None:
    runner("--", "true", RUNCARD_OUTPUTS="by-environment")
    runner("--outputs", "by-name", "--", "true", RUNCARD_OUTPUTS="by-environment")
    assert len(runs(runner.place, "by-environment")) == len(runs(runner.place, "by-name")) == 1
    assert runs(runner.place) == []


def test_a_command_joins_its_run(runner: Runner) -> None:
    code = """
import runcard
run = runcard.current_run()
run.add_usage({"input": 100, "output": 10}, cost=0.5)
run.set_labels(by="child")
(run.path / "made.txt").write_text("made")
"""
    done = runner.python(code, options=["--label", "team=ux"])
    assert done.document["costs"]["total_cost_usd"] == 0.5
    assert done.document["generation"]["labels"] == {"team": "ux", "by": "child"}
    assert len(done.document["event_chains"]) == 2
    assert (done.run / "made.txt").read_text() == "made"
    assert is_intact(done.run)


def test_what_is_said_about_the_run_is_recorded(runner: Runner) -> None:
    options = [
        "--model",
        "m",
        "--provider",
        "p",
        "--experiment",
        "personas",
        "--label",
        "team=ux",
        "--label",
        "a=b=c",
    ]
    done = runner(*options, "--", "true")
    assert done.document["configuration"] == {"model": "m", "provider": "p"}
    generation = done.document["generation"]
    assert (generation["experiment_name"], generation["labels"]) == ("personas", {"team": "ux", "a": "b=c"})


def test_a_configuration_that_cannot_be_read_is_125_and_nothing_is_run(runner: Runner) -> None:
    (runner.place / "a.json").write_text("seed: 1\n")
    done = runner("--config", "a.json", "--", "touch", "made")
    assert done.code == 125
    assert done.err.startswith(b"Error: a.json:1:1: ")
    assert not (runner.place / "made").exists()
    assert runs(runner.place) == []


@pytest.mark.parametrize("option", ["--set", "--label", "--model", "--provider"])
def test_what_is_said_must_be_text(runner: Runner, option: str) -> None:
    done = runner(option, b"key=\xff", "--", "touch", "made")
    assert done.code == 64
    assert done.err.startswith(b"Error: key=\\xff is not UTF-8\n  hint: ")
    assert runs(runner.place) == []
    assert not (runner.place / "made").exists()


def test_the_configuration_is_recorded_without_secrets(runner: Runner) -> None:
    (runner.place / "a.toml").write_text('seed = 1\n[database]\npassword = "xK9mQ2vLp7wZt4rB"\n')
    done = runner("--config", "a.toml", "--set", "seed=2", "--", "true")
    configuration = {
        "model": None,
        "provider": None,
        "seed": 2,
        "database": {"password": "[masked:password]"},
    }
    assert done.document["configuration"] == configuration


# Inputs


def make_data(place: Path) -> None:
    (place / "data").mkdir()
    for name in ("a.md", "b.md", "c.txt"):
        (place / "data" / name).write_text(name)


def test_inputs_are_recorded_as_they_were_before(runner: Runner) -> None:
    make_data(runner.place)
    done = runner("--input", "data/*.md", "--input", "data/c.txt", "--", "true")
    files = done.document["data_sources"]["files"]
    assert [file["path"] for file in files] == ["data/a.md", "data/b.md", "data/c.txt"]
    assert done.warnings == []


def test_inputs_that_vanish_or_change_are_noticed(runner: Runner) -> None:
    make_data(runner.place)
    script = "rm data/a.md; echo other > data/b.md; touch data/c.txt; mv data/c.txt d; cp d data/c.txt"
    done = runner("--input", "data", "--", "sh", "-c", script)
    messages = [warning["message"] for warning in done.document["warnings"]]
    assert messages == [
        "the input data/a.md vanished during the run",
        "the input data/b.md was changed during the run",
    ]
    for message in messages:
        assert f"Warning: {message}\n".encode() in done.err
    assert done.code == 0


def test_an_input_without_a_match_is_a_warning(runner: Runner) -> None:
    done = runner("--input", "nothing/*.md", "--", "true")
    assert (done.code, done.warnings) == (0, ["input"])
    assert done.err.startswith(b"Warning: ")


# Resources


def used(runner: Runner, code: str) -> tuple[float, int]:
    resources = runner.python(code).document["resources"]
    return resources["cpu_seconds"], resources["peak_memory_bytes"]


def test_memory_and_time_of_the_command(runner: Runner) -> None:
    seconds, peak = used(
        runner,
        f"x = bytearray({200 * MIB}); import time; e = time.process_time() + 0.3\nwhile time.process_time() < e: pass",
    )
    assert 0.3 < seconds < 30
    assert 200 * MIB < peak < 300 * MIB


def test_the_record_does_not_take_its_own_memory_for_that_of_the_command(runner: Runner) -> None:
    done = runner("--", "sleep", "0.3")
    assert done.document["resources"]["peak_memory_bytes"] < 8 * MIB
    assert done.document["resources"]["cpu_seconds"] < 0.1


WORKERS = f"""
import subprocess, sys, time
code = "x = bytearray({100 * MIB}); print(flush=True); input()"
children = [subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) for _ in range(3)]
for child in children:
    child.stdout.readline()
time.sleep(1.5)
for child in children:
    child.communicate(b"\\n")
"""


@pytest.mark.long
def test_memory_of_several_processes_adds_up(runner: Runner) -> None:
    _, peak = used(runner, WORKERS)
    assert 300 * MIB < peak < 450 * MIB


SHARED = f"""
import os, time
x = bytearray({200 * MIB})
for _ in range(2):
    if os.fork() == 0:
        break
time.sleep(1.5)
"""


@pytest.mark.long
def test_memory_that_is_shared_counts_once(runner: Runner) -> None:
    _, peak = used(runner, SHARED)
    assert 200 * MIB < peak < 300 * MIB


ORPHAN = """
import os, time
ended, held = os.pipe()
if os.fork() == 0:
    if os.fork() == 0:
        end = time.process_time() + 0.5
        while time.process_time() < end:
            pass
    os._exit(0)
os.wait()
os.close(held)
os.read(ended, 1)  # nothing comes, and the end only when nobody holds the other side
"""


def test_time_of_a_process_that_nobody_waited_for_counts(runner: Runner) -> None:
    seconds, _ = used(runner, ORPHAN)
    assert seconds > 0.5


def test_the_program_is_recorded_with_the_version_that_is_given(runner: Runner) -> None:
    done = runner("--application", "persona=0.9.0", "--", "true")
    assert done.document["environment"]["persona_version"] == "0.9.0"
    assert done.document["reproduce"]["application"] == "persona=0.9.0"


def test_a_program_without_a_version_is_looked_up(runner: Runner) -> None:
    done = runner("--application", "pytest", "--", "true")
    assert done.document["environment"]["pytest_version"] == version("pytest")


def test_a_program_that_is_not_installed_is_a_warning(runner: Runner) -> None:
    done = runner("--application", "no-such-program", "--", "true")
    assert (done.code, done.warnings) == (0, ["application"])
    assert b"Warning: the version of no-such-program is not recorded" in done.err
    assert _programs(done.document) == []


@pytest.mark.parametrize("word", ["runcard=1", "python", "persona=", "=0.9.0", "", "a b=1"])
def test_a_program_that_cannot_be_recorded_is_wrong_usage(runner: Runner, word: str) -> None:
    done = runner("--application", word, "--", "true")
    assert (done.code, runs(runner.place)) == (64, [])


def install(runner: Runner) -> Path:
    """An environment with a package that brought a script; the path of the script."""
    environment = runner.place / "environment"
    info = environment / "lib" / "python3.12" / "site-packages" / "persona-0.9.0.dist-info"
    info.mkdir(parents=True)
    (info / "RECORD").write_text("../../../bin/persona,,\n../../../generate.sh,,\n")
    (environment / "bin").mkdir()
    for name in ("bin/persona", "generate.sh"):
        (environment / name).write_text("#!/bin/sh\nexit 0\n")
        (environment / name).chmod(0o755)
    return environment / "bin" / "persona"


def test_a_script_of_an_installed_package_has_its_version(runner: Runner) -> None:
    install(runner)
    done = runner("--", "environment/bin/persona")
    assert (done.code, done.document["environment"]["persona_version"]) == (0, "0.9.0")


def test_a_script_is_found_in_the_path(runner: Runner) -> None:
    path = f"{install(runner).parent}{os.pathsep}{os.environ['PATH']}"
    done = runner("--", "persona", PATH=path)
    assert done.document["environment"]["persona_version"] == "0.9.0"


def test_the_name_that_is_given_counts_more_than_the_script(runner: Runner) -> None:
    done = runner("--application", "other=1", "--", str(install(runner)))
    assert _programs(done.document) == ["other_version"]


def test_another_program_of_an_environment_has_no_version(runner: Runner) -> None:
    script = install(runner)
    assert _programs(runner("--", str(script.parent.parent / "generate.sh")).document) == []


def test_a_binary_is_no_script_of_a_package(runner: Runner) -> None:
    script = install(runner)
    script.unlink()
    shutil.copy(shutil.which("true") or "", script)
    assert _programs(runner("--", str(script)).document) == []


def test_a_command_of_no_package_has_no_version(runner: Runner) -> None:
    assert _programs(runner("--", "true").document) == []


def _programs(document: dict[str, Any]) -> list[str]:
    names = [name for name in document["environment"] if name.endswith("_version")]
    return [name for name in names if name not in {"runcard_version", "python_version"}]
