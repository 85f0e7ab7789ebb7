"""The catalog in use: where it is, and whether it answers."""

import os
from typing import NamedTuple

from runcard.encoding import JsonObject
from runcard.errors import RuncardError
from runcard.operations.catalog.open import catalog_path
from runcard.settings.value_types import is_server_url


class CatalogState(NamedTuple):
    """The catalog, without its password."""

    place: str | None
    records: int | None = None  # None: unknown, or there is none yet
    hosts: int | None = None  # that share it
    problem: str | None = None
    hint: str | None = None

    def to_dict(self) -> JsonObject:
        return self._asdict()


def catalog_state() -> CatalogState:
    """Ask the catalog how many records it has. A file is not made for that."""
    from runcard.catalog.database import CatalogDatabase  # noqa: PLC0415 - long to load

    try:
        place = catalog_path()
        is_server = is_server_url(place)
        if not is_server and not os.path.exists(place):
            return CatalogState(place)
        with CatalogDatabase(place) as database:
            ((records,),) = database.rows("SELECT count(*) FROM records")
            ((hosts,),) = database.rows("SELECT count(DISTINCT host) FROM stores")
            return CatalogState(database.path, records, hosts if is_server else None)
    except RuncardError as error:
        return CatalogState(None, problem=error.message, hint=error.hint)
