"""Open the catalog, and bring it up to date before it is asked."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple

from runcard.catalog.database import CatalogDatabase, CatalogError
from runcard.catalog.filling import catch_up, was_read
from runcard.errors import StoreError
from runcard.files.user_folders import data_folder
from runcard.operations.catalog.kept_catalogs import take_catalog, use_catalog
from runcard.settings import CATALOG, Settings, read_settings
from runcard.settings.value_types import is_server_url, is_url
from runcard.store import layout
from runcard.store.known_stores import known_stores
from runcard.store.stores_at_hand import stores_at_hand

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runcard.plans.project import Project

_FILE = "catalog.db"
_PATIENCE = 4.0  # seconds to wait for other processes before a question, in all


def catalog_path(settings: Settings | None = None) -> str:
    """The file of the catalog: as the settings say, or in the user's data folder."""
    stated: str | None = (settings or read_settings())[CATALOG]
    if is_server_url(stated):
        return str(stated)
    if is_url(stated):
        raise CatalogError(
            "the URL of the catalog is not that of a PostgreSQL server",
            hint="write a path, or postgresql://USER@HOST/DATABASE",
            is_shared=True,
        )
    if stated is not None:
        return os.path.abspath(stated)
    folder = data_folder()
    if folder is None:
        raise CatalogError("there is no home for the catalog", hint="name a file in RUNCARD_CATALOG")
    return os.path.join(folder, _FILE)


def stores_to_ask() -> list[str]:
    """The stores that records are looked for in: those that were noted, and those at hand."""
    at_hand = [os.path.realpath(store) for store in stores_at_hand() if is_store(store)]
    return list(dict.fromkeys([*at_hand, *known_stores()]))


def is_store(folder: str) -> bool:
    """Whether a folder has records: it has files of a store, or a directory that looks like a record."""
    return os.path.isdir(layout.own_folder(folder)) or bool(layout.records(folder))


def projects_to_ask() -> "list[Project]":
    """The projects that plans are looked for in: those that were noted, and the one at hand."""
    from runcard.plans.known_projects import has_plans, known_projects  # noqa: PLC0415 - only for plans
    from runcard.plans.project import project_at  # noqa: PLC0415

    here = project_at(os.curdir)
    at_hand = [here] if here is not None and has_plans(here.root) else []
    return list(dict.fromkeys([*at_hand, *known_projects()]))


def experiments_to_ask() -> list[str]:
    """The folders of experiments: those whose store was noted, and those at hand."""
    from runcard.catalog.experiment_filling import experiment_folder_of  # noqa: PLC0415 - only for experiments
    from runcard.store.experiments import experiment_names  # noqa: PLC0415

    here = map(layout.experiment_folder, experiment_names())
    at_hand = [os.path.realpath(folder) for folder in here if not os.path.islink(folder)]
    of_stores = (experiment_folder_of(store) for store in known_stores())
    return list(dict.fromkeys([*at_hand, *(folder for folder in of_stores if folder is not None)]))


class _CatalogSources(NamedTuple):
    """What the catalog is brought up to date with."""

    stores: "Sequence[str]"
    projects: "Sequence[Project]"
    experiments: "Sequence[str]"  # folders

    def catch_up(self, database: CatalogDatabase, deadline: float) -> None:
        """Catch up with everything. Other processes are waited for until the deadline, however many stores there are."""
        with database.checked():
            for store in self.stores:
                left = max(0, deadline - monotonic())
                database.wait_at_most(left)
                catch_up(database, store, left)
            database.settle()  # also what a process wrote that was killed then
            self._catch_up_with_others(database)

    def _catch_up_with_others(self, database: CatalogDatabase) -> None:
        if self.projects:
            from runcard.catalog.plan_filling import fill_plans  # noqa: PLC0415 - only for plans

            for project in self.projects:
                fill_plans(database, project)
        if self.experiments:
            from runcard.catalog.experiment_filling import fill_experiments  # noqa: PLC0415 - only for experiments

            fill_experiments(database, self.experiments)

    def were_read(self, database: CatalogDatabase) -> bool:
        """Whether everything was read once, even if it is not the newest."""
        if not all(was_read(database, store) for store in self.stores):
            return False
        if not self.projects:
            return True
        from runcard.catalog.plan_filling import plans_were_read  # noqa: PLC0415 - as above

        return all(plans_were_read(database, project) for project in self.projects)


@contextmanager
def open_catalog(
    stores: list[str] | None = None,
    path: str | None = None,
    *,
    projects: "Sequence[Project]" = (),
    experiments: "Sequence[str]" = (),
    reads_all: bool = True,
) -> Iterator[CatalogDatabase]:
    """The catalog, or that in another file, up to date with these stores, by default with all that are known; and with the
    plans of these projects, and these folders of experiments.

    If it cannot be brought up to date, because it is locked, read-only or on a full disk, it is as it was, with a warning;
    if it cannot be used at all, the stores are read into one in memory, unless `reads_all` is false.
    """
    sources = _CatalogSources(stores_to_ask() if stores is None else stores, projects, experiments)
    try:
        with use_catalog(_current_catalog(sources, path, reads_all=reads_all)) as database:
            yield database
    except CatalogError as error:
        if error.is_damaged:
            with CatalogDatabase(path or catalog_path()) as damaged:
                damaged.clear()
            raise CatalogError(error.message, hint="ask again: the catalog is built anew") from error
        raise


def _current_catalog(sources: _CatalogSources, path: str | None, *, reads_all: bool) -> CatalogDatabase:
    deadline = monotonic() + _PATIENCE
    try:
        database = take_catalog(path or catalog_path())
    except StoreError as error:
        if not reads_all or (isinstance(error, CatalogError) and error.is_shared):
            raise
        return _in_memory(sources, error)
    try:
        try:
            sources.catch_up(database, deadline)
        except CatalogError as error:
            if not error.is_damaged:
                raise
            database.clear()
            sources.catch_up(database, deadline)
    except StoreError as error:
        if not database.host and not sources.were_read(database):
            database.__exit__()
            if not reads_all:
                raise
            return _in_memory(sources, error)
        database.warning = f"{error.message}: this may not be the newest"
    except BaseException:
        database.__exit__()
        raise
    return database


def _in_memory(sources: _CatalogSources, error: StoreError) -> CatalogDatabase:
    database = CatalogDatabase(None)
    sources.catch_up(database, monotonic())  # which nothing else uses
    database.warning = f"{error.message}: all records were read instead"
    return database
