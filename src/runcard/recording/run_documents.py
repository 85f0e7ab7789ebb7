"""Read the documents and files of a run that is to be closed: they may be missing, links, or the user's."""

import errno
import os
from typing import TYPE_CHECKING

from runcard.digests import Digest, sha256_descriptor
from runcard.documents.run.fields import RunFields
from runcard.encoding import JsonObject, decode_json
from runcard.errors import EncodingError
from runcard.files import NotRegularFileError, failure, open_regular, read_regular

if TYPE_CHECKING:
    from runcard.documents.run.generation import Generation

_NO_FILE = {errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENXIO}


def read_document(path: str) -> JsonObject | None:
    """A valid generation document; None for anything else."""
    data = read_bytes(path)
    if data is None:
        return None
    try:
        document = decode_json(data)
    except EncodingError:
        return None
    if not isinstance(document, dict) or not generation_class().check(document).valid:
        return None
    return document


def read_bytes(path: str) -> bytes | None:
    """The bytes of a regular file; None if it is missing or a link, which may lead anywhere."""
    try:
        return read_regular(path)
    except OSError as error:
        if error.errno in _NO_FILE:
            return None
        raise failure(error, path, "read") from error


def file_digest(path: str) -> Digest | None:
    """The digest of a regular file; None if it is missing or a link."""
    try:
        descriptor = open_regular(path)
    except OSError as error:
        if isinstance(error, NotRegularFileError) or error.errno in _NO_FILE:
            return None
        raise failure(error, path, "read") from error
    try:
        return sha256_descriptor(descriptor)
    except OSError as error:
        raise failure(error, path, "read") from error
    finally:
        os.close(descriptor)


def status_in(document: JsonObject | None) -> str | None:
    return None if document is None else RunFields(document).status


def run_id_in(document: JsonObject) -> str | None:
    return RunFields(document).run_id


def generation_class() -> "type[Generation]":
    """The class that validates documents; not needed for a run whose journal only its own recorder has written."""
    from runcard.documents.run.generation import Generation  # noqa: PLC0415 - long to load

    return Generation
