"""Query the catalog with SQL: `runcard query`."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from runcard.catalog.engine import SqlRows
from runcard.catalog.tables import VIEWS
from runcard.operations.catalog.open import open_catalog, projects_to_ask

ROWS = 10_000
SECONDS = 10.0
_GRACE = 1.0  # seconds; a database that can be interrupted ends before that


def query(
    sql: str,
    *,
    limit: int = ROWS,
    timeout: float = SECONDS,
    catalog: str | None = None,
    on_overrun: Callable[[], object] | None = None,
) -> SqlRows:
    """The rows of one SELECT over the views; nothing can be changed by it.

    SQLite cannot be interrupted while it computes one row. `on_overrun` is called in a thread then, to end the process.
    """
    projects = projects_to_ask() if "v1_plans" in sql.lower() else ()
    with open_catalog(path=catalog, projects=projects) as database:
        with _watched(timeout, on_overrun):
            found = database.ask(sql, limit, timeout)
        return found._replace(warning=database.warning)


@contextmanager
def _watched(timeout: float, on_overrun: Callable[[], object] | None) -> Iterator[None]:
    """Call a function when what is done here takes longer than its time limit, and some grace."""
    if on_overrun is None or not timeout > 0:
        yield
        return
    timer = threading.Timer(min(timeout + _GRACE, threading.TIMEOUT_MAX), on_overrun)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()


def views() -> dict[str, list[str]]:
    """The views and their columns."""
    with open_catalog([]) as database:
        return {
            name: database.columns(database.query(f"SELECT * FROM {name} LIMIT 0"))  # noqa: S608 - names of our own
            for name in VIEWS
        }
