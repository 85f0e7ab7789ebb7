"""The life of a run in the process that started it: begin it, end it once, in this thread or beside an event loop.

The user's exception is never replaced; a failure of the recording itself is a warning, unless it is strict.
"""

import contextlib
import os
from collections.abc import Iterator

from runcard.errors import RuncardError
from runcard.observe.clock import Clock
from runcard.observe.environment import EnvironmentGatherer
from runcard.observe.ids import new_id
from runcard.recording.caller_warnings import warn_caller
from runcard.recording.off_loop import run_off_loop
from runcard.recording.open_runs import add_open_run, remove_open_run
from runcard.recording.run import BACKGROUND_TIMEOUT, JournalEvents, RecordOptions, Run, enclosing_run
from runcard.recording.start_document import start_document
from runcard.recording.start_run import start_run
from runcard.recording.termination import TerminationGuard, status_of

_TEMPORARY = ("/tmp", "/var/tmp", ".")  # noqa: S108 - a directory of its own is made there


class RunLifetime:
    """Begins one run and ends it."""

    _events: JournalEvents  # once it has begun

    def __init__(self, options: RecordOptions) -> None:
        self._options = options
        self._pid = 0  # of the process that began it
        self._has_ended = False
        self._run: Run | None = None
        self._background: EnvironmentGatherer | None = None
        self._signals = TerminationGuard()

    def begin(self) -> Run:
        try:
            run = self._create()
            self._signals.begin()
            self._add_inputs(run)
        except BaseException as error:
            self.end(error)
            raise
        return run

    async def begin_off_loop(self) -> Run:
        """The same; earlier runs are closed and inputs are hashed beside the event loop."""
        try:
            run = await run_off_loop(self._create)
            self._signals.begin()  # works only in the main thread
            if self._options.inputs:
                await run_off_loop(lambda: self._add_inputs(run))
        except BaseException as error:
            await self.end_off_loop(error)
            raise
        return run

    def _create(self) -> Run:
        options = self._options
        try:
            self._events = start_run(options, warn_caller)
        except (RuncardError, OSError) as error:
            if options.strict:
                raise
            warn_caller(f"this run is not recorded: {error}")
            self._events = _unrecorded(options)
        self._pid, events = os.getpid(), self._events
        self._run = run = Run(events, self)
        add_open_run(run, enclosing_run())
        # Only now: it would slow down the start.
        self._background = EnvironmentGatherer(
            ".",
            ignore=[options.outputs],
            on_complete=events.add_environment,
            program=options.settings.get("program"),
        )
        events.start_heartbeat()
        for kind, message in events.setup_warnings:
            events.add_warning(message, kind)
            warn_caller(message)
        return run

    def _add_inputs(self, run: Run) -> None:
        if self._options.inputs:
            run.add_input(*self._options.inputs)

    @property
    def is_ours(self) -> bool:
        """Whether this process began the run, and not one that it was forked from."""
        return self._pid == os.getpid()

    @property
    def is_open(self) -> bool:
        """Whether this process can still end the run; a forked child cannot."""
        return self.is_ours and not self._has_ended

    def end(self, error: BaseException | None = None, status: str | None = None) -> None:
        """End the run, once; `status` is given by the user, or follows from the exception that ended it."""
        if not self.is_open:
            self._leave()
            return
        with self._ending(error):
            try:
                self._add_error(error)
            finally:
                self._close(error, status)

    def discard(self) -> None:
        """End the run and remove its directory. It is for a run in which nothing was recorded."""
        if not self.is_open:
            self._leave()
            return
        with self._ending(None):
            if self._background is not None:
                self._background.result(0)
            self._events.discard()

    async def end_off_loop(self, error: BaseException | None = None) -> None:
        """The same; files are hashed beside the event loop."""
        if not self.is_open:
            self._leave()
            return
        with self._ending(error):
            try:
                self._add_error(error)
            finally:
                await run_off_loop(lambda: self._close(error, None))

    @contextlib.contextmanager
    def _ending(self, error: BaseException | None) -> Iterator[None]:
        self._has_ended = True
        try:
            yield
        except Exception as failure:
            if error is None:
                raise
            error.add_note(f"runcard could not record this run: {failure}")  # and the user's own error passes
        finally:
            self._leave()  # not before: what a thread records while the run is closed gives a warning
            self._signals.end()

    def _leave(self) -> None:
        """Code that is in no block does not belong to the run any more: it has ended, or it is that of the parent process."""
        if self._run is not None:
            remove_open_run(self._run)

    def _add_error(self, error: BaseException | None) -> None:
        if error is not None and status_of(error)[0] == "failed":
            self._events.add_error(error)

    def _close(self, error: BaseException | None, status: str | None) -> None:
        ended_as, code = status_of(error)
        background = self._background
        environment = None if background is None else background.result(BACKGROUND_TIMEOUT)
        if background is not None and background.delivered:
            environment = None
        self._events.end(status or ended_as, exit_code=code, environment=environment)


def _unrecorded(options: RecordOptions) -> JournalEvents:
    """A run that is not recorded, so that the user's code can go on."""
    clock = Clock()
    document, _ = start_document(
        clock, new_id("run"), new_id("exp"), options.settings, None, keep_secrets=options.keep_secrets
    )
    name = document["generation"]["run_id"]
    path = os.path.join(options.outputs, name)  # if no directory can be made, the user's code finds out
    for folder in (os.environ.get("TMPDIR"), *_TEMPORARY):
        with contextlib.suppress(OSError):
            if folder:
                os.mkdir(os.path.join(folder, f"runcard-{name}"), 0o700)
                path = os.path.join(folder, f"runcard-{name}")
                break
    return JournalEvents(path, document, clock, None, options)
