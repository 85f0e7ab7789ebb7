"""A program that calls providers by their name: `python around_program.py WAY…`. It reads the proxy variables, and no base URL."""

import base64
import http.client
import os
import ssl
import sys
import time
import urllib.parse
import urllib.request
from collections.abc import Callable

HOST = "api.anthropic.com"
URL = f"https://{HOST}/v1/messages"
BODY = b'{"model": "claude-sonnet-5-latest", "max_tokens": 9, "messages": []}'
HEADERS = {"content-type": "application/json", "x-api-key": "x"}


def _urllib(url: str = URL) -> None:
    context = ssl.create_default_context(cafile=os.environ["SSL_CERT_FILE"])
    handler = urllib.request.HTTPSHandler(context=context)
    request = urllib.request.Request(url, BODY, HEADERS)  # noqa: S310 - one of the URLs here
    with urllib.request.build_opener(handler).open(request) as reply:
        reply.read()


def _keep_alive() -> None:
    """Two calls by one connection."""
    proxy = urllib.parse.urlsplit(os.environ["HTTPS_PROXY"])
    password = base64.b64encode(f"{proxy.username}:{proxy.password}".encode()).decode()
    context = ssl.create_default_context(cafile=os.environ["SSL_CERT_FILE"])
    connection = http.client.HTTPSConnection(proxy.hostname or "", proxy.port, context=context)
    connection.set_tunnel(HOST, headers={"Proxy-Authorization": f"Basic {password}"})
    for _ in range(2):
        connection.request("POST", "/v1/messages", BODY, HEADERS)
        connection.getresponse().read()


def _sdk(**options: str) -> None:
    import anthropic  # noqa: PLC0415

    client = anthropic.Anthropic(api_key="x", **options)  # type: ignore[arg-type]
    client.messages.create(model="claude-sonnet-5-latest", max_tokens=9, messages=[])


def _wait() -> None:
    """Until it is killed."""
    while True:
        time.sleep(1)


WAYS: dict[str, Callable[[], None]] = {
    "urllib": _urllib,
    "keep-alive": _keep_alive,
    "sdk": lambda: _sdk(base_url=f"https://{HOST}"),
    "metered": _sdk,
    "wait": _wait,
    "elsewhere": lambda: _urllib("https://console.anthropic.com/v1/messages"),
}

if __name__ == "__main__":
    for way in sys.argv[1:]:
        WAYS[way]()
    sys.stdout.write("done\n")
