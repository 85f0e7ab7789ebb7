"""Log a value of a metric from a command that `runcard run` records: `runcard log-metric`."""

import os
import warnings

from runcard.errors import RuncardWarning, StoreError, UsageError
from runcard.files import shell_word
from runcard.recording.current_run import current_run
from runcard.recording.recorder import events_of


def log_metric(name: str, value: float | str, step: int | None = None) -> str:
    """Add a value of a metric to the run that this process belongs to, as a child of it; returns the id of the run.

    Raises StoreError when there is no such run, or when the value could not be recorded.
    """
    number = _number(value) if isinstance(value, str) else value
    if not os.environ.get("RUNCARD_RUN_DIR"):
        raise StoreError(
            "this is not a recorded command: RUNCARD_RUN_DIR is not set",
            hint=f"call it inside of a recorded command: runcard run -- runcard log-metric {shell_word(name)} {value}",
        )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", RuncardWarning)
        run = current_run()
    if run is None:
        raise StoreError(str(caught[-1].message) if caught else "this process is not recorded")
    events_of(run).strict = True  # a value that is lost is an error here
    run.log_metric(name, number, step=step)
    return run.id


def _number(text: str) -> float:
    try:
        return int(text) if text.strip().lstrip("+-").isdigit() else float(text)
    except ValueError:
        raise UsageError(f"{text!r} is not a number", hint="write it as 0.93, 12 or 1e-4") from None
