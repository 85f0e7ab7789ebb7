"""What is stored of an instance, by looking at the files: the figures that its document states."""

import os
from collections import Counter

from runcard.documents.session.cross_document_rules import StoredFigures
from runcard.encoding import JsonObject
from runcard.files import check_relative, failure, file_type, open_regular, walk_files
from runcard.store import layout

_BLOCK = 1024 * 1024


def stored(session: str, folder: str, document: JsonObject) -> StoredFigures:
    """The figures of what lies in an instance's folder; raises an error that names what cannot be read.

    What the document does not state is not looked for: a workspace may have a hundred thousand files.
    """
    place = os.path.join(session, layout.INSTANCES, folder)
    workspace, output = document.get("workspace") or {}, document.get("output") or {}
    types: Counter[str] = Counter()
    size = 0
    path = os.path.join(place, layout.WORKSPACE)
    if workspace.keys() - {"path"} and os.path.isdir(path) and not os.path.islink(path):
        for name, count in walk_files(path):
            types[file_type(name)] += 1
            size += count
    file = output.get("file") or layout.OUTPUT
    log = os.path.join(place, file)
    if not output or check_relative(file) or not layout.may_be_file(log):
        return StoredFigures(types.total(), size, types)
    return StoredFigures(types.total(), size, types, file, *_lines(log))


def _lines(path: str) -> tuple[int, int]:
    """The size of a text and the number of its lines; a last one without its end counts."""
    size = newlines = 0
    last = b"\n"
    try:
        with open(open_regular(path), "rb", buffering=0) as file:
            while block := file.read(_BLOCK):
                size += len(block)
                newlines += block.count(b"\n")
                last = block[-1:]
    except OSError as error:
        raise failure(error, path, "read") from error
    return size, newlines + (last != b"\n")
