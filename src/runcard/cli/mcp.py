"""runcard mcp"""

import os
import sys
import threading
from typing import TYPE_CHECKING, Any

import click

from runcard.cli.options import PATH
from runcard.cli.printing import complain, say
from runcard.errors import UsageError
from runcard.extras import missing_modules, missing_package

if TYPE_CHECKING:
    from mcp.server import Server

_HOST, _PORT = "127.0.0.1", 8765
_GRACE = 2.0  # seconds for work that a client does not wait for any more


@click.command("mcp")
@click.option(
    "--allow-write",
    is_flag=True,
    help="Offer the tools that record runs and write plans. Default: only read.",
)
@click.option(
    "--store",
    "stores",
    multiple=True,
    metavar="DIR",
    type=PATH,
    help="Read only the records of this store. Repeatable. Default: the configured stores and those of experiments.",
)
@click.option(
    "--http",
    "uses_http",
    is_flag=True,
    help="Serve over HTTP, for clients that share one server. Prints the URL and the token.",
)
@click.option("--host", default=_HOST, show_default=True, help="With --http: the address to listen on.")
@click.option(
    "--port",
    default=_PORT,
    show_default=True,
    type=click.IntRange(0, 65535),
    help="With --http: the port; 0 takes a free one.",
)
def command(allow_write: bool, stores: tuple[str, ...], uses_http: bool, host: str, port: int) -> int:
    """Serve records and plans to an agent, by the Model Context Protocol, on standard input and output.

    An agent starts this command itself: add it to the agent's configuration. Records outside of the stores cannot be read,
    and nothing is written without --allow-write. With --http, the server runs until Ctrl-C or SIGTERM ends it, and answers only
    requests with its token: that in RUNCARD_MCP_TOKEN, or a new one.

    Exit codes: 0 the client has ended, or with --http a signal ended the server, 1 error.
    """
    _check_installed()
    if not uses_http and (host, port) != (_HOST, _PORT):
        raise UsageError("--host and --port are for a server over HTTP", hint="add --http")
    from runcard.mcp_server.project_folder import ProjectFolder  # noqa: PLC0415
    from runcard.mcp_server.readable_stores import ReadableStores  # noqa: PLC0415
    from runcard.mcp_server.recorded_runs import RecordedRuns  # noqa: PLC0415
    from runcard.mcp_server.server import make_server  # noqa: PLC0415
    from runcard.mcp_server.tools import ServerScope  # noqa: PLC0415
    from runcard.operations.catalog.kept_catalogs import keep_catalogs_open  # noqa: PLC0415

    runs = RecordedRuns()
    scope = ServerScope(ReadableStores(stores), ProjectFolder(), runs, allow_write)
    server = make_server(scope)
    try:
        with keep_catalogs_open():
            code = _serve_http(server, host, port) if uses_http else _serve_stdio(server)
    finally:
        runs.close()
    _end_threads(code)
    return code


def _serve_stdio(server: "Server[Any]") -> int:
    from runcard.mcp_server.stdio import serve_stdio  # noqa: PLC0415

    if sys.stdin.isatty():
        complain(
            "Note",
            "this is an MCP server: it waits for messages of an agent on standard input; Ctrl-D ends it",
            hint="to add it to an agent: runcard install claude-code --mcp; or serve over HTTP: runcard mcp --http",
        )
    return serve_stdio(server)


def _serve_http(server: "Server[Any]", host: str, port: int) -> int:
    from runcard.local_http.access_token import choose_token  # noqa: PLC0415
    from runcard.local_http.listener import is_loopback, listen  # noqa: PLC0415
    from runcard.mcp_server.http import PATH as PATH_IN_URL  # noqa: PLC0415
    from runcard.mcp_server.http import TOKEN_VARIABLE, serve_http  # noqa: PLC0415

    token, is_new = choose_token(TOKEN_VARIABLE)
    listener = listen(host, port)
    url = f"{listener.url}{PATH_IN_URL}"
    if not is_loopback(host):
        complain(
            "Warning",
            f"other machines can reach {host}, and the token is sent to it unencrypted",
            hint="keep 127.0.0.1 and use a tunnel of SSH, unless you trust this network",
        )
    header = f"Authorization: Bearer {token if is_new else f'${TOKEN_VARIABLE}'}"
    say(f"Serving MCP at {url}; Ctrl-C ends it.")
    say(f"Each request needs the header: {header}")
    say("To add it to Claude Code:")
    say(f'  claude mcp add --transport http runcard {url} --header "{header}"')
    say(f"To add it to Codex, with the token in the variable {TOKEN_VARIABLE}:")
    say(f"  codex mcp add runcard --url {url} --bearer-token-env-var {TOKEN_VARIABLE}")
    sys.stdout.flush()
    return serve_http(server, listener, token)


def _check_installed() -> None:
    if missing_modules("mcp"):
        raise missing_package("the MCP server needs", "mcp", "mcp")


def _end_threads(code: int) -> None:
    """End the process even if a thread is still at work: its client is gone, and what it writes is safe against a crash."""
    workers = [
        thread
        for thread in threading.enumerate()
        if thread is not threading.main_thread() and not thread.daemon
    ]
    for worker in workers:
        worker.join(_GRACE / len(workers))
    if any(worker.is_alive() for worker in workers):
        sys.stderr.flush()
        os._exit(code)
