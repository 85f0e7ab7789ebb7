"""The URL of a database on a server, which may have a password in it."""

import re

_URL = re.compile(
    r"postgres(?:ql)?://(?:(?P<user>[^:@/?#\s]*)(?::[^@/?#\s]*)?@)?(?P<server>[^@/?#\s]*)(?P<database>/[^@?#\s]*)?(?:\?[^@#\s]*)?"
)


def is_well_formed(url: str) -> bool:
    """Whether it is clear what is the password: special characters in it must be escaped."""
    return _URL.fullmatch(url) is not None


def shown_url(url: str) -> str:
    """The URL without its password and its options."""
    parts = _URL.fullmatch(url)
    if parts is None:
        return f"{url.partition('://')[0]}://…"
    user = f"{parts['user']}@" if parts["user"] else ""
    return f"postgresql://{user}{parts['server']}{parts['database'] or ''}"
