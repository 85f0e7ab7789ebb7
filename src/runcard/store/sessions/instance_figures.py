"""Count the stored files of an instance, to compare them with the figures in its document."""

from collections import Counter
from typing import BinaryIO

from runcard.documents.session.cross_document_rules import StoredFigures
from runcard.encoding import JsonObject
from runcard.files import check_relative, failure, file_type
from runcard.store import layout
from runcard.store.record import Record

_BLOCK = 1024 * 1024


def stored_figures(session: Record, instance_id: str, document: JsonObject) -> StoredFigures:
    """The figures of an instance's stored files; raises an error that names what cannot be read.

    Figures that the document does not have are not counted: a workspace may have a hundred thousand files.
    """
    workspace, output = document.get("workspace") or {}, document.get("output") or {}
    types: Counter[str] = Counter()
    size = 0
    if workspace.keys() - {"path"}:
        for name, count in session.sizes(layout.instance_file(instance_id, layout.WORKSPACE)):
            types[file_type(name)] += 1
            size += count
    name = output.get("file") or layout.OUTPUT
    path = layout.instance_file(instance_id, name)
    file = None if not output or check_relative(name) else session.open(path)
    if file is None:
        return StoredFigures(types.total(), size, types)
    with file:
        return StoredFigures(types.total(), size, types, name, *_lines(file, path))


def _lines(file: BinaryIO, path: str) -> tuple[int, int]:
    """The size of a text and the number of its lines; a last one without its end counts."""
    size = newlines = 0
    last = b"\n"
    try:
        while block := file.read(_BLOCK):
            size += len(block)
            newlines += block.count(b"\n")
            last = block[-1:]
    except OSError as error:
        raise failure(error, path, "read") from error
    return size, newlines + (last != b"\n")
