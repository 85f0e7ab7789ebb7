"""Records side by side: what differs in two; the figures, values and outputs of any number."""

from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlencode

from starlette.routing import Route

from runcard.errors import UsageError
from runcard.operations.catalog.value_table import value_table
from runcard.operations.checks.diff import RecordDiff, diff
from runcard.operations.checks.show import ShownRun, show_record
from runcard.views.record_diff import change_cells
from runcard.web.pages import render
from runcard.web.record_address import AddressedRecord, find_record, path_key
from runcard.web.run import digests

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starlette.requests import Request
    from starlette.responses import Response

    from runcard.encoding import JsonObject
    from runcard.operations.catalog.value_table import ValueTable
    from runcard.operations.checks.diff import FileChanges
    from runcard.store.record import Record

MOST_RECORDS = 10
_MOST_CHANGES = 200  # of a section
_MOST_FILES, _MOST_LINES = 50, 400
_KEY = 10  # characters
_FIGURES = ("model", "duration", "calls", "tokens", "input", "output", "cache_read", "cache_write", "errors")
_GROUPS = {
    "config": "Configuration",
    "label": "Labels",
    "metric": "Metrics",
    "score": "Scores",
    "tag": "Tags",
}


def record_word(row: "JsonObject") -> str:
    """A record as the address of a comparison names it."""
    return f"{path_key(row['path'])}:{row['id']}"


def compare_url(*rows: "JsonObject") -> str:
    return "/compare?" + urlencode([("record", record_word(row)) for row in rows])


def compare_page(request: "Request") -> "Response":
    """Two or more records, as `record=KEY:ID` or `record=ID` names them."""
    words = list(dict.fromkeys(word for word in request.query_params.getlist("record") if word))
    if len(words) < 2:
        raise UsageError(
            "a comparison needs two records", hint="mark two records in the list, then choose Compare"
        )
    if len(words) > MOST_RECORDS:
        raise UsageError(
            f"at most {MOST_RECORDS} records are compared",
            hint="mark fewer; a list with columns such as config.temperature shows more",
        )
    found = [_find(word) for word in words]
    records = [each.open() for each in found]
    rows = [each.row for each in found]
    result = None
    if len(rows) == 2 and rows[0]["kind"] == rows[1]["kind"]:
        result = diff(records[0].path, records[1].path)
    return render(
        request,
        "compare.html",
        rows=rows,
        diff=result,
        sections=[] if result is None else _sections(result),
        files=[] if result is None else _files(result),
        swapped=compare_url(*reversed(rows)),
        figures=_figures(rows),
        groups=_value_groups(table := value_table(records)),
        hidden=table.hidden,
        outputs=(outputs := _output_lines(records))[:_MOST_FILES],
        hidden_outputs=max(0, len(outputs) - _MOST_FILES),
        differs=_differs,
        most_files=_MOST_FILES,
        most_lines=_MOST_LINES,
    )


def _find(word: str) -> AddressedRecord:
    key, colon, record_id = word.partition(":")
    has_key = bool(colon) and len(key) == _KEY
    return find_record(None, record_id if has_key else word, key if has_key else None, _FIGURES)


def _differs(values: "Sequence[object]") -> bool:
    return any(value != values[0] for value in values)


def _figures(rows: "list[JsonObject]") -> "list[tuple[str, list[object]]]":
    """The figures of a list that one of the records has: name, and a value for each record."""
    lines = [(name, [row[name] for row in rows]) for name in _FIGURES]
    return [(name, values) for name, values in lines if any(value is not None for value in values)]


def _value_groups(table: "ValueTable") -> "list[tuple[str, list[tuple[str, tuple[object, ...]]]]]":
    """The values by kind, such as `config.`; in each those that differ come first."""
    groups: dict[str, list[tuple[str, tuple[object, ...]]]] = {}
    for line in table.lines:
        kind, _, rest = line.name.partition(".")
        title = _GROUPS.get(kind)
        groups.setdefault(title or "Other", []).append((rest if title else line.name, line.values))
    return sorted(groups.items(), key=lambda group: [*_GROUPS.values(), "Other"].index(group[0]))


class OutputLine(NamedTuple):
    """A file in each record, by its digest; None: the record does not list it."""

    path: str
    digests: tuple[str | None, ...]


def _output_lines(records: "list[Record]") -> list[OutputLine]:
    """The outputs of all records, those that differ first."""
    known = [_outputs(record) for record in records]
    paths = sorted({path for each in known for path in each})
    lines = [OutputLine(path, tuple(each.get(path) for each in known)) for path in paths]
    return sorted(lines, key=lambda line: not _differs(line.digests))


def _outputs(record: "Record") -> dict[str, str]:
    """The digests of a run's outputs; of a session, those of all its files."""
    listed, shown = digests(record), show_record(record)
    if not isinstance(shown, ShownRun):
        return listed
    return {path: listed[path] for path, _ in shown.files if path in listed}


def _sections(result: RecordDiff) -> list[tuple[str, list[tuple[str, str, str]], int]]:
    """The changes by section: name, before, now; and how many are left out."""
    sections = []
    for section, group in groupby(result.changes, lambda change: change.section):
        members = list(group)
        shown = [change_cells(change, result.at_least) for change in members[:_MOST_CHANGES]]
        sections.append((section, shown, max(0, len(members) - _MOST_CHANGES)))
    return sections


def _files(result: RecordDiff) -> list[tuple[str, "FileChanges"]]:
    return [
        (title, files) for title, files in (("Inputs", result.inputs), ("Outputs", result.outputs)) if files
    ]


ROUTES = [Route("/compare", compare_page)]
