"""The names of records, for the completion of a shell."""

from runcard.catalog.searching import names_beginning_with
from runcard.errors import RuncardError
from runcard.operations.catalog.open import open_catalog

_MOST = 50


def complete_record(
    beginning: str, *, catalog: str | None = None, stores: list[str] | None = None
) -> list[tuple[str, str]]:
    """Ids and names that begin like this, newest first, each with what it is; none for a path, and none if that fails.

    `catalog` is the file of another catalog, `stores` those that it is of.
    """
    if "/" in beginning or beginning.startswith((".", "~")):
        return []
    latest = [("@latest", "the newest record")] if "@latest".startswith(beginning) else []
    try:
        with open_catalog(stores, catalog, reads_all=False) as database:
            found = names_beginning_with(database, beginning, _MOST)
        newest = dict(reversed(found))  # an id that was collected again is there once
        return [*latest, *((name, newest.pop(name)) for name, _ in found if name in newest)]
    except (RuncardError, OSError):
        return latest
