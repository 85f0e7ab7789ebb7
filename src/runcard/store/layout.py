"""The names of the files that make up a record: the only module that knows them.

A run is a directory with a generation document; a session is a directory with a team document, a manifest and a
directory for each instance. What else lies in them is output, and none of runcard's business.
"""

import os
from collections.abc import Iterator

METADATA = "metadata.json"
MANIFEST = "manifest.json"
INSTANCES = "instances"
CHECKSUMS = "SHA256SUMS"
JOURNAL = "experiment.jsonl"


def is_record(folder: str) -> bool:
    """Whether a folder is a run or a session by what lies in it, whatever its metadata may say."""
    return any(os.path.exists(os.path.join(folder, name)) for name in (CHECKSUMS, JOURNAL, INSTANCES))


def session_documents(session: str) -> Iterator[str]:
    """The paths of a session's own documents besides its metadata: those that are there."""
    manifest = os.path.join(session, MANIFEST)
    if os.path.isfile(manifest):
        yield manifest
    folder = os.path.join(session, INSTANCES)
    if os.path.isdir(folder) and not os.path.islink(folder):
        for name in sorted(os.listdir(folder)):
            document = os.path.join(folder, name, METADATA)
            if os.path.isfile(document):
                yield document


def sealed_record(document: str) -> str | None:
    """The directory of the closed record that a document belongs to, if it does."""
    folder = os.path.dirname(os.path.abspath(document))
    for record in (folder, os.path.dirname(os.path.dirname(folder))):
        is_inside = record == folder or os.path.basename(os.path.dirname(folder)) == INSTANCES
        if is_inside and os.path.isfile(os.path.join(record, CHECKSUMS)):
            return record
    return None
