"""The archives in object storage that were indexed on this machine, so that they are found by id or by name.

A file for each folder of archives, in the user's state folder. It can be removed at any time: `runcard index URL` writes it again.
"""

import contextlib
import json
import os
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from typing import NamedTuple

from runcard.files import write_atomic
from runcard.files.user_folders import make_own_folder, state_folder

_FOLDER = "remote-archives"


class KnownArchive(NamedTuple):
    """An archive, as it was when its folder was indexed."""

    id: str
    name: str
    url: str


def note_archives(folder: str, archives: Sequence[KnownArchive]) -> None:
    """Remember the archives of a folder, in the place of those that were noted before; never fails."""
    with contextlib.suppress(OSError):
        if (place := _place()) is not None:
            make_own_folder(place)
            file = os.path.join(place, f"{blake2b(folder.encode(), digest_size=16).hexdigest()}.json")
            write_atomic(file, json.dumps(archives).encode(), mode=0o600, follow=False)


def known_archives() -> Iterator[KnownArchive]:
    """All archives that were noted."""
    place = _place()
    with contextlib.suppress(OSError):
        for name in sorted(os.listdir(place)) if place else ():
            with (
                contextlib.suppress(OSError, ValueError, TypeError),
                open(os.path.join(str(place), name), "rb") as file,
            ):
                yield from (KnownArchive(*map(str, fields)) for fields in json.load(file))


def _place() -> str | None:
    state = state_folder()
    return None if state is None else os.path.join(state, _FOLDER)
