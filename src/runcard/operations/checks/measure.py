"""Measure: how many bytes a command about records will read, so that it can show how long that takes.

An estimate: it opens nothing but the index of archives, and skips what cannot be read.
"""

import contextlib
import os
from collections.abc import Iterable, Iterator

from runcard.errors import RuncardError
from runcard.files import walk_files
from runcard.store import layout
from runcard.store.find_record import open_record
from runcard.store.remote.urls import is_url


def measure(words: Iterable[str]) -> int:
    """The bytes of records: directories, archives (unpacked), or folders with records at any depth."""
    total = 0
    for word in words:
        if is_url(word):
            continue  # not known without requests
        with contextlib.suppress(OSError, RuncardError):
            path = word if os.path.isdir(word) else open_record(word).path
            total += sum(_sizes_below(path)) if os.path.isdir(path) else _unpacked_size(path)
    return total


def _sizes_below(folder: str) -> Iterator[int]:
    if layout.may_be_file(os.path.join(folder, layout.METADATA)):
        yield from (size for _, size in walk_files(folder))
        return
    if os.path.exists(os.path.join(folder, layout.ARCHIVE_INDEX)):
        yield from _archive_sizes(folder)
        return
    with os.scandir(folder) as entries:
        inner = [entry.path for entry in entries if entry.is_dir(follow_symlinks=False)]
    for path in inner:
        with contextlib.suppress(OSError, RuncardError):
            yield from _sizes_below(path)


def _archive_sizes(folder: str) -> Iterator[int]:
    """The sizes of all archives in a folder, whose index is read once."""
    from runcard.store.archives.index import ArchiveFolder  # noqa: PLC0415 - see below

    listed = {entry.path: entry.fields.get("uncompressed_bytes") for entry in ArchiveFolder(folder)}
    for file in layout.archives_in(folder):
        path = os.path.join(folder, file)
        yield listed.get(path) or os.path.getsize(path)


def _unpacked_size(archive: str) -> int:
    """The size in the index; for an archive that it does not list, the size of the file."""
    from runcard.store.archives.index import ArchiveFolder  # noqa: PLC0415 - long to load, and most stores have no archive

    entry = ArchiveFolder(layout.folder_of_archive(archive)).at(archive)
    size = entry.fields.get("uncompressed_bytes") if entry else None
    return size or os.path.getsize(archive)
