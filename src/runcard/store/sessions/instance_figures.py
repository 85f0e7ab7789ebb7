"""Count the stored files of an instance, to compare them with the figures in its document."""

import os
from collections import Counter

from runcard.documents.session.cross_document_rules import StoredFigures
from runcard.encoding import JsonObject
from runcard.files import check_relative, failure, file_type, open_regular, walk_files
from runcard.store import layout

_BLOCK = 1024 * 1024


def stored_figures(session: str, folder: str, document: JsonObject) -> StoredFigures:
    """The figures of an instance's directory; raises an error that names a file that cannot be read.

    Figures that the document does not have are not counted: a workspace may have a hundred thousand files.
    """
    directory = os.path.join(session, layout.INSTANCES, folder)
    workspace, output = document.get("workspace") or {}, document.get("output") or {}
    types: Counter[str] = Counter()
    size = 0
    path = os.path.join(directory, layout.WORKSPACE)
    if workspace.keys() - {"path"} and os.path.isdir(path) and not os.path.islink(path):
        for name, count in walk_files(path):
            types[file_type(name)] += 1
            size += count
    file = output.get("file") or layout.OUTPUT
    log = os.path.join(directory, file)
    if not output or check_relative(file) or not layout.may_be_file(log):
        return StoredFigures(types.total(), size, types)
    return StoredFigures(types.total(), size, types, file, *_lines(log))


def _lines(path: str) -> tuple[int, int]:
    """The size of a text and the number of its lines, with a last line without a newline."""
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
