"""Keep the catalog up to date until it is stopped: `runcard index --watch`.

Stores are asked again and again whether they changed, which costs a few system calls each. The catalog is opened anew each time, so that
one that was deleted, replaced or damaged meanwhile is built again. Whatever goes wrong is an event, and the next round tries again.
"""

import os
import time
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from runcard.catalog.database import CatalogDatabase, CatalogError
from runcard.catalog.experiment_filling import fill_experiments
from runcard.catalog.filling import FillResult, catch_up
from runcard.catalog.plan_filling import fill_plans
from runcard.encoding import JsonObject
from runcard.errors import RuncardError
from runcard.operations.catalog.index import find_below
from runcard.operations.catalog.open import catalog_path, experiments_to_ask, projects_to_ask, stores_to_ask
from runcard.plans.project import Project

SECONDS = 2.0  # between two rounds


class IndexEvent(NamedTuple):
    """A change that was read into the catalog; or why that was not possible."""

    result: FillResult | None
    problem: str | None = None

    def to_dict(self) -> JsonObject:
        if self.result is None:
            return {"problem": self.problem}
        result = self.result
        return {
            "path": result.store,
            "plans" if result.are_plans else "records": result.records,
            "read": result.read,
            "removed": result.removed,
            "reachable": result.is_reachable,
        }


def watch_index(
    roots: Sequence[str] = (),
    *,
    seconds: float = SECONDS,
    wait: Callable[[float], object] = time.sleep,
) -> Iterator[IndexEvent]:
    """Bring the catalog up to date again and again, and yield what changed. It ends when `wait` raises."""
    below = find_below(roots) if roots else None
    watcher = _Watcher()
    while True:
        stores, projects = (stores_to_ask(), projects_to_ask()) if below is None else below
        yield from watcher.round([os.path.realpath(store) for store in stores], projects)
        wait(seconds)


class _Watcher:
    """What was reported so far, so that it is reported once."""

    def __init__(self) -> None:
        self._unreachable: set[str] = set()
        self._problem: str | None = None

    def round(self, stores: Sequence[str], projects: Sequence[Project]) -> Iterator[IndexEvent]:
        problem = None
        try:
            yield from self._catch_up(stores, projects)
        except CatalogError as error:
            problem = error.message
            if error.is_damaged:
                problem = _replace_catalog() or problem
        except (RuncardError, OSError) as error:
            problem = str(getattr(error, "message", error))
        if problem is not None and problem != self._problem:
            yield IndexEvent(None, problem)
        self._problem = problem

    def _catch_up(self, stores: Sequence[str], projects: Sequence[Project]) -> Iterator[IndexEvent]:
        with CatalogDatabase(catalog_path()) as database:
            for store in stores:
                yield from self._changes(catch_up(database, store))
            fill_experiments(database, experiments_to_ask())
            for project in projects:
                yield from self._changes(fill_plans(database, project))

    def _changes(self, result: FillResult | None) -> Iterator[IndexEvent]:
        if result is None:
            return
        was_reachable = result.store not in self._unreachable
        (self._unreachable.discard if result.is_reachable else self._unreachable.add)(result.store)
        if result.read or result.removed or result.is_reachable != was_reachable:
            yield IndexEvent(result)


def _replace_catalog() -> str | None:
    """Start with an empty catalog, which the next round fills; returns what went wrong."""
    try:
        with CatalogDatabase(catalog_path()) as damaged:
            damaged.clear()
    except RuncardError as error:
        return error.message
    return "the catalog was damaged: it is built anew"
