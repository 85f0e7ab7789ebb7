"""runcard serve"""

import sys
from typing import TYPE_CHECKING

import click

from runcard.cli.options import PATH
from runcard.cli.printing import complain, say
from runcard.errors import UsageError
from runcard.extras import missing_modules, missing_package

if TYPE_CHECKING:
    from runcard.web.verification import ReaderTrust

_HOST, _PORT = "127.0.0.1", 8766
_TOKEN_VARIABLE = "RUNCARD_SERVE_TOKEN"  # noqa: S105 - its name


@click.command("serve")
@click.option("--host", default=_HOST, show_default=True, help="The address to listen on.")
@click.option(
    "--port",
    default=_PORT,
    show_default=True,
    type=click.IntRange(0, 65535),
    help="The port; 0 takes a free one.",
)
@click.option("--open/--no-open", "opens", default=None, help="Open a browser. Default: on a terminal.")
@click.option(
    "--token/--no-token",
    "needs_token",
    default=True,
    show_default=True,
    help="Need a token. Without it, all users of this machine can see the page.",
)
@click.option("--budget", metavar="DOLLARS", help="Show what was spent this month against this amount.")
@click.option(
    "--signers",
    metavar="FILE",
    type=PATH,
    help="Public keys that you trust, to name who signed a record: as for `runcard verify`.",
)
@click.option(
    "--revoked",
    metavar="FILE",
    type=PATH,
    help="Public keys that you do not trust any more: as for `runcard verify`.",
)
def command(
    host: str,
    port: int,
    opens: bool | None,
    needs_token: bool,
    budget: str | None,
    signers: str | None,
    revoked: str | None,
) -> int:
    """Show the records of this machine as a page in your browser.

    The page is served from this computer, to this computer: no account, and no request to another host. It shows what `runcard ls`
    lists, and changes nothing; two buttons verify a record, and import sessions of agent tools. Ctrl-C or SIGTERM ends it.

    The page asks for a token, so that no other user of this machine sees it: that in RUNCARD_SERVE_TOKEN, or a new one, which is
    in the printed address. A browser that is opened has it already, and keeps it in a cookie.

    Exit codes: 0 a signal ended the server, 1 error.
    """
    check_installed()
    from runcard.local_http.access_token import OpeningCode, choose_token  # noqa: PLC0415
    from runcard.local_http.listener import is_loopback, listen  # noqa: PLC0415
    from runcard.operations.catalog.budget import parse_amount  # noqa: PLC0415
    from runcard.web.server import serve  # noqa: PLC0415

    trust = _trust(signers, revoked)
    amount = None if budget is None else parse_amount(budget)
    is_local = is_loopback(host)
    if not (is_local or needs_token):
        raise UsageError(
            f"the page at {host} needs a token: others can reach it", hint="leave out --no-token"
        )
    token, is_new = choose_token(_TOKEN_VARIABLE) if needs_token else (None, False)
    listener = listen(host, port)
    if not is_local:
        complain(
            "Warning",
            f"whoever reaches {host} and has the token sees all records of this machine with their files and transcripts, "
            "and can import sessions; both are sent unencrypted",
            hint="keep 127.0.0.1 and use a tunnel of SSH, unless you trust this network",
        )
    address = f"{listener.url}/?token={token}" if token and is_new else f"{listener.url}/"
    say(f"Serving the page at {address}; Ctrl-C ends it.")
    if token and not is_new:
        say(f"It asks for the token in {_TOKEN_VARIABLE}.")
    sys.stdout.flush()
    code = None
    if opens if opens is not None else sys.stdout.isatty():
        code = OpeningCode() if token else None
        _open_browser(f"{listener.url}/?token={code.text}" if code else f"{listener.url}/")
    return serve(listener, token, amount, trust, code)


def _trust(signers: str | None, revoked: str | None) -> "ReaderTrust":
    """Whose signatures the reader trusts, by the options, and whose time-stamps, by the settings."""
    from runcard.operations.signatures.time_authority import TimePolicy, open_authorities  # noqa: PLC0415
    from runcard.operations.signatures.trust import open_policy  # noqa: PLC0415
    from runcard.web.verification import ReaderTrust  # noqa: PLC0415

    has_policy = signers is not None or revoked is not None
    authorities = open_authorities()
    return ReaderTrust(
        open_policy(signers, revoked) if has_policy else None,
        TimePolicy(authorities) if authorities else None,
    )


def _open_browser(address: str) -> None:
    import webbrowser  # noqa: PLC0415 - not everybody has one

    try:
        webbrowser.open(address)
    except (webbrowser.Error, OSError):
        complain("Warning", "no browser could be opened", hint="open the address yourself")


def check_installed() -> None:
    """Raise an error if the packages of the page are missing."""
    if missing := missing_modules("web"):
        raise missing_package("the page needs", missing[0].replace("_", "-"), "web")
