"""Which file a command is, as a shell finds it; and what is wrong where there is none."""

import os
import stat
from typing import NamedTuple

from runcard.files import printable

NOT_EXECUTABLE = 126
NOT_FOUND = 127

_HEAD = 256  # bytes of a file that tell whether it is a script
_SHELL = "/bin/sh"


class CannotRun(Exception):  # noqa: N818 - it is what a shell says, with its exit code
    """A command that cannot be run: the exit code as in a shell, and why."""

    def __init__(self, code: int, message: str, hint: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = hint


class Command(NamedTuple):
    """A file that can be run, and its arguments, its own name first."""

    path: str
    arguments: list[str]

    def by_shell(self) -> "Command | None":
        """The same for a script that names no interpreter: shells run it themselves. None when it is no script."""
        if not _is_text(self.path):
            return None
        script = self.path if "/" in self.path else f"./{self.path}"
        return Command(_SHELL, [_SHELL, script, *self.arguments[1:]])


def find_command(arguments: list[str], search: list[str]) -> Command:
    """The command that these arguments mean; `search` are the directories of PATH. Raises CannotRun."""
    name = arguments[0]
    candidates = [name] if "/" in name else [os.path.join(folder or ".", name) for folder in search if name]
    found = [path for path in candidates if os.path.exists(path)]
    for path in found:
        if _is_executable(path):
            return Command(path, arguments)
    if not found:
        where = "there is no such file" if "/" in name else "no directory of PATH has it"
        said = printable(name) or "''"
        raise CannotRun(NOT_FOUND, f"{said}: command not found", f"{where}; check the spelling")
    raise CannotRun(
        NOT_EXECUTABLE, f"{printable(found[0])}: {_what_is_wrong(found[0])}", _hint(arguments, found[0])
    )


def refused(command: Command, error: OSError) -> CannotRun:
    """What it means that the system would not run a file."""
    name = printable(command.arguments[0])
    if isinstance(error, FileNotFoundError):
        return CannotRun(
            NOT_FOUND,
            f"{name}: its interpreter was not found",
            "look at the first line of the file, after #!",
        )
    return CannotRun(NOT_EXECUTABLE, f"{name}: cannot be run: {error.strerror}", "try it without runcard")


def _is_executable(path: str) -> bool:
    return os.path.isfile(path) and os.access(path, os.X_OK)


def _what_is_wrong(path: str) -> str:
    return "is a directory" if os.path.isdir(path) else "is not executable"


def _hint(arguments: list[str], path: str) -> str:
    if "--" in arguments:
        return "put patterns in quotes, or the shell makes many words of them: --input 'data/*.md' -- COMMAND"
    if os.path.isdir(path):
        return "name a program"
    return f"make it executable: chmod +x {printable(path)}"


def _is_text(path: str) -> bool:
    """Whether a file may be a script: its first line has no NUL."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return False
    try:
        is_file = stat.S_ISREG(os.fstat(descriptor).st_mode)
        return is_file and b"\0" not in os.read(descriptor, _HEAD).split(b"\n", 1)[0]
    finally:
        os.close(descriptor)
