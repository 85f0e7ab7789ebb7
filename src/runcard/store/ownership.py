"""Recognizing what this user recorded on this machine.

A cloned repository can bring a store with a ledger of any host, and a bundle can bring any run. So an entry in a ledger
proves nothing by itself. When a run is closed by the process that recorded it, its entry gets a message authentication
code: of the store's path, the run's id and the digest of its document, with a key that only this user can read. Archives,
amendments and the starts of open records (see `own_starts`) get such codes as well.

The key is made when it is first needed, in the user's state folder. Where it cannot be made or read, entries have no
code, and nothing else changes.

Invariant: `is_own_run` is true only for a run whose document is, byte for byte, the one that was sealed here.
"""

import contextlib
import os
from hashlib import blake2b

from runcard.errors import RuncardError
from runcard.files import open_regular, write_atomic
from runcard.files.user_folders import is_private, make_own_folder, state_folder
from runcard.store import layout
from runcard.store.ledger import Ledger, LedgerReading, entry_in, ledger_paths

_KEY = "key"
_LENGTH = 32  # bytes, of the key and of a code
_PURPOSE = b"runcard-own-run"


def own_mac(run: str, run_id: str, sha256: str) -> str | None:
    """The code for a run that this process recorded; makes the key if there is none. None if it cannot be made."""
    try:
        key = _read_key() or _make_key()
    except OSError:
        return None
    return None if key is None else _mac(key, layout.store_of(run), run_id, sha256)


def is_own_run(run: str, run_id: str, sha256: str) -> bool:
    """Whether this host's ledger, with an intact chain, has the run with this digest and a code made with our key."""
    store = layout.store_of(run)
    try:
        key = _read_key()
        return key is not None and _mac(key, store, run_id, sha256) in _macs(store, run_id, sha256)
    except (OSError, RuncardError):
        return False


def own_archive_mac(store: str, record_id: str, sha256: str) -> str | None:
    """The code for an archive that this user made of a record of the store; None where there can be none."""
    return own_part_mac(store, f"archive of {record_id}", sha256)


def is_own_archive(store: str, record_id: str, sha256: str, mac: str | None) -> bool:
    """Whether a code from a ledger says that this user made an archive of this digest."""
    return is_own_part(store, f"archive of {record_id}", sha256, mac)


def own_amendment_mac(store: str, record_id: str, line: str) -> str | None:
    """The code for an amendment that this user is about to add to a record of the store; None where there can be none."""
    return own_part_mac(store, f"amendment of {record_id}", line)


def is_own_amendment(store: str, record_id: str, line: str, mac: str) -> bool:
    """Whether a code says that this user was about to add an amendment with this hash."""
    return is_own_part(store, f"amendment of {record_id}", line, mac)


def own_part_mac(store: str, what: str, sha256: str) -> str | None:
    """The code for something in a store, `what` with this digest; makes the key if there is none. None if it cannot be made."""
    return own_mac(os.path.join(store, "record"), what, sha256)


def is_own_part(store: str, what: str, sha256: str, mac: object) -> bool:
    """Whether a code was made with this user's key, for the same thing in the same store."""
    try:
        key = _read_key()
    except OSError:
        return False
    return key is not None and isinstance(mac, str) and mac == _mac(key, store, what, sha256)


def _macs(store: str, run_id: str, sha256: str) -> set[str | None]:
    """The codes in this host's ledger for a run with this document."""
    name = os.path.basename(Ledger(store).path)
    macs: set[str | None] = set()
    for ledger in map(LedgerReading, ledger_paths(store)):
        if os.path.basename(ledger.path) == name:
            entries = filter(None, map(entry_in, ledger))
            some = {entry.mac for entry in entries if (entry.id, entry.sha256) == (run_id, sha256)}
            macs |= set() if ledger.faults else some
    return macs


def _mac(key: bytes, store: str, run_id: str, sha256: str) -> str:
    """The path is a part of it: the same run with other programs around it is not ours.

    It is the path by which the store was named, so a link to the store is another path.
    """
    message = b"\0".join(map(os.fsencode, (os.path.abspath(store), run_id, sha256)))
    return blake2b(message, key=key, digest_size=_LENGTH, person=_PURPOSE).hexdigest()


def _read_key() -> bytes | None:
    """The user's key; None where there is none, or where others could have read or written it."""
    folder = state_folder()
    if folder is None:
        return None
    try:
        descriptor = open_regular(os.path.join(folder, _KEY))
    except FileNotFoundError:
        return None
    try:
        key = os.read(descriptor, _LENGTH + 1) if is_private(os.fstat(descriptor)) else b""
    finally:
        os.close(descriptor)
    return key if len(key) == _LENGTH else None


def _make_key() -> bytes | None:
    folder = state_folder()
    if folder is None:
        return None
    make_own_folder(folder)
    with contextlib.suppress(FileExistsError):  # another process was faster, or it is one that we do not use
        write_atomic(os.path.join(folder, _KEY), os.urandom(_LENGTH), mode=0o600, replace=False)
    return _read_key()
