"""Asking a time-stamping authority, by HTTP. The authority learns a digest, and nothing else about a record."""

from threading import Thread
from time import monotonic
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from runcard.errors import MachineError, UsageError
from runcard.files import printable
from runcard.signing.timestamp_token import LARGEST_REPLY

if TYPE_CHECKING:
    from http.client import HTTPResponse

TIMEOUT: Final = 30.0  # seconds for the whole reply
_BLOCK = 1 << 16


class AuthorityError(MachineError):
    """An authority that does not answer as it should."""


def send_request(url: str, request: bytes, *, timeout: float = TIMEOUT) -> bytes:
    """The reply of the authority at a URL; raises AuthorityError for anything but a reply of a reasonable size."""
    outcome: list[bytes | AuthorityError] = []

    def ask() -> None:
        try:
            outcome.append(_ask(url, request, timeout))
        except AuthorityError as error:
            outcome.append(error)

    # The timeout of a socket is for each read: a server that sends a byte now and then could keep us for days.
    thread = Thread(target=ask, daemon=True)
    thread.start()
    thread.join(1.2 * timeout)
    if not outcome:
        raise _failed(shown_address(url), f"no reply within {timeout:g} seconds")
    if isinstance(outcome[0], AuthorityError):
        raise outcome[0]
    return outcome[0]


def _ask(url: str, request: bytes, timeout: float) -> bytes:
    import http.client  # noqa: PLC0415 - long to load, and few commands need the network
    import urllib.error  # noqa: PLC0415
    import urllib.request  # noqa: PLC0415

    name = shown_address(url)

    class NoRedirect(urllib.request.HTTPRedirectHandler):
        def redirect_request(self, *_: Any) -> None:  # noqa: ANN401 - nothing of it is used
            return None

    headers = {"Content-Type": "application/timestamp-query", "Accept": "application/timestamp-reply"}
    message = urllib.request.Request(url, request, headers)  # noqa: S310 - the scheme was checked
    end = monotonic() + timeout
    try:
        with urllib.request.build_opener(NoRedirect).open(message, timeout=timeout) as response:
            return _read(response, end, name)
    except urllib.error.HTTPError as error:
        error.close()
        raise _failed(name, f"it answered {error.code} {printable(str(error.reason))[:80]}") from None
    except TimeoutError:
        raise _failed(name, f"no reply within {timeout:g} seconds") from None
    except urllib.error.URLError as error:
        late = isinstance(error.reason, TimeoutError)
        reason = f"no reply within {timeout:g} seconds" if late else printable(str(error.reason))[:200]
        raise _failed(name, reason) from None
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise _failed(name, printable(str(error))[:200] or type(error).__name__) from None


def _read(response: "HTTPResponse", end: float, name: str) -> bytes:
    blocks: list[bytes] = []
    size = 0
    while block := response.read1(_BLOCK):
        blocks.append(block)
        size += len(block)
        if size > LARGEST_REPLY:
            raise _failed(name, f"its reply has more than {LARGEST_REPLY:,} bytes")
        if monotonic() > end:
            raise TimeoutError
    kind = response.headers.get_content_type()
    if kind in {"text/html", "text/plain", "application/json"}:
        raise _failed(name, f"its reply is {kind}, and not a time-stamp")
    return b"".join(blocks)


def _failed(name: str, reason: str) -> AuthorityError:
    return AuthorityError(
        f"{name}: {reason}",
        hint="try again, or another authority; without network, use --request and --response",
    )


def shown_address(url: str) -> str:
    """The address of an authority without password and query; raises UsageError for one that is not HTTP."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port, parts = None, None, urlsplit("")
    if parts.scheme not in {"http", "https"} or not host:
        raise UsageError(
            "the address of the authority is not an http or https URL",
            hint="pass it as --tsa https://HOST/PATH",
        )
    return printable(f"{parts.scheme}://{host}{f':{port}' if port else ''}{parts.path}")
