"""The token without which a server answers nothing."""

import hmac
import os
import secrets

from runcard.errors import UsageError

_LEAST, _MOST = 20, 1000  # characters


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
