"""Folders that this user has used: a small file for each, in the user's state folder, so that a question can be asked of all.

Such a file can be removed at any time: nothing but finding depends on it. Where it cannot be made, nothing else changes.
"""

import contextlib
import os
from hashlib import blake2b

from runcard.files import open_regular
from runcard.files.user_folders import make_own_folder, state_folder

_LONGEST = 1 << 16  # bytes of a path


class KnownFolders:
    """The folders of one kind; `kind` is the name of the folder that has the notes."""

    def __init__(self, kind: str) -> None:
        self._kind = kind

    def note(self, path: str) -> None:
        """Remember a folder; never fails."""
        path = os.path.realpath(path)
        with contextlib.suppress(OSError):
            if (folder := self._folder()) is None:
                return
            file = os.path.join(folder, _name(path))
            if not os.path.lexists(file):
                make_own_folder(folder)
                flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
                with open(os.open(file, flags, 0o600), "wb") as new:
                    new.write(os.fsencode(path))

    def forget(self, path: str) -> bool:
        """Forget a folder; whether it was known."""
        path = os.path.realpath(path)
        with contextlib.suppress(OSError):
            if (folder := self._folder()) is not None:
                os.unlink(os.path.join(folder, _name(path)))
                return True
        return False

    def all(self) -> list[str]:
        """The folders that were noted, whether they are reachable now or not."""
        known: set[str] = set()
        if (folder := self._folder()) is None:
            return []
        with contextlib.suppress(OSError):
            for name in os.listdir(folder):
                path = _read(os.path.join(folder, name))
                if (
                    path is not None and _name(path) == name
                ):  # a file that was cut, or is not ours, is left out
                    known.add(path)
        return sorted(known)

    def _folder(self) -> str | None:
        state = state_folder()
        return None if state is None else os.path.join(state, self._kind)


def _read(file: str) -> str | None:
    try:
        with open(open_regular(file), "rb") as opened:
            return os.fsdecode(opened.read(_LONGEST))
    except OSError:
        return None


def _name(path: str) -> str:
    return blake2b(os.fsencode(path), digest_size=16).hexdigest()
