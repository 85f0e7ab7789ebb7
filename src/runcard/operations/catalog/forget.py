"""Forget a store that was deleted on purpose, so that it is not listed as one that cannot be reached."""

import contextlib
import os

from runcard.catalog.database import CatalogDatabase
from runcard.catalog.experiment_filling import experiment_folder_of, forget_experiment
from runcard.catalog.filling import forget
from runcard.errors import RuncardError
from runcard.operations.catalog.open import catalog_path
from runcard.settings.value_types import is_server_url
from runcard.store import known_stores


def forget_store(store: str) -> None:
    """Forget a store; never fails. A catalog that cannot be written lists its records on."""
    known_stores.forget_store(store)
    with contextlib.suppress(RuncardError, OSError):
        path = catalog_path()
        if is_server_url(path) or os.path.exists(path):
            with CatalogDatabase(path) as database:
                forget(database, store)
                if (folder := experiment_folder_of(store)) is not None:
                    forget_experiment(database, folder)
