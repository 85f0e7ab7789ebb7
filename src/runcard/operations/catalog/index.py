"""Fill the catalog: `runcard index`."""

import os
from collections.abc import Iterator, Sequence

from runcard.catalog.database import CatalogDatabase, CatalogError
from runcard.catalog.experiment_filling import fill_experiments
from runcard.catalog.filling import FillResult, Progress, fill
from runcard.catalog.plan_filling import fill_plans
from runcard.catalog.remote_filling import fill_remote, filled_folders
from runcard.catalog.transcript_index import forget_changed
from runcard.errors import StoreError
from runcard.files import printable
from runcard.operations.catalog.open import (
    catalog_path,
    experiments_to_ask,
    is_store,
    projects_to_ask,
    stores_to_ask,
)
from runcard.plans.known_projects import has_plans, note_project, project_with_root
from runcard.plans.project import Project
from runcard.store import layout
from runcard.store.known_stores import note_store
from runcard.store.remote.urls import is_url

_DEEPEST = 8  # folders below a root in which stores are looked for


def index(
    roots: Sequence[str] = (), *, rebuild: bool = False, progress: Progress | None = None
) -> Iterator[FillResult]:
    """Bring the catalog up to date with all known stores and projects with plans, or with those at and below `roots`, looking
    at every record and plan.

    A root can be the URL of a folder of archives in object storage; without roots, those that were indexed before are looked at, too.
    With `rebuild` it is emptied first.
    """
    urls = [root for root in roots if is_url(root)]
    folders = [root for root in roots if not is_url(root)]
    stores, projects = find_below(folders) if roots else (stores_to_ask(), projects_to_ask())
    with CatalogDatabase(catalog_path()) as database:
        urls = urls if roots else filled_folders(database)
        if rebuild:
            database.clear()
        done: list[str] = []
        for store in dict.fromkeys(map(os.path.realpath, stores)):
            note_store(store)
            yield _fill(database, store, done, progress)
            done.append(store)
        forget_changed(database)
        fill_experiments(database, experiments_to_ask())
        for url in urls:
            yield fill_remote(database, url, progress)
        for project in projects:
            note_project(project.root)
            yield fill_plans(database, project)


def _fill(
    database: CatalogDatabase, store: str, done: Sequence[str], progress: Progress | None
) -> FillResult:
    """Fill a store. A catalog that turns out to be damaged is replaced, and the stores that are done are read again."""
    try:
        with database.checked():
            return fill(database, store, progress)
    except CatalogError as error:
        if not error.is_damaged:
            raise
    database.clear()
    for earlier in done:
        fill(database, earlier)
    return fill(database, store, progress)


def find_below(roots: Sequence[str]) -> tuple[list[str], list[Project]]:
    """The stores, and the projects with plans, at folders and below them; raises StoreError for one where there are none."""
    stores: list[str] = []
    projects: dict[str, Project] = {}
    for root in roots:
        own_stores, own_projects = _find_below(root)
        stores += own_stores
        projects |= {project.root: project for project in own_projects}
    return stores, list(projects.values())


def _find_below(root: str) -> tuple[list[str], list[Project]]:
    if not os.path.isdir(root):
        raise StoreError(f"{printable(root)} is not a folder", hint="name a folder that has records below it")
    stores, projects, work = [], [], [(root, 0)]
    while work:
        folder, depth = work.pop()
        if has_plans(folder):
            projects.append(project_with_root(os.path.realpath(folder)))
        if is_store(folder):
            stores.append(folder)
        elif depth < _DEEPEST:
            work += [(os.path.join(folder, name), depth + 1) for name in layout.possible_records(folder)]
    if not stores and not projects:
        raise StoreError(
            f"there are no records and no plans at {printable(root)} or below",
            hint="name the folder of a store, or of a project",
        )
    return sorted(stores), sorted(projects, key=lambda project: project.root)
