"""The pages of the formats say what the schemas and the rules say."""

import inspect
import json
import re
from pathlib import Path

import pytest

from docs.fields import Field, fields, shared
from docs.pages import PAGES, ROOT, Block, blocks, code, name, prose, rows
from runcard.documents import reader
from runcard.documents.findings import RULES
from runcard.documents.kinds import KINDS, DocumentKind
from runcard.documents.schema import schema_bytes

FORMATS = ROOT / "docs" / "formats"
EVERY_KIND = pytest.mark.parametrize("kind", KINDS.values(), ids=lambda kind: kind.name)
EXAMPLES = [
    (page, block)
    for page in FORMATS.glob("*.md")
    for block in blocks(page, "json", "yaml")
    if page.stem in KINDS
]


def page_of(kind: DocumentKind) -> Path:
    return FORMATS / f"{kind.name}.md"


def documented(page: Path) -> dict[str, Field]:
    return {
        code(row["field"]): Field(row["type"], row["needed"] == "yes", row["null"] == "yes")
        for row in rows(page, "field", "type", "needed", "null")
    }


@EVERY_KIND
def test_a_page_has_a_row_for_each_field_of_the_newest_schema(kind: DocumentKind) -> None:
    schema = json.loads(schema_bytes(kind.name))
    assert documented(page_of(kind)) == fields(schema)


@EVERY_KIND
def test_a_page_says_which_version_added_a_field(kind: DocumentKind) -> None:
    since: dict[str, str] = {}
    for schema in kind.schemas:
        for path in fields(json.loads(schema_bytes(kind.name, schema))):
            since.setdefault(path, schema.rpartition("+")[2])
    told = {
        code(row["field"]): row.get("since", kind.versions[0]) for row in rows(page_of(kind), "field", "type")
    }
    assert told == since


def test_the_shared_parts_have_a_row_for_each_of_their_fields() -> None:
    expected: dict[str, Field] = {}
    for kind in KINDS.values():
        for schema in kind.schemas:
            expected |= shared(json.loads(schema_bytes(kind.name, schema)))
    assert documented(FORMATS / "index.md") == expected


def test_the_overview_names_every_kind_and_its_versions() -> None:
    told = {
        re.sub(r"\[(.*)\].*", r"\1", row["kind"]): row["versions"]
        for row in rows(FORMATS / "index.md", "kind", "describes")
    }
    assert told == {kind.name: ", ".join(kind.versions) for kind in KINDS.values()}


def test_the_overview_says_how_a_kind_is_told() -> None:
    told = {
        row["kind"]: (
            set(row["one of these keys"].split(", ")),
            set(row["or three of these"].split(", ")) - {""},
        )
        for row in rows(FORMATS / "index.md", "kind", "one of these keys")
    }
    assert list(told) == list(KINDS)
    assert told == {
        kind.name: ({f"`{key}`" for key in kind.sure}, {f"`{key}`" for key in kind.likely})
        for kind in KINDS.values()
    }


@pytest.mark.parametrize(
    ("page", "block"), EXAMPLES, ids=[f"{page.stem}-{block.line}" for page, block in EXAMPLES]
)
def test_an_example_is_what_it_is_said_to_be(page: Path, block: Block) -> None:
    """A valid document of the page's kind, with no finding but the one that its first line announces."""
    report = reader.parse_document(block.text.encode()).report
    announced = [word.partition("=")[2] for word in block.words if word.startswith("warns=")]
    assert (report.kind, report.valid) == (page.stem, True)
    assert [found.rule for found in report.findings] == announced


@EVERY_KIND
def test_a_page_has_an_example_of_the_newest_version(kind: DocumentKind) -> None:
    versions = {
        reader.parse_document(block.text.encode()).report.version
        for page, block in EXAMPLES
        if page == page_of(kind)
    }
    assert kind.latest in versions


@EVERY_KIND
def test_a_page_names_the_rules_of_its_kind(kind: DocumentKind) -> None:
    """At least those that stand in the code of its model."""
    told = {code(row["rule"]) for row in rows(page_of(kind), "rule", "what is checked")}
    assert told <= RULES.keys()
    source = Path(inspect.getfile(reader.model_of(kind.name))).read_text("utf-8")
    assert {rule for rule in RULES if f'"{rule}"' in source} <= told


def test_pages_speak_only_of_rules_that_exist() -> None:
    """Whatever looks like the id of a rule, anywhere in the documentation, and is no field."""
    groups = "|".join({rule.partition(".")[0] for rule in RULES})
    known = RULES.keys() | {path for kind in KINDS.values() for path in documented(page_of(kind))}
    for page in PAGES:
        for word in re.findall(rf"`((?:{groups})\.(?!md`|json`|jsonl`)[a-z0-9-]+)`", prose(page)):
            assert word in known, f"{name(page)}: {word}"
