"""Handing a run to somebody else: `runcard export RUN --to bundle` and `runcard import-bundle`."""

import os
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from runcard.digests import sha256_bytes
from runcard.documents import codec
from runcard.encoding import JsonObject
from runcard.errors import StoreError, UsageError
from runcard.files import check_relative, failure, json_name, open_regular, printable, sync_filesystem
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
from runcard.store.archives.scan import Contents
from runcard.store.archives.unpack import unpack
from runcard.store.verification import Verdict, verify_archived_run, verify_run
from runcard.version import __version__

GIB = 1 << 30
MAX_SIZE = 10 * GIB  # bytes that a bundle may hold unless the user allows more
_PROGRAMS = (
    ".bash",
    ".ipynb",
    ".jl",
    ".js",
    ".lua",
    ".mjs",
    ".php",
    ".pl",
    ".py",
    ".r",
    ".R",
    ".rb",
    ".sh",
    ".ts",
)
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
    shown = show(run)
    _check_whole(shown.path)
    name = os.path.basename(os.path.abspath(shown.path))
    digest = _metadata_digest(shown.path)
    files = BundleFiles(shown.path, shown.document, digest, including)
    carried = files.carried()
    facts = {
        "producer": {"name": "runcard", "version": __version__},
        "run_id": shown.document["generation"]["run_id"],
        "metadata_sha256": digest,
    }
    target = output or f"{name}.tar.gz"
    try:
        with (
            workplace(os.path.dirname(os.path.abspath(target)), folder=False) as (aside, descriptor),
            open(descriptor, "wb", closefd=False) as file,
        ):
            count = pack(file, name, os.path.abspath(shown.path), carried, facts)
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


def _check_whole(run: str) -> None:
    if (problem := _problem(verify_run(run))) is not None:
        raise StoreError(
            f"{printable(run)} is not what it was when it was closed: {problem}",
            hint=f"`runcard verify {printable(run)}` tells more",
        )


def _problem(verdict: Verdict) -> str | None:
    return None if verdict.intact and verdict.complete else verdict.findings[0].message


def _metadata_digest(run: str) -> str:
    with open(open_regular(os.path.join(run, layout.METADATA)), "rb") as file:
        return sha256_bytes(file.read()).hex


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
    missing = _check_run(contents.below(manifest["run"]), manifest)
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


def _check_run(run: Contents, manifest: JsonObject) -> list[str]:
    """Refuse a run that is not intact, or another one than the manifest names; what to know about its inputs."""
    metadata = run.read(layout.METADATA)
    if metadata is None:
        raise refused("there is no run in it")
    if (problem := _problem(verify_archived_run(run))) is not None:
        raise refused(f"its run is not what it was when it was closed: {problem}")
    if sha256_bytes(metadata).hex != manifest.get("metadata_sha256"):
        raise refused("its run is another one than its manifest says")
    document = codec.load(metadata).to_dict()
    return [*_missing_inputs(document, manifest), *_missing_programs(document, manifest)]


def _missing_inputs(document: JsonObject, manifest: JsonObject) -> Iterator[str]:
    """The inputs that the bundle does not have; one that is not what the run read is refused."""
    carried = {file["path"]: file["sha256"] for file in manifest["files"]}
    for entry in entries_of(document):
        digest = carried.get(json_name(path_of(entry)).text)
        if digest is None:
            yield f"the input {printable(entry['path'])} is not in the bundle"
        elif entry.get("sha256") not in {None, digest}:
            raise refused(f"the input {printable(entry['path'])} is not what the run read")


def _missing_programs(document: JsonObject, manifest: JsonObject) -> Iterator[str]:
    """The programs in the command, as far as their names show that they are files, that the bundle does not have."""
    packed = {file["path"] for file in manifest["files"]}
    for number, argument in enumerate(dict.fromkeys(document["generation"].get("command") or ())):
        path = os.path.normpath(argument) if argument and "\0" not in argument else ""
        is_file = path.endswith(_PROGRAMS) or (number == 0 and "/" in argument)
        if is_file and check_relative(path) is None and json_name(path).text not in packed:
            yield f"the program {printable(path)} is not in the bundle"


def _moved(manifest: JsonObject, target: str) -> Iterator[str]:
    for file in manifest["files"]:
        if file["place"] != file["path"]:
            place = os.path.join(target, file["place"])
            yield f"the run read {printable(file['path'])}, which is now in {printable(place)}"
