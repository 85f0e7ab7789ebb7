"""Delete one record, and leave a tombstone in the ledger: `runcard rm`."""

import os
from collections.abc import Sequence
from typing import NamedTuple

from runcard.errors import StoreError
from runcard.files import printable
from runcard.operations.archives.candidate import Candidate, Leftover
from runcard.operations.archives.candidates import copies_of, delete, reason_to_keep
from runcard.store import layout
from runcard.store.archives.replace_directory import finish_removals
from runcard.store.find_record import open_record
from runcard.store.ledger import entries_about
from runcard.store.record import DirectoryRecord
from runcard.store.remote.urls import is_url
from runcard.store.stores_at_hand import stores_at_hand

WHY = "deleted by the user"


class DeletedRecord(NamedTuple):
    """A record that was deleted."""

    id: str
    kind: str  # run or session
    paths: tuple[str, ...]  # of its directory, and of its archive
    bytes: int


def rm(record: str | os.PathLike[str], *, force: bool = False, reason: str | None = None) -> DeletedRecord:
    """Permanently delete one record: its directory, and its archive if it has one. The ledger keeps an entry with the reason.

    A record that is open is not deleted; one that fails verification only with `force`.
    """
    copies = record_copies(record)
    delete_record(copies, force=force, why=reason)
    paths = tuple(copy.path for copy in copies)
    return DeletedRecord(copies[0].id, copies[0].kind, paths, sum(copy.bytes for copy in copies))


def record_copies(word: str | os.PathLike[str]) -> list[Candidate]:
    """What there is of a closed record in its store: its directory, and its archive. Raises StoreError for any other."""
    record = open_record(word)
    if is_url(record.path):
        from runcard.operations.archives.prune_remote import remote_candidate  # noqa: PLC0415 - only for URLs

        return [remote_candidate(record.path)]
    if isinstance(record, DirectoryRecord):
        record.closed_document()  # says why an open one is not deleted
    if record.store is None:
        raise StoreError(
            f"{printable(record.path)} does not belong to a store",
            hint="delete the file yourself: no ledger has it",
        )
    copies = copies_of(record.store, record.name)
    if not copies:
        raise StoreError(
            f"{printable(record.path)} is in no store", hint="delete it yourself: no ledger has it"
        )
    for copy in copies:
        if os.path.islink(copy.path):  # only the link would go, and the ledger would say that the record did
            raise StoreError(
                f"{printable(copy.path)} is a link", hint=f"name {printable(os.path.realpath(copy.path))}"
            )
    return copies


def finish_deletion(word: str | os.PathLike[str]) -> list[Leftover]:
    """Remove what is left of a record whose deletion was interrupted, if the word names one; what that was."""
    folder, name = os.path.split(os.fspath(word).rstrip("/"))
    done: list[Leftover] = []
    for store in [folder] if folder else stores_at_hand():
        names = {name, *(os.path.basename(entry.path or "") for entry in entries_about(store, name))} - {""}
        asides = {layout.pruned_aside(store, each) for each in names}
        if any(map(os.path.lexists, asides)):
            done += [Leftover(path, size, WHY) for path, size in finish_removals(store) if path in asides]
    return done


def delete_record(copies: Sequence[Candidate], *, force: bool = False, why: str | None = None) -> None:
    """Delete a record, as `record_copies` found it. One that was changed is deleted only with `force`."""
    for copy in copies:
        if not force and (reason := reason_to_keep(copy)) is not None:
            raise StoreError(
                f"{printable(copy.path)} fails verification: {reason}",
                hint="it may be evidence; pass --force to delete it all the same",
            )
    for copy in copies:
        delete(copy, why=why or WHY)
    if not is_url(copies[0].path):
        # Of its directory, if a process was killed when only the archive was left to delete.
        finish_removals(copies[0].store)
