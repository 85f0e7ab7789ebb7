"""Unpack a bundle: `runcard import-bundle`."""

import os
from collections.abc import Iterator

from runcard.documents import reader
from runcard.documents.run.inputs import input_entries, input_path
from runcard.encoding import JsonObject
from runcard.errors import StoreError, UsageError
from runcard.files import check_relative, failure, json_name, printable, sync_filesystem
from runcard.store import layout
from runcard.store.archives.bundles.check import read_bundle
from runcard.store.archives.bundles.forbidden_names import is_tool_name
from runcard.store.archives.bundles.manifest import refused
from runcard.store.archives.bundles.named_files import manifest_problems
from runcard.store.archives.bundles.result import MAX_FILES, MAX_SIZE, BundleResult, first_problem
from runcard.store.archives.bundles.temporary import take_name, temporary_entry
from runcard.store.archives.record import ArchivedRecord
from runcard.store.archives.unpack import unpack
from runcard.store.record import RUN, Record
from runcard.store.verification import verify_record

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


def import_bundle(
    bundle: str | os.PathLike[str],
    folder: str | None = None,
    *,
    max_size: int = MAX_SIZE,
    max_files: int = MAX_FILES,
) -> BundleResult:
    """Check a bundle and unpack it into a new folder, by default named like its run.

    The folder must not exist yet; it appears when everything is in it.
    """
    if not os.path.lexists(bundle):
        raise StoreError(f"{printable(os.fspath(bundle))} does not exist", hint="check the path")
    contents, manifest = read_bundle(os.fspath(bundle), max_size=max_size, max_files=max_files)
    run = ArchivedRecord(os.fspath(bundle), kind=RUN, contents=contents.below(manifest["run"]))
    missing = _check_run(run.in_store(None), manifest)
    target = folder or _default_folder(manifest)
    parent = os.path.dirname(os.path.abspath(target))
    try:
        with temporary_entry(parent, folder=True) as (temporary, _):
            path = os.path.join(parent, temporary)
            unpack(contents, path, keep_modes=False)
            sync_filesystem(path)
            take_name(temporary, target)
    except OSError as error:
        raise failure(error, os.fsdecode(error.filename or parent), "unpack the bundle in") from error
    return BundleResult(os.path.join(target, manifest["run"]), [*missing, *_moved_inputs(manifest, target)])


def _default_folder(manifest: JsonObject) -> str:
    name: str = os.path.basename(manifest["run"])
    if is_tool_name(name):
        raise UsageError(
            f"its run is called {printable(name)}, a name that other programs obey", hint="name a FOLDER"
        )
    return name


def _check_run(run: Record, manifest: JsonObject) -> list[str]:
    """Refuse a run that was changed, or that the manifest does not agree with; returns warnings about its inputs."""
    metadata = run.read(layout.METADATA)
    if metadata is None:
        raise refused("there is no run in it")
    if (problem := first_problem(verify_record(run))) is not None:
        raise refused(f"its run was changed since it was closed: {problem}")
    document = reader.load_document(metadata).to_dict()
    for problem in manifest_problems(manifest, metadata, document):
        raise refused(problem)
    return [*_missing_inputs(document, manifest), *_missing_programs(document, manifest)]


def _missing_inputs(document: JsonObject, manifest: JsonObject) -> Iterator[str]:
    """Warnings about inputs that the bundle does not have."""
    packed = {file["path"] for file in manifest["files"]}
    for entry in input_entries(document):
        if json_name(input_path(entry)).text not in packed:
            yield f"the input {printable(entry['path'])} is not in the bundle"


def _missing_programs(document: JsonObject, manifest: JsonObject) -> Iterator[str]:
    """Warnings about programs in the command that the bundle does not have, as far as their names show a file."""
    packed = {file["path"] for file in manifest["files"]}
    for number, argument in enumerate(dict.fromkeys(document["generation"].get("command") or ())):
        path = os.path.normpath(argument) if argument and "\0" not in argument else ""
        is_file = path.endswith(_PROGRAMS) or (number == 0 and "/" in argument)
        if is_file and check_relative(path) is None and json_name(path).text not in packed:
            yield f"the program {printable(path)} is not in the bundle"


def _moved_inputs(manifest: JsonObject, target: str) -> Iterator[str]:
    for file in manifest["files"]:
        if file["place"] != file["path"]:
            path = os.path.join(target, file["place"])
            yield f"the run read {printable(file['path'])}, which is now in {printable(path)}"
