"""Start a run: its directory, its start document and its first event."""

import contextlib
import os
import sys
import time
from collections.abc import Callable

from runcard.documents.run.events import RUN_STARTED
from runcard.documents.run.size_limit import TRUNCATED
from runcard.encoding import JsonObject, encode_json
from runcard.errors import RuncardError
from runcard.files import failure, json_name, printable
from runcard.masking import mask_data
from runcard.observe.clock import Clock
from runcard.observe.ids import new_id
from runcard.recording.closing import close_dead_run
from runcard.recording.run import JournalEvents, RecordOptions, enclosing_run, open_journal_events
from runcard.recording.start_document import application_warning, cut_start_document, start_document
from runcard.store.experiments import experiment_id, store_experiment_id
from runcard.store.journal import new_writer
from runcard.store.own_starts import RecordStart, start_mac
from runcard.store.runs.directory import NewRun, may_be_dead, open_runs

RUN_LIST = "RUNCARD_RUN_LIST"  # the variable with the path of the list of runs that `runcard rerun` keeps

_APPEND = os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC

_LOOK_INTERVAL = 60.0  # seconds between two searches for dead runs in one store
_MOST_STORES = 1000  # whose last search is remembered
_looked_at: dict[str, float] = {}  # the time of the last search, by store

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
    enclosing = enclosing_run()
    parent = settings["parent"] or (enclosing.id if enclosing else os.environ.get("RUNCARD_PARENT"))
    document, masked_counts = start_document(
        clock, run_id, identity, settings, parent, keep_secrets=options.keep_secrets
    )
    document["generation"] |= _origin(store, settings)
    options = _in_session(options, run_id, document, warn)
    if unknown := application_warning(settings):
        setup_warnings.append(("application", unknown))
    setup_warnings += [(TRUNCATED, message) for message in cut_start_document(document, options.event_limit)]
    new_run = NewRun(store, run_id, new_writer(), options.event_limit)
    try:
        events = JournalEvents(store, document, clock, new_run.journal, options)
        events.start_mac = start_mac(RecordStart(store, run_id, document), new_run.journal.inode)
        events.emit(RUN_STARTED, document)
        for where, counts in masked_counts.items():
            events.add_masked(counts, where)
        events.written_document = encode_json(document)
        events.path = new_run.place(clock.started, events.written_document)
        _add_to_run_list(events.path)
        if not new_run.has_locks:
            setup_warnings.append(("no-locks", NO_LOCKS))
        events.setup_warnings = setup_warnings
    except BaseException:
        new_run.discard()
        raise
    return events


def _in_session(
    options: RecordOptions, run_id: str, document: JsonObject, warn: Callable[[str], None]
) -> RecordOptions:
    """The options of a run with the session that it belongs to, which its document names. None is left for a closed one."""
    if "RUNCARD_SESSION_DIR" not in os.environ and "runcard.recording.session_link" not in sys.modules:
        return options
    from runcard.recording.session_link import add_run, session_link  # noqa: PLC0415 - few runs are in a session

    link = session_link()
    if link is None:
        return options
    try:
        add_run(link, run_id)
    except (RuncardError, OSError) as error:
        if options.strict:
            raise
        warn(f"the run is not recorded in the session {printable(link.session_id)}: {error}")
        return options
    document["relations"].append(link.relation)
    return options._replace(session=link)


def _origin(store: str, settings: JsonObject) -> JsonObject:
    """Where a run was started, as far as that is known and can be written: for running it again.

    The paths are relative, so that a project can be moved: the directory to that of the run, the notebook to the directory.
    """
    try:
        directory = os.getcwd()
    except OSError:  # it was removed
        return {}
    paths = {"directory": os.path.join(os.pardir, os.path.relpath(directory, store))}
    is_command = "trace" in settings  # a notebook may have started it, and is not what is recorded
    if not is_command and (notebook := _notebook_path()):
        paths["notebook"] = os.path.relpath(notebook, directory)
    is_written = all(json_name(path).base64 is None for path in paths.values())
    return paths if is_written and not mask_data(paths).counts else {}


def _notebook_path() -> str | None:
    if "IPython" not in sys.modules:
        return None
    from runcard.observe.notebook import notebook_path  # noqa: PLC0415 - few programs are notebooks

    return notebook_path()


def _add_to_run_list(run: str) -> None:
    """Add a run to the list that `runcard rerun` keeps of the runs that are recorded under it."""
    if path := os.environ.get(RUN_LIST):
        with contextlib.suppress(OSError):  # that rerun has ended
            descriptor = os.open(path, _APPEND)
            try:
                os.write(descriptor, os.fsencode(run) + b"\0")
            finally:
                os.close(descriptor)


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
    """Close the runs whose recorders died. One that cannot be closed does not stop the recording.

    This looks at every open run, so a process does it at most once a minute for each store.
    """
    now = time.monotonic()
    if now - _looked_at.get(store, -_LOOK_INTERVAL) < _LOOK_INTERVAL:
        return
    if len(_looked_at) >= _MOST_STORES:
        _looked_at.clear()
    _looked_at[store] = now
    own = {events.path for events in open_journal_events()}
    for run in open_runs(store, besides=own):
        try:
            if may_be_dead(run):
                close_dead_run(run)
        except (RuncardError, OSError) as error:
            warn(f"an earlier run could not be closed: {error}")
