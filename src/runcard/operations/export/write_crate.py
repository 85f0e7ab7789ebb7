"""Write an RO-Crate: a new folder with a copy of the record and `ro-crate-metadata.json`. It appears when it is complete."""

import hashlib
import json
import os
import shutil

from runcard.errors import StoreError
from runcard.files import FileKind, failure, json_name, open_regular, printable, sync_tree, walk
from runcard.interop.record_content import RecordContent
from runcard.interop.ro_crate import DESCRIPTOR, CrateFacts, crate_metadata
from runcard.store.archives.bundles.temporary import take_name, temporary_entry
from runcard.store.record import Record

_BLOCK = 1 << 18  # bytes


def crate_document(content: RecordContent, facts: CrateFacts) -> bytes:
    """The bytes of `ro-crate-metadata.json`."""
    return json.dumps(crate_metadata(content, facts), indent=2).encode() + b"\n"


def write_crate(record: Record, content: RecordContent, facts: CrateFacts, target: str) -> None:
    """Write a crate as a new folder; its files are those that its metadata names, or it is not written."""
    parent = os.path.dirname(os.path.abspath(target))
    digests = {file.path: file.sha256 for file in (content.metadata, *content.files)}
    try:
        with (
            record.as_directory() as directory,
            temporary_entry(parent, folder=True) as (temporary, _),
        ):
            folder = os.path.join(parent, temporary)
            os.mkdir(os.path.join(folder, record.name))
            _copy(directory, os.path.join(folder, record.name), digests)
            with open(os.path.join(folder, DESCRIPTOR), "xb") as file:
                file.write(crate_document(content, facts))
            sync_tree(folder)
            take_name(temporary, target)
    except OSError as error:
        raise failure(error, target, "write the crate") from error


def _copy(source: str, target: str, digests: dict[str, str]) -> None:
    """Copy folders, files and links; a file that is not the one that was read before is an error."""
    folders = [""]
    for path, kind in walk(source):
        old, new = os.path.join(source, path), os.path.join(target, path)
        if kind is FileKind.DIRECTORY:
            os.mkdir(new)
            folders.append(path)
        elif kind is FileKind.SYMLINK:
            os.symlink(os.readlink(old), new)
        elif kind is FileKind.FILE:
            if _copy_file(old, new) != digests.get(path):
                raise StoreError(
                    f"{printable(json_name(path).text)} changed while it was copied", hint="try again"
                )
            shutil.copystat(old, new, follow_symlinks=False)
    for path in reversed(folders):
        shutil.copystat(os.path.join(source, path), os.path.join(target, path))


def _copy_file(old: str, new: str) -> str:
    """Copy a file; its digest."""
    hasher = hashlib.sha256()
    with open(open_regular(old), "rb") as reader, open(new, "xb") as writer:
        while block := reader.read(_BLOCK):
            hasher.update(block)
            writer.write(block)
    return hasher.hexdigest()
