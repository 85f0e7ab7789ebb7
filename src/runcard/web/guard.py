"""What every request passes before a view sees it, and what every answer gets.

The `Host` header must name this server and an `Origin` its own pages, so no foreign page can ask, even if its name leads to this
machine. A request that changes something must come from a page of this server, or be one that no form of a foreign page can send.
With a token, nothing is answered without it; a browser has it in a cookie. No answer may run, load or embed anything that is not a file of this package.
"""

import hmac
from functools import cached_property
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlencode

from runcard.local_http.access_token import OpeningCode, is_bearer
from runcard.local_http.listener import HttpListener, content_length, header_values

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    b"content-security-policy": POLICY.encode(),
    b"x-content-type-options": b"nosniff",
    b"x-frame-options": b"DENY",
    b"referrer-policy": b"no-referrer",
    b"cross-origin-opener-policy": b"same-origin",
    b"cross-origin-resource-policy": b"same-origin",
    b"permissions-policy": b"camera=(), microphone=(), geolocation=()",
    b"cache-control": b"no-store",
}
_SAFE = frozenset({"GET", "HEAD"})
_MOST_BODY = 64 << 10  # bytes that a form or a request of the API may have
_LONGEST_ADDRESS = 16 << 10
_LOCKED_PAGE = (
    "<!doctype html><html lang=en><meta charset=utf-8>{again}<meta name=viewport content='width=device-width'><title>runcard</title>"
    "<h1>{heading}</h1><p>Open the address that <code>runcard serve</code> printed in its terminal. It ends with "
    "<code>?token=</code> and the token, which is new each time that the command starts. Or enter the token:</p>"
    "<form><label>Token <input name=token type=password autocomplete=off required></label> <button>Open</button></form></html>"
)
_NO_TOKEN, _WRONG_TOKEN = "This page needs its token", "That is not the token of this page"
_AGAIN = "<meta http-equiv=refresh content=0>"


class RequestGuard:
    """Passes on the requests that may be answered."""

    def __init__(
        self, app: "ASGIApp", listener: HttpListener, token: str | None, code: OpeningCode | None = None
    ) -> None:
        self._app, self._listener, self._token, self._code = app, listener, token, code

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        """One request."""
        if scope["type"] != "http":
            return
        answer = _Answer(send)
        headers: list[tuple[bytes, bytes]] = scope["headers"]
        if (problem := self._problem(scope, headers)) is not None:
            await answer.text(*problem)
        elif self._token is not None and not self._has_token(headers):
            await self._ask_for_token(scope, answer)
        elif self._token is not None and scope["method"] == "GET" and self._is_in_address(scope):
            await self._ask_for_token(scope, answer)  # it has the cookie already: only the address is cleaned
        else:
            await self._app(scope, receive, answer)

    def _problem(self, scope: "Scope", headers: list[tuple[bytes, bytes]]) -> tuple[int, str] | None:
        """Why a request is refused: a status and a text."""
        origins = header_values(headers, b"origin")
        if not self._listener.is_own_host(header_values(headers, b"host"), scope):
            return 421, f"the Host header does not name this server: open {self._listener.url}/"
        if origins and not self._listener.is_own_origin(origins, scope):
            return 403, "the Origin header is that of a foreign web page"
        if scope["method"] not in _SAFE and not origins and not _is_json(headers):
            return 403, "send this from a page of this server, or as application/json"
        if header_values(headers, b"sec-fetch-site") not in (
            [],
            [b"same-origin"],
            [b"none"],
        ) and not _opens_page(scope, headers):
            return 403, "a foreign web page asked for this"
        if len(scope["raw_path"]) + len(scope["query_string"]) > _LONGEST_ADDRESS:
            return 414, "the address is too long"
        if content_length(headers) > _MOST_BODY or header_values(headers, b"transfer-encoding"):
            return 413, f"a request has at most {_MOST_BODY >> 10} KiB, and states its length"
        return None

    @cached_property
    def _cookie(self) -> bytes:
        """The cookie that stands for the token. All ports of a host have the same cookies, and other programs' may be malformed."""
        value = hmac.new((self._token or "").encode(), b"the cookie of the page", "sha256").hexdigest()
        return f"runcard-{self._listener.port}={value}".encode()

    def _has_token(self, headers: list[tuple[bytes, bytes]]) -> bool:
        if self._token is None or is_bearer(header_values(headers, b"authorization"), self._token):
            return True
        stated = [part.strip() for line in header_values(headers, b"cookie") for part in line.split(b";")]
        return any(hmac.compare_digest(cookie, self._cookie) for cookie in stated)

    def _is_in_address(self, scope: "Scope") -> bool:
        """Whether the address has the right token, or the code that stands for it once."""
        stated = next((value for name, value in _parameters(scope) if name == "token"), None)
        if stated is None or self._token is None:
            return False
        is_right = hmac.compare_digest(stated.encode("utf-8", "replace"), self._token.encode())
        return is_right or (self._code is not None and self._code.takes(stated, scope))

    async def _ask_for_token(self, scope: "Scope", answer: "_Answer") -> None:
        """Take the token out of the address into a cookie; without the right one, ask for it."""
        if scope["method"] != "GET" or not self._is_in_address(scope):
            status = 401
            is_stated = _states_token(scope)
            if scope["path"].startswith("/api"):
                fault = "wrong" if is_stated else "missing"
                text = f"the token is {fault}: send the header Authorization: Bearer TOKEN"
                await answer.text(status, text, (b"www-authenticate", b"Bearer"))
                return
            # A browser keeps the cookie back when a link elsewhere was followed, and sends it when this page loads itself again.
            again = _AGAIN if _is_from_elsewhere(scope) else ""
            page = _LOCKED_PAGE.format(again=again, heading=_WRONG_TOKEN if is_stated else _NO_TOKEN)
            await answer.send(status, b"text/html; charset=utf-8", page.encode())
            return
        rest = urlencode([(name, value) for name, value in _parameters(scope) if name != "token"])
        target = _local(scope["raw_path"].decode("latin-1")) + (f"?{rest}" if rest else "")
        cookie = self._cookie + b"; HttpOnly; SameSite=Strict; Path=/"
        await answer.text(303, "", (b"location", target.encode("latin-1")), (b"set-cookie", cookie))


def _parameters(scope: "Scope") -> list[tuple[str, str]]:
    return parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)


def _states_token(scope: "Scope") -> bool:
    """Whether a request states a token where it may: in a header, or in the address of a page."""
    is_in_address = any(name == "token" for name, _ in _parameters(scope))
    return bool(header_values(scope["headers"], b"authorization")) or (
        scope["method"] == "GET" and is_in_address
    )


def _local(path: str) -> str:
    """A path on this server: `//host` would be another one."""
    return "/" + path.lstrip("/\\")


def _is_json(headers: list[tuple[bytes, bytes]]) -> bool:
    """Whether a body is JSON, which no form of a web page can send."""
    kinds = header_values(headers, b"content-type")
    return len(kinds) == 1 and kinds[0].split(b";")[0].strip().lower() == b"application/json"


def _is_from_elsewhere(scope: "Scope") -> bool:
    """Whether a link of another site was followed, as the browser says."""
    return header_values(scope["headers"], b"sec-fetch-site") == [b"cross-site"]


def _opens_page(scope: "Scope", headers: list[tuple[bytes, bytes]]) -> bool:
    """Whether a link elsewhere was followed: the reader sees the answer, the page with the link does not."""
    return scope["method"] in _SAFE and header_values(headers, b"sec-fetch-mode") == [b"navigate"]


class _Answer:
    """Sends an answer with the headers that every answer has."""

    def __init__(self, send: "Send") -> None:
        self._send = send

    async def __call__(self, message: "Message") -> None:
        if message["type"] == "http.response.start":
            own = {name.lower() for name, _ in message["headers"]}
            message["headers"] = [
                *message["headers"],
                *((name, value) for name, value in _HEADERS.items() if name not in own),
            ]
        await self._send(message)

    async def send(self, status: int, kind: bytes, body: bytes, *headers: tuple[bytes, bytes]) -> None:
        known = [(b"content-type", kind), (b"content-length", b"%d" % len(body)), *headers]
        await self({"type": "http.response.start", "status": status, "headers": known})
        await self({"type": "http.response.body", "body": body})

    async def text(self, status: int, text: str, *headers: tuple[bytes, bytes]) -> None:
        await self.send(status, b"text/plain; charset=utf-8", f"{text}\n".encode(), *headers)
