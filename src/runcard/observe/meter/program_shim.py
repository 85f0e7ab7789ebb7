"""A stand-in for a program, first in PATH: it finds the real one, and becomes it with what the meter of the run needs.

The text of this module is a part of each stand-in, so that it works even if runcard is removed while the command runs. It
imports nothing of runcard but what adapts the command, and whatever fails there, the program is run as it was called.

Invariant: the program has the process, the streams and the signals of its caller. If it is gone, the exit code is 127.
"""

import errno
import os
import signal
import sys

_TRIED = "RUNCARD_PROGRAM"  # the process, how deep it is in programs with stand-ins, and the files it has run
_NOT_FOUND, _NOT_EXECUTABLE = 127, 126
_MOST_NESTED = 8
_LONGEST_DEPTH = 10  # characters


def become_program(folder: str, name: str, packages: str, arguments: list[str]) -> None:
    """Run the program called `name` in place of this process; returns only if there is none.

    `folder` has the stand-ins, `packages` has runcard.
    """
    programs = _programs(folder, name)
    path = _choose(programs)
    if path is None:
        sys.stderr.write(f"{name}: command not found\n")
        sys.exit(_NOT_FOUND)
    words, environment = [name, *arguments], dict(os.environ)
    try:
        sys.path.append(packages)
        from runcard.observe.meter.program_start import adapt_start  # noqa: PLC0415 - it may be gone

        words, environment = adapt_start(folder, path, words, environment)
    except Exception:  # noqa: BLE001, S110 - the program is run in any case
        pass
    for number in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores them
        signal.signal(number, signal.SIG_DFL)
    _execute(path, words, environment)


def _programs(folder: str, name: str) -> list[str]:
    """The files of this name in PATH, without stand-ins."""
    found = []
    own = os.path.realpath(folder)
    for place in os.environ.get("PATH", os.defpath).split(os.pathsep):
        path = os.path.join(place or ".", name)
        if os.path.isfile(path) and os.access(path, os.X_OK) and os.path.realpath(place or ".") != own:
            found.append(path)
    return found


def _choose(programs: list[str]) -> str | None:
    """The first one; another one if that has just run this, as it looks for the program behind it."""
    process, depth, *tried = [*os.environ.get(_TRIED, "").split(os.pathsep), "0"][:64]
    level = int(depth) if depth.isascii() and depth.isdigit() and len(depth) < _LONGEST_DEPTH else 0
    is_same = process == str(os.getpid())
    if not is_same and process != str(os.getppid()) and level < _MOST_NESTED:
        tried = []
    others = [path for path in programs if path not in tried]
    chosen = others or ([] if is_same else programs)
    if not chosen:
        return None
    os.environ[_TRIED] = os.pathsep.join([str(os.getpid()), str(level + 1), *tried, chosen[0]])
    return chosen[0]


def _execute(path: str, words: list[str], environment: dict[str, str]) -> None:
    try:
        os.execve(path, words, environment)  # noqa: S606 - what the caller asked for
    except OSError as error:
        if error.errno == errno.ENOEXEC:  # a script without an interpreter line, which shells run
            os.execve("/bin/sh", ["/bin/sh", path, *words[1:]], environment)  # noqa: S606
        sys.stderr.write(f"{path}: {error.strerror}\n")
        sys.exit(_NOT_FOUND if error.errno == errno.ENOENT else _NOT_EXECUTABLE)
