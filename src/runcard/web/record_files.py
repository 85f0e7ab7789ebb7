"""The files of a record: looking into one, and getting it as it is."""

import os
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, quote

from starlette.responses import RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

from runcard.errors import StoreError
from runcard.web.file_preview import MOST_IMAGE, image_type, preview
from runcard.web.pages import render_part
from runcard.web.record_address import FOLDERS, AddressedRecord, find_record, row_url

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

    from starlette.requests import Request

_BLOCK = 1 << 18
_SANDBOX = "sandbox; default-src 'none'"


def found_record(request: "Request") -> AddressedRecord:
    """The record that an address names; where the views are about one record, that one."""
    only: AddressedRecord | None = request.app.state.only_record
    if only is not None:
        return only
    kind = next(kind for kind, folder in FOLDERS.items() if request.url.path.startswith(f"/{folder}/"))
    return find_record(kind, request.path_params["id"], request.query_params.get("at"))


def any_record(request: "Request") -> Response:
    """The page of a run or a session, for a link that does not know which it is."""
    found = find_record(None, request.path_params["id"], request.query_params.get("at"))
    return RedirectResponse(row_url(found.row), 303)


def preview_part(request: "Request") -> Response:
    """The beginning of a file, for the place in the page where it was asked for."""
    found, path = found_record(request), _path(request)
    return render_part(request, "preview.html", preview=preview(found.open(), path), path=path, row=found.row)


def image(request: "Request") -> Response:
    """An image of a record; nothing else is sent as something that a browser shows."""
    file = _open(request)
    with file:
        data = file.read(MOST_IMAGE + 1)
    kind = image_type(data)
    if kind is None or len(data) > MOST_IMAGE:
        raise StoreError("this is not an image that can be shown", hint="download it")
    return Response(data, media_type=kind, headers={"content-security-policy": _SANDBOX})


def download(request: "Request") -> Response:
    """A file as it is, to be saved."""
    name = _path(request).rsplit("/", 1)[-1]
    headers = {
        "content-disposition": f"attachment; filename*=UTF-8''{quote(os.fsencode(name), safe='')}",
        "content-security-policy": _SANDBOX,
    }
    return StreamingResponse(_blocks(_open(request)), media_type="application/octet-stream", headers=headers)


def _open(request: "Request") -> "BinaryIO":
    file = found_record(request).open().open(_path(request))
    if file is None:
        raise StoreError("the record has no such file", hint="it may have been withheld by an amendment")
    return file


def _path(request: "Request") -> str:
    """The path of a file in a record: relative, and without steps up."""
    asked = parse_qs(request.url.query, errors="surrogateescape")  # a name need not be UTF-8
    path = asked.get("file", [""])[0]
    if not path or "\0" in path or path.startswith("/") or ".." in path.split("/"):
        raise StoreError("the record has no such file", hint="follow a link of its page")
    return path


def _blocks(file: "BinaryIO") -> "Iterator[bytes]":
    with file:
        while data := file.read(_BLOCK):
            yield data


ROUTES = [
    Route("/records/{id}", any_record),
    *(
        Route(f"/{folder}/{{id}}/{name}", view)
        for folder in FOLDERS.values()
        for name, view in (("preview", preview_part), ("image", image), ("download", download))
    ),
]
