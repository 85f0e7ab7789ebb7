"""What was added to which file, in the user's state folder: so that it can be taken out again, byte for byte.

A note has only what runcard inserted, and digests; nothing of what was in the file.
"""

import contextlib
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from runcard.digests import sha256_bytes
from runcard.encoding.json.jsonc import Insertion, undo_insertions
from runcard.files import locked, read_regular, write_atomic
from runcard.files.user_folders import make_own_folder, state_folder

_FOLDER = "agent_setup"
_LOCK = "agent_setup.lock"
_PATIENCE = 30.0  # seconds


@dataclass
class InstallNote:
    """The file as runcard left it, and how it was before."""

    path: str
    before: str | None  # digest; None: there was no file
    after: str  # digest
    steps: list[list[tuple[int, str]]] = field(default_factory=list)  # insertions, one step after the other
    made: list[str] = field(default_factory=list)  # folders

    def undo(self, text: str) -> str | None:
        """The text without what was inserted; None if it does not have that."""
        undone: str | None = text
        for step in reversed(self.steps):
            undone = (
                undo_insertions(undone, [Insertion(*each) for each in step]) if undone is not None else None
            )
        return undone


@contextlib.contextmanager
def locked_install() -> Iterator[None]:
    """One process at a time changes the settings of agent tools; where the state folder cannot be written, there is no lock."""
    path = os.path.join(state_folder() or "", _LOCK)
    try:
        make_own_folder(os.path.dirname(path))
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600))
    except OSError:
        yield
        return
    with locked(path, timeout=_PATIENCE):
        yield


def digest_of(data: bytes | None) -> str | None:
    return None if data is None else sha256_bytes(data).hex


def read_install_note(path: str, environ: Mapping[str, str] | None = None) -> InstallNote | None:
    """The note about a file; None if there is none that can be read."""
    file = _file(path, environ)
    try:
        data: Any = json.loads((read_regular(file) if file else None) or b"null")
        note = InstallNote(**data) if isinstance(data, dict) else None
        is_whole = (
            note is not None
            and note.path == path
            and all(Insertion(*each) for step in note.steps for each in step)
        )
    except (OSError, ValueError, TypeError):
        return None
    return note if is_whole else None


def made_folders(path: str) -> list[str]:
    """The folders above a file that were made for it, or for another file of a tool; the outermost first."""
    folder = os.path.dirname(_file(path, None) or "")
    names: list[str] = []
    with contextlib.suppress(OSError):
        names = os.listdir(folder)
    made = {each for name in names for each in _made_in(os.path.join(folder, name))}
    return sorted(each for each in made if path.startswith(os.path.join(each, "")))


def _made_in(file: str) -> list[str]:
    try:
        made = json.loads(read_regular(file) or b"{}")["made"]
    except (OSError, ValueError, TypeError, LookupError):
        return []
    return [each for each in made if isinstance(each, str)] if isinstance(made, list) else []


def write_install_note(note: InstallNote) -> None:
    """Keep a note. Where that fails, `uninstall` finds what is ours by its form."""
    file = _file(note.path, None)
    with contextlib.suppress(OSError):
        if file is not None:
            make_own_folder(os.path.dirname(file))
            write_atomic(file, json.dumps(asdict(note)).encode("utf-8", "surrogateescape"), mode=0o600)


def remove_install_note(path: str) -> None:
    with contextlib.suppress(OSError, TypeError):
        os.unlink(_file(path, None) or "")


def _file(path: str, environ: Mapping[str, str] | None) -> str | None:
    folder = state_folder(environ)
    name = sha256_bytes(path.encode("utf-8", "surrogateescape")).hex[:32]
    return None if folder is None else os.path.join(folder, _FOLDER, f"{name}.json")
