"""Deleting an experiment on purpose: it leaves a tombstone for itself and one for each of its runs.

The order is what makes it safe: the folder is moved aside in one step, so that nothing new begins in it; the tombstones
reach the disk; then the files go. Killed anywhere in between, the next deletion finishes the work. The tombstones stand in the ledger of `experiments/`, which stays.

Nothing is followed out of the folder: of a link, the link is removed.
"""

import os
import shutil
from collections.abc import Iterator
from typing import NamedTuple

from runcard.digests import sha256_bytes
from runcard.encoding import JsonObject, Limits
from runcard.errors import RuncardError, StoreError
from runcard.files import FileKind, failure, printable, walk
from runcard.files.rename_noreplace import rename_noreplace
from runcard.observe.clock import Clock
from runcard.operations.checks.load import read_document
from runcard.operations.checks.show import status_now
from runcard.operations.experiments import ID, folder_of, no_experiment, read_config
from runcard.operations.experiments.runs import read_run, run_folders
from runcard.store import layout
from runcard.store.ledger import CLOSED, DELETED, Ledger, entries, ledgers
from runcard.store.own_directories import open_own

_DOOMED = "deleting-"  # in the store's own folder: an experiment on its way out, its tombstones not written
_DEAD = "deleted-"  # and one whose tombstones stand


class Doomed(NamedTuple):
    """What would go with an experiment."""

    path: str
    runs: int
    files: int
    bytes: int


class Deleted(NamedTuple):
    """What went."""

    name: str
    runs: int


def examine(name: str) -> Doomed | None:
    """What the experiment of this name holds; None when there is only an earlier deletion to be finished."""
    path = folder_of(name)
    if path is None:
        if _left(_DOOMED, name) or _left(_DEAD, name):
            return None
        raise no_experiment(name)
    _check_at_rest(path)
    sizes = [
        os.lstat(os.path.join(path, entry.path)).st_size
        for entry in walk(path)
        if entry.kind is FileKind.FILE
    ]
    return Doomed(path, len(_runs(path)), len(sizes), sum(sizes))


def delete(name: str) -> Deleted:
    """Delete an experiment, or finish what an earlier deletion of it began."""
    store = layout.EXPERIMENTS
    _check_store(store)
    path = folder_of(name)
    earlier = finish_deletions()
    if path is None:
        return Deleted(name, sum(deleted.runs for deleted in earlier if deleted.name == name))
    _check_at_rest(path)
    runs = len(_runs(path))
    try:
        with open_own(store, layout.own_folder(store), create=True):
            pass
        directory = os.open(store, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            aside = os.path.join(os.path.basename(layout.own_folder(store)), _DOOMED + name)
            rename_noreplace(name, aside, directory)
            os.fsync(directory)
        finally:
            os.close(directory)
    except OSError as error:
        raise failure(error, path, "delete") from error
    done = [deleted for deleted in finish_deletions() if deleted.name == name]
    return done[0] if done else Deleted(name, runs)  # else another deletion took care of it


def _check_store(store: str) -> None:
    """A link may have come with a repository: nothing is deleted where it leads."""
    if os.path.islink(store):
        real = printable(os.path.realpath(store))
        raise StoreError(
            f"{store} is a symbolic link to {real}", hint=f"call the command in {os.path.dirname(real)}"
        )


def finish_deletions() -> list[Deleted]:
    """Finish every deletion that was begun, also by somebody who was killed."""
    if not (_left(_DOOMED) or _left(_DEAD)):
        return []
    done = []
    with Ledger(layout.EXPERIMENTS) as ledger:  # and nobody else does the same meanwhile
        _remove_dead()
        for name in _left(_DOOMED):
            done.append(Deleted(name, _bury(ledger, name)))
            _remove_dead()
    return done


def _remove_dead() -> None:
    for name in _left(_DEAD):
        own = layout.own_folder(layout.EXPERIMENTS)
        path = os.path.join(own, _DEAD + name)
        try:
            with open_own(layout.EXPERIMENTS, own) as folder:
                shutil.rmtree(_DEAD + name, dir_fd=folder)  # which follows no link
        except OSError as error:
            raise failure(error, str(error.filename or path), "delete") from error


def unfinished() -> list[str]:
    """The names of experiments whose deletion was begun and not finished."""
    return sorted({*_left(_DOOMED), *_left(_DEAD)})


def _left(stage: str, name: str | None = None) -> list[str]:
    """The experiments that an earlier deletion left at a stage."""
    own = layout.own_folder(layout.EXPERIMENTS)
    try:
        with open_own(layout.EXPERIMENTS, own) as folder, os.scandir(folder) as scan:
            found = [entry.name for entry in scan if entry.is_dir(follow_symlinks=False)]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise failure(error, own, "read the directory") from error
    names = sorted(entry.removeprefix(stage) for entry in found if entry.startswith(stage))
    return [entry for entry in names if name is None or entry == name]


def _check_at_rest(path: str) -> None:
    """A run that is at work would lose its directory under its feet."""
    for folder in _runs(path):
        document = read_run(folder).document
        if document is not None and status_now(folder, document) == "running":
            raise StoreError(
                f"{printable(folder)} is at work", hint="wait until it has ended, then run the command again"
            )


def _runs(path: str) -> list[str]:
    """The runs that go with an experiment: not those that a link leads to."""
    outputs = os.path.join(path, layout.OUTPUTS)
    return [] if os.path.islink(outputs) else run_folders(outputs)


def _bury(ledger: Ledger, name: str) -> int:
    """Write the tombstones of an experiment, and mark it as one that may go; how many runs it had."""
    own = layout.own_folder(layout.EXPERIMENTS)
    path = os.path.join(own, _DOOMED + name)
    stones = list(_tombstones(path, name))
    known = _known()
    for stone in stones:
        if (stone["path"], stone.get("id")) not in known:
            ledger.append(DELETED, stone["time"], stone)
    try:
        with open_own(layout.EXPERIMENTS, own) as folder:
            os.rename(_DOOMED + name, _DEAD + name, src_dir_fd=folder, dst_dir_fd=folder)
            os.fsync(folder)
    except OSError as error:
        raise failure(error, path, "delete") from error
    return len(stones) - 1


def _known() -> set[tuple[object, object]]:
    """What has a tombstone already."""
    lines = [entry.line for _, journal, _ in ledgers(layout.EXPERIMENTS) for entry in journal.entries]
    payloads = [line.get("payload") for line in lines if line.get("event") == DELETED]
    return {(said.get("path"), said.get("id")) for said in payloads if isinstance(said, dict)}


def _tombstones(path: str, name: str) -> Iterator[JsonObject]:
    now = Clock().timestamp()
    outputs = os.path.join(path, layout.OUTPUTS)
    told: set[str] = set()
    for folder in _runs(path):
        run = read_run(folder)
        told.add(run.run_id)
        stone = {
            "kind": "run",
            "id": run.run_id,
            "path": f"{name}/{os.path.relpath(folder, path)}",
            "time": now,
        }
        yield stone | ({"sha256": run.sha256} if run.sha256 else {})
    if not os.path.islink(outputs):
        for entry in [entry for _, journal, _ in ledgers(outputs) for entry in entries(journal)]:
            if entry.event == CLOSED and entry.id not in told:  # archived, or removed behind our back
                told.add(entry.id)
                place = f"{name}/{layout.OUTPUTS}/{entry.path}"
                yield {"kind": "run", "id": entry.id, "path": place, "time": now, "sha256": entry.sha256}
    yield {"kind": "experiment", **_identity(path), "path": name, "time": now}


def _identity(path: str) -> JsonObject:
    """The id of an experiment, and the digest of its config.yaml; a broken one is no reason to keep it."""
    config = os.path.join(path, layout.CONFIG)
    if not layout.may_be_file(config):
        return {}
    said: JsonObject = {"sha256": sha256_bytes(read_document(config, Limits())).hex}
    try:
        identity = read_config(path).get(ID)
    except RuncardError:
        identity = None
    return said if identity is None else {"id": identity, **said}
