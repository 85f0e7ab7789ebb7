"""Changing a closed record, in its directory or in an archive.

An archived record is restored, changed, and archived again in the place that it had. Each of the three steps is whole
before the next begins, so that the record is always in its archive, in its directory, or in both; after a kill, changing it
again goes on. The digest of the old archive stays in the ledger.

Invariants: one process changes an archived record at a time; another record that has its place by now is left alone.
"""

import os
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar, cast

from runcard.errors import RuncardError, StoreError
from runcard.files import printable, shell_word
from runcard.operations.checks.verify import damage_of
from runcard.store import layout
from runcard.store.locks import lock_folder
from runcard.store.record import DirectoryRecord, Record
from runcard.store.remote.urls import is_url

if TYPE_CHECKING:
    from runcard.store.archives.record import ArchivedRecord

T = TypeVar("T")


def damage_warnings(record: Record) -> tuple[str, ...]:
    """The warning about a record that fails verification before it is changed: the change does not make it good.

    An archive is verified when it is restored.
    """
    damage = None if record.is_archived else damage_of(record.path)
    return () if damage is None else (f"{printable(record.path)} failed verification before: {damage}",)


def change_record(record: Record, change: Callable[[str], T]) -> T:
    """Call `change` with the record's directory, and return its result; a change that fails leaves an archive as it was."""
    if not record.is_archived:
        return change(record.path)
    check_changeable(record)
    return _change_archived(cast("ArchivedRecord", record), change)


def check_changeable(record: Record) -> None:
    """Refuse an archive in object storage: objects there are never replaced."""
    if is_url(record.path):
        raise StoreError(
            f"{printable(record.path)} cannot be changed: archives in object storage are never replaced",
            hint=f"restore it first: runcard restore {shell_word(record.path)} --to outputs",
        )


def _change_archived(record: "ArchivedRecord", change: Callable[[str], T]) -> T:
    from runcard.operations.archives.archive import archive, is_archive_of  # noqa: PLC0415 - it takes long to load, and is rarely needed
    from runcard.operations.archives.restore import restore  # noqa: PLC0415
    from runcard.store.archives.index import ArchiveFolder  # noqa: PLC0415
    from runcard.store.archives.temporary_copy import check_name, no_store  # noqa: PLC0415

    store = record.store
    if store is None:
        raise no_store(record)
    check_name(record)
    directory, folder = os.path.join(store, record.name), layout.folder_of_archive(record.path)
    with lock_folder(
        os.path.dirname(os.path.abspath(record.path))
    ):  # the archive itself is replaced meanwhile
        is_ours = not os.path.lexists(directory)
        if is_ours:
            restore(record.path, to=store)
        elif os.path.islink(directory) or not is_archive_of(
            record.path, DirectoryRecord(directory).closed_document(), ArchiveFolder(folder)
        ):
            raise StoreError(
                f"{printable(directory)} is another record than the archived one",
                hint="nothing was changed; move it to another directory, then run the command again",
            )
        try:
            result = change(directory)
        except BaseException:
            if is_ours:
                with suppress(RuncardError):  # the first error is the one to report
                    archive(directory, to=folder)
            raise
        archive(directory, to=folder)
    return result
