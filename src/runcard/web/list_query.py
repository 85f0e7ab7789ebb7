"""What a list shows, as its address has it: the filters of `runcard ls`, the columns, the order, the page."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from runcard.catalog.columns import CALLS, COLUMNS, EXPERIMENTS, INSTANCES, PLANS, RECORDS
from runcard.catalog.searching import Filters
from runcard.errors import UsageError
from runcard.operations.catalog.list_records import DEFAULT_COLUMNS, RUNS, SESSIONS

if TYPE_CHECKING:
    from starlette.datastructures import QueryParams

TITLES = {
    RECORDS: "All records",
    RUNS: "Runs",
    SESSIONS: "Sessions",
    INSTANCES: "Agents",
    CALLS: "Model calls",
    PLANS: "Test plans",
    EXPERIMENTS: "Experiments",
}
PAGE = 50
_MOST_PAGE = 500
_MOST_COLUMNS = 40
_LAST_ROW = 10_000_000
_TEXTS = ("model", "status", "since", "until", "experiment", "where", "text")


@dataclass(frozen=True)
class ListQuery:
    """A question about one table."""

    what: str
    filters: Filters
    columns: tuple[str, ...]
    sort: tuple[str, ...] | None
    page: int = 1
    limit: int = PAGE
    has_own_columns: bool = False

    @property
    def offset(self) -> int:
        return (self.page - 1) * self.limit

    @property
    def address(self) -> str:
        """The address of this list."""
        return self._address(f"/{self.what}")

    @property
    def csv(self) -> str:
        """The address of all its pages as CSV."""
        return replace(self, page=1)._address(f"/{self.what}.csv")  # noqa: SLF001 - of its own class

    def _address(self, path: str) -> str:
        pairs = [(name, value) for name in _TEXTS if (value := getattr(self.filters, name)) is not None]
        pairs += [("tag", tag) for tag in self.filters.tags]
        if self.has_own_columns:
            pairs.append(("columns", ",".join(self.columns)))
        if self.sort is not None:
            pairs.append(("sort", ",".join(self.sort)))
        pairs += [("page", str(self.page))] if self.page > 1 else []
        pairs += [("limit", str(self.limit))] if self.limit != PAGE else []
        return f"{path}?{urlencode(pairs)}" if pairs else path

    def at_page(self, page: int) -> "ListQuery":
        return replace(self, page=page)

    def sorted_by(self, column: str) -> "ListQuery":
        """The same sorted by a column: from the largest down, or up if it was so already."""
        sort = (column,) if self.sort == (f"-{column}",) else (f"-{column}",)
        return replace(self, sort=sort, page=1)

    def order_of(self, column: str) -> str | None:
        """How this list is sorted by a column, as ARIA says it."""
        first = (self.sort or (() if self.what == PLANS else ("-started",)))[:1]
        if first == (column,):
            return "ascending"
        return "descending" if first == (f"-{column}",) else None

    @property
    def known_columns(self) -> list[str]:
        table = self.what if self.what in COLUMNS else RECORDS
        return list(COLUMNS[table])

    @property
    def default_columns(self) -> tuple[str, ...]:
        return DEFAULT_COLUMNS[self.what]

    @property
    def has_facts(self) -> bool:
        """Whether values of a record, such as `config.temperature`, can be columns."""
        return self.what in {RECORDS, RUNS, SESSIONS}

    @property
    def fact_columns(self) -> list[str]:
        """The columns that are such values."""
        return [name for name in self.columns if name not in self.known_columns]

    @property
    def is_filtered(self) -> bool:
        return self.filters != Filters()


def read_query(what: str, asked: "QueryParams") -> ListQuery:
    """The question in an address; raises UsageError for one that is wrong."""
    texts: dict[str, Any] = {name: value for name in _TEXTS if (value := asked.get(name, "").strip())}
    filters = Filters(**texts, tags=tuple(tag for tag in asked.getlist("tag") if tag))
    # Checkboxes send a name each, a text field several with commas.
    columns = [part.strip() for text in asked.getlist("columns") for part in text.split(",")]
    columns = list(dict.fromkeys(filter(None, columns)))
    if len(columns) > _MOST_COLUMNS:
        raise UsageError(f"a list has at most {_MOST_COLUMNS} columns", hint="choose fewer")
    sort = tuple(filter(None, (part.strip() for part in asked.get("sort", "").split(","))))
    limit = _number(asked, "limit", PAGE, _MOST_PAGE)
    return ListQuery(
        what,
        filters,
        tuple(columns) or DEFAULT_COLUMNS[what],
        sort or None,
        _number(asked, "page", 1, _LAST_ROW // limit),
        limit,
        has_own_columns=bool(columns),
    )


def _number(asked: "QueryParams", name: str, default: int, most: int) -> int:
    text = asked.get(name)
    if not text:
        return default
    if not (text.isascii() and text.isdecimal() and len(text) < 10 and 1 <= int(text) <= most):
        raise UsageError(f"{name} is not a number from 1 to {most:,}", hint=f"leave out {name}")
    return int(text)
