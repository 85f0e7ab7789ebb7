"""Handing a run to somebody else: `runcard export RUN --to bundle` and `runcard import-bundle`."""

import os
from collections.abc import Iterator
from typing import Any

from runcard.digests import sha256_bytes
from runcard.errors import StoreError
from runcard.files import failure, json_name, printable, sync_filesystem, unreadable
from runcard.files.noreplace import rename_noreplace
from runcard.operations.rerun import entries_of, path_of
from runcard.operations.show import Shown, show
from runcard.store import layout
from runcard.store.bundles.manifest import OUTSIDE, refused
from runcard.store.bundles.pack import Carried, pack
from runcard.store.bundles.unpack import unpack
from runcard.store.bundles.workplace import workplace
from runcard.store.verification import verify_run
from runcard.version import __version__

GIB = 1 << 30
MAX_SIZE = 10 * GIB  # bytes that a bundle may hold unless the user allows more

Fields = dict[str, Any]


def export_bundle(run: str | os.PathLike[str], output: str | None = None) -> str:
    """Pack a run with its inputs and programs; returns the path of the bundle, which must not exist yet.

    The run must be closed and intact, and its inputs, looked for from the current directory, what they were.
    """
    shown = show(run)
    _check_whole(shown.path)
    name = os.path.basename(os.path.abspath(shown.path))
    target = output or f"{name}.tar.gz"
    facts = {
        "producer": {"name": "runcard", "version": __version__},
        "run_id": shown.document["generation"]["run_id"],
        "metadata_sha256": _metadata_digest(shown.path),
    }
    carried = [*_inputs(shown.document), *_programs(shown)]
    folder = os.path.dirname(os.path.abspath(target))
    try:
        with (
            workplace(folder, folder=False) as (aside, descriptor),
            open(descriptor, "wb", closefd=False) as file,
        ):
            pack(file, name, os.path.abspath(shown.path), carried, facts)
            file.flush()
            os.fsync(descriptor)
            _take_name(aside, target)
    except OSError as error:
        raise failure(error, target, "write the bundle") from error
    return target


def _take_name(temporary: str, target: str) -> None:
    """Give what was made aside, in the same folder, its name."""
    folder, name = os.path.split(os.path.abspath(target))
    directory = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        rename_noreplace(temporary, name, directory)
        os.fsync(directory)
    except FileExistsError as error:
        raise StoreError(f"{printable(target)} exists already", hint="name another place") from error
    finally:
        os.close(directory)


def _check_whole(run: str) -> None:
    verdict = verify_run(run)
    if not verdict.intact or not verdict.complete:
        raise StoreError(
            f"{printable(run)} is not what it was when it was closed: {verdict.findings[0].message}",
            hint=f"`runcard verify {printable(run)}` tells more",
        )


def _metadata_digest(run: str) -> str:
    with open(os.path.join(run, layout.METADATA), "rb") as file:
        return sha256_bytes(file.read()).hex


def _inputs(document: Fields) -> Iterator[Carried]:
    for entry in entries_of(document):
        path = path_of(entry)
        place = f"{OUTSIDE}{path}" if os.path.isabs(path) else path
        yield Carried(path, place, path, "input", entry.get("sha256"))


def _programs(shown: Shown) -> Iterator[Carried]:
    """Files below the current directory that the command names: without them it could not be run elsewhere."""
    known = {path_of(entry) for entry in entries_of(shown.document)}
    store = layout.store_of(shown.path)
    for argument in dict.fromkeys(shown.document["generation"].get("command") or ()):
        path = os.path.normpath(argument) if argument else ""
        is_below = path and not os.path.isabs(path) and path.split("/")[0] != ".."
        if is_below and path not in known and os.path.isfile(path) and not _lies_in(path, store):
            yield Carried(path, path, path, "program", None)


def _lies_in(path: str, folder: str) -> bool:
    return os.path.abspath(path).startswith(os.path.join(folder, ""))


def import_bundle(
    bundle: str | os.PathLike[str], folder: str | None = None, *, max_size: int = MAX_SIZE
) -> tuple[str, list[str]]:
    """Open and check a bundle; returns the path of the run in the new folder, and what to know about it, in words.

    The folder, by default the name of the run, appears when all is there and has been checked, and must not exist yet.
    """
    name = os.fspath(bundle)
    parent = os.path.dirname(os.path.abspath(folder)) if folder else os.getcwd()
    try:
        source = open(name, "rb")  # noqa: SIM115 - it is closed below
    except OSError as error:
        raise unreadable(error, name) from error
    try:
        with source, workplace(parent, folder=True) as (aside, _):
            path = os.path.join(parent, aside)
            manifest = unpack(source, path, max_size=max_size)
            _check_run(path, manifest)
            target = folder or os.path.basename(manifest["run"])
            sync_filesystem(path)
            _take_name(aside, target)
    except OSError as error:
        raise failure(error, os.fspath(error.filename or parent), "open the bundle in") from error
    return os.path.join(target, manifest["run"]), list(_remarks(manifest, target))


def _check_run(folder: str, manifest: Fields) -> None:
    """The run is intact, the one that the manifest names, and every input is what it read."""
    run = os.path.join(folder, manifest["run"])
    if not os.path.isfile(os.path.join(run, layout.METADATA)):
        raise refused("there is no run in it")
    verdict = verify_run(run)
    if not verdict.intact or not verdict.complete:
        raise refused(f"its run is not what it was when it was closed: {verdict.findings[0].message}")
    if _metadata_digest(run) != manifest.get("metadata_sha256"):
        raise refused("its run is another one than its manifest says")
    carried = {file["path"]: file["sha256"] for file in manifest["files"]}
    for entry in entries_of(show(run).document):
        if entry.get("sha256") is not None and carried.get(json_name(path_of(entry)).text) != entry["sha256"]:
            raise refused(f"the input {printable(entry['path'])} is missing, or not what the run read")


def _remarks(manifest: Fields, target: str) -> Iterator[str]:
    for file in manifest["files"]:
        if file["place"] != file["path"]:
            place = os.path.join(target, file["place"])
            yield f"the run read {printable(file['path'])}, which is now in {printable(place)}"
