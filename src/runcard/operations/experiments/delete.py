"""Delete an experiment, leaving a tombstone for it and one for each of its runs.

The order makes it safe: the folder is renamed first, so that no run starts in it; the tombstones are written and synced; then
the files are removed. If the process is killed in between, the next deletion finishes the work. The tombstones are in the
ledger of `experiments/`, which stays.

No link is followed: the link itself is removed.
"""

import os
import shutil
from collections.abc import Iterator
from typing import NamedTuple

from runcard.digests import sha256_bytes
from runcard.encoding import JsonObject, Limits
from runcard.errors import RuncardError, StoreError
from runcard.files import FileKind, failure, printable, read_file, walk
from runcard.files.rename_noreplace import rename_noreplace
from runcard.observe.clock import Clock
from runcard.operations.catalog.forget import forget_store
from runcard.operations.checks.show import status_now
from runcard.store import layout
from runcard.store.experiments import (
    ID,
    check_experiment_name,
    find_experiment_folder,
    no_experiment,
    read_experiment_config,
)
from runcard.store.ledger import (
    CLOSED,
    DELETED,
    Ledger,
    LedgerReading,
    entries_in,
    entry_payload,
    ledger_paths,
)
from runcard.store.own_directories import open_own
from runcard.store.runs.documents import read_run_document, run_directories

# Names in the store's own folder.
_DELETING = "deleting-"  # renamed, tombstones not yet written
_DELETED = "deleted-"  # tombstones written, files not yet removed


class ExperimentContents(NamedTuple):
    """What would be deleted with an experiment."""

    path: str
    runs: int
    files: int
    bytes: int


class DeletedExperiment(NamedTuple):
    """An experiment that was deleted, and how many runs it had."""

    name: str
    runs: int


def examine(name: str) -> ExperimentContents | None:
    """What the experiment of this name holds; None when there is only an earlier deletion to finish."""
    path = find_experiment_folder(name)
    if path is None:
        if _pending(_DELETING, name) or _pending(_DELETED, name):
            return None
        raise no_experiment(name)
    _check_no_running_runs(path)
    sizes = [
        os.lstat(os.path.join(path, entry.path)).st_size
        for entry in walk(path)
        if entry.kind is FileKind.FILE
    ]
    return ExperimentContents(path, len(_runs(path)), len(sizes), sum(sizes))


def delete_experiment(name: str) -> DeletedExperiment:
    """Delete an experiment with its runs, or finish an earlier deletion of it. The ledger keeps an entry for each."""
    outputs = os.path.realpath(
        os.path.join(layout.experiment_folder(check_experiment_name(name)), layout.OUTPUTS)
    )
    deleted = _delete(name)
    if not os.path.lexists(outputs):
        forget_store(outputs)
    return deleted


def _delete(name: str) -> DeletedExperiment:
    store = layout.EXPERIMENTS
    _check_store(store)
    path = find_experiment_folder(name)
    earlier = finish_deletions()
    if path is None:
        return DeletedExperiment(name, sum(deleted.runs for deleted in earlier if deleted.name == name))
    _check_no_running_runs(path)
    runs = len(_runs(path))
    try:
        with open_own(store, layout.own_folder(store), create=True):
            pass
        directory = os.open(store, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            new_name = os.path.join(os.path.basename(layout.own_folder(store)), _DELETING + name)
            rename_noreplace(name, new_name, directory)
            os.fsync(directory)
        finally:
            os.close(directory)
    except OSError as error:
        raise failure(error, path, "delete") from error
    done = [deleted for deleted in finish_deletions() if deleted.name == name]
    return done[0] if done else DeletedExperiment(name, runs)  # or another process finished it


def _check_store(store: str) -> None:
    """Refuse a link, which may have come with a repository: nothing is deleted behind it."""
    if os.path.islink(store):
        real = printable(os.path.realpath(store))
        raise StoreError(
            f"{store} is a symbolic link to {real}", hint=f"run the command in {os.path.dirname(real)}"
        )


def finish_deletions() -> list[DeletedExperiment]:
    """Finish every deletion that was started, also by a process that was killed."""
    if not (_pending(_DELETING) or _pending(_DELETED)):
        return []
    done = []
    with Ledger(layout.EXPERIMENTS) as ledger:  # its lock keeps other deletions out
        _remove_files()
        for name in _pending(_DELETING):
            done.append(DeletedExperiment(name, _write_tombstones(ledger, name)))
            _remove_files()
    return done


def _remove_files() -> None:
    for name in _pending(_DELETED):
        own = layout.own_folder(layout.EXPERIMENTS)
        path = os.path.join(own, _DELETED + name)
        try:
            with open_own(layout.EXPERIMENTS, own) as folder:
                shutil.rmtree(_DELETED + name, dir_fd=folder)  # which follows no link
        except OSError as error:
            raise failure(error, str(error.filename or path), "delete") from error


def unfinished() -> list[str]:
    """The names of experiments whose deletion was started and not finished."""
    return sorted({*_pending(_DELETING), *_pending(_DELETED)})


def _pending(stage: str, name: str | None = None) -> list[str]:
    """The experiments whose deletion stopped at a stage."""
    own = layout.own_folder(layout.EXPERIMENTS)
    try:
        with open_own(layout.EXPERIMENTS, own) as folder, os.scandir(folder) as scan:
            names = [entry.name for entry in scan if entry.is_dir(follow_symlinks=False)]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise failure(error, own, "read the directory") from error
    pending = sorted(entry.removeprefix(stage) for entry in names if entry.startswith(stage))
    return [entry for entry in pending if name is None or entry == name]


def _check_no_running_runs(path: str) -> None:
    """Refuse to delete a run that is still being recorded."""
    for folder in _runs(path):
        document = read_run_document(folder).document
        if document is not None and status_now(folder, document) == "running":
            raise StoreError(
                f"{printable(folder)} is running", hint="wait until it has ended, then run the command again"
            )


def _runs(path: str) -> list[str]:
    """The runs of an experiment, without those behind a link."""
    outputs = os.path.join(path, layout.OUTPUTS)
    return [] if os.path.islink(outputs) else run_directories(outputs)


def _write_tombstones(ledger: Ledger, name: str) -> int:
    """Write the tombstones of an experiment, and mark its files for removal; returns how many runs it had."""
    own = layout.own_folder(layout.EXPERIMENTS)
    path = os.path.join(own, _DELETING + name)
    tombstones = list(_tombstones(path, name))
    existing = _existing_tombstones()
    for tombstone in tombstones:
        if (tombstone["path"], tombstone.get("id")) not in existing:
            ledger.append(DELETED, tombstone["time"], tombstone)
    try:
        with open_own(layout.EXPERIMENTS, own) as folder:
            os.rename(_DELETING + name, _DELETED + name, src_dir_fd=folder, dst_dir_fd=folder)
            os.fsync(folder)
    except OSError as error:
        raise failure(error, path, "delete") from error
    return len(tombstones) - 1


def _existing_tombstones() -> set[tuple[object, object]]:
    """Path and id of everything that has a tombstone already."""
    lines = (line for path in ledger_paths(layout.EXPERIMENTS) for line in LedgerReading(path))
    payloads = (line.get("payload") for line in lines if line.get("event") == DELETED)
    return {(payload.get("path"), payload.get("id")) for payload in payloads if isinstance(payload, dict)}


def _tombstones(path: str, name: str) -> Iterator[JsonObject]:
    now = Clock().timestamp()
    outputs = os.path.join(path, layout.OUTPUTS)
    run_ids: set[str] = set()
    for folder in _runs(path):
        run = read_run_document(folder)
        run_ids.add(run.run_id)
        yield entry_payload("run", run.run_id, f"{name}/{os.path.relpath(folder, path)}", run.sha256, now)
    if not os.path.islink(outputs):
        for entry in entries_in(outputs):
            if entry.event == CLOSED and entry.id not in run_ids:  # archived, or removed by hand
                run_ids.add(entry.id)
                run_path = f"{name}/{layout.OUTPUTS}/{entry.path}"
                yield entry_payload("run", entry.id, run_path, entry.sha256, now)
    identity, digest = _identity(path)
    yield entry_payload("experiment", identity, name, digest, now)


def _identity(path: str) -> tuple[str | None, str | None]:
    """The id of an experiment, and the digest of its config.yaml, which may be broken."""
    config = os.path.join(path, layout.CONFIG)
    if not layout.may_be_file(config):
        return None, None
    digest = sha256_bytes(read_file(config, Limits().size)).hex
    try:
        return read_experiment_config(path).get(ID), digest
    except RuncardError:
        return None, digest
