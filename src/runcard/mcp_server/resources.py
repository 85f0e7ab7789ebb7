"""The resources of a server, by URI: records, their summaries, and the published schemas."""

from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote, unquote

from runcard.documents.kinds import PUBLISHED
from runcard.encoding import JsonObject
from runcard.errors import StoreError
from runcard.files import printable
from runcard.mcp_server.paging import MOST_BYTES, cursor_number, json_text, text_head
from runcard.mcp_server.quoting import quoted_text, with_notice
from runcard.mcp_server.records import get_record

if TYPE_CHECKING:
    from runcard.mcp_server.tools import ToolCall
    from runcard.store.record import Record

SCHEME = "runcard://"
_RECORDS, _SCHEMAS = f"{SCHEME}records/", f"{SCHEME}schemas/"
_PAGE = 50  # records of one list
_MOST_COMPLETIONS = 50
_STATES = frozenset({"completed", "failed", "interrupted", "running", "error", "timeout", "terminated"})
_HINT = "resources/templates/list has the forms of URIs"


class ResourceEntry(NamedTuple):
    """A resource in a list; a template has variables in its URI."""

    uri: str
    name: str
    title: str
    description: str
    mime_type: str


TEMPLATES = (
    ResourceEntry(
        f"{_RECORDS}{{record}}",
        "record",
        "A record",
        "The metadata of a run or a session, as get_record returns it. The record is an id, a name or @latest.",
        "application/json",
    ),
    ResourceEntry(
        f"{_RECORDS}{{record}}/summary",
        "summary",
        "The summary of a record",
        "The page for people: README.md of a run, summary.md of a session.",
        "text/markdown",
    ),
    ResourceEntry(
        f"{_SCHEMAS}{{kind}}/{{version}}",
        "schema",
        "A published schema",
        "The JSON Schema of one version of a kind of document.",
        "application/schema+json",
    ),
)


def list_resources(call: "ToolCall", cursor: str | None) -> tuple[list[ResourceEntry], str | None]:
    """The schemas, then the records, newest first; and the cursor of the next page."""
    from runcard.operations.catalog.list_records import list_records  # noqa: PLC0415 - long to load

    offset, stores = cursor_number(cursor, 10_000_000), call.scope.stores
    found = list_records(
        columns=("id", "name", "kind", "started", "status"),
        limit=_PAGE,
        offset=offset,
        **stores.catalog(),
    )
    entries = [] if offset else _schemas()
    for row in found.rows:
        entries += _of_record(row)
    following = offset + len(found.rows)
    return entries, str(following) if found.rows and following < found.total else None


def _schemas() -> list[ResourceEntry]:
    return [
        ResourceEntry(
            f"{_SCHEMAS}{kind.name}/{version}",
            f"{kind.name}-{version}.schema.json",
            f"Schema of {kind.name} {version}",
            f"JSON Schema: {kind.about}.",
            "application/schema+json",
        )
        for kind in PUBLISHED.values()
        for version in kind.schemas
    ]


def _of_record(row: JsonObject) -> list[ResourceEntry]:
    # A session can be recorded or collected again under its id: its directory has a name of its own.
    named = printable(str(row["name"] if row["kind"] == "session" else row["id"]))
    # A client shows these texts as those of the server: none of them is a sentence that somebody wrote into a record.
    name = quote(named, safe="@")
    uri = _RECORDS + name
    status = row["status"] if row["status"] in _STATES else "status unknown"
    about = f"{row['kind']}, {status}, started {row['started'] or 'at an unknown time'}"
    return [
        ResourceEntry(uri, name, name, f"The metadata of this {about}.", "application/json"),
        ResourceEntry(
            f"{uri}/summary",
            f"{name} summary",
            f"{name}: summary",
            f"The summary of this {about}.",
            "text/markdown",
        ),
    ]


def read_resource(call: "ToolCall", uri: str) -> tuple[str, str]:
    """The text of a resource, and its type."""
    if uri.startswith(_SCHEMAS):
        return _schema(uri.removeprefix(_SCHEMAS)), "application/schema+json"
    if not uri.startswith(_RECORDS):
        raise _no_resource(uri)
    name, *rest = uri.removeprefix(_RECORDS).split("/")
    word = unquote(name)
    if not word or rest not in ([], ["summary"]):
        raise _no_resource(uri)
    if not rest:
        return json_text(with_notice(get_record(call, word))), "application/json"
    return _summary(call.scope.stores.open(word)), "text/markdown"


def _schema(name: str) -> str:
    from runcard.documents.schema import schema_bytes  # noqa: PLC0415 - few clients read one

    kind, _, version = name.partition("/")
    if kind not in PUBLISHED or version not in PUBLISHED[kind].schemas:
        raise _no_resource(_SCHEMAS + name)
    return schema_bytes(kind, version).decode()


def _summary(record: "Record") -> str:
    from runcard.store import layout  # noqa: PLC0415

    names = (layout.SUMMARY,) if record.kind == "session" else (layout.OTHER_README, layout.README)
    for name in names:
        if (file := record.open(name)) is None:
            continue
        with file:
            text = file.read(4 * MOST_BYTES).decode("utf-8", "replace")
        head = text_head(text, MOST_BYTES - 1000)
        left_out = (
            f"\n\n(left out: the rest of it; read_transcript reads the file {name} in pages)"
            if head != text
            else ""
        )
        return quoted_text({"quoted": {"file": name, "text": head}}) + left_out
    raise StoreError(
        f"{printable(record.id)} has no summary", hint="an open record gets it when it is closed"
    )


def complete(call: "ToolCall", argument: str, beginning: str, kind: str | None) -> list[str]:
    """Values of a variable of a template that begin like this."""
    if argument == "kind":
        return [name for name in PUBLISHED if name.startswith(beginning)]
    if argument == "version":
        kinds = [PUBLISHED[kind]] if kind in PUBLISHED else list(PUBLISHED.values())
        versions = dict.fromkeys(version for each in kinds for version in each.schemas)
        return [version for version in versions if version.startswith(beginning)]
    if argument != "record":
        return []
    from runcard.operations.catalog.names import complete_record  # noqa: PLC0415 - long to load

    stores = call.scope.stores
    names = complete_record(beginning, **stores.catalog())
    return [name for name, _ in names][:_MOST_COMPLETIONS]


def _no_resource(uri: str) -> StoreError:
    return StoreError(f"there is no resource {printable(uri[:300])}", hint=_HINT)
