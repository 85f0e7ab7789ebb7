"""Which stores this user has: a small file for each, in the user's state folder, so that a question can be asked of all.

The file is made when a record is first closed in a store. It can be removed at any time: nothing but finding depends on
it. Where it cannot be made, nothing else changes.
"""

import contextlib
import os
from hashlib import blake2b

from runcard.files import open_regular
from runcard.files.user_folders import make_own_folder, state_folder

_FOLDER = "stores"
_LONGEST = 1 << 16  # bytes of a path


def note_store(store: str) -> None:
    """Remember a store; never fails."""
    path = os.path.realpath(store)
    with contextlib.suppress(OSError):
        if (folder := _folder()) is None:
            return
        file = os.path.join(folder, _name(path))
        if not os.path.lexists(file):
            make_own_folder(folder)
            with open(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb") as new:
                new.write(os.fsencode(path))


def forget_store(store: str) -> bool:
    """Forget a store; whether it was known."""
    path = os.path.realpath(store)
    with contextlib.suppress(OSError):
        if (folder := _folder()) is not None:
            os.unlink(os.path.join(folder, _name(path)))
            return True
    return False


def known_stores() -> list[str]:
    """The stores that were noted, whether they are reachable now or not."""
    stores: set[str] = set()
    if (folder := _folder()) is None:
        return []
    with contextlib.suppress(OSError):
        for name in os.listdir(folder):
            path = _read(os.path.join(folder, name))
            if path is not None and _name(path) == name:  # a file that was cut, or is not ours, is left out
                stores.add(path)
    return sorted(stores)


def _read(file: str) -> str | None:
    try:
        with open(open_regular(file), "rb") as opened:
            return os.fsdecode(opened.read(_LONGEST))
    except OSError:
        return None


def _folder() -> str | None:
    state = state_folder()
    return None if state is None else os.path.join(state, _FOLDER)


def _name(path: str) -> str:
    return blake2b(os.fsencode(path), digest_size=16).hexdigest()
