"""Serving the page until a signal ends it."""

import asyncio
import logging
from typing import TYPE_CHECKING

from runcard.local_http.serving import make_server
from runcard.web.app import make_app
from runcard.web.verification import TRUSTS_NOBODY, ReaderTrust

if TYPE_CHECKING:
    from decimal import Decimal

    from runcard.local_http.access_token import OpeningCode
    from runcard.local_http.listener import HttpListener


def serve(
    listener: "HttpListener",
    token: str | None,
    budget: "Decimal | None" = None,
    trust: ReaderTrust = TRUSTS_NOBODY,
    code: "OpeningCode | None" = None,
) -> int:
    """Serve until a signal ends the server; returns the exit code."""
    logging.getLogger("uvicorn").setLevel(logging.CRITICAL)  # what goes wrong in a request is in its answer
    server = make_server(make_app(listener, token, budget, trust, code))
    asyncio.run(server.serve(sockets=[listener.listening]))
    return 0
