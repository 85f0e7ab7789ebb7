"""Why a path that somebody named is no record, and what to name instead. It only looks, and never reads a document."""

import os

from runcard.errors import StoreError
from runcard.files import printable
from runcard.store import layout

_HINT = "name the directory of a run or a session"


def no_record(path: str) -> StoreError:
    """The error to raise about a path at which there is no record."""
    if not os.path.lexists(path):
        return StoreError(f"{printable(path) or repr('')} does not exist", hint=_HINT)
    if not os.path.isdir(path):
        return StoreError(f"{printable(path)} is a file, and no record", hint=_HINT)
    message = f"{printable(path)} is no record: it has no {layout.METADATA}"
    return StoreError(message, hint=_one_below(path) or _HINT)


def _one_below(path: str) -> str | None:
    """A folder of records was named where one of them is meant."""
    try:
        records = layout.records(path)
    except OSError:
        return None
    return f"it holds records: name one of them, such as {printable(records[-1])}" if records else None
