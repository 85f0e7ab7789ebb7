"""The run that code belongs to: `runcard.current_run`.

That of its block, of `runcard.start`, of the parent process; or, in a thread, the one that is open.
"""

import functools
import os
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from runcard.documents.run.fields import RunFields
from runcard.encoding import JsonObject, Limits
from runcard.errors import RuncardError, RuncardWarning, StoreError
from runcard.files import printable, read_file
from runcard.observe.clock import Clock
from runcard.recording.load_modules import load_modules
from runcard.recording.open_runs import common_run, open_runs_here
from runcard.recording.run import JournalEvents, RecordOptions, Run, enclosing_run
from runcard.settings.apply import use_masking_settings
from runcard.store import layout

if TYPE_CHECKING:
    from runcard.recording.session_link import SessionLink

_MAX_CANDIDATES = 4  # runs that a warning names

_begin_on_demand: Callable[[], Run | None] | None = None


class RunMatch(NamedTuple):
    """The run that code belongs to."""

    run: Run | None
    candidates: tuple[Run, ...] = ()  # if it is uncertain: the open runs that it may belong to as well

    def describe(self) -> str:
        """Why it is uncertain, for a warning."""
        names = ", ".join(run.id for run in self.candidates[:_MAX_CANDIDATES])
        more = ", …" if self.candidates[_MAX_CANDIDATES:] else ""
        return f"{len(self.candidates)} runs are open in this process ({names}{more}), and this thread is in none of them"


def current_run() -> Run | None:
    """The run that this code belongs to: that of the enclosing block, of `runcard.start`, or of the parent process.

    Another thread is in no block. There it is the only open run of this process; if several are open, the one that encloses
    all others, with a warning. If all of them are runs of `runcard.start`, it is the newest.
    """
    match = find_run()
    if match.candidates:
        warnings.warn(
            f"the current run is uncertain: {match.describe()}; pass the run to the thread, or the context",
            RuncardWarning,
            stacklevel=2,
        )
    return match.run


def begin_runs_on_demand(begin: Callable[[], Run | None] | None) -> None:
    """Let code that is in no run begin one when it needs it: `begin` returns it. None: no more."""
    global _begin_on_demand  # noqa: PLW0603 - of the process, as the open runs
    _begin_on_demand = begin


def find_run(preferred: Run | None = None) -> RunMatch:
    """The run that the calling code belongs to; `preferred` is the one to choose among several open ones."""
    run = enclosing_run()
    if run is not None:
        return RunMatch(run)
    runs = open_runs_here()
    if preferred in runs:
        return RunMatch(preferred)
    if len(runs) == 1:
        return RunMatch(runs[0])
    return RunMatch(common_run(runs) or _run_around(), runs)


def _run_around() -> Run | None:
    """The run in which everything in this process happens: one that begins on demand, or that of the parent process."""
    if _begin_on_demand is not None:
        return _begin_on_demand()
    path = os.environ.get("RUNCARD_RUN_DIR")
    return _join(os.path.realpath(path)) if path else None


@functools.lru_cache(maxsize=8)
def _join(path: str) -> Run | None:
    """The run that the parent process names, to which this one adds events; None when it is closed."""
    load_modules()
    try:
        use_masking_settings()
        document = _load_document(os.path.join(path, layout.METADATA))
        if RunFields(document).status != "running":
            raise StoreError(f"the run in {path} is closed", hint="unset RUNCARD_RUN_DIR")
    except RuncardError as error:
        warnings.warn(f"this process is not recorded: {error}", RuncardWarning, stacklevel=3)
        return None
    options = RecordOptions(
        layout.store_of(path), {}, (), None, keep_secrets=False, strict=False, session=_session_of(document)
    )
    events = JournalEvents(path, document, Clock(), None, options)
    events.join_on_first_event()
    return Run(events)


def _session_of(document: JsonObject) -> "SessionLink | None":
    """The session of a run, if this process is in it: the variables of the environment are those of the parent."""
    from runcard.recording.session_link import session_link  # noqa: PLC0415 - few runs are in a session

    link = session_link()
    return link if link is not None and link.relation in (document.get("relations") or ()) else None


def _load_document(path: str) -> JsonObject:
    from runcard.documents import reader  # noqa: PLC0415 - long to load
    from runcard.documents.findings import InvalidDocument  # noqa: PLC0415

    try:
        return reader.load_document(read_file(path, Limits().size), kind="generation").to_dict()
    except InvalidDocument as error:
        raise InvalidDocument(error.report, printable(path)) from None
