"""runcard mcp"""

import os
import sys
import threading

import click

from runcard.cli.options import PATH
from runcard.errors import MachineError

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
    help="Read only the records of this store. Can be repeated. Default: the configured stores and those of experiments.",
)
def command(allow_write: bool, stores: tuple[str, ...]) -> int:
    """Serve records and plans to an agent, by the Model Context Protocol, on standard input and output.

    An agent starts this command itself: add it to the agent's configuration. Records outside of the stores cannot be read,
    and nothing is written without --allow-write.

    Exit codes: 0 the client has ended, 1 error.
    """
    _check_installed()
    from runcard.mcp_server.project_folder import ProjectFolder  # noqa: PLC0415
    from runcard.mcp_server.readable_stores import ReadableStores  # noqa: PLC0415
    from runcard.mcp_server.recorded_runs import RecordedRuns  # noqa: PLC0415
    from runcard.mcp_server.server import make_server  # noqa: PLC0415
    from runcard.mcp_server.stdio import serve_stdio  # noqa: PLC0415
    from runcard.mcp_server.tools import ServerScope  # noqa: PLC0415

    runs = RecordedRuns()
    scope = ServerScope(ReadableStores(stores), ProjectFolder(), runs, allow_write)
    try:
        code = serve_stdio(make_server(scope))
    finally:
        runs.close()
    _end_threads(code)
    return code


def _check_installed() -> None:
    from importlib.util import find_spec  # noqa: PLC0415

    if find_spec("mcp") is None:
        raise MachineError("the package mcp is not installed", hint="install it: pip install 'runcard[mcp]'")


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
