"""Query the catalog with SQL: `runcard query`."""

from runcard.catalog.engine import SqlRows
from runcard.catalog.tables import VIEWS
from runcard.operations.catalog.open import open_catalog, projects_to_ask

ROWS = 10_000
SECONDS = 10.0


def query(sql: str, *, limit: int = ROWS, timeout: float = SECONDS, catalog: str | None = None) -> SqlRows:
    """The rows of one SELECT over the views; nothing can be changed by it."""
    projects = projects_to_ask() if "v1_plans" in sql.lower() else ()
    with open_catalog(path=catalog, projects=projects) as database:
        found = database.ask(sql, limit, timeout)
        return found._replace(warning=database.warning)


def views() -> dict[str, list[str]]:
    """The views and their columns."""
    with open_catalog([]) as database:
        return {
            name: database.columns(database.query(f"SELECT * FROM {name} LIMIT 0"))  # noqa: S608 - names of our own
            for name in VIEWS
        }
