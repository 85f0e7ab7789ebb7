"""Records that lie on another host, which a catalog on a server knows: they cannot be opened here."""

import contextlib

from runcard.catalog.database import CatalogDatabase
from runcard.errors import RuncardError, StoreError
from runcard.files import printable, shell_word
from runcard.operations.catalog.open import catalog_path
from runcard.settings.value_types import is_server_url

_FIND = (
    "SELECT s.host, r.path FROM records r JOIN stores s ON s.id = r.store "
    "WHERE (r.record_id = ? OR r.name = ? OR r.path = ?) AND s.host != ? ORDER BY s.host, r.path LIMIT 1"
)


def on_other_host(word: str) -> StoreError | None:
    """Where the record is that a word names by its id, its name or its path; None if no other host has it, or nobody knows."""
    with contextlib.suppress(RuncardError):
        place = catalog_path()
        if is_server_url(place):
            with CatalogDatabase(place) as database:
                found = database.rows(_FIND, (word, word, word, database.host))
            if found:
                host, path = found[0]
                return StoreError(
                    f"{printable(word)} is not on this machine: it is {printable(path)} on {printable(host)}",
                    hint=f"on {printable(host)}: runcard show {shell_word(path)}",
                )
    return None
