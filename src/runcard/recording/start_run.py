"""Start a run: its directory, its start document and its first event."""

import os
from collections.abc import Callable

from runcard.documents.run.events import RUN_STARTED
from runcard.documents.run.size_limit import TRUNCATED
from runcard.encoding import encode_json
from runcard.errors import RuncardError
from runcard.files import failure
from runcard.observe.clock import Clock
from runcard.observe.ids import new_id
from runcard.recording.closing import close_dead_run
from runcard.recording.run import CURRENT_RUN, STARTED_RUNS, JournalEvents, RecordOptions
from runcard.recording.start_document import cut_start_document, start_document
from runcard.store.experiments import experiment_id, store_experiment_id
from runcard.store.journal import new_writer
from runcard.store.runs.directory import NewRun, open_runs

NO_LOCKS = "the file system of the store does not support file locks (flock); runcard uses lock files and process ids instead"


def start_run(options: RecordOptions, warn: Callable[[str], None]) -> JournalEvents:
    """Create the directory of a run with its start document; from here on it is recorded.

    `warn` is called with warnings that are not about this run: earlier runs that could not be closed.
    """
    store, settings = os.path.abspath(options.outputs), options.settings
    try:
        if not os.path.isdir(store):
            os.makedirs(store, exist_ok=True)
    except OSError as error:
        raise failure(error, options.outputs, "create") from error
    _close_abandoned(store, warn)
    identity, setup_warnings = _experiment_id(options, store, warn)
    clock, run_id = Clock(), new_id("run")
    enclosing = CURRENT_RUN.get() or next(reversed(STARTED_RUNS), None)
    parent = settings["parent"] or (enclosing.id if enclosing else os.environ.get("RUNCARD_PARENT"))
    document, masked_counts = start_document(
        clock, run_id, identity, settings, parent, keep_secrets=options.keep_secrets
    )
    setup_warnings += [(TRUNCATED, message) for message in cut_start_document(document, options.event_limit)]
    new_run = NewRun(store, run_id, new_writer(), options.event_limit)
    try:
        events = JournalEvents(store, document, clock, new_run.journal, options)
        events.emit(RUN_STARTED, document)
        for where, counts in masked_counts.items():
            events.add_masked(counts, where)
        events.written_document = encode_json(document)
        events.path = new_run.place(clock.started, events.written_document)
        if not new_run.has_locks:
            setup_warnings.append(("no-locks", NO_LOCKS))
        events.setup_warnings = setup_warnings
    except BaseException:
        new_run.discard()
        raise
    return events


def _experiment_id(
    options: RecordOptions, store: str, warn: Callable[[str], None]
) -> tuple[str | None, list[tuple[str, str]]]:
    """The id of the experiment, and warnings to record; an unreadable one stays unknown, and the run is recorded."""
    name = options.settings["experiment"]
    if name is None:
        own = store_experiment_id(store, new_id)
        return own.id, [] if own.warning is None else [("experiment", own.warning)]
    try:
        return experiment_id(name, new_id), []
    except RuncardError as error:
        if options.strict:
            raise
        warn(f"the id of the experiment is not known: {error}")
        return None, []


def _close_abandoned(store: str, warn: Callable[[str], None]) -> None:
    """Close the runs whose recorders died. One that cannot be closed does not stop the recording."""
    for run in open_runs(store):
        try:
            close_dead_run(run)
        except (RuncardError, OSError) as error:
            warn(f"an earlier run could not be closed: {error}")
