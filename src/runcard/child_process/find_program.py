"""Find the program of a command as a shell does, and say what is wrong if there is none."""

import os
import stat
from typing import NamedTuple

from runcard.files import printable

NOT_EXECUTABLE = 126
NOT_FOUND = 127

_HEAD = 256  # bytes to read to tell whether a file is a script
_SHELL = "/bin/sh"


class CannotRun(Exception):  # noqa: N818 - a result with an exit code, more than an error
    """A command that cannot be run: the exit code of a shell, and the reason."""

    def __init__(self, code: int, message: str, hint: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = hint


class Command(NamedTuple):
    """A file that can be executed, and its arguments, with its own name first."""

    path: str
    arguments: list[str]

    def with_shell(self) -> "Command | None":
        """The command that runs a script without an interpreter line, as shells do; None if it is not a script."""
        if not _is_text(self.path):
            return None
        script = self.path if "/" in self.path else f"./{self.path}"
        return Command(_SHELL, [_SHELL, script, *self.arguments[1:]])


def find_command(arguments: list[str], search: list[str]) -> Command:
    """The command for these arguments; `search` are the directories of PATH. Raises CannotRun."""
    name = arguments[0]
    candidates = [name] if "/" in name else [os.path.join(folder or ".", name) for folder in search if name]
    existing = [path for path in candidates if os.path.exists(path)]
    for path in existing:
        if _is_executable(path):
            return Command(path, arguments)
    if not existing:
        where = "there is no such file" if "/" in name else "it is not in PATH"
        shown = printable(name) or "''"
        raise CannotRun(NOT_FOUND, f"{shown}: command not found", f"{where}; check the spelling")
    path = existing[0]
    problem = "is a directory" if os.path.isdir(path) else "is not executable"
    raise CannotRun(NOT_EXECUTABLE, f"{printable(path)}: {problem}", _hint(arguments, path))


def exec_error(command: Command, error: OSError) -> CannotRun:
    """The error for a file that the system refused to execute."""
    name = printable(command.arguments[0])
    if isinstance(error, FileNotFoundError):
        return CannotRun(
            NOT_FOUND,
            f"{name}: its interpreter was not found",
            "check the first line of the file, after #!",
        )
    return CannotRun(
        NOT_EXECUTABLE, f"{name}: cannot be executed: {error.strerror}", "try it without runcard"
    )


def _is_executable(path: str) -> bool:
    return os.path.isfile(path) and os.access(path, os.X_OK)


def _hint(arguments: list[str], path: str) -> str:
    if "--" in arguments:
        return "quote patterns, or the shell expands them: --input 'data/*.md' -- COMMAND"
    if os.path.isdir(path):
        return "name a program"
    return f"make it executable: chmod +x {printable(path)}"


def is_script(path: str) -> bool:
    """Whether the first line of a file names its interpreter."""
    return _first_line(path).startswith(b"#!")


def _is_text(path: str) -> bool:
    """Whether a file may be a script: its first line has no NUL byte."""
    return b"\0" not in _first_line(path)


def _first_line(path: str) -> bytes:
    """The first line of a file, as far as it matters; a NUL byte if it cannot be read."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return b"\0"
    try:
        is_file = stat.S_ISREG(os.fstat(descriptor).st_mode)
        return os.read(descriptor, _HEAD).split(b"\n", 1)[0] if is_file else b"\0"
    finally:
        os.close(descriptor)
