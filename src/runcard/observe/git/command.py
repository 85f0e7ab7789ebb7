"""Running git so that it only reads, and starts no program that a repository names.

A repository can name programs for git to start: hooks, a file system monitor, filters, diff and text converters, and what
a lazy fetch runs. Its files may be hostile, and recording a run must not execute them. So all of these are switched off
here or by the options of the commands; filter drivers have names that the repository chooses, so they are listed first,
and switched off one by one (`without_filters`).

Environment variables that point git at another repository or change its output are removed. There is one deadline for all
commands on a repository.

Invariant: every failure (no git, a refusal, a broken repository, no time left, too much output) is one exception,
`GitError`, and leaves no process behind.
"""

import contextlib
import os
import time
from collections.abc import Collection, Iterator, Mapping
from typing import IO, TYPE_CHECKING, Self, cast

if TYPE_CHECKING:
    from subprocess import Popen

_OPTIONS = (
    *("--no-pager", "--no-optional-locks", "--no-replace-objects"),
    *("-c", "core.fsmonitor="),  # empty switches it off in every version of git
    *("-c", "core.hooksPath=/dev/null"),
    *("-c", "safe.bareRepository=explicit"),
    *("-c", "core.quotePath=true"),
    *("-c", "diff.suppressBlankEmpty=false"),
)
_ALLOWED_VARIABLES = (  # of those that control git: where its own files are, and the user's configuration
    *("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "GIT_CONFIG_COUNT"),
    *("GIT_CONFIG_KEY_", "GIT_CONFIG_VALUE_", "GIT_EXEC_PATH"),
    *("GIT_CEILING_DIRECTORIES", "GIT_DISCOVERY_ACROSS_FILESYSTEM"),
)
_FIXED_VARIABLES = {
    "LC_ALL": "C",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "none",  # no such protocol: older versions, too, fetch nothing
}
_BLOCK = 1 << 16
LIMIT = 16 << 20  # bytes that a command prints


class GitError(Exception):
    """Git could not be run, or its output cannot be used."""


class Git:
    """Git for one directory, until a deadline of `time.monotonic()`."""

    def __init__(
        self,
        directory: bytes,
        variables: Mapping[str, str],
        deadline: float,
        options: tuple[bytes | str, ...] = _OPTIONS,
    ) -> None:
        self.directory, self.variables, self.deadline = directory, variables, deadline
        self._options = options
        self._environment = _environment(variables)

    def at(self, top: bytes, git_dir: bytes) -> Self:
        """The same for a repository that was found, so that git does not search again."""
        options = (*self._options, b"--git-dir=" + git_dir, b"--work-tree=" + top)
        return type(self)(top, self.variables, self.deadline, options)

    def without_filters(self, drivers: set[bytes]) -> Self:
        """The same with these filter drivers switched off."""
        if any(b"=" in driver or b"\n" in driver for driver in drivers):
            raise GitError("a filter driver has a name that cannot be passed on the command line")
        options = self._options
        for driver in sorted(drivers):
            for setting in (b".clean=", b".process=", b".required=false"):
                options += (b"-c", b"filter." + driver + setting)
        return type(self)(self.directory, self.variables, self.deadline, options)

    def read(self, *arguments: bytes | str, accept: Collection[int] = (0,), stdin: bytes = b"") -> bytes:
        """The whole output of a command; `stdin` is its standard input."""
        return b"".join(self.blocks(*arguments, accept=accept, stdin=stdin))

    def blocks(
        self,
        *arguments: bytes | str,
        accept: Collection[int] = (0,),
        stdin: bytes = b"",
        limit: int = LIMIT,
    ) -> Iterator[bytes]:
        """The output of a command, as it comes; its exit code must be one of `accept`."""
        total = 0
        with _running(self._start(arguments, stdin)) as process:
            for block in _blocks(process, self.deadline):
                total += len(block)
                if total > limit:
                    raise GitError("too much output")
                yield block
            if _exit_code(process, self.deadline) not in accept:
                raise GitError("git failed")

    def check_time(self) -> None:
        """Raise GitError after the deadline, for work on the output of git."""
        if time.monotonic() > self.deadline:
            raise GitError("no time left")

    def _start(self, arguments: tuple[bytes | str, ...], stdin: bytes) -> "Popen[bytes]":
        import subprocess  # noqa: PLC0415 - takes longer to load than many programs run

        command = (_program(self.variables), "-C", self.directory, *self._options, *arguments)
        try:
            with _standard_input(stdin) as descriptor:
                return subprocess.Popen(  # noqa: S603 - a list of arguments, and no shell
                    command,
                    stdin=descriptor,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                    bufsize=0,
                    cwd="/",  # the program's own may have been deleted
                    env=self._environment,
                    start_new_session=True,  # no interrupts from the terminal
                )
        except (OSError, ValueError, RuntimeError) as error:  # RuntimeError: the interpreter is ending
            raise GitError("git cannot be started") from error


def _environment(variables: Mapping[str, str]) -> dict[str, str]:
    allowed = {
        name: value
        for name, value in variables.items()
        if not name.startswith("GIT_") or name.startswith(_ALLOWED_VARIABLES)
    }
    return allowed | _FIXED_VARIABLES


def _program(variables: Mapping[str, str]) -> str:
    """The first git on the path. A relative folder on it could be in the repository itself."""
    for folder in variables.get("PATH", os.defpath).split(os.pathsep):
        program = os.path.join(folder, "git")
        if os.path.isabs(folder) and os.path.isfile(program) and os.access(program, os.X_OK):
            return program
    raise GitError("git is not installed")


@contextlib.contextmanager
def _standard_input(stdin: bytes) -> Iterator[int]:
    """A descriptor to read this from: an unnamed file, since a pipe could block."""
    if not stdin:
        descriptor = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
    else:
        import tempfile  # noqa: PLC0415 - hardly ever needed

        with tempfile.TemporaryFile(buffering=0) as file:
            file.write(stdin)
            file.seek(0)
            descriptor = os.dup(file.fileno())
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _running(process: "Popen[bytes]") -> Iterator["Popen[bytes]"]:
    with process:
        try:
            yield process
        finally:
            process.kill()  # does nothing when it has ended


def _blocks(process: "Popen[bytes]", deadline: float) -> Iterator[bytes]:
    import selectors  # noqa: PLC0415 - loaded with subprocess

    output = cast("IO[bytes]", process.stdout)  # a pipe was asked for
    with selectors.DefaultSelector() as selector:
        selector.register(output, selectors.EVENT_READ)
        while selector.select(max(0.0, deadline - time.monotonic())):
            block = os.read(output.fileno(), _BLOCK)
            if not block:
                return
            yield block
    raise GitError("no time left")


def _exit_code(process: "Popen[bytes]", deadline: float) -> int:
    import subprocess  # noqa: PLC0415

    try:
        return process.wait(max(0.0, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        raise GitError("no time left") from None
