"""The inputs of records as they are today. They are no part of a record: a changed input does not make it a changed record."""

import os
from typing import TYPE_CHECKING

from runcard.documents.run.input_state import InputState
from runcard.documents.run.inputs import input_entries
from runcard.encoding import JsonObject, Limits
from runcard.errors import RuncardError
from runcard.observe.input_states import input_states
from runcard.operations.checks.show import ShownRun, show_record
from runcard.store.find_record import open_record
from runcard.store.remote.urls import is_url

if TYPE_CHECKING:
    from runcard.operations.checks.verify_result import Verified
    from runcard.store.record import Record


def with_inputs(result: "Verified", limits: Limits | None) -> "Verified":
    """The result for a record with the states of its inputs; a session has none."""
    if not result.verdict.records:
        return result
    try:
        shown = show_record(open_record(result.path, limits), limits)
    except (RuncardError, OSError):  # what it records is not known; the verdict says why it cannot be read
        return result
    if not isinstance(shown, ShownRun):
        return result._replace(inputs=())
    return result._replace(inputs=tuple(run_inputs(shown.record, shown.document)))


def run_inputs(record: "Record", document: JsonObject, *, limit: int | None = None) -> list[InputState]:
    """The states of the inputs of a run; at most `limit` bytes of them are read."""
    entries = input_entries(document)
    return input_states(entries, _start_directory(record, document), limit=limit) if entries else []


def _start_directory(record: "Record", document: JsonObject) -> str | None:
    """Where the run was started, as far as that is known: its document has the path from the run's own directory."""
    stated = document["generation"].get("directory")
    if not isinstance(stated, str) or is_url(record.path) or "\0" in stated:
        return None
    return os.path.normpath(os.path.join(os.path.abspath(record.directory), stated))
