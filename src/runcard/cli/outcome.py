"""The one place where errors become messages and exit codes."""

import os
import sys
from collections.abc import Callable

from runcard.cli.declare import DeclaredCommand
from runcard.cli.exit_codes import ExitCode, code_for_error
from runcard.cli.printing import complain, say_json
from runcard.cli.verbosity import reset_verbosity, set_verbosity, show_traceback
from runcard.encoding.json.types import JsonObject
from runcard.errors import RuncardError, UsageError

BROKEN_PIPE = 141

_GONE = "the current directory was removed: change to another one"


def exit_code_of(work: Callable[[], int]) -> int:
    """Do the work of a command; its exit code, after messages about what went wrong."""
    reset_verbosity()
    _refused_settings()  # forget those of an earlier command of this process
    code = _code(work)
    refused = _refused_settings()
    for message, hint in refused:
        complain("Warning", message, hint=hint)
    return ExitCode.WARNINGS if refused and code == ExitCode.OK else code


def call(command: DeclaredCommand, values: JsonObject) -> int:
    """The exit code of a command with the values of its parameters, and of `quiet` and `verbose`."""
    set_verbosity(quiet=values.pop("quiet"), verbose=values.pop("verbose"))
    return call_function(lambda: command.function(**values), lambda: values.get("as_json", False))


def call_function(function: Callable[[], int | None], is_json: Callable[[], bool]) -> int:
    """Call the function of a command. With --json, its error is printed as JSON as well.

    `is_json` is asked after the call: click parses the options of a command while it calls it.
    """
    try:
        return int(function() or 0)
    except RuncardError as error:
        if is_json() and code_for_error(error) != ExitCode.USAGE:
            from runcard.files import printable  # noqa: PLC0415

            details = {"details": [*map(printable, error.details)]} if error.details else {}
            hint = error.hint and printable(error.hint)
            say_json({"error": printable(error.message), "hint": hint, **details})
        raise


def _code(work: Callable[[], int]) -> int:
    try:
        for stream in (sys.stdout, sys.stderr):
            # A character that the encoding of the terminal lacks must not stop the work.
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
        code = work()
        sys.stdout.flush()
    except RuncardError as error:
        hint = _GONE if _is_directory_gone() and not isinstance(error, UsageError) else error.hint
        complain("Error", error.message, hint=hint, details=error.details)
        show_traceback(error)
        return code_for_error(error)
    except BrokenPipeError:  # the reader of our output is gone
        _drop_output()
        return BROKEN_PIPE
    except OSError as error:
        return _failed(error)
    return code


def _refused_settings() -> list[tuple[str, str]]:
    """Values of settings that the command read and ignored, each with a hint."""
    if "runcard.settings.lookup" not in sys.modules:
        return []  # it read none
    from runcard.settings import take_unreported  # noqa: PLC0415

    return take_unreported()


def _failed(error: OSError) -> int:
    """Print an error of the operating system. If it names no file, it is about the output."""
    from runcard.files import failure  # noqa: PLC0415

    if isinstance(error, FileNotFoundError) and _is_directory_gone():
        complain(
            "Error",
            "the current directory was removed",
            hint="change to another one, and run the command again",
        )
        show_traceback(error)
        return ExitCode.FAILED
    if error.filename is None:
        _drop_output()
        complain(
            "Error",
            f"cannot write the output: {error.strerror}",
            hint="write it to another place, and run the command again",
        )
        return ExitCode.FAILED
    problem = failure(error, os.fsdecode(error.filename), "use")
    complain("Error", problem.message, hint=problem.hint)
    show_traceback(error)
    return code_for_error(problem)


def _is_directory_gone() -> bool:
    """Whether the current directory was removed: no relative path leads anywhere."""
    try:
        os.getcwd()
    except OSError:
        return True
    return False


def _drop_output() -> None:
    """Discard what could not be written: Python would try again at exit, and print an error."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
