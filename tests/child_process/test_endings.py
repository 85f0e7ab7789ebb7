"""How a command ends, and what runcard exits with; signals on their way to it; who dies with whom."""

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from child_process.commands import (
    RUNCARD,
    TIMEOUT,
    Runner,
    document,
    environment,
    is_intact,
    runs,
    state_of,
)
from conftest import Cli
from runs.harness import close_all, status_of
from waiting import wait_until

USUAL = 0x7FFFFFFF  # the signals that programs know: the C library keeps those behind them for itself

WAITS = """
import signal, sys, time
def came(number, _):
    print(signal.Signals(number).name, flush=True)
    sys.exit(40 + number)
for name in ("INT", "TERM", "HUP", "QUIT", "USR1", "USR2"):
    signal.signal(getattr(signal, "SIG" + name), came)
print("ready", flush=True)
while True:  # a signal between the last line and one long sleep would be handled after that sleep
    time.sleep(0.01)
"""


@pytest.mark.parametrize("code", [0, 1, 255])
def test_the_exit_code_is_that_of_the_command(runner: Runner, code: int) -> None:
    done = runner("--quiet", "--", "sh", "-c", f"exit {code}")
    assert (done.code, done.err) == (code, b"")
    generation = done.document["generation"]
    assert generation["exit_code"] == code
    assert generation["status"] == ("completed" if code == 0 else "failed")
    assert is_intact(done.run)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGRTMIN])
def test_a_signal_that_kills_it_is_128_and_its_number(runner: Runner, number: int) -> None:
    done = runner("--", "sh", "-c", f"kill -{int(number)} $$")
    assert done.code == 128 + number
    assert done.document["generation"]["exit_code"] == 128 + number
    assert done.document["generation"]["status"] == "failed"
    (error,) = done.document["errors"]
    assert error["message"].startswith("the command was killed by ")


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"])
def test_a_signal_is_passed_on_once(runner: Runner, name: str) -> None:
    with runner.started("--", sys.executable, "-c", WAITS) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        process.send_signal(getattr(signal, name))
        done = runner.ended(process)
    assert done.out == f"{name}\n".encode()
    assert done.code == 40 + getattr(signal, name)
    assert is_intact(done.run)


def test_a_command_that_ignores_a_signal_goes_on(runner: Runner) -> None:
    script = "trap '' TERM; echo ready; read line; echo alive; exit 6"
    with subprocess.Popen(
        [*RUNCARD, "--", "sh", "-c", script],
        cwd=runner.place,
        env=environment(runner.place),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        process.send_signal(signal.SIGTERM)
        process.send_signal(signal.SIGTERM)
        out, _ = process.communicate(b"\n", timeout=TIMEOUT)
    assert (process.returncode, out) == (6, b"alive\n")


def test_signals_that_are_ignored_stay_so(runner: Runner) -> None:
    """As after `nohup`."""
    script = f"trap '' HUP; exec {' '.join(RUNCARD)} --quiet -- grep SigIgn /proc/self/status"
    out = subprocess.check_output(["sh", "-c", script], cwd=runner.place, env=environment(runner.place))
    assert int(out.split()[1], 16) & USUAL == 1 << (signal.SIGHUP - 1)


def test_the_command_has_the_signals_of_a_fresh_program(runner: Runner) -> None:
    done = runner("--", "sh", "-c", "grep -E 'Sig(Blk|Ign)' /proc/self/status")
    blocked, ignored = (int(word, 16) & USUAL for word in done.out.split()[1::2])
    assert (blocked, ignored) == (0, 0)


def test_a_stop_stops_the_command_and_a_continue_continues_it(runner: Runner) -> None:
    with runner.started("--", sys.executable, "-c", WAITS) as process:
        assert process.stdout is not None
        process.stdout.readline()
        child = int(Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text())
        process.send_signal(signal.SIGTSTP)
        wait_until(lambda: state_of(child) == state_of(process.pid) == "T")
        process.send_signal(signal.SIGCONT)
        wait_until(lambda: "T" not in {state_of(child), state_of(process.pid)})
        process.send_signal(signal.SIGTERM)
        assert runner.ended(process).out == b"SIGTERM\n"


def test_the_command_dies_with_runcard(runner: Runner) -> None:
    with runner.started("--", "sh", "-c", "echo $$; exec sleep 1000") as process:
        assert process.stdout is not None
        child = int(process.stdout.readline())
        process.kill()
        process.wait(TIMEOUT)
        wait_until(lambda: state_of(child) in "XZ")
    (run,) = runs(runner.place)
    assert status_of(run) == "interrupted"
    (closing,) = close_all(run)
    assert closing.closed
    assert document(run)["generation"]["status"] == "interrupted"
    assert (run / "output.log").read_bytes() == f"{child}\n".encode()
    assert is_intact(run)


def test_what_was_seen_of_the_environment_outlives_runcard(runner: Runner) -> None:
    with runner.started("--", "sleep", "1000") as process:
        wait_until(lambda: any(b"environment.observed" in journal(run) for run in runs(runner.place)))
        process.kill()
        process.wait(TIMEOUT)
    (run,) = runs(runner.place)
    close_all(run)
    facts = document(run)["environment"]
    assert (facts["platform"], facts["packages"]["pytest"]) == (sys.platform, pytest.__version__)
    assert journal(run).count(b"environment.observed") == 1


def journal(run: Path) -> bytes:
    """Its lines so far; nothing for a run that is not there yet."""
    path = run / "experiment.jsonl"
    return path.read_bytes() if path.exists() else b""


def test_hashing_of_inputs_can_be_interrupted(runner: Runner) -> None:
    with open(runner.place / "big", "wb") as file:
        file.truncate(64 << 30)
    with runner.started("--input", "big", "--", "touch", "made") as process:
        wait_until(lambda: any((run / "output.log").exists() for run in runs(runner.place)))
        process.send_signal(signal.SIGINT)
        done = runner.ended(process)
    assert done.code == 128 + signal.SIGINT
    assert done.document["generation"]["status"] == "interrupted"
    assert not (runner.place / "made").exists()


# Commands that cannot be run


def script(path: Path, text: bytes, mode: int = 0o755) -> str:
    path.write_bytes(text)
    path.chmod(mode)
    return f"./{path.name}"


def test_a_command_without_a_name(runner: Runner) -> None:
    done = runner("--", "")
    assert done.code == 127
    assert done.err.startswith(b"Error: '': command not found\n")


def test_a_current_directory_that_was_removed(runner: Runner) -> None:
    there = "import os; os.mkdir('gone'); os.chdir('gone'); os.rmdir('../gone')"
    here = f"{there}; os.execv({sys.executable!r}, [{sys.executable!r}, *{list(RUNCARD[1:])!r}"
    alone, elsewhere = (
        runner.python(f"{here}, *{options!r}, '--', 'echo', 'said'])", options=("--outputs", "outer"))
        for options in ([], ["--outputs", str(runner.place / "outputs")])
    )
    assert alone.code == 125
    assert b"Error: the current directory was removed\n  hint: change to another directory" in alone.err
    assert (elsewhere.code, elsewhere.out) == (0, b"said\n")
    assert elsewhere.document["generation"]["status"] == "completed"


def test_a_command_that_is_not_there(runner: Runner) -> None:
    done = runner("--", "no-such-command", "x")
    assert (done.code, done.out) == (127, b"")
    assert done.err.startswith(b"Error: no-such-command: command not found\n  hint: ")
    assert done.document["generation"]["exit_code"] == 127
    assert done.document["resources"] == {"cpu_seconds": None, "peak_memory_bytes": None}
    assert done.document["generation"]["status"] == "failed"
    assert is_intact(done.run)


@pytest.mark.parametrize("name", ["./missing", ""])
def test_a_path_that_is_not_there(runner: Runner, name: str) -> None:
    assert runner("--", name).code == 127


def test_a_file_that_may_not_be_executed(runner: Runner) -> None:
    name = script(runner.place / "plain", b"#!/bin/sh\nexit 0\n", 0o644)
    done = runner("--", name)
    assert done.code == 126
    assert b"Error: ./plain: is not executable\n  hint: make it executable: chmod +x ./plain\n" in done.err


def test_a_directory_is_no_command(runner: Runner) -> None:
    assert runner("--", "/tmp").code == 126  # noqa: S108


def test_a_script_without_an_interpreter_is_run_by_the_shell(runner: Runner) -> None:
    name = script(runner.place / "script", b'echo "$0 $1"; exit 9\n')
    done = runner("--", name, "one two")
    assert (done.code, done.out) == (9, b"./script one two\n")


def test_an_empty_script_does_nothing(runner: Runner) -> None:
    assert runner("--", script(runner.place / "empty", b"")).code == 0


def test_a_program_for_another_machine_is_not_run_by_the_shell(runner: Runner) -> None:
    done = runner("--", script(runner.place / "program", b"\x7fELF\0\0nonsense\n"))
    assert done.code == 126
    assert done.out == b""


def test_a_script_whose_interpreter_is_missing(runner: Runner) -> None:
    done = runner("--", script(runner.place / "script", b"#!/no/such/interpreter\n"))
    assert done.code == 127
    assert b"its interpreter was not found" in done.err


def test_the_first_executable_of_the_path_is_taken(runner: Runner) -> None:
    """As a shell does: what may not be executed is passed over."""
    for folder, mode, text in (
        ("one", 0o644, b"exit 1"),
        ("two", 0o755, b"exit 2"),
        ("three", 0o755, b"exit 3"),
    ):
        (runner.place / folder).mkdir()
        script(runner.place / folder / "tool", text, mode)
    path = os.pathsep.join(str(runner.place / folder) for folder in ("one", "two", "three"))
    assert runner("--", "tool", PATH=path).code == 2


def test_a_pattern_that_the_shell_has_expanded_is_explained(runner: Runner) -> None:
    for name in "ab":
        (runner.place / name).touch()
    done = runner("--input", "./a", "./b", "--", "cat")
    assert done.code == 126
    assert b"quote patterns" in done.err


# When runcard itself fails


def test_a_store_that_cannot_be_made_is_125_and_nothing_is_run(runner: Runner) -> None:
    (runner.place / "outputs").write_text("in the way")
    done = runner("--", "touch", "made")
    assert done.code == 125
    assert done.err.startswith(b"Error: ")
    assert not (runner.place / "made").exists()


WRONG = (
    ("--no-such-option",),
    *(("--set", "novalue"), ("--set", "=1"), ("--set", "model=3"), ("--label", "x")),
    *(("--experiment", "a/b"), ("--parent", ""), ("--config", "config.ini")),
)


@pytest.mark.parametrize(
    "options",
    [
        [],
        ["--"],
        *([*options, "--", "true"] for options in WRONG),
    ],
)
def test_wrong_usage_is_64_and_nothing_is_recorded(
    cli: Cli, options: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("config.ini").touch()
    done = cli("run", *options)
    assert (done.code, done.out) == (64, "")
    assert done.err.startswith("Error: ")
    assert os.listdir(tmp_path) == ["config.ini"]


def test_no_home_and_a_home_that_cannot_be_written(runner: Runner) -> None:
    home = runner.place / "home"
    home.mkdir(mode=0o500)
    assert runner("--", "true", HOME=str(home)).code == 0
    bare = subprocess.run(
        [*RUNCARD, "--", "true"],
        cwd=runner.place,
        env={key: value for key, value in environment(runner.place).items() if key != "HOME"},
        timeout=TIMEOUT,
        check=False,
    )
    assert bare.returncode == 0
    assert stat.S_IMODE(home.stat().st_mode) == 0o500
