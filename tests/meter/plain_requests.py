"""Requests without a vendor's library: `python plain_requests.py NAME`. Prints what came back, the head included."""

import hashlib
import http.client
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlsplit

BODY: dict[str, Any] = {"model": "claude-sonnet-5-latest", "max_tokens": 9, "messages": []}

SECRET = {"role": "user", "content": "My password is ghp_0123456789abcdefghijABCDEFGHIJ012345."}
BIG = {f"x-big-{number}": "x" * 60_000 for number in range(18)}  # 1 MB, in lines that servers accept


def send(method: str, path: str, body: Any = None, headers: dict[str, str] | None = None) -> None:
    """Send a request to the URL of the environment and print the reply."""
    base = urlsplit(os.environ["ANTHROPIC_BASE_URL"])
    connection = http.client.HTTPConnection(base.hostname or "", base.port, timeout=60)
    given = {"content-type": "application/json", **(headers or {})}
    connection.request(method, base.path + path, body, given, encode_chunked="transfer-encoding" in given)
    reply = connection.getresponse()
    digest, size = hashlib.sha256(), 0
    while piece := reply.read(65536):
        digest.update(piece)
        size += len(piece)
    names = [(name, value) for name, value in reply.getheaders() if name.lower() != "date"]
    report = [reply.status, reply.reason, names, size, digest.hexdigest()]
    sys.stdout.write(json.dumps(report) + "\n")
    sys.stdout.flush()
    connection.close()


def _pieces(total: int) -> Iterator[bytes]:
    text = json.dumps(BODY)[:-1]
    yield f'{text}, "filler": "'.encode()
    for _ in range(total // 65536):
        yield b"x" * 65536
    yield b'"}'


def _big_request() -> None:
    """200 MB, without holding them."""
    send("POST", "/v1/messages", _pieces(200 << 20), {"transfer-encoding": "chunked"})


def _stream() -> None:
    send("POST", "/v1/messages", json.dumps({**BODY, "stream": True}))


def _call() -> None:
    send("POST", "/v1/messages", json.dumps(BODY))


def _no_calls() -> None:
    send("HEAD", "/")
    send("POST", "/v1/messages/count_tokens", json.dumps(BODY))


def _calls_forever() -> None:
    while True:
        _call()
        time.sleep(0.05)


REQUESTS: dict[str, Callable[[], None]] = {
    "call": _call,
    "secret": lambda: send("POST", "/v1/messages", json.dumps({**BODY, "messages": [SECRET]})),
    "stream": _stream,
    "calls-forever": _calls_forever,
    "big-request": _big_request,
    "unknown-endpoint": lambda: send("POST", "/v1/unheard-of", json.dumps(BODY)),
    "no-calls": _no_calls,
    "big-header": lambda: send("POST", "/v1/messages", json.dumps(BODY), BIG),
    "invalid-json": lambda: send("POST", "/v1/messages", b'\xff{"model": '),
}


if __name__ == "__main__":
    for name in sys.argv[1:]:
        REQUESTS[name]()
