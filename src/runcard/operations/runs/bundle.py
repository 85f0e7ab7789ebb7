"""Handing a run to somebody else: `runcard export RUN --to bundle` and `runcard import-bundle`."""

import os
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from runcard.digests import sha256_bytes
from runcard.documents import reader
from runcard.encoding import JsonObject
from runcard.errors import StoreError, UsageError
from runcard.files import failure, json_name, printable, sync_filesystem
from runcard.files.rename_noreplace import rename_noreplace
from runcard.operations.checks.show import show
from runcard.operations.runs.bundle_files import BundleFiles
from runcard.operations.runs.rerun import entries_of, path_of
from runcard.store import layout
from runcard.store.archives.bundles.check import read_bundle
from runcard.store.archives.bundles.forbidden_names import is_tool_name
from runcard.store.archives.bundles.manifest import refused
from runcard.store.archives.bundles.pack import pack
from runcard.store.archives.bundles.temporary import workplace
from runcard.store.archives.record import ArchivedRecord
from runcard.store.archives.unpack import unpack
from runcard.store.find_record import open_record
from runcard.store.record import RUN, Record
from runcard.store.verification import Verdict, verify_record
from runcard.version import __version__

GIB = 1 << 30
MAX_SIZE = 10 * GIB  # bytes that a bundle may hold unless the user allows more
MAX_FILES = 100_000  # files, folders and links, likewise


class Bundle(NamedTuple):
    """What became of a bundle that was made or opened."""

    path: str  # of the bundle, or of the run that was in it
    warnings: list[str]


def export_bundle(
    run: str | os.PathLike[str], output: str | None = None, *, including: Sequence[str] = ()
) -> Bundle:
    """Pack a run with its inputs and programs into a new file.

    The run must be closed and intact. Inputs and programs are looked for from the current directory; those that are no
    longer what they were, or may not be packed, are left out with a warning. `including` names files and folders that
    may be packed although they lie elsewhere, or although this user did not record the run here.
    """
    record = open_record(run)
    record.problems()  # an archive is read here: its own document counts, not the copy beside it
    shown = show(record)
    _check_whole(record)
    name = record.name
    digest = sha256_bytes(record.read(layout.METADATA) or b"").hex
    files = BundleFiles(record.directory, shown.document, digest, including)
    carried = files.carried()
    facts = {
        "producer": {"name": "runcard", "version": __version__},
        "run_id": shown.document["generation"]["run_id"],
        "metadata_sha256": digest,
    }
    target = output or f"{name}.tar.gz"
    try:
        with (
            record.as_directory() as directory,
            workplace(os.path.dirname(os.path.abspath(target)), folder=False) as (aside, descriptor),
            open(descriptor, "wb", closefd=False) as file,
        ):
            count = pack(file, name, os.path.abspath(directory), carried, facts)
            file.flush()
            os.fsync(descriptor)
            _take_name(aside, target)
    except OSError as error:
        raise failure(error, target, "write the bundle") from error
    warnings = [one.words() for one in files.left_out]
    if count > MAX_FILES:
        warnings.append(f"the bundle has {count:,} files: `import-bundle` needs --max-files {count}")
    return Bundle(target, warnings)


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


def _check_whole(run: Record) -> None:
    if (problem := _problem(verify_record(run))) is not None:
        raise StoreError(
            f"{printable(run.path)} is not what it was when it was closed: {problem}",
            hint=f"`runcard verify {printable(run.path)}` tells more",
        )


def _problem(verdict: Verdict) -> str | None:
    return None if verdict.intact and verdict.complete else verdict.findings[0].message


def import_bundle(
    bundle: str | os.PathLike[str],
    folder: str | None = None,
    *,
    max_size: int = MAX_SIZE,
    max_files: int = MAX_FILES,
) -> Bundle:
    """Open a bundle into a new folder, by default named like its run, after all of it was checked.

    The folder appears when everything is in it, and must not exist yet.
    """
    contents, manifest = read_bundle(os.fspath(bundle), max_size=max_size, max_files=max_files)
    inner = ArchivedRecord(os.fspath(bundle), kind=RUN, contents=contents.below(manifest["run"]))
    missing = _check_run(inner.in_store(None), manifest)
    target = folder or _default_folder(manifest)
    parent = os.path.dirname(os.path.abspath(target))
    try:
        with workplace(parent, folder=True) as (aside, _):
            path = os.path.join(parent, aside)
            unpack(contents, path, keep_modes=False)
            sync_filesystem(path)
            _take_name(aside, target)
    except OSError as error:
        raise failure(error, os.fsdecode(error.filename or parent), "open the bundle in") from error
    return Bundle(os.path.join(target, manifest["run"]), [*missing, *_moved(manifest, target)])


def _default_folder(manifest: JsonObject) -> str:
    name: str = os.path.basename(manifest["run"])
    if is_tool_name(name):
        raise UsageError(
            f"its run is called {printable(name)}, a name that other programs obey", hint="name a FOLDER"
        )
    return name


def _check_run(run: Record, manifest: JsonObject) -> list[str]:
    """Refuse a run that is not intact, or another one than the manifest names; what to know about its inputs."""
    metadata = run.read(layout.METADATA)
    if metadata is None:
        raise refused("there is no run in it")
    if (problem := _problem(verify_record(run))) is not None:
        raise refused(f"its run is not what it was when it was closed: {problem}")
    if sha256_bytes(metadata).hex != manifest.get("metadata_sha256"):
        raise refused("its run is another one than its manifest says")
    return list(_missing_inputs(reader.load_document(metadata).to_dict(), manifest))


def _missing_inputs(document: JsonObject, manifest: JsonObject) -> Iterator[str]:
    """The inputs that the bundle does not have; one that is not what the run read is refused."""
    carried = {file["path"]: file["sha256"] for file in manifest["files"]}
    for entry in entries_of(document):
        digest = carried.get(json_name(path_of(entry)).text)
        if digest is None:
            yield f"the input {printable(entry['path'])} is not in the bundle"
        elif entry.get("sha256") not in {None, digest}:
            raise refused(f"the input {printable(entry['path'])} is not what the run read")


def _moved(manifest: JsonObject, target: str) -> Iterator[str]:
    for file in manifest["files"]:
        if file["place"] != file["path"]:
            place = os.path.join(target, file["place"])
            yield f"the run read {printable(file['path'])}, which is now in {printable(place)}"
