"""What a command prints is passed on unchanged, and kept without secrets and within bounds."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from child_process.commands import RUNCARD, SECRET, TIMEOUT, Runner, environment, is_intact
from runcard.store.runs.output_log import HEAD, TAIL


def test_stdout_and_stderr_are_kept_apart_and_unchanged(runner: Runner) -> None:
    code = "import os; os.write(1, bytes(range(256))); os.write(2, b'\\xc3'); os.write(1, 'ü'.encode()[:1])"
    done = runner.python(code, options=["--quiet"])
    assert (done.code, done.out, done.err) == (0, bytes(range(256)) + b"\xc3", b"\xc3")
    assert sorted(done.log) == sorted(done.out + done.err)
    assert is_intact(done.run)


def test_stdin_is_handed_through(runner: Runner) -> None:
    done = runner("--", "cat", stdin=b"x" * 1_000_000)
    assert done.out == b"x" * 1_000_000


def test_where_the_record_is_is_said_at_the_end_and_on_stderr_alone(runner: Runner) -> None:
    done = runner("--", "sh", "-c", "echo out; echo err >&2")
    assert done.out == b"out\n"
    assert done.err == b"err\nruncard: " + os.fsencode(done.run) + b"\n"


def test_a_secret_is_masked_in_the_log_also_when_it_comes_in_pieces(runner: Runner) -> None:
    code = f"""
import os, time
for stream in (1, 2):
    for at in range(0, {len(SECRET)}, 7):
        os.write(stream, {SECRET!r}[at:at + 7].encode())
        time.sleep(0.005)
    os.write(stream, b"\\n")
"""
    done = runner.python(code)
    assert done.out == SECRET.encode() + b"\n"
    assert done.log == b"[masked:anthropic-key]\n" * 2
    counts = {(one["rule"], one["where"]): one["count"] for one in done.document["redactions"]}
    assert counts["anthropic-key", "output.log"] == 2


def test_secrets_are_kept_when_asked_for_and_the_document_says_so(runner: Runner) -> None:
    done = runner("--keep-secrets", "--", "echo", SECRET)
    assert done.log == SECRET.encode() + b"\n"
    assert done.document["keep_secrets"] is True
    assert done.document["redactions"] == []
    assert done.document["generation"]["command"] == ["echo", SECRET]


def memory_peak(pid: int) -> int:
    """What a process held at most, in bytes; what `wait4` says includes the process that started it."""
    status = Path(f"/proc/{pid}/status").read_text()
    found = re.search(r"VmHWM:\s+(\d+) kB", status)
    return int(found[1]) * 1024 if found else 0


@pytest.mark.long
def test_a_gigabyte_needs_no_more_memory_and_leaves_head_and_tail(runner: Runner) -> None:
    """A thousandth of it is checked byte by byte; the rest only has to arrive."""
    size = 1 << 30
    code = f"""
import os
block = b"%015d\\n"
piece = b"".join(block % number for number in range(65536))
os.write(1, b"first {SECRET}\\n")
for _ in range({size} // len(piece)):
    view = memoryview(piece)
    while view:
        view = view[os.write(1, view):]
os.write(1, b"last {SECRET}\\n")
"""
    arguments = [*RUNCARD, "--", sys.executable, "-c", code]
    with subprocess.Popen(
        arguments,
        cwd=runner.place,
        env=environment(runner.place),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        arrived = peak = 0
        while part := os.read(process.stdout.fileno(), 1 << 20):
            arrived += len(part)
            peak = max(peak, memory_peak(process.pid))
    assert process.returncode == 0
    assert arrived == size + len(f"first {SECRET}\nlast {SECRET}\n")
    assert 0 < peak < 250 << 20
    (run,) = (path for path in (runner.place / "outputs").iterdir() if path.name != ".runcard")
    log = (run / "output.log").read_bytes()
    assert HEAD + TAIL < len(log) + 4096 < HEAD + TAIL + (1 << 20)
    assert log.startswith(b"first [masked:anthropic-key]\n000000000000000\n")
    assert log.endswith(b"000000000065535\nlast [masked:anthropic-key]\n")
    assert SECRET.encode() not in log
    assert f"[runcard: {arrived:,} bytes in all; here are the last 8 MiB]".encode() in log
    assert is_intact(run)


def test_a_reader_that_leaves_ends_the_command_as_without_runcard(runner: Runner) -> None:
    script = f"{' '.join(RUNCARD)} --quiet -- yes | head -n 1; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=runner.place,
        env=environment(runner.place),
        capture_output=True,
        timeout=TIMEOUT,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (141, b"y\n", b"")


def test_a_command_that_closes_its_output_works_on(runner: Runner) -> None:
    done = runner("--", "sh", "-c", "echo begun; exec >&- 2>&-; sleep 0.1; exit 7")
    assert (done.code, done.out, done.log) == (7, b"begun\n", b"begun\n")


@pytest.mark.parametrize("closed", [">&-", "<&- >&- 2>&-"])
def test_streams_that_the_caller_closed_harm_nothing(runner: Runner, closed: str) -> None:
    script = f"{' '.join(RUNCARD)} -- sh -c 'echo out; echo err >&2; exit 3' {closed}"
    done = subprocess.run(
        ["sh", "-c", script],
        cwd=runner.place,
        env=environment(runner.place),
        capture_output=True,
        timeout=TIMEOUT,
        check=False,
    )
    assert done.returncode == 3
    (run,) = (path for path in (runner.place / "outputs").iterdir() if path.name != ".runcard")
    assert sorted((run / "output.log").read_text().split()) == ["err", "out"]
    assert is_intact(run)


def test_an_output_that_cannot_be_written_is_told(runner: Runner) -> None:
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [*RUNCARD, "--", "sh", "-c", "echo out; sleep 0.1; echo more"],
            cwd=runner.place,
            env=environment(runner.place),
            stdout=full,
            stderr=subprocess.PIPE,
            timeout=TIMEOUT,
            check=False,
        )
    assert (
        b"Warning: the stdout of the command could not be passed on: No space left on device\n" in done.stderr
    )


def test_what_a_command_leaves_behind_does_not_hold_it_up(runner: Runner) -> None:
    """A daemon that keeps the output open for longer than any test."""
    done = runner("--", "sh", "-c", f"echo begun; sleep {3 * TIMEOUT} & echo $!; exit 4")
    os.kill(int(done.out.split()[1]), 9)
    assert done.code == 4
    assert done.out.startswith(b"begun\n")
    assert done.warnings == ["still-running"]


@pytest.mark.long
def test_what_a_daemon_prints_without_end_does_not_hold_it_up(runner: Runner) -> None:
    done = runner("--", "sh", "-c", "yes & exit 4")
    assert done.code == 4
    assert done.log.startswith(b"y\ny\n")
