"""Asking the user before something that cannot be undone."""

import sys
from collections.abc import Iterable

import click

from runcard.errors import UsageError
from runcard.files import printable


def can_ask() -> bool:
    """Whether there is a terminal to ask on."""
    return sys.stdin is not None and sys.stdin.isatty()


def is_agreed(question: str, *, otherwise: str, about: Iterable[str] = (), hint: str = "pass --yes") -> bool:
    """Whether the user answers yes to the question, printed below the lines `about`; UsageError without a terminal.

    `otherwise` is printed when the answer is no.
    """
    if not can_ask():
        raise UsageError("no terminal to confirm on", hint=hint)
    for line in about:
        click.echo(printable(line), err=True)
    try:
        answer = click.confirm(printable(question), err=True)
    except click.Abort:  # Ctrl-C, or the end of the input
        click.echo(err=True)
        answer = False
    if not answer:
        click.echo(otherwise, err=True)
    return answer
