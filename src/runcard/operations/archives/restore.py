"""Restoring: a record comes back from its archive, checked on the way in, whole or not at all."""

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from runcard.checksums.progress import Progress
from runcard.digests import sha256_bytes
from runcard.encoding import JsonObject, Limits, decode_json
from runcard.errors import EncodingError, StoreError, UsageError
from runcard.files import (
    check_relative,
    failure,
    fsync_directory,
    locked,
    printable,
    read_regular,
    sync_filesystem,
)
from runcard.files.rename_noreplace import rename_noreplace
from runcard.observe.clock import Clock
from runcard.operations.archives.find import FoundArchive, check_links, find_archive, kind_of, look_into
from runcard.store import layout
from runcard.store.archives.index import Shelf
from runcard.store.archives.scan import Contents
from runcard.store.archives.unpack import unpack
from runcard.store.ledger import RESTORED, Ledger, ledgers
from runcard.store.own_directories import open_own
from runcard.store.remove_tree import remove_tree
from runcard.store.verification import Verdict


@dataclass(frozen=True, slots=True)
class Restored:
    """A record that came back."""

    path: Path
    archive: Path
    files: int
    bytes: int
    verdict: Verdict

    def to_dict(self) -> JsonObject:
        return {
            "path": printable(str(self.path)),
            "archive": printable(str(self.archive)),
            "files": self.files,
            "bytes": self.bytes,
            "findings": [found.to_dict() for found in self.verdict.findings],
        }


def restore(
    archive: str | os.PathLike[str],
    *,
    to: str | os.PathLike[str] | None = None,
    force: bool = False,
    limits: Limits | None = None,
    progress: Progress | None = None,
) -> Restored:
    """Put an archived record back into its store, or into the directory `to`; the archive stays.

    The store is the one that the archive lies in, or the one that it came from, if the ledger there has it.
    Everything is checked before a byte is written, and again while it is. With `force` a record comes back that was
    changed before it was archived; what is hostile or damaged never does.
    """
    found = find_archive(archive)
    if to is None and found.store() is None:
        raise no_store(found)
    contents, verdict = look_into(found, limits=limits, progress=progress)
    store = contents.store if to is None else os.path.abspath(os.fspath(to))
    if store is None:
        raise no_store(found)
    check_archive(found, contents, verdict, force=force)
    if to is None:
        check_name(found, contents.name)
    target = os.path.join(store, contents.name)
    if not _is_back(found, contents, target):
        _bring_back(contents, store, progress)
    _enter(found, contents, store)
    return Restored(Path(target), Path(found.path), len(contents.hexes), contents.bytes, verdict)


def no_store(found: FoundArchive) -> UsageError:
    """The error to raise about an archive that lies in no store, and that no store has in its ledger."""
    return UsageError(
        f"{printable(found.path)} lies in no store, and no ledger of a store has it",
        hint="name the directory it goes into: runcard restore --to DIR",
    )


def check_name(found: FoundArchive, name: str) -> None:
    """Refuse a record that would get another name in its store than its archive has: nobody would expect it there."""
    if name != layout.archived_name(found.path):
        raise StoreError(
            f"{printable(found.path)} holds a record of another name, {printable(name)}",
            hint="name the directory it goes into: runcard restore --to DIR",
        )


def check_archive(found: FoundArchive, contents: Contents, verdict: Verdict, *, force: bool = False) -> None:
    """Refuse an archive that must not be unpacked."""
    hint = f"`runcard verify {printable(found.path)}` tells all that is wrong with it"
    if check_relative(contents.name) or contents.name.startswith("."):
        raise StoreError(f"the archive is refused: no record is called {printable(contents.name)}", hint=hint)
    if contents.read(layout.METADATA) is None:
        raise StoreError(
            f"{printable(found.path)} is refused: there is no {layout.METADATA} in it", hint=hint
        )
    wrong = [(fault.path, fault.message) for fault in contents.faults]
    if not force:
        wrong += [(one.path, one.message) for one in verdict.findings if one.breaks is not None]
    beside = {(fault.path, fault.message) for fault in contents.beside}
    if wrong := [one for one in wrong if one not in beside]:
        raise StoreError(
            f"{printable(found.path)} is refused: {printable(wrong[0][0])}: {wrong[0][1]}", hint=hint
        )
    check_links(found, contents.symlinks)


def _is_back(found: FoundArchive, contents: Contents, target: str) -> bool:
    """Whether somebody restored this record and was killed before saying so; anything else is in the way."""
    if not os.path.lexists(target):
        return False
    metadata = os.path.join(target, layout.METADATA)
    is_ours = found.shelved is not None and found.shelved.fields.get("restored_at") is None
    if is_ours and layout.may_be_file(metadata) and read_regular(metadata) == contents.read(layout.METADATA):
        return True
    raise _taken(target)


def _taken(target: str) -> StoreError:
    return StoreError(
        f"{printable(target)} exists already", hint="it was not touched; --to names another place"
    )


def _bring_back(contents: Contents, store: str, progress: Progress | None) -> None:
    """Unpack aside, then give the record its name."""
    aside = layout.restored_aside(store, contents.name)
    own = layout.own_folder(store)
    is_new = not os.path.isdir(own)
    try:
        with _place(store, aside):
            # From here on nobody else brings it back: what is unpacked stays the newest archive of it.
            if os.path.lexists(target := os.path.join(store, contents.name)):
                raise _taken(target)
            unpack(contents, aside, progress=progress)
            sync_filesystem(aside)
            directory = os.open(store, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                rename_noreplace(os.path.relpath(aside, store), contents.name, directory)
            except FileExistsError:
                raise _taken(target) from None
            finally:
                os.close(directory)
            fsync_directory(store)
    except OSError as error:
        raise failure(error, os.fsdecode(error.filename or store), "restore") from error
    finally:
        if is_new:
            with contextlib.suppress(OSError):
                os.rmdir(own)  # which removes no link


@contextlib.contextmanager
def _place(store: str, aside: str) -> Iterator[None]:
    """A directory of our own; what somebody left there who was killed goes first."""
    os.makedirs(store, exist_ok=True)
    folder, name = os.path.split(aside)
    with contextlib.ExitStack() as held:
        own = held.enter_context(open_own(store, folder, create=True))
        with locked(folder, timeout=60):
            if os.path.lexists(aside):
                with locked(aside, timeout=0):
                    remove_tree(name, dir_fd=own)
            os.mkdir(name, 0o700, dir_fd=own)
            held.enter_context(locked(aside, timeout=0))
        try:
            yield
        except BaseException:
            with contextlib.suppress(OSError):
                remove_tree(name, dir_fd=own)
            raise


def _enter(found: FoundArchive, contents: Contents, store: str) -> None:
    """Say in the ledger that the record is back, then in the index: whoever is killed between the two says both again."""
    now = Clock().timestamp()
    if any(True for _ in ledgers(store)):  # a directory without one is no store of ours, and needs none
        with Ledger(store) as ledger:
            ledger.append(RESTORED, now, _entry(found, contents, now))
    if found.shelved is not None:
        Shelf(found.shelved.folder).mark(found.shelved, restored_at=now)


def _entry(found: FoundArchive, contents: Contents, now: str) -> JsonObject:
    kind = found.shelved.kind if found.shelved else kind_of(contents)
    metadata = contents.documents[layout.METADATA]
    said = {"kind": kind, "id": _identity(found, contents, kind), "path": contents.name}
    said["sha256"] = sha256_bytes(metadata).hex
    return said | {"time": now, "archive_sha256": contents.sha256}


def _identity(found: FoundArchive, contents: Contents, kind: str) -> str:
    if found.shelved is not None:
        return found.shelved.id
    try:
        document = decode_json(contents.documents[layout.METADATA])
        return str(document["team_session_id"] if kind == "session" else document["generation"]["run_id"])
    except (EncodingError, KeyError, TypeError):  # it came back by force
        return contents.name
