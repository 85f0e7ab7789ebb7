"""A record as one file that opens from disk: the page of the server, without what needs a server.

The page is made by the same views. Then scripts, forms and links to the server are taken out, and what a browser would load later
(events, the audit trail, looks into files) is put in, as far as it fits; each cut is named. Nothing in the file runs: it has no
script, and its policy allows none.
"""

import asyncio
import base64
import os
from hashlib import sha256
from html import escape
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote, urlsplit

from runcard.errors import StoreError
from runcard.operations.plans.show import show_plan
from runcard.plans.plan_files import is_plan_path
from runcard.store.find_record import open_record
from runcard.version import __version__
from runcard.web.app import make_views
from runcard.web.pages import STATIC
from runcard.web.plan import plan_url
from runcard.web.record_address import AddressedRecord, record_url

if TYPE_CHECKING:
    from starlette.applications import Starlette

MOST_PARTS = 4 << 20  # bytes of looks into files, and of images
MOST_BYTES = 32 << 20  # of the file
_SVG_VOID = frozenset({"rect", "path", "line", "circle", "polyline"})
_VOID = _SVG_VOID | {"br", "hr", "img", "input", "meta", "link"}
_DROPPED = frozenset(
    {"script", "link", "form", "button", "nav", "meta", "input", "select", "datalist", "title"}
)
_ATTRIBUTES = frozenset(
    {
        *("class", "id", "role", "title", "scope", "colspan", "tabindex", "datetime", "open", "alt", "lang"),
        *(
            "x",
            "y",
            "x1",
            "x2",
            "y1",
            "y2",
            "cx",
            "cy",
            "r",
            "rx",
            "d",
            "width",
            "height",
            "points",
            "text-anchor",
        ),
        *("viewbox", "preserveaspectratio"),
    }
)
_LEFT_OUT = frozenset({"busy", "copy", "ago"})  # classes
_NOTES = {
    "/lineage": "Where its files came from, and what was made from them, is not in this file: runcard whence FILE",
    "chart": "The chart is not in this file. The table has its figures.",
    "verdict": "This file proves nothing. Verify the record itself: runcard verify RECORD",
}


class StaticPage(NamedTuple):
    """The file, and the id of the record in it."""

    id: str
    data: bytes


class ViewAnswer(NamedTuple):
    """What a view gave."""

    status: int
    data: bytes
    type: str


def static_page(record: str | os.PathLike[str]) -> StaticPage:
    """The page of a run, a session, or a plan (a path that ends in `.yml`); raises RuncardError if it cannot be made."""
    path = os.fspath(record)
    if is_plan_path(path):
        shown = show_plan(path)
        row: dict[str, Any] = {"path": shown.plan.path}
        name, url = shown.target, plan_url(shown.plan.path)
    else:
        opened = open_record(path)
        row = {"kind": opened.kind, "id": opened.id, "path": opened.path, "store": opened.path}
        name, url = opened.id, record_url(opened.kind, opened.id)
    views = make_views()
    views.state.only_record = AddressedRecord(row, [], None)
    return StaticPage(name, asyncio.run(_page(views, url, name)))


async def _page(views: "Starlette", url: str, name: str) -> bytes:
    answer = await _ask(views, url)
    if answer.status != 200:
        raise StoreError("this record cannot be shown", hint="see what `runcard validate` says of it")
    body = await _PartLoader(views).text(_pieces(answer))
    data = _frame(name, body).encode("utf-8", "backslashreplace")
    if len(data) > MOST_BYTES:
        raise StoreError(
            f"the page has more than {MOST_BYTES >> 20} MiB",
            hint="use `runcard serve`, which shows it in parts",
        )
    return data


class _PartLoader:
    """Puts in what a browser loads later, until there is too much of it."""

    def __init__(self, views: "Starlette") -> None:
        self._views, self._left = views, MOST_PARTS

    async def text(self, pieces: "list[str | _Later]") -> str:
        return "".join([each if isinstance(each, str) else await self._part(each) for each in pieces])

    async def _part(self, later: "_Later") -> str:
        if self._left <= 0:
            return '<p class="cut">Cut: not in this file.</p>'
        answer = await _ask(self._views, later.url)
        self._left -= len(answer.data)
        if later.is_image:
            return _image(answer, self._left)
        return await self.text(_pieces(answer, only_images=True))


def _pieces(answer: ViewAnswer, *, only_images: bool = False) -> "list[str | _Later]":
    """The pieces of a page; of a part of a page, without further parts."""
    writer = _StaticWriter()
    writer.feed(answer.data.decode())
    writer.close()
    return [each for each in writer.pieces if not only_images or isinstance(each, str) or each.is_image]


def _image(answer: ViewAnswer, left: int) -> str:
    if answer.status != 200 or not answer.type.startswith("image/") or left < 0:
        return '<p class="cut">Cut: the image is not in this file.</p>'
    return f'<img class="shown" alt="" src="data:{escape(answer.type)};base64,{base64.b64encode(answer.data).decode()}">'


async def _ask(views: "Starlette", url: str) -> ViewAnswer:
    """What the view at an address gives; no network is used."""
    where = urlsplit(url)
    scope = {
        "type": "http",
        "method": "GET",
        "path": unquote(where.path),
        "raw_path": where.path.encode(),
        "query_string": where.query.encode(),
        "headers": [(b"host", b"localhost"), (b"hx-request", b"true")],
        "scheme": "http",
        "server": ("localhost", 80),
        "client": None,
        "root_path": "",
        "http_version": "1.1",
    }
    status, headers, blocks = 500, dict[bytes, bytes](), list[bytes]()

    async def receive() -> dict[str, Any]:
        await asyncio.sleep(0)
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:  # noqa: ANN401 - as ASGI has it
        nonlocal status, headers
        await asyncio.sleep(0)
        if message["type"] == "http.response.start":
            status, headers = message["status"], dict(message["headers"])
        else:
            blocks.append(message.get("body", b""))

    await views(scope, receive, send)
    return ViewAnswer(status, b"".join(blocks), headers.get(b"content-type", b"").decode())


class _Later(NamedTuple):
    """What a browser would load from the server."""

    url: str
    is_image: bool = False


class _StaticWriter(HTMLParser):
    """The content of a page, without what needs a server. Only known attributes stay."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.pieces: list[str | _Later] = []
        self._open: list[tuple[str, str | None]] = []  # elements, and the tags that they are written as
        self._skipped = 0  # elements that are open inside of one that is left out
        self._is_content = False
        self._later: str | None = None  # what replaces the next placeholder

    def feed(self, data: str) -> None:
        self._is_content = "<main" not in data
        super().feed(data)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        own = {name: value or "" for name, value in attrs}
        if tag == "main":
            self._is_content = True
            return
        if self._skipped:
            self._skipped += tag not in _VOID
            return
        if not self._is_content:
            return
        words = own.get("class", "").split()
        if self._is_replaced(tag, own, words) or tag in _DROPPED or _is_server_link(tag, own):
            self._skipped = int(tag not in _VOID)
            return
        if tag == "details" and "hx-get" in own:
            self._later = own["hx-get"]
        written = "span" if tag == "a" and not _is_kept_link(own.get("href", "")) else tag
        kept = {name: value for name, value in own.items() if name in _ATTRIBUTES or name.startswith("aria-")}
        if written == "a":
            kept |= {"href": own["href"], "rel": "noopener noreferrer"}
        shown = "".join(f' {name}="{escape(value)}"' for name, value in kept.items())
        self.pieces.append(f"<{written}{shown}{'/' if tag in _SVG_VOID else ''}>")
        if tag not in _VOID:
            self._open.append((tag, written))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in _VOID and tag not in _DROPPED:
            self.handle_endtag(tag)

    def _is_replaced(self, tag: str, own: dict[str, str], words: list[str]) -> bool:
        """Whether something else stands for an element."""
        if tag == "img":
            self.pieces.append(_Later(own.get("src", ""), is_image=True))
        elif "lazy" in words:
            path = urlsplit(own.get("hx-get", "")).path
            note = next((note for end, note in _NOTES.items() if path.endswith(end)), None)
            self.pieces.append(_Later(own["hx-get"]) if note is None else _note(note))
        elif "chart" in words or own.get("id") == "verdict":
            self.pieces.append(_note(_NOTES["chart" if "chart" in words else "verdict"]))
        elif self._later is not None and ("preview" in words or "events-place" in words):
            self.pieces.append(_Later(self._later))
            self._later = None
        elif not _LEFT_OUT.intersection(words):
            return False
        return True

    def handle_endtag(self, tag: str) -> None:
        if tag == "main":
            self._is_content = False
            return
        if self._skipped:
            self._skipped -= tag not in _VOID
            return
        if not self._is_content or tag in _VOID:
            return
        if self._open and self._open[-1][0] == tag:
            self.pieces.append(f"</{self._open.pop()[1]}>")

    def handle_data(self, data: str) -> None:
        if self._is_content and not self._skipped:
            self.pieces.append(escape(data, quote=False))


def _is_kept_link(href: str) -> bool:
    return href.startswith(("https://", "http://", "mailto:"))


def _is_server_link(tag: str, own: dict[str, str]) -> bool:
    """Whether it is a link that only makes sense with a server: to download, or to data."""
    if tag != "a":
        return False
    path = urlsplit(own.get("href", "")).path
    return path.startswith("/api/") or path.endswith("/download")


def _note(text: str) -> str:
    return f'<p class="muted">{escape(text)}</p>'


def _frame(name: str, body: str) -> str:
    with open(os.path.join(STATIC, "page.css"), encoding="utf-8") as file:
        style = file.read()
    digest = base64.b64encode(sha256(style.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; form-action 'none'"
    )
    title = "".join(one if one.isprintable() else "?" for one in name)
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{escape(policy)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n<meta name="referrer" content="no-referrer">\n'
        f"<title>{escape(title)} · runcard</title>\n<style>{style}</style>\n</head>\n<body>\n"
        f'<main id="main" class="wrap">\n{body}\n</main>\n<footer class="wrap foot">Written by runcard {escape(__version__)}. '
        "Transcripts of agents are not in this file; runcard serve shows them.</footer>\n</body>\n</html>\n"
    )
