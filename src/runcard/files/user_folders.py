"""The user's folders for configuration and state, as in the XDG Base Directory Specification.

Nothing in a record or a repository can change where they are. Only `make_own_folder` creates one, which only the user can
enter.
"""

import os
from collections.abc import Mapping
from stat import S_IRWXG, S_IRWXO

_NAME = "runcard"


def config_folder(environ: Mapping[str, str] | None = None) -> str | None:
    """Where the user's settings are: `$XDG_CONFIG_HOME/runcard`, or `~/.config/runcard`; None without a home."""
    return _folder("XDG_CONFIG_HOME", ".config", environ)


def state_folder(environ: Mapping[str, str] | None = None) -> str | None:
    """Where runcard keeps its own state: `$XDG_STATE_HOME/runcard`, or `~/.local/state/runcard`; None without a home."""
    return _folder("XDG_STATE_HOME", os.path.join(".local", "state"), environ)


def data_folder(environ: Mapping[str, str] | None = None) -> str | None:
    """Where runcard keeps what can be made again: `$XDG_DATA_HOME/runcard`, or `~/.local/share/runcard`; None without a home."""
    return _folder("XDG_DATA_HOME", os.path.join(".local", "share"), environ)


def _folder(variable: str, default: str, environ: Mapping[str, str] | None) -> str | None:
    base = (os.environ if environ is None else environ).get(variable, "")
    if not os.path.isabs(base):  # the specification says to ignore such a value
        base = os.path.join(os.path.expanduser("~"), default)
    return os.path.join(base, _NAME) if os.path.isabs(base) else None


def make_own_folder(folder: str) -> None:
    """Create a folder of the user, with its parents; PermissionError if a parent belongs to another user.

    A program that runs as root with the home of another user must not leave folders there that the user cannot enter.
    """
    above, missing = folder, list[str]()
    while not os.path.lexists(above):
        missing.append(above)
        above = os.path.dirname(above)
    if not is_own(os.stat(above)):
        raise PermissionError(1, "it belongs to another user", above)
    for path in (*reversed(missing), folder):  # `makedirs` uses the mode for the last one only
        os.makedirs(path, 0o700, exist_ok=True)


def is_own(status: os.stat_result) -> bool:
    """Whether a file or a folder belongs to this user."""
    return status.st_uid == os.geteuid()


def is_private(status: os.stat_result) -> bool:
    """Whether a file belongs to this user and no other user can read or write it."""
    return is_own(status) and not status.st_mode & (S_IRWXG | S_IRWXO)
