"""On a terminal the command has one of its own, and the user's is as it was afterwards."""

import os
import signal
import termios

from child_process.commands import SECRET, Runner, is_intact, resize


def test_the_command_sees_a_terminal_and_the_user_sees_its_output(runner: Runner) -> None:
    code = "import os, sys; print([os.isatty(n) for n in range(3)], os.get_terminal_size()); print('\\x1b[31mred', 'ü')"
    with runner.on_terminal("--", "python3", "-c", code, size=(33, 101)) as screen:
        done = screen.end()
    assert done.code == 0
    assert b"[True, True, True] os.terminal_size(columns=101, lines=33)\r\n" in done.out
    assert "\x1b[31mred ü\r\n".encode() in done.out
    assert done.log == "[True, True, True] os.terminal_size(columns=101, lines=33)\n\x1b[31mred ü\n".encode()
    assert done.out.endswith(b"runcard: " + os.fsencode(done.run) + b"\r\n")
    assert is_intact(done.run)


def test_keys_reach_the_command_and_are_echoed_once(runner: Runner) -> None:
    with runner.on_terminal("--quiet", "--", "sh", "-c", "echo ready; read line; echo got $line") as screen:
        screen.until(b"ready\r\n")
        screen.type(b"hello\r")
        done = screen.end()
    assert done.out == b"ready\r\nhello\r\ngot hello\r\n"


def test_the_terminal_is_raw_meanwhile_and_itself_afterwards(runner: Runner) -> None:
    code = "import sys; print('ready', flush=True); input()"
    with runner.on_terminal("--", "python3", "-c", code) as screen:
        assert screen.terminal is not None
        before = termios.tcgetattr(screen.terminal)
        screen.until(b"ready")
        assert not termios.tcgetattr(screen.terminal)[3] & termios.ICANON
        screen.type(b"\r")
        screen.until(b"runcard: ")
        assert termios.tcgetattr(screen.terminal) == before
        screen.end()


def test_a_new_size_is_passed_on(runner: Runner) -> None:
    code = """
import os, signal, time
came = []
signal.signal(signal.SIGWINCH, lambda *_: came.append(os.get_terminal_size()))
print("ready", flush=True)
while not came:
    time.sleep(0.01)
print(came)
"""
    with runner.on_terminal("--", "python3", "-c", code) as screen:
        screen.until(b"ready")
        assert screen.terminal is not None
        resize(screen.terminal, (10, 44))
        screen.until(b"columns=44, lines=10")
        assert screen.end().code == 0


def test_ctrl_c_is_for_the_command(runner: Runner) -> None:
    code = """
import time
try:
    print("ready", flush=True)
    while True: time.sleep(0.01)
except KeyboardInterrupt:
    print("once", flush=True)
    while True: time.sleep(0.01)
"""
    with runner.on_terminal("--", "python3", "-c", code) as screen:
        screen.until(b"ready")
        screen.type(b"\x03")
        screen.until(b"once")
        screen.type(b"\x03")
        screen.type(b"\x03")
        done = screen.end()
    assert done.code == 128 + signal.SIGINT
    assert done.document["generation"]["status"] == "failed"
    assert done.document["generation"]["exit_code"] == 128 + signal.SIGINT
    assert is_intact(done.run)


def test_a_secret_on_the_screen_is_not_in_the_log(runner: Runner) -> None:
    with runner.on_terminal("--", "echo", SECRET) as screen:
        done = screen.end()
    assert SECRET.encode() in done.out
    assert SECRET.encode() not in done.log


def test_a_terminal_that_is_closed_hangs_up_the_command(runner: Runner) -> None:
    with runner.on_terminal(
        "--", "sh", "-c", "trap 'echo hung up; exit 5' HUP; echo ready; while :; do sleep 0.1; done"
    ) as screen:
        screen.until(b"ready")
        screen.close()
        code = screen.process.wait(120)
        done = screen.end()
    assert code == 5
    assert done.log.endswith(b"hung up\n")
    assert done.document["generation"]["exit_code"] == 5
    assert is_intact(done.run)


def test_stderr_that_goes_elsewhere_goes_there_unchanged(runner: Runner) -> None:
    with (
        open(runner.place / "err", "wb") as file,
        runner.on_terminal(
            "--", "sh", "-c", "test -t 1 && echo out; test -t 2 || echo err >&2", stderr=file
        ) as screen,
    ):
        done = screen.end()
    said = (runner.place / "err").read_bytes()
    assert done.out == b"out\r\n"
    assert said == b"err\nruncard: " + os.fsencode(done.run) + b"\n"


def test_stdin_that_comes_from_elsewhere_is_the_commands(runner: Runner) -> None:
    (runner.place / "in").write_bytes(b"from a file\n")
    with (
        open(runner.place / "in", "rb") as file,
        runner.on_terminal(
            "--quiet", "--", "sh", "-c", "cat; test -t 1 && echo screen", stdin=file
        ) as screen,
    ):
        done = screen.end()
    assert done.out == b"from a file\r\nscreen\r\n"
    assert done.log == b"from a file\nscreen\n"


def test_ctrl_c_reaches_everybody_also_when_the_keyboard_is_not_the_commands(runner: Runner) -> None:
    """Where standard input is a file, the terminal itself makes signals of keys, and they are for the whole job."""
    with (
        open(os.devnull, "rb") as file,
        runner.on_terminal(
            "--", "sh", "-c", "trap 'exit 9' INT; echo ready; while :; do sleep 0.01; done", stdin=file
        ) as screen,
    ):
        screen.until(b"ready")
        screen.type(b"\x03")
        done = screen.end()
    assert done.code == 9


def test_ctrl_z_stops_everything_and_fg_continues_it(runner: Runner) -> None:
    """In a shell with job control, as a person has it."""
    with runner.shell() as screen:
        screen.type(b"runcard run --quiet -- sh -c 'echo ready; read line; echo got $line'; echo done\r")
        screen.until(b"ready\r\n")
        screen.type(b"\x1a")
        screen.until(b"Stopped")
        screen.type(b"echo in bet''ween\r")
        screen.until(b"in between\r\n")
        screen.type(b"fg\r")
        screen.until(b"runcard run --quiet -- sh")
        screen.type(b"word\r")
        screen.until(b"got word\r\n@ ")
        screen.type(b"exit\r")
        assert screen.end().code == 0
