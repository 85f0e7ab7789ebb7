"""Where the output goes: pipes that close, disks that are full, terminals, other encodings; and Ctrl-C."""

import json
import os
import signal
import subprocess
import threading
from pathlib import Path

import pytest

from acceptance.command import (
    RUNCARD,
    TIMEOUT,
    Argument,
    environment,
    redirected,
    runcard,
    runcard_on_terminal,
)
from checks import samples
from conftest import Put

_TEAM = samples.written(samples.team())


def _commands(path: Path) -> list[list[Argument]]:
    """A call of every kind that has something to print."""
    return [
        [],
        ["--help"],
        ["--version"],
        ["validate", "--help"],
        ["validate", path],
        ["validate", "--json", path],
        ["schema", "team"],
        ["migrate", path, "--to", "2.0.0", "--output", "-"],
        ["migrate", path, "--to", "2.0.0", "--dry-run"],
        ["completion", "zsh"],
    ]


@pytest.mark.parametrize("number", range(10))
def test_a_reader_that_has_left_is_no_traceback(put: Put, number: int) -> None:
    arguments = _commands(put("x.json", samples.team()))[number]
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run(
            [*RUNCARD, *arguments],
            stdout=writing,
            stderr=subprocess.PIPE,
            env=environment({"PYTHONUNBUFFERED": "1"} if number % 2 else None, measured=True),
            timeout=TIMEOUT,
            check=False,
        )
    finally:
        os.close(writing)
    assert (done.returncode, done.stderr) == (141, b"")


@pytest.mark.parametrize("number", [1, 2, 3, 4, 7])
def test_a_disk_that_is_full_is_an_error_that_says_so(put: Put, number: int) -> None:
    done = redirected(">/dev/full", *_commands(put("x.json", samples.team()))[number])
    assert done.code == 1
    assert done.messages.startswith("Error: cannot write the output: No space left on device\n")


def test_output_that_was_closed_is_thrown_away(put: Put) -> None:
    good, bad = put("good.json", samples.team()), put("bad.json", samples.broken_team())
    for arguments in (["--help"], ["validate", good]):
        done = redirected(">&-", *arguments)
        assert (done.code, done.err) == (0, b"")
    assert redirected(">&-", "validate", bad).messages.startswith("Error: ")
    done = redirected("2>&-", "validate", bad)
    assert (done.code, done.out) == (1, b"")


def test_a_migration_is_done_also_when_nobody_listens(put: Put) -> None:
    path = put("x.json", samples.team())
    assert redirected("<&- >&- 2>&-", "migrate", path, "--to", "2.0.0").code == 0
    assert json.loads(path.read_bytes())["version"] == "2.0.0"
    assert path.with_name("x.json.bak").read_bytes() == _TEAM


@pytest.mark.parametrize("redirection", ["<&-", "0>/dev/null"], ids=["closed", "only for writing"])
@pytest.mark.parametrize(
    "command", [["validate", "-"], ["migrate", "-", "--to", "2.0.0"]], ids=lambda c: c[0]
)
def test_standard_input_that_cannot_be_read_is_an_error(redirection: str, command: list[str]) -> None:
    done = redirected(redirection, *command)
    assert (done.code, done.out) == (1, b"")
    assert done.messages.startswith("Error: ")


_ASCII_ONLY = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


@pytest.mark.parametrize(
    "env",
    [{"LC_ALL": "C"}, _ASCII_ONLY, {"PYTHONIOENCODING": "ascii:strict"}, {"PYTHONIOENCODING": "latin-1"}],
    ids=lambda env: " ".join(f"{key}={value}" for key, value in env.items()),
)
def test_no_encoding_of_the_terminal_stops_the_work(put: Put, env: dict[str, str]) -> None:
    path, other = put("é→.json", samples.team()), put("ascii.json", samples.team())
    done = runcard("validate", path, path.with_name("ü.json"), env=env)
    assert done.code == 1
    assert done.out.endswith(b".json: valid team 1.0.0\n")
    assert done.err.startswith(b"Error: ")
    done = runcard("migrate", other, "--to", "2.0.0", env=env)
    assert (done.code, done.err) == (0, b"")
    assert json.loads(other.read_bytes())["version"] == "2.0.0"


def test_a_name_that_the_locale_lacks_is_migrated(put: Put) -> None:
    path = put("é→.json", samples.team())
    assert runcard("migrate", path, "--to", "2.0.0", env=_ASCII_ONLY).code == 0


def test_ctrl_c_is_130_and_one_line(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [*RUNCARD, "validate", "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
        cwd=tmp_path,
    )
    assert process.stdin is not None
    os.write(process.stdin.fileno(), b" " * 300_000)  # more than a pipe holds: it returns when somebody reads
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=TIMEOUT)
    assert (process.returncode, out, err) == (130, b"", b"Error: interrupted\n")


def test_colours_are_for_terminals(put: Put) -> None:
    path = put("x.json", samples.running_team())
    code, seen = runcard_on_terminal("validate", path)
    assert code == 2
    assert f"{path}: valid team 1.0.0\r\n" in seen
    assert "\x1b[33m\x1b[1mWarning:\x1b[0m " in seen
    assert b"\x1b" not in runcard("validate", path).err


def test_no_color_is_obeyed(put: Put) -> None:
    path = put("x.json", samples.broken_team())
    _, seen = runcard_on_terminal("validate", path, env={"NO_COLOR": "1"})
    assert seen.startswith("Error: ")
    assert "\x1b" not in seen


def test_short_work_shows_no_progress(put: Put) -> None:
    _, seen = runcard_on_terminal("validate", *[put("x.json", samples.team())] * 50)
    assert "documents" not in seen
    assert "\x1b" not in seen


AT_ONCE = """
import sys
from runcard.cli import main, progress
progress._PATIENCE = 0.0  # all work is long
sys.exit(main.main())
"""


def test_long_work_shows_progress_on_a_terminal_and_leaves_no_trace_of_it(put: Put, tmp_path: Path) -> None:
    path, fifo = put("x.json", samples.team()), tmp_path / "slow"
    os.mkfifo(fifo)
    writing = os.open(fifo, os.O_RDWR)

    def write_slowly() -> None:
        os.write(writing, b" " * 300_000)  # more than a pipe holds: it returns when the command reads
        os.close(writing)

    slow = threading.Thread(target=write_slowly)
    slow.start()
    code, seen = runcard_on_terminal("validate", fifo, path, env={"NO_COLOR": "1"}, program=AT_ONCE)
    slow.join()
    assert code == 1
    nothing, progress, *_, rest = seen.split("\r\x1b[K")
    assert nothing == ""
    assert progress.startswith("1 documents, ")
    assert rest.startswith(f"{path}: valid team 1.0.0\r\nError: {fifo}:1:")


def test_who_asks_for_json_gets_the_error_in_it(tmp_path: Path) -> None:
    done = runcard("show", "--json", tmp_path / "nowhere")
    assert (done.code, json.loads(done.out)) == (
        1,
        {
            "error": f"{tmp_path / 'nowhere'} does not exist",
            "hint": "name a record by its path, its id or the name of its directory; "
            "to list those of all folders: runcard ls",
        },
    )
    assert done.messages.startswith("Error: ")
