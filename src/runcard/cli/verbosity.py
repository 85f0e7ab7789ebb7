"""How much a command prints: `-q` and `-v`, which every command takes, and `runcard` itself before the command.

Quiet: no progress and no success messages. Requested data, warnings and errors are still printed. Verbose: more details,
and the traceback of an error. Imports no click, because `runcard run` does without it.
"""

import sys

from runcard.errors import RuncardError, UsageError, without_key


class _Verbosity:
    quiet = False
    verbose = False


_CURRENT = _Verbosity()


def reset_verbosity() -> None:
    """Forget the options of an earlier command of this process."""
    _CURRENT.quiet = _CURRENT.verbose = False


def set_verbosity(*, quiet: bool = False, verbose: bool = False) -> None:
    """Turn on one of the two; a UsageError for both."""
    _CURRENT.quiet |= quiet
    _CURRENT.verbose |= verbose
    if _CURRENT.quiet and _CURRENT.verbose:
        raise UsageError("--quiet and --verbose contradict each other", hint="pass one of them")


def is_quiet() -> bool:
    return _CURRENT.quiet


def is_verbose() -> bool:
    return _CURRENT.verbose


def show_traceback(error: RuncardError | OSError) -> None:
    """With --verbose, print where an error comes from, with its causes; the message itself is printed by the caller."""
    if _CURRENT.verbose and not isinstance(error, UsageError):
        from traceback import format_exception  # noqa: PLC0415

        from runcard.files import printable  # noqa: PLC0415

        for line in without_key("".join(format_exception(error))).splitlines():
            sys.stderr.write(f"{printable(line)}\n")
