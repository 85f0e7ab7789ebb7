"""A safe look into a file of a record. Nothing in a file ever runs: texts are escaped, Markdown is cleaned, images are
recognized by their first bytes and sent with a type that no browser takes for a page."""

import csv
import io
import json
from typing import TYPE_CHECKING, Literal, NamedTuple

from runcard.encoding import decode_json
from runcard.errors import RuncardError
from runcard.files import file_type

if TYPE_CHECKING:
    from runcard.store.record import Record

MOST = 256 << 10  # bytes that are shown
MOST_IMAGE = 32 << 20
_MOST_ROWS, _MOST_CELLS = 200, 50
_MOST_MARKDOWN = 64 << 10  # characters: brackets without end take quadratic time
_LONGEST_LINE = 20_000  # characters: browsers take long to lay out longer ones
_IMAGES = {b"\x89PNG\r\n\x1a\n": "image/png", b"\xff\xd8\xff": "image/jpeg", b"GIF8": "image/gif"}

PreviewKind = Literal["text", "markdown", "table", "image", "binary", "missing"]


class FilePreview(NamedTuple):
    """A file as a page shows it."""

    kind: PreviewKind
    text: str = ""  # of Markdown: clean HTML
    rows: tuple[tuple[str, ...], ...] = ()
    cut: str | None = None  # what is left out


def preview(record: "Record", path: str) -> FilePreview:
    """The beginning of a file of a record."""
    file = record.open(path)
    if file is None:
        return FilePreview("missing")
    with file:
        data = file.read(MOST + 1)
    is_cut = len(data) > MOST
    cut = f"only the first {MOST >> 10} KiB are shown" if is_cut else None
    if image_type(data) is not None:
        return FilePreview("image")
    if b"\0" in data[:8192]:
        return FilePreview("binary")
    text = data[:MOST].decode("utf-8", "replace")
    suffix = file_type(path)
    if suffix in {".md", ".markdown"} and len(text) <= _MOST_MARKDOWN:
        return FilePreview("markdown", markdown_html(text), cut=cut)
    if suffix in {".csv", ".tsv"}:
        return _table(text, "\t" if suffix == ".tsv" else ",", cut)
    if suffix == ".json" and not is_cut:
        text = _indented(text)
    return _text(text, cut)


def _text(text: str, cut: str | None) -> FilePreview:
    lines = text.split("\n")
    longest = max(map(len, lines), default=0)
    if longest > _LONGEST_LINE:
        text = "\n".join(
            line if len(line) <= _LONGEST_LINE else f"{line[:_LONGEST_LINE]} …" for line in lines
        )
        note = f"lines are cut after {_LONGEST_LINE:,} characters"
        cut = f"{cut}; {note}" if cut else note
    return FilePreview("text", text, cut=cut)


def image_type(data: bytes) -> str | None:
    """The type of an image that is shown, by its first bytes. SVG is not: it can hold scripts, and is shown as text."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for magic, kind in _IMAGES.items() if data.startswith(magic)), None)


def markdown_html(text: str, *, breaks: bool = False) -> str:
    """Markdown as HTML with nothing that runs, loads, or sends: no scripts, styles, images, forms."""
    import nh3  # noqa: PLC0415 - only for Markdown
    from markdown_it import MarkdownIt  # noqa: PLC0415

    html = (
        MarkdownIt("commonmark", {"html": False, "maxNesting": 20, "breaks": breaks})
        .enable("table")
        .render(text)
    )
    tags = {
        *(
            [
                "p",
                "br",
                "hr",
                "h1",
                "h2",
                "h3",
                "h4",
                "h5",
                "h6",
                "ul",
                "ol",
                "li",
                "blockquote",
                "pre",
                "code",
                "em",
                "strong",
                "a",
                "del",
            ]
        ),
        *(["table", "thead", "tbody", "tr", "th", "td"]),
    }
    return nh3.clean(
        html,
        tags=tags,
        attributes={"a": {"href", "title"}},
        url_schemes={"http", "https", "mailto"},
        link_rel="noopener noreferrer nofollow",
    )


def _indented(text: str) -> str:
    try:
        value = decode_json(text.encode())
        return json.dumps(value, indent=2, ensure_ascii=False)
    except (RuncardError, ValueError, RecursionError):
        return text


def _table(text: str, delimiter: str, cut: str | None) -> FilePreview:
    rows: list[tuple[str, ...]] = []
    notes = [cut] if cut else []
    try:
        for row in csv.reader(io.StringIO(text), delimiter=delimiter):
            if len(rows) == _MOST_ROWS:
                notes.append(f"only the first {_MOST_ROWS} rows are shown")
                break
            if len(row) > _MOST_CELLS:
                note = f"only the first {_MOST_CELLS} columns are shown"
                notes += [] if note in notes else [note]
            rows.append(tuple(cell[:500] for cell in row[:_MOST_CELLS]))
    except csv.Error:
        return _text(text, cut)
    return FilePreview("table", rows=tuple(rows), cut="; ".join(notes) or None)
