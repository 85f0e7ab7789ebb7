"""What a verdict was about: sizes, times and inodes of a record's files, and the ledgers that have it.

It is taken before a record is verified, and compared when its verdict is shown again: that reads no file of the record, and so takes
milliseconds. No program can set the time of change (`ctime`) of a file, so whoever writes to one is seen, whatever time they give it.
A ledger grows with each new record of its store: that changes nothing, unless a new line is about this record.
"""

import os
from collections.abc import Iterator
from hashlib import sha256
from itertools import islice
from typing import NamedTuple

from runcard.errors import RuncardError
from runcard.files import read_file
from runcard.store import layout
from runcard.store.record import Record

_MOST_ENTRIES = 2000  # of a record, and of what its store keeps for it
_FIRST = (layout.METADATA, layout.CHECKSUMS, layout.AMENDMENTS, layout.SIGNATURE, layout.JOURNAL)
_MOST_LEDGER = 8 << 20  # bytes of a ledger that are read again after it has grown


class _Stamp(NamedTuple):
    """What of a file or folder changes when it does."""

    size: int
    mode: int
    device: int
    inode: int
    modified: int
    changed: int  # by the clock of the machine, which no program sets


class LedgerFingerprint(NamedTuple):
    """A ledger: its file, its size, and the digest of its bytes; None if there are too many."""

    stamp: _Stamp | None
    size: int
    sha256: str | None


_NO_LEDGER = LedgerFingerprint(None, 0, sha256(b"").hexdigest())


class RecordPlace(NamedTuple):
    """Where a record is, and what the ledgers of its store know it by."""

    path: str
    is_archived: bool
    store: str | None
    name: str

    def paths(self) -> Iterator[str]:
        """The record's files and folders, and those that its store keeps beside the ledgers; what is deeper inside comes later."""
        folders = [layout.anchors(self.store), layout.originals(self.store)] if self.store else []
        yield self.path
        if self.is_archived:
            yield from _beside(self.path)
        else:
            folders.insert(0, self.path)
            places = (os.path.join(self.path, name) for name in _FIRST)
            yield from (place for place in places if os.path.lexists(place))
        for folder in folders:  # it grows
            try:
                with os.scandir(folder) as found:
                    entries = sorted(islice(found, _MOST_ENTRIES + 1), key=lambda entry: entry.name)
            except (FileNotFoundError, NotADirectoryError):
                continue
            for entry in entries:
                yield entry.path
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)

    def ledgers(self) -> list[str]:
        return layout.ledger_paths(self.store) if self.store else []


class RecordFingerprint(NamedTuple):
    """A record, and what its store has about it, as they were at one time."""

    place: RecordPlace
    stamps: tuple[tuple[str, _Stamp], ...]
    is_whole: bool  # whether these are all files
    ledgers: dict[str, LedgerFingerprint]

    def is_now(self) -> bool:
        """Whether the record is as it was, as far as its files were looked at."""
        try:
            paths = self.place.ledgers()
            return (
                _stamps(self.place) == (self.stamps, self.is_whole)
                and self.ledgers.keys() <= set(paths)
                and all(self._is_same_ledger(path) for path in paths)
            )
        except (OSError, RuncardError):
            return False

    def _is_same_ledger(self, path: str) -> bool:
        """Whether a ledger is unchanged, or has only grown by lines about other records."""
        before = self.ledgers.get(path, _NO_LEDGER)
        stamp = _stamp(path)
        if stamp == before.stamp:
            return True
        if before.sha256 is None or stamp.size > _MOST_LEDGER:
            return False
        data = read_file(path, _MOST_LEDGER, only_regular=True)
        added = data[before.size :]
        if sha256(data[: before.size]).hexdigest() != before.sha256 or _may_be_about(added, self.place.name):
            return False
        self.ledgers[path] = LedgerFingerprint(stamp, len(data), sha256(data).hexdigest())
        return True


def take_fingerprint(record: Record) -> RecordFingerprint:
    """The fingerprint of a record as it is now."""
    place = RecordPlace(record.path, record.is_archived, record.store, record.ledger_key.name)
    ledgers = {path: _ledger(path) for path in place.ledgers()}
    return RecordFingerprint(place, *_stamps(place), ledgers)


def _stamps(place: RecordPlace) -> tuple[tuple[tuple[str, _Stamp], ...], bool]:
    """The first paths with their stamps, and whether these are all."""
    paths = place.paths()
    found = tuple((path, _stamp(path)) for path in islice(paths, _MOST_ENTRIES))
    return found, next(paths, None) is None


def _stamp(path: str) -> _Stamp:
    status = os.lstat(path)
    times = status.st_mtime_ns, status.st_ctime_ns
    return _Stamp(status.st_size, status.st_mode, status.st_dev, status.st_ino, *times)


def _beside(archive: str) -> Iterator[str]:
    """What belongs to an archive: its name has the same beginning."""
    folder, name = os.path.split(archive)
    stem = name.split(".")[0]
    return (os.path.join(folder, each) for each in sorted(os.listdir(folder or ".")) if each.startswith(stem))


def _ledger(path: str) -> LedgerFingerprint:
    stamp = _stamp(path)
    if stamp.size > _MOST_LEDGER:
        return LedgerFingerprint(stamp, stamp.size, None)
    data = read_file(path, _MOST_LEDGER, only_regular=True)
    return LedgerFingerprint(stamp, len(data), sha256(data).hexdigest())


def _may_be_about(lines: bytes, name: str) -> bool:
    """Whether lines of a ledger can be about a record; a backslash can spell any name."""
    return b"\\" in lines or f'"{name}"'.encode("utf-8", "surrogateescape") in lines
