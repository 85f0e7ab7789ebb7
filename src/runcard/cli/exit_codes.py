"""Exit codes: what a command tells the shell about an error, a finding or a verdict."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from runcard.errors import ExitCode

if TYPE_CHECKING:
    from runcard.documents.findings import Severity


__all__ = ["ExitCode", "code_for_severity", "worst"]

_BY_SEVERITY = {"error": ExitCode.FAILED, "warning": ExitCode.WARNINGS, "note": ExitCode.OK}


def code_for_severity(severity: "Severity") -> ExitCode:
    """Of a finding, or of the worst finding of a verdict."""
    return _BY_SEVERITY[severity]


def worst(codes: Iterable[ExitCode]) -> ExitCode:
    """The exit code of many results: 1 over 2 over 0."""
    every = set(codes)
    return next((code for code in (ExitCode.FAILED, ExitCode.WARNINGS) if code in every), ExitCode.OK)
