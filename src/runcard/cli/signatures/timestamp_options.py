"""What `runcard timestamp` and `runcard anchor` have in common."""

import shlex
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

import click

from runcard.cli.options import TEXT
from runcard.cli.printing import say_done

if TYPE_CHECKING:
    from runcard.operations.signatures.time_authority import AcceptedTimestamp

F = TypeVar("F", bound=Callable[..., object])


def timestamp_options(function: F) -> F:
    """Where the time-stamp comes from, and who is trusted."""
    options = [
        click.option(
            "--tsa",
            metavar="URL",
            type=TEXT,
            help="Ask this authority. Default: the setting timestamp.authority.",
        ),
        click.option(
            "--request",
            metavar="FILE",
            type=click.Path(),
            help="Write the request to FILE, and ask nobody. With --response: the request that was answered.",
        ),
        click.option("--response", metavar="FILE", type=click.Path(), help="Add the reply in FILE."),
        click.option(
            "--tsa-certs",
            metavar="FILE",
            type=click.Path(),
            help="Certificates of authorities that you trust, as PEM. A time-stamp of another one is refused.",
        ),
    ]
    for option in reversed(options):
        function = option(function)
    return function


def describe(accepted: "AcceptedTimestamp") -> str:
    """When, by whom, and whether that is checked."""
    from runcard.documents.times import format_time  # noqa: PLC0415
    from runcard.files import printable  # noqa: PLC0415

    checked = accepted.checked
    trust = (
        "" if accepted.root else " (not checked against certificates that you trust: pass --tsa-certs FILE)"
    )
    return f"time-stamped {format_time(checked.token.latest)} by {printable(checked.authority)}{trust}"


def show_next_step(request: str, command: str) -> None:
    """What to do with a request."""
    reply = shlex.quote(f"{request.removesuffix('.tsq')}.tsr")
    query = shlex.quote(f"@{request}")
    say_done("Send it to an authority, then add the reply:")
    say_done(f"  curl -H 'Content-Type: application/timestamp-query' --data-binary {query} URL > {reply}")
    say_done(f"  {command} --request {shlex.quote(request)} --response {reply}")
