"""Close a run: the one of this process, or one whose process died.

Only one process may close a run, and none while its owner lives: that is decided here, by locks, and where there are none by
the process. How a run is closed is in `run_closer.py`.
"""

import contextlib
import os
import time
from collections.abc import Iterator
from typing import NamedTuple

from runcard.checksums.unstable_directory import is_concurrent_change
from runcard.digests import sha256_bytes
from runcard.documents.run.fields import RunFields
from runcard.encoding import JsonObject, decode_json
from runcard.errors import RuncardError, StoreError
from runcard.files import failure, printable
from runcard.observe.process import is_alive
from runcard.recording.run_closer import RecorderState, RunCloser, ledger_entry
from runcard.recording.run_documents import read_bytes, read_document, status_in
from runcard.store import layout
from runcard.store.ledger import CLOSED, Ledger, entries_about
from runcard.store.locks import lock_folder
from runcard.store.own_directories import check_own
from runcard.store.own_starts import RecordStart, is_own_start
from runcard.store.runs.config_file import remove_config
from runcard.store.runs.directory import remove_open_mark
from runcard.store.runs.open_journals import find_run_id
from runcard.store.runs.owner import is_on_other_host, locked_journal, owner_lock, owner_process

_PAUSES = (0.005,) * 4 + (0.05,) * 6  # seconds before each try with a directory that was removed
_LOCK_TIMEOUT = 0.5  # seconds that a lock may outlive its holder


class CloseResult(NamedTuple):
    """The result of closing one run."""

    path: str
    status: str  # of the run now
    closed: bool  # whether this call closed it
    reason: str | None = None  # why it was not closed
    warnings: tuple[str, ...] = ()  # about its signature, and about what was not stored
    is_own: bool = False  # whether this user started it, as far as its files prove that


def close_dead_run(run: str) -> CloseResult:
    """Close a run, unless it is closed already or its process is alive."""
    store = layout.store_of(run)
    check_own(store, layout.open_folder(store))
    is_dead = _is_process_gone(run)
    with owner_lock(run, exclusive=True, timeout=_LOCK_TIMEOUT if is_dead else 0) as is_owner_gone:
        if is_owner_gone is False:
            reason = "another process is closing it" if is_dead else "its process is running"
            return CloseResult(run, "running", closed=False, reason=reason)
        document = read_document(os.path.join(run, layout.METADATA))
        if is_owner_gone is None and document is not None and _is_running(run, document):
            return CloseResult(run, "running", closed=False, reason="its process is running")
        result = _result_if_closed(run, document)
        if result is not None:
            return result
        if status_in(document) is None and find_run_id(run) is None:
            remove_open_mark(run)
            raise StoreError(
                f"{printable(run)} is not a run", hint="name the directory of a run, with its metadata.json"
            )
        with _run_locked(run):
            return _close_locked(run, locks_work=is_owner_gone is not None)


def _close_locked(run: str, *, locks_work: bool) -> CloseResult:
    """Close a run whose lock is held, unless its process is alive, or another process closed it meanwhile."""
    result = None if locks_work else _result_if_closed(run, read_document(os.path.join(run, layout.METADATA)))
    if result is not None:
        return result
    closer = RunCloser(run)
    is_own = _is_own(run, closer.start)
    reason = _reason_not_to_close(closer.start, locks_work=locks_work)
    if reason is not None:
        return CloseResult(run, "running", closed=False, reason=reason)
    _remove_leftovers(run, closer.start, is_own=is_own)
    return CloseResult(run, closer.close()["generation"]["status"], closed=True, is_own=is_own)


def _is_own(run: str, start: JsonObject) -> bool:
    """Whether this user started a run, and nobody closed it before: else it was put back."""
    store, run_id = layout.store_of(run), str(RunFields(start).run_id)
    return is_own_start(RecordStart(store, run_id, start), locked_journal(run)) and not any(
        entries_about(store, run_id)
    )


def _remove_leftovers(run: str, start: JsonObject, *, is_own: bool) -> None:
    """Remove what `runcard run` keeps outside of the run, and removes itself unless it is killed."""
    if is_own:  # else its id may be that of a run of this user
        remove_config(str(RunFields(start).run_id))
    if os.path.lexists(layout.copied_aside(run)):
        from runcard.store.runs.output_copies import remove_unfinished_copies  # noqa: PLC0415 - rarely needed

        remove_unfinished_copies(run)


def _is_running(run: str, document: JsonObject) -> bool:
    """Whether the process of a run is alive and has not finished: its entry in the ledger comes last."""
    return os.path.lexists(layout.open_mark(run)) and is_alive(owner_process(document)) is True


def _result_if_closed(run: str, document: JsonObject | None) -> CloseResult | None:
    status = status_in(document)
    if document is None or status in {None, "running"} or not _is_sealed(run, document):
        return None
    _add_missing_ledger_entry(run, document)
    return CloseResult(run, str(status), closed=False, reason="it is closed already")


def _is_process_gone(run: str) -> bool:
    """Whether the process of a run is gone. Its lock may still be held: by a child that it was starting."""
    try:
        document = decode_json(read_bytes(os.path.join(run, layout.METADATA)) or b"")
        return is_alive(RunFields(document).process) is False
    except (RuncardError, KeyError, TypeError, AttributeError):
        return False  # a broken document is reported where it matters


def _reason_not_to_close(document: JsonObject, *, locks_work: bool) -> str | None:
    """A free lock tells only about this host; without locks the process must be known to be gone."""
    process = owner_process(document)
    if is_on_other_host(document):
        return f"it was recorded on another host, {printable(str(process.get('host')))}"
    if locks_work or is_alive(process) is False:
        return None
    return "as far as is known, its process is running"


def _is_sealed(run: str, document: JsonObject) -> bool:
    """Whether a document with a final status was written by a closing, and not by the user's program."""
    if not os.path.lexists(layout.open_mark(run)):
        return True
    listing = read_bytes(os.path.join(run, layout.CHECKSUMS))
    return listing is not None and document["checksums"]["output"] == str(sha256_bytes(listing))


def seal_run(run: str, state: RecorderState) -> JsonObject:
    """Close the run of this process; returns its final document.

    A process that was left behind may remove the directory again and again: it is recreated, a fixed number of times.
    """
    for pause in _PAUSES:
        try:
            return _seal_once(run, state)
        except RuncardError as error:
            if (
                not is_concurrent_change(error)
                or os.path.isdir(run)
                or not os.path.lexists(layout.open_mark(run))
            ):
                raise  # without its open mark the journal is lost
        time.sleep(pause)
        with contextlib.suppress(FileExistsError):
            os.mkdir(run)
    return _seal_once(run, state)


def _seal_once(run: str, state: RecorderState) -> JsonObject:
    with _run_locked(run):
        return RunCloser(run, state).close()


@contextlib.contextmanager
def _run_locked(run: str) -> Iterator[None]:
    """Hold the run's lock, so that no process joins the run; an OSError becomes an error that names the file."""
    try:
        with lock_folder(run):
            yield
    except OSError as error:
        raise failure(error, str(error.filename or run), "close") from error


def _add_missing_ledger_entry(run: str, document: JsonObject) -> None:
    """Add the ledger entry of a run whose recorder was killed after it wrote the final document."""
    if not os.path.lexists(layout.open_mark(run)):
        return
    from runcard.store.ledger_search import has_document  # noqa: PLC0415 - few recorders are killed just then

    store, data = layout.store_of(run), read_bytes(os.path.join(run, layout.METADATA)) or b""
    digest = sha256_bytes(data).hex
    with Ledger(store) as ledger:
        if not has_document(store, digest):
            ledger.append(CLOSED, document["generation"]["timestamp_end"], ledger_entry(run, document, data))
    remove_open_mark(run)
