"""Exit codes: what a command tells the shell about an error, a finding or a verdict."""

from collections.abc import Iterable
from enum import IntEnum
from typing import TYPE_CHECKING

from runcard.errors import RuncardError, UsageError

if TYPE_CHECKING:
    from runcard.documents.findings import Severity


class ExitCode(IntEnum):
    """What a command tells the shell."""

    OK = 0
    FAILED = 1  # an error, or a check that failed
    WARNINGS = 2  # success, with warnings
    USAGE = 64  # the command line itself was wrong


_BY_SEVERITY = {"error": ExitCode.FAILED, "warning": ExitCode.WARNINGS, "note": ExitCode.OK}


def code_for_error(error: RuncardError) -> ExitCode:
    """The exit code of a command that an error stopped."""
    is_usage = isinstance(error, UsageError) and error.is_in_command_line
    return ExitCode.USAGE if is_usage else ExitCode.FAILED


def code_for_severity(severity: "Severity") -> ExitCode:
    """The exit code for a finding, or for the worst finding of a verdict."""
    return _BY_SEVERITY[severity]


def worst(codes: Iterable[ExitCode]) -> ExitCode:
    """The exit code of many results: 1 over 2 over 0."""
    every = set(codes)
    return next((code for code in (ExitCode.FAILED, ExitCode.WARNINGS) if code in every), ExitCode.OK)
