"""Runs that `runcard.start` began, and the end of those that were not finished.

Such a run is current whatever the context: the cells of a notebook do not share one. See `open_runs.py`.
"""

import atexit

from runcard.recording.caller_warnings import warn_caller
from runcard.recording.lifetime import RunLifetime
from runcard.recording.open_runs import add_started_run, started_runs
from runcard.recording.run import RecordOptions, Run, lifetime_of
from runcard.recording.termination import received_signal, uncaught_exception


def begin_started_run(options: RecordOptions) -> Run:
    run = RunLifetime(options).begin()
    add_started_run(run)
    return run


def _end_unfinished() -> None:
    """End the runs that are open when the program ends. What it ended with is not known, unless it was an exception."""
    error = uncaught_exception()
    messages = []
    for run in reversed(started_runs()):
        lifetime = lifetime_of(run)
        if lifetime is None or not lifetime.is_open:  # a forked child does not end the run of its parent
            continue
        if error is None and received_signal() is None:
            message = "the program ended before the run was finished: call run.finish()"
            run.add_warning(message, type="not-finished")
            messages.append(f"{run.path}: {message}")
        lifetime.end(error, None if error else "interrupted")
    for message in messages:  # only now: a warning may raise
        warn_caller(message)


atexit.register(_end_unfinished)
