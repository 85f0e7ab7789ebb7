"""Changing a record that is archived, or looking into it as if it were not.

To be changed, it is restored, changed, and archived again in the place that it had. Each of the three is whole before the
next begins, so that the record is always in its archive, in its directory, or in both; changing it again goes on where
somebody was killed. The digest of the old archive stays in the ledger.

Invariants: one changes an archived record at a time; another record that has its place by now is left alone.
"""

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TypeVar

from runcard.errors import RuncardError, StoreError
from runcard.files import failure, printable
from runcard.operations.archives.archive import archive, closed_document, is_of
from runcard.operations.archives.find import FoundArchive, archive_at, find_archive, look_into
from runcard.operations.archives.restore import check_archive, check_name, no_store, restore
from runcard.store import layout
from runcard.store.archives.index import Shelf
from runcard.store.archives.unpack import unpack
from runcard.store.locks import lock_folder

T = TypeVar("T")


def archive_of(record: str | os.PathLike[str]) -> FoundArchive | None:
    """The archive that is meant by its path, or by the name that a record had; None for a record in its directory."""
    path = os.fspath(record)
    if os.path.lexists(path):
        return archive_at(path)
    try:
        return find_archive(path)
    except StoreError:
        return None


def change_archived(found: FoundArchive, change: Callable[[str], T]) -> T:
    """What a change of the record's directory gives; one that fails leaves the archive as it was."""
    store = found.store()
    if store is None:
        raise no_store(found)
    check_name(found, found.name)
    directory, folder = os.path.join(store, found.name), layout.folder_of_archive(found.path)
    with lock_folder(
        os.path.dirname(os.path.abspath(found.path))
    ):  # the archive itself is replaced meanwhile
        is_ours = not os.path.lexists(directory)
        if is_ours:
            restore(found.path, to=store)
        elif os.path.islink(directory) or not is_of(found.path, closed_document(directory), Shelf(folder)):
            raise StoreError(
                f"{printable(directory)} is another record than the archived one",
                hint="nothing was changed; move it elsewhere, then run the command again",
            )
        try:
            given = change(directory)
        except BaseException:
            if is_ours:
                with suppress(RuncardError):  # the first error is the one to tell
                    archive(directory, to=folder)
            raise
        archive(directory, to=folder)
    return given


@contextmanager
def unpacked(found: FoundArchive) -> Iterator[str]:
    """A copy of an archived record to look at, which is removed afterwards."""
    contents, verdict = look_into(found)
    check_archive(found, contents, verdict)
    with tempfile.TemporaryDirectory(prefix="runcard-") as folder:
        record = os.path.join(folder, contents.name)
        try:
            os.mkdir(record)
            unpack(contents, record)
        except OSError as error:
            raise failure(error, record, "unpack") from error
        yield record
