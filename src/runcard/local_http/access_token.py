"""The token without which a server answers nothing, and the code that opens a browser instead of it."""

import hmac
import os
import secrets
import time
from threading import Lock
from typing import TYPE_CHECKING

from runcard.errors import UsageError
from runcard.local_http.peer_user import is_of_this_user

if TYPE_CHECKING:
    from starlette.types import Scope

_LEAST, _MOST = 20, 1000  # characters
_SECONDS = 120.0  # in which a browser opens


def choose_token(variable: str) -> tuple[str, bool]:
    """The token that a request must have: that of an environment variable or a new one, and whether it is new."""
    token = os.environ.get(variable, "")
    if not token:
        return secrets.token_urlsafe(32), True
    if not (_LEAST <= len(token) <= _MOST and token.isascii() and token.isprintable()):
        raise UsageError(
            f"{variable} is not a token: it needs {_LEAST} to {_MOST:,} printable ASCII characters",
            hint=f"unset {variable}, and runcard makes a token",
        )
    if " " in token:
        raise UsageError(f"{variable} has a space", hint="a token has none")
    return token, False


def is_bearer(values: list[bytes], token: str) -> bool:
    """Whether the values of the `Authorization` header have the token; compared in constant time."""
    kind, _, stated = (values[0] if len(values) == 1 else b"").partition(b" ")
    return hmac.compare_digest(stated.strip(), token.encode()) and kind.lower() == b"bearer"


class OpeningCode:
    """Stands for the token in the address that a browser is started with: other users can read the command line of a program.

    It is right once, soon, and for a program of this user.
    """

    def __init__(self) -> None:
        self.text = secrets.token_urlsafe(32)
        self._ends = time.monotonic() + _SECONDS
        self._is_used = False
        self._turn = Lock()

    def takes(self, stated: str, scope: "Scope") -> bool:
        """Whether a request has the code and may use it; then no other may."""
        if not hmac.compare_digest(stated.encode("utf-8", "replace"), self.text.encode()):
            return False
        with self._turn:
            if self._is_used or time.monotonic() > self._ends or not is_of_this_user(scope):
                return False
            self._is_used = True
        return True
