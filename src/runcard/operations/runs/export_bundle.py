"""Pack a run with its inputs and programs into a bundle: `runcard export RUN --to bundle`."""

import os
from collections.abc import Sequence

from runcard.digests import sha256_bytes
from runcard.documents.run.fields import RunFields
from runcard.errors import RuncardError, StoreError
from runcard.files import failure, printable, shell_word
from runcard.operations.checks.show import ShownRun, show_run
from runcard.store import layout
from runcard.store.archives.bundles.manifest import OUTPUTS, PROOF_ROLE, bundled_proof
from runcard.store.archives.bundles.pack import BundledFile, pack
from runcard.store.archives.bundles.result import MAX_FILES, BundleResult, first_problem
from runcard.store.archives.bundles.run_files import BundleFiles
from runcard.store.archives.bundles.temporary import take_name, temporary_entry
from runcard.store.find_record import open_record
from runcard.store.record import Record
from runcard.store.verification import verify_record
from runcard.version import __version__


def export_bundle(
    run: str | os.PathLike[str], output: str | None = None, *, including: Sequence[str] = ()
) -> BundleResult:
    """Pack a run with its inputs and programs into a new file.

    The run must be closed and intact. Inputs and programs are looked for from the current directory; those that have
    changed, or must not be packed, are left out with a warning. `including` names files and folders that may be packed
    although they are elsewhere, or although this user did not record the run here.
    """
    record = open_record(run)
    record.problems()  # an archive is read here: its own document counts, not the copy beside it
    shown = show_run(record)
    _check_closed(shown)
    _check_intact(record)
    name = record.name
    digest = sha256_bytes(record.read(layout.METADATA) or b"").hex
    files = BundleFiles(record.directory, shown.document, digest, including)
    bundled_files = files.bundled_files()
    warnings: list[str] = []
    if (proof := _proof(record, warnings)) is not None:
        bundled_files.append(proof)
    facts = {
        "producer": {"name": "runcard", "version": __version__},
        "run_id": RunFields(shown.document).run_id,
        "metadata_sha256": digest,
    }
    target = output or f"{name}.tar.gz"
    try:
        with (
            record.as_directory() as directory,
            temporary_entry(os.path.dirname(os.path.abspath(target)), folder=False) as (
                temporary,
                descriptor,
            ),
            open(descriptor, "wb", closefd=False) as file,
        ):
            count = pack(file, name, os.path.abspath(directory), bundled_files, facts)
            file.flush()
            os.fsync(descriptor)
            take_name(temporary, target)
    except OSError as error:
        raise failure(error, target, "write the bundle") from error
    warnings += [omission.message() for omission in files.omissions]
    if count > MAX_FILES:
        warnings.append(f"the bundle has {count:,} files: `import-bundle` needs --max-files {count}")
    return BundleResult(target, warnings)


def _proof(run: Record, warnings: list[str]) -> BundledFile | None:
    """The proof that the run is in a time-stamped anchor of its store; it goes beside the run, where `verify` looks for it."""
    store = run.store
    try:
        if store is None or not layout.anchor_names(store):
            return None
        from runcard.operations.signatures.anchor_proof import make_record_proof  # noqa: PLC0415 - few stores have one

        found = make_record_proof(store, run)
    except (RuncardError, OSError) as error:
        warnings.append(f"the bundle has no proof by an anchor: {error}")
        return None
    if found is None:
        return None
    place = bundled_proof(f"{OUTPUTS}/{run.name}")
    return BundledFile("", place, place, PROOF_ROLE, sha256_bytes(found[1]).hex, found[1])


def _check_closed(run: ShownRun) -> None:
    if RunFields(run.document).status == "running":
        path = printable(run.path)
        raise StoreError(
            f"{path} is not closed: {run.remark or 'it is still running'}",
            hint=f"wait until it ends; if its process is gone: runcard close {path}",
        )


def _check_intact(run: Record) -> None:
    if (problem := first_problem(verify_record(run))) is not None:
        raise StoreError(
            f"{printable(run.path)} was changed since it was closed: {problem}",
            hint=f"check it with: runcard verify {shell_word(run.path)}",
        )
