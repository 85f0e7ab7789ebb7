"""Asking before something is gone for good."""

import sys
from collections.abc import Iterable

import click

from runcard.errors import UsageError
from runcard.files import printable


def is_agreed(question: str, *, doing: str, about: Iterable[str] = (), hint: str = "add --yes") -> bool:
    """Whether the user says yes, having read what it is `about`; a UsageError where nobody can be asked."""
    if not sys.stdin.isatty():
        raise UsageError(f"nobody can be asked whether to {doing}", hint=hint)
    for line in about:
        click.echo(printable(line), err=True)
    try:
        return click.confirm(printable(question), err=True)
    except click.Abort:  # Ctrl-C, or the end of the input
        click.echo(err=True)
        return False
