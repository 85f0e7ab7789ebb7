"""Running git so that it only reads, and runs nothing that a repository brings along.

A repository can name programs for git to start: hooks, a file system monitor, filters, diff and text converters, and
what a lazy fetch runs. Its files come from strangers, and recording a run must not be the way in. So all of these are
switched off here or by the options of the commands; filter drivers have names that the repository chooses, so they are
asked for first, and switched off one by one (`without_filters`).

Of the environment, what would point git at another repository or change its output is left away. There is one deadline
for everything that is asked of a repository.

Invariant: whatever goes wrong (no git, a refusal, a broken repository, no time left, too much output) is one exception,
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
_KEPT = (  # of the variables that steer git: where its own files are, and what the user configures this way
    *("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "GIT_CONFIG_COUNT"),
    *("GIT_CONFIG_KEY_", "GIT_CONFIG_VALUE_", "GIT_EXEC_PATH"),
    *("GIT_CEILING_DIRECTORIES", "GIT_DISCOVERY_ACROSS_FILESYSTEM"),
)
_SET = {
    "LC_ALL": "C",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "none",  # no such protocol: older versions, too, fetch nothing
}
_BLOCK = 1 << 16
LIMIT = 16 << 20  # bytes that a command prints


class GitError(Exception):
    """Git could not be asked, or gave no answer that can be used."""


class Git:
    """Git for one directory, until a moment of `time.monotonic()`."""

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
        """The same for a repository that has been found, so that it is not looked for again."""
        options = (*self._options, b"--git-dir=" + git_dir, b"--work-tree=" + top)
        return type(self)(top, self.variables, self.deadline, options)

    def without_filters(self, drivers: set[bytes]) -> Self:
        """The same with these filter drivers switched off."""
        if any(b"=" in driver or b"\n" in driver for driver in drivers):
            raise GitError("a filter driver has a name that cannot be given on the command line")
        options = self._options
        for driver in sorted(drivers):
            for setting in (b".clean=", b".process=", b".required=false"):
                options += (b"-c", b"filter." + driver + setting)
        return type(self)(self.directory, self.variables, self.deadline, options)

    def read(self, *arguments: bytes | str, accept: Collection[int] = (0,), questions: bytes = b"") -> bytes:
        """All that a command prints; `questions` are its standard input."""
        return b"".join(self.blocks(*arguments, accept=accept, questions=questions))

    def blocks(
        self,
        *arguments: bytes | str,
        accept: Collection[int] = (0,),
        questions: bytes = b"",
        limit: int = LIMIT,
    ) -> Iterator[bytes]:
        """What a command prints, as it comes; at the end it must have given one of these exit codes."""
        total = 0
        with _running(self._start(arguments, questions)) as process:
            for block in _blocks(process, self.deadline):
                total += len(block)
                if total > limit:
                    raise GitError("too much output")
                yield block
            if _exit_code(process, self.deadline) not in accept:
                raise GitError("git failed")

    def check_time(self) -> None:
        """Raise GitError when the time is over, for work on what git has said."""
        if time.monotonic() > self.deadline:
            raise GitError("no time left")

    def _start(self, arguments: tuple[bytes | str, ...], questions: bytes) -> "Popen[bytes]":
        import subprocess  # noqa: PLC0415 - takes longer to load than many programs run

        command = (_program(self.variables), "-C", self.directory, *self._options, *arguments)
        try:
            with _standard_input(questions) as stdin:
                return subprocess.Popen(  # noqa: S603 - a list of arguments, and no shell
                    command,
                    stdin=stdin,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                    bufsize=0,
                    cwd="/",  # that of the program may have been deleted
                    env=self._environment,
                    start_new_session=True,  # an interrupt on the terminal is not for it
                )
        except (OSError, ValueError, RuntimeError) as error:  # RuntimeError: the interpreter is ending
            raise GitError("git cannot be started") from error


def _environment(variables: Mapping[str, str]) -> dict[str, str]:
    kept = {
        name: value
        for name, value in variables.items()
        if not name.startswith("GIT_") or name.startswith(_KEPT)
    }
    return kept | _SET


def _program(variables: Mapping[str, str]) -> str:
    """The first git on the path. A relative folder there could be one of the repository itself."""
    for folder in variables.get("PATH", os.defpath).split(os.pathsep):
        program = os.path.join(folder, "git")
        if os.path.isabs(folder) and os.path.isfile(program) and os.access(program, os.X_OK):
            return program
    raise GitError("there is no git")


@contextlib.contextmanager
def _standard_input(questions: bytes) -> Iterator[int]:
    """A descriptor to read this from: a file without a name, since a pipe that nobody empties would block."""
    if not questions:
        descriptor = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
    else:
        import tempfile  # noqa: PLC0415 - hardly ever needed

        with tempfile.TemporaryFile(buffering=0) as file:
            file.write(questions)
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
            process.kill()  # nothing happens when it has ended


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
