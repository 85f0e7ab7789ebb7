"""The configuration of `runcard run` reaches the command: as a file, in `current_run().config`, and in its arguments."""

import json
import os
import signal
import stat
from pathlib import Path
from typing import Any

import pytest

import runcard
from child_process.commands import Done, Runner, is_intact, runs
from runcard.operations.runs.rerun import plan_rerun
from runcard.operations.runs.run import run
from runcard.store.runs import config_file
from waiting import wait_until

PASSWORD = "correct-horse-battery"  # noqa: S105 - of nobody
SHOW = 'cat "$RUNCARD_CONFIG"'
PRINT = "import json, runcard; print(json.dumps(runcard.current_run().config))"


def given(done: Done) -> dict[str, Any]:
    """The configuration that the command printed."""
    assert done.code == 0, done.err
    found: dict[str, Any] = json.loads(done.out)
    return found


def leftovers(place: Path) -> list[Path]:
    return list(place.glob("runcard-config-*"))


def test_the_command_reads_the_merged_configuration(runner: Runner) -> None:
    (runner.place / "base.yaml").write_text("seed: 1\nsampling: {temperature: 0.2, top_p: 1}\n")
    options = ("--config", "base.yaml", "--set", "sampling.temperature=0.7", "--model", "m")
    done = runner(*options, "--", "sh", "-c", SHOW)
    assert given(done) == {"seed": 1, "sampling": {"temperature": 0.7, "top_p": 1}, "model": "m"}
    assert {**given(done), "provider": None} == done.document["configuration"]


def test_the_configuration_of_an_experiment_reaches_the_command(runner: Runner) -> None:
    folder = runner.place / "experiments/moods"
    folder.mkdir(parents=True)
    (folder / "config.yaml").write_text("experiment_id: exp-moods\nmood: calm\nseed: 1\n")
    done = runner("--experiment", "moods", "--set", "seed=2", "--", "sh", "-c", SHOW)
    assert given(done) == {"mood": "calm", "seed": 2}


def test_without_a_configuration_the_file_has_an_empty_object(runner: Runner) -> None:
    assert given(runner("--", "sh", "-c", SHOW)) == {}


def test_the_command_gets_secrets_and_the_record_does_not(runner: Runner) -> None:
    done = runner("--set", f"password={PASSWORD}", "--", "sh", "-c", SHOW)
    assert given(done) == {"password": PASSWORD}
    stored = [path for path in done.run.rglob("*") if path.is_file()]
    assert stored
    assert not [path for path in stored if PASSWORD.encode() in path.read_bytes()]


def test_the_file_is_private_and_is_removed_at_the_end(runner: Runner, tmp_path: Path) -> None:
    runtime = tmp_path / "runtime"
    runtime.mkdir(0o700)
    code = "import os; print(os.environ['RUNCARD_CONFIG'], os.stat(os.environ['RUNCARD_CONFIG']).st_mode)"
    done = runner.python(code, XDG_RUNTIME_DIR=str(runtime))
    path, mode = done.out.split()
    assert Path(os.fsdecode(path)).parent == runtime
    assert stat.S_IMODE(int(mode)) == 0o600
    assert leftovers(runtime) == []


@pytest.mark.parametrize("code", ["rm $RUNCARD_CONFIG; exit 3", "exit 3", "kill -9 $$"])
def test_the_file_is_removed_however_the_command_ends(runner: Runner, tmp_path: Path, code: str) -> None:
    runtime = tmp_path / "runtime"
    runtime.mkdir(0o700)
    done = runner("--set", "a=1", "--", "sh", "-c", code, XDG_RUNTIME_DIR=str(runtime))
    assert done.code in {3, 137}
    assert leftovers(runtime) == []


def test_after_kill_9_the_next_run_removes_the_file(
    runner: Runner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runtime = tmp_path / "runtime"
    runtime.mkdir(0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
    with runner.started(
        "--set", f"password={PASSWORD}", "--", "sh", "-c", "touch started; sleep 60"
    ) as process:
        wait_until((tmp_path / "started").exists)
        assert len(leftovers(runtime)) == 1
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert len(leftovers(runtime)) == 1
    runner("--", "true")
    assert leftovers(runtime) == []


def test_where_the_file_cannot_be_written_the_command_runs_with_a_warning(
    runner: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(runner.place)
    monkeypatch.setattr(config_file, "_TEMPORARY", ("/no/such", "/no/such/place"))
    for name in ("XDG_RUNTIME_DIR", "TMPDIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("RUNCARD_CONFIG", "/that/of/an/enclosing/run.json")
    result = run(["sh", "-c", "exit ${RUNCARD_CONFIG:+1}"], config={"a": 1})
    assert result.code == 0
    assert result.warnings == [
        "the configuration could not be written for the command: No such file or directory; RUNCARD_CONFIG is not set"
    ]


def test_the_inner_of_two_commands_has_its_own_configuration(runner: Runner) -> None:
    inner = f"runcard run --quiet --set who=inner -- sh -c '{SHOW}'; {SHOW} >&2"
    done = runner("--quiet", "--set", "who=outer", "--", "sh", "-c", inner)
    assert given(done) == {"who": "inner"}
    assert json.loads(done.err) == {"who": "outer"}


def test_a_python_program_finds_it_in_the_current_run(runner: Runner) -> None:
    done = runner.python(PRINT, options=["--set", f"password={PASSWORD}", "--set", "n=3"])
    assert given(done) == {"password": PASSWORD, "n": 3}


def test_a_python_program_finds_an_empty_one_too(runner: Runner) -> None:
    assert given(runner.python(PRINT)) == {}


def test_a_worker_that_gets_the_run_finds_it_too(runner: Runner) -> None:
    code = """
import json, multiprocessing, runcard
def work(run):
    print(json.dumps([run.config, runcard.current_run().config]))
if __name__ == "__main__":
    worker = multiprocessing.get_context("spawn").Process(target=work, args=(runcard.current_run(),))
    worker.start()
    worker.join()
"""
    (runner.place / "workers.py").write_text(code)
    done = runner("--set", "n=3", "--", "python", "workers.py")
    assert (done.code, json.loads(done.out)) == (0, [{"n": 3}, {"n": 3}])


def test_a_run_recorded_inside_has_its_own_configuration(runner: Runner) -> None:
    code = """
import json, os, subprocess, sys, runcard
with runcard.record("inner", config={"who": "inner"}) as run:
    program = "import json, runcard; print(json.dumps(runcard.current_run().config))"
    child = subprocess.check_output([sys.executable, "-c", program], env=os.environ | run.environ)
    print(json.dumps({"inner": run.config, "child": json.loads(child), "outer": None}))
print(json.dumps(runcard.current_run().config), file=sys.stderr)
"""
    done = runner.python(code, options=["--quiet", "--set", "who=outer"])
    assert given(done)["inner"] == {"who": "inner"}
    assert given(done)["child"]["who"] == "inner"
    assert json.loads(done.err) == {"who": "outer"}


def test_the_configuration_of_a_recording_is_a_copy_of_what_was_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("RUNCARD_RUN_DIR", raising=False)
    settings = {"password": PASSWORD, "nested": {"a": 1}}
    with runcard.record(tmp_path / "outputs", model="m", config=settings) as recorded:
        assert recorded.config == {**settings, "model": "m"}
        recorded.set_config(seed=7, api_key=PASSWORD)
        recorded.config["nested"]["a"] = 2
        current = runcard.current_run()
        assert current is not None
        assert current.config == {**settings, "model": "m", "seed": 7, "api_key": PASSWORD}
    assert PASSWORD not in (recorded.path / "metadata.json").read_text()


def test_a_configuration_without_anything_is_empty(tmp_path: Path) -> None:
    with runcard.record(tmp_path / "outputs") as recorded:
        assert recorded.config == {}


ECHO = ("--", "printf", "%s\\n")


def filled(runner: Runner, *arguments: str, options: tuple[str, ...] = ()) -> list[str]:
    done = runner("--template-args", *options, *ECHO, *arguments)
    assert done.code == 0, done.err
    assert done.document["generation"]["command"] == [*ECHO[1:], *done.out.decode().splitlines()]
    return done.out.decode().splitlines()


def test_values_are_filled_into_the_arguments(runner: Runner) -> None:
    options = (
        "--set",
        "seed=7",
        "--set",
        "name=Anna B",
        "--set",
        "s.t=0.5",
        "--set",
        "on=true",
        "--model",
        "m",
    )
    words = ["--seed={seed}", "{name}", "{s.t}/{on}", "{s}", "{model}", "{{seed}}", "{{{seed}}}", "plain"]
    expected = ["--seed=7", "Anna B", "0.5/true", '{"t":0.5}', "m", "{seed}", "{7}", "plain"]
    assert filled(runner, *words, options=options) == expected


def test_a_key_with_a_dot_is_found_as_it_is_written(runner: Runner) -> None:
    (runner.place / "c.json").write_text('{"a.b": 1, "a": {"c": 2}}')
    assert filled(runner, "{a.b} {a.c}", options=("--config", "c.json")) == ["1 2"]


def test_without_the_option_braces_are_ordinary_characters(runner: Runner) -> None:
    done = runner("--set", "seed=7", *ECHO, "{seed}", "{", "{{x}}")
    assert done.out == b"{seed}\n{\n{{x}}\n"
    assert "reproduce" not in done.document


@pytest.mark.parametrize(
    ("word", "problem"),
    [
        ("{sead}", "has no 'sead'"),
        ("{seed.x}", "has no 'seed.x'"),
        ("{}", "has no ''"),
        ('{"a": 1}', "has no '\"a\": 1'"),
        ("{seed", "has a single {"),
        ("seed}", "has a single }"),
        ("{text}", "NUL character"),
    ],
)
def test_a_name_that_is_unknown_ends_it_before_anything_starts(
    runner: Runner, word: str, problem: str
) -> None:
    options = ("--set", "seed=7", "--set", 'text="\\u0000"')
    done = runner("--template-args", *options, "--", "touch", "started", word)
    assert (done.code, done.out) == (64, b"")
    assert done.err.startswith(b"Error: --template-args: ")
    assert problem in done.err.decode()
    assert runs(runner.place) == []
    assert not (runner.place / "started").exists()


def test_a_secret_in_an_argument_is_masked_in_the_record(runner: Runner) -> None:
    done = runner(
        "--set", f"password={PASSWORD}", "--template-args", "--", "test", "{password}", "=", PASSWORD
    )
    assert done.code == 0
    command = done.document["generation"]["command"]
    assert command[1].startswith("[masked:")
    masked = [entry for entry in done.document["redactions"] if entry["where"] == "command"]
    assert masked
    assert done.document["reproduce"] == {"command_template": ["test", "{password}", "=", command[3]]}
    assert PASSWORD not in (done.run / "experiment.jsonl").read_text()
    assert is_intact(done.run)


def test_with_keep_secrets_the_real_arguments_are_recorded(runner: Runner) -> None:
    done = runner(
        "--keep-secrets", "--set", f"password={PASSWORD}", "--template-args", "--", "true", "{password}"
    )
    assert done.document["generation"]["command"] == ["true", PASSWORD]


def test_secrets_of_the_configuration_are_masked_in_the_log(runner: Runner) -> None:
    done = runner(
        "--set", f"password={PASSWORD}", "--", "sh", "-c", f"echo it: {PASSWORD}!; echo {PASSWORD[:5]}"
    )
    assert done.out == f"it: {PASSWORD}!\n{PASSWORD[:5]}\n".encode()
    assert PASSWORD.encode() not in done.log
    assert done.log.endswith(f"!\n{PASSWORD[:5]}\n".encode())


def test_running_again_gives_the_command_the_same_configuration(
    runner: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = runner("--set", "seed=7", "--set", "a.b=1", "--template-args", "--", "sh", "-c", SHOW, "{seed}")
    monkeypatch.chdir(runner.place)
    monkeypatch.setenv("HOME", str(runner.place))
    rerun = plan_rerun(done.run).rerun()
    assert rerun.comparison is not None
    assert rerun.comparison.identical
    assert (Path(rerun.command.path) / "output.log").read_bytes() == done.out
