"""The report of `runcard verify` as one file, for people who have no runcard: a web page, Markdown or CSV.

Each record has a row: the verdict, who vouches for it, by when it existed, and what is missing or wrong. The page and the Markdown end
with what is not proven; in CSV, which has no place for that, each row says it. Texts from records are escaped in all of them. The
page is one file without scripts and links to elsewhere.
"""

import csv
import io
from collections.abc import Iterable, Iterator
from html import escape as escape_html
from typing import Final, Literal, NamedTuple

from runcard.files import printable
from runcard.views.costs_table import csv_cell
from runcard.views.markdown import code, escape
from runcard.views.verification_style import STYLE

TITLE: Final = "Verification report"
COLUMNS: Final = ("record", "verdict", "vouched for by", "existed by", "missing or wrong")
GOOD: Final = "good"
WARNING: Final = "warning"
BAD: Final = "bad"
State = Literal["good", "warning", "bad"]
_LABELS = {GOOD: "OK", WARNING: "Look closer", BAD: "Do not rely on it"}
_NOTHING = "nothing"


class ReportRow(NamedTuple):
    """One record, or the history of a store."""

    record: str
    state: State
    verdict: str
    vouched_by: str
    existed_by: str
    missing: tuple[str, ...]
    not_proven: tuple[str, ...] = ()


class VerificationReport(NamedTuple):
    """What a report says."""

    made_at: str
    producer: str
    command: str  # that makes it again
    summary: str
    rows: tuple[ReportRow, ...]
    not_proven: tuple[str, ...]


def html_page(report: VerificationReport) -> Iterator[bytes]:
    """A page that needs no other file, in blocks."""
    heading = "".join(f'<th scope="col">{column.capitalize()}</th>' for column in COLUMNS)
    yield (
        f'{MARKS[".html"]}<html lang="en"><head><meta charset="utf-8">\n'
        f"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n<title>{TITLE}</title>\n'
        f"<style>\n{STYLE}</style></head>\n<body><main>\n<h1>{TITLE}</h1>\n"
        f'<p class="lead">{_html(report.summary)}</p>\n'
        f"<p>Made {_html(report.made_at)} by {_html(report.producer)}.</p>\n"
        f"<table>\n<thead><tr>{heading}</tr></thead>\n<tbody>\n"
    ).encode()
    for row in report.rows:
        yield _html_row(row).encode()
    items = "".join(f"<li>{_html(text)}</li>\n" for text in report.not_proven)
    yield (
        f"</tbody></table>\n<section><h2>What this does not prove</h2>\n<ul>\n{items}</ul></section>\n"
        f"<section><h2>Make it again</h2>\n<p>{_html(_GENUINE)}</p>\n<pre>{_html(report.command)}</pre></section>\n"
        "</main></body></html>\n"
    ).encode()


_GENUINE = "Anyone can write such a report. To rely on it, make it yourself from the records, with your own files of whom you trust:"


def _html(text: str) -> str:
    return escape_html(printable(text))


def _html_row(row: ReportRow) -> str:
    missing = "".join(f"<li>{_html(text)}</li>" for text in row.missing)
    cells = (
        f'<span class="name">{_html(row.record)}</span>',
        f'<b class="{row.state}">{_LABELS[row.state]}</b> <span>{_html(row.verdict)}</span>',
        _html(row.vouched_by),
        _html(row.existed_by),
        f"<ul>{missing}</ul>" if missing else _NOTHING,
    )
    labelled = zip(COLUMNS, cells, strict=True)
    return (
        "<tr>"
        + "".join(f'<td data-label="{label.capitalize()}">{cell}</td>' for label, cell in labelled)
        + "</tr>\n"
    )


def markdown_page(report: VerificationReport) -> Iterator[bytes]:
    """Markdown with a table, in blocks."""
    heading = " | ".join(column.capitalize() for column in COLUMNS)
    yield (
        f"{MARKS['.md']}\n\n{escape(report.summary)}\n\nMade {escape(report.made_at)} by {escape(report.producer)}.\n\n"
        f"| {heading} |\n|{' --- |' * len(COLUMNS)}\n"
    ).encode()
    for row in report.rows:
        missing = "<br>".join(map(escape, row.missing)) or _NOTHING
        verdict = f"**{_LABELS[row.state]}**: {escape(row.verdict)}"
        cells = (escape(row.record), verdict, escape(row.vouched_by), escape(row.existed_by), missing)
        yield f"| {' | '.join(cells)} |\n".encode()
    items = "".join(f"* {escape(text)}\n" for text in report.not_proven)
    yield f"\n## What this does not prove\n\n{items}\n## Make it again\n\n{_GENUINE}\n\n{code(report.command)}\n".encode()


def csv_table(report: VerificationReport) -> Iterator[bytes]:
    """CSV, in blocks. All cells are in quotes: a program that takes `;` for the separator finds no formula in a name."""
    yield MARKS[".csv"].encode()
    for row in report.rows:
        cells = (row.record, row.state, row.verdict, row.vouched_by, row.existed_by)
        lists = ("; ".join(row.missing), "; ".join(row.not_proven))
        yield _csv_line([*cells, *lists]).encode()


def _csv_line(cells: Iterable[str]) -> str:
    out = io.StringIO()
    csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="\n").writerow(map(csv_cell, cells))
    return out.getvalue()


# How a report begins, by the suffix of its file.
MARKS: Final = {
    ".html": f"<!doctype html>\n<!-- {TITLE} of runcard -->\n",
    ".csv": _csv_line(
        ["record", "state", "verdict", "vouched_for_by", "existed_by", "missing_or_wrong", "not_proven"]
    ),
    ".md": f"# {TITLE}",
}
FORMS: Final = {".html": html_page, ".csv": csv_table, ".md": markdown_page}
