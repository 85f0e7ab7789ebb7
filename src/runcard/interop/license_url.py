"""The address of a license that a user names."""

import re

_URL = re.compile(r"https?://[!#-;=?-\[\]_a-z~]+", re.IGNORECASE)
_SPDX_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9.+-]*")


def license_url(given: str) -> str | None:
    """A URL as it is, that of an SPDX id; None for another text."""
    name = given.strip()
    if _URL.fullmatch(name):
        return name
    return f"https://spdx.org/licenses/{name}" if _SPDX_ID.fullmatch(name) else None
