"""Read a document of any kind: bytes → kind → version → upgrade → findings → document.

`parse_document` checks bytes and returns findings; it never raises for invalid contents. `load_document` returns a valid
document or raises InvalidDocument with all findings. Kind and version are detected from the contents, never from the
file's name. Documents are JSON; test plans are YAML.
"""

import re
from collections.abc import Callable, Iterable
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from runcard.digests import sha256_bytes
from runcard.documents import schema
from runcard.documents.document import Document
from runcard.documents.findings import (
    Finding,
    InvalidDocument,
    Report,
    display_value,
    finding,
    sorted_findings,
)
from runcard.documents.kinds import GENERATION, KINDS, TESTPLAN, DocumentKind, detect, is_legacy
from runcard.encoding import BOM, JsonObject, Limits, Position, as_text, decode_json, locate
from runcard.encoding.limits import NONE
from runcard.errors import DocumentError, EncodingError

if TYPE_CHECKING:
    from runcard.documents.migrations import MigratedData
    from runcard.encoding.yaml import YamlPosition

# The class of each kind, and its module: a command imports those of the documents that it reads.
_MODELS = {
    "generation": ("run.generation", "Generation"),
    "team": ("session.team", "Team"),
    "instance": ("session.instance", "Instance"),
    "manifest": ("session.manifest", "Manifest"),
    "archive-index": ("archive_index", "ArchiveIndex"),
    "testplan": ("testplan.plan", "TestPlan"),
}

# Where a document can say what it was migrated from; 1.0.0 has no room for it.
_ROOM_FOR_ORIGIN = {("generation", "1.0"), ("team", "2.0.0"), ("instance", "2.0.0")}

Findings = tuple[Finding, ...]
FileCheck = Callable[[JsonObject], Iterable[Finding]]

_LOOKS_LIKE_A_PLAN = rb"(?m)^(?:analyzer|characteristics|factories_detected|test_level)[ \t]*:"


def model_of(kind: str) -> type[Document]:
    """The class of the documents of a kind."""
    module, name = _MODELS[kind]
    model: type[Document] = getattr(import_module(f"runcard.documents.{module}"), name)
    return model


class ParsedDocument(NamedTuple):
    """A document's data and all findings about it."""

    report: Report
    data: JsonObject | None = None  # as in the bytes
    upgraded: JsonObject | None = None  # in the current version, for a format that has no schema of its own


def parse_document(
    data: bytes,
    *,
    kind: str | None = None,
    limits: Limits | None = None,
    is_yaml: bool = False,
    check_files: FileCheck | None = None,
    decoded: JsonObject | None = None,
) -> ParsedDocument:
    """Parse and check a document; its kind is detected unless `kind` names it.

    `decoded` is the data in these bytes, if the caller has decoded them already, within these limits.

    Text that is not JSON is read as YAML if it looks like a plan, or with `is_yaml`. `check_files` checks what a plan says
    about files, since nothing here reads them.
    """
    limits = limits or Limits()
    try:
        value = decoded or decode_json(data, limits)
    except EncodingError as error:
        may_be_yaml = kind == TESTPLAN.name or (
            kind is None and (is_yaml or re.search(_LOOKS_LIKE_A_PLAN, data))
        )
        if may_be_yaml and error.rule == "json.syntax":
            return _parse_yaml(data, kind, limits, check_files)
        return ParsedDocument(Report((_undecodable(error),), kind))
    parsed = _with_file_checks(_check(value, kind), check_files)
    return _with_positions(parsed, data, limits, _locate)


def _parse_yaml(
    data: bytes, kind: str | None, limits: Limits, check_files: FileCheck | None
) -> ParsedDocument:
    from runcard.encoding.yaml import decode_yaml  # noqa: PLC0415 - most commands never see YAML

    try:
        value = decode_yaml(data, limits)
    except EncodingError as error:
        return ParsedDocument(Report((_undecodable(error),), kind))
    named = kind or (TESTPLAN.name if isinstance(value, dict) and detect(value) is TESTPLAN else None)
    if named is None and isinstance(value, dict):
        parsed = ParsedDocument(Report((_unknown_kind(value),)), value)
    else:
        parsed = _with_file_checks(_check(value, named), check_files)
    return _with_positions(
        parsed, data, limits, lambda findings, text: _locate_in_yaml(findings, text, parsed)
    )


def _with_file_checks(parsed: ParsedDocument, check_files: FileCheck | None) -> ParsedDocument:
    """A plan with the findings of `check_files`."""
    report, data = parsed.report, parsed.data
    refused = any(found.rule == "version.newer-major" for found in report.findings)
    if check_files is None or data is None or refused or report.kind != TESTPLAN.name:
        return parsed
    return parsed._replace(report=report._replace(findings=(*report.findings, *check_files(data))))


def _with_positions(
    parsed: ParsedDocument,
    data: bytes,
    limits: Limits,
    locate_all: Callable[[Iterable[Finding], str], Findings],
) -> ParsedDocument:
    """The findings with their positions in the text, and those about the text itself."""
    findings = parsed.report.findings
    if data.startswith(BOM):
        findings = (_bom(), *findings)
    if findings or parsed.report.kind == TESTPLAN.name:
        findings = locate_all(findings, as_text(data, limits))
    return parsed._replace(report=parsed.report._replace(findings=findings))


def load_document(
    data: bytes, *, kind: str | None = None, limits: Limits | None = None, is_yaml: bool = False
) -> Document:
    """The document in these bytes; older formats are upgraded in memory, the bytes stay as they are."""
    parsed = parse_document(data, kind=kind, limits=limits, is_yaml=is_yaml)
    report = parsed.report
    if not report.valid or report.kind is None or parsed.data is None:
        raise InvalidDocument(report)
    return model_of(report.kind)(
        source=data,
        version=report.version,
        warnings=report.findings,
        upgraded=parsed.upgraded is not None,
        _data=parsed.upgraded or parsed.data,
    )


def valid_parts(parsed: ParsedDocument) -> JsonObject:
    """The data of a document, with None for every value that its schema refuses; {} if there is no data."""
    report, data = parsed.report, parsed.upgraded or parsed.data
    if report.kind is None or data is None:
        return {}
    kind = KINDS[report.kind]
    is_known = parsed.upgraded is None and report.version in kind.versions
    if is_known and report.valid:
        return data
    return schema.check(kind, report.version if is_known and report.version else kind.latest, data)[1]


def add_findings(parsed: ParsedDocument, more: Iterable[Finding], source: bytes) -> Report:
    """The report on a document with more findings, all in the order of its text."""
    added = list(more)
    if not added:
        return parsed.report
    findings = (*parsed.report.findings, *_locate(added, as_text(source, NONE)))
    return parsed.report._replace(findings=sorted_findings(findings))


def migrate_document(parsed: ParsedDocument, target: str, zone: Any = None) -> "MigratedData":  # noqa: ANN401
    """A valid document's data in another version."""
    from runcard.documents.migrations import migrate  # noqa: PLC0415 - most documents are of the current version

    kind = parsed.report.kind
    if kind is None or parsed.data is None:
        raise InvalidDocument(parsed.report)
    return migrate(kind, parsed.data, parsed.report.version, target, zone)


def with_origin(
    migrated: JsonObject, kind: str, version: str | None, source: bytes, target: str
) -> JsonObject:
    """Migrated data that says what it was migrated from, where its version has room for that."""
    if (kind, target) not in _ROOM_FOR_ORIGIN:
        return migrated
    return {**migrated, "origin": {"version": version, "sha256": sha256_bytes(source).hex}}


def migration_between(before: bytes, after: bytes, limits: Limits) -> "MigratedData | None":
    """The migration that made a document from another one; None if one that is valid would give another document."""
    source, result = parse_document(before, limits=limits), parse_document(after, limits=limits)
    kind, target = source.report.kind, result.report.version
    if kind is None or target is None or kind != result.report.kind:
        return None
    from runcard.documents.differences import differences  # noqa: PLC0415 - few documents were migrated

    try:
        migrated = migrate_document(source, target)
        found = result.data
        if found is not None and "format_version" not in found:  # the form of an earlier version
            found = migrate_document(result, target).data
    except DocumentError:
        return None
    expected = with_origin(migrated.data, kind, source.report.version, before, target)
    return None if any(differences(expected, found)) else migrated


def _check(value: object, named: str | None) -> ParsedDocument:
    if not isinstance(value, dict):
        return ParsedDocument(Report((_not_an_object(value, named),), named))
    kind = KINDS[named] if named else detect(value)
    if kind is None:
        return ParsedDocument(Report((_unknown_kind(value),)), value)
    model = model_of(kind.name)
    if kind is GENERATION and is_legacy(value):
        return _check_legacy(value, model)
    return ParsedDocument(model.check(value), value)


def _check_legacy(value: JsonObject, model: type[Document]) -> ParsedDocument:
    """An older format has no schema: it is valid if its upgrade is."""
    from runcard.documents.migrations import migrate  # noqa: PLC0415

    stated = value.get("version")
    upgrade = migrate(model.kind.name, value, stated, model.kind.latest)
    report = model.check(upgrade.data)
    notes = "".join(f"; {note}" for note in upgrade.notes)
    older = finding(
        "version.older",
        "",
        f"an older format ({f'version {stated}' if stated else 'without a version'}), read as {report.version}{notes}",
        hint=f"`runcard migrate --to {model.kind.latest}` rewrites it",
        found=stated,
    )
    return ParsedDocument(Report((older, *report.findings), model.kind.name, stated), value, upgrade.data)


def _locate_in_yaml(findings: Iterable[Finding], text: str, parsed: ParsedDocument) -> Findings:
    """The same in YAML, with findings about unquoted scalars."""
    from runcard.documents.testplan.unquoted_scalars import suspects, unquoted  # noqa: PLC0415
    from runcard.encoding.yaml import locate_yaml  # noqa: PLC0415

    located = list(findings)
    pointers = set(suspects(parsed.data)) if parsed.data and parsed.report.kind else set()
    if not located and not pointers:
        return ()
    positions = locate_yaml(text, {f.path for f in located} | pointers)
    misread = list(unquoted({pointer: positions[pointer] for pointer in pointers}))
    misread_paths = {f.path for f in misread}
    located = [f for f in located if f.rule != "schema.type" or f.path not in misread_paths] + misread
    return _with_lines(located, positions)


def _locate(findings: Iterable[Finding], text: str) -> Findings:
    located = list(findings)
    if not located:
        return ()
    return _with_lines(located, locate(text, {f.path for f in located}))


def _with_lines(
    findings: Iterable[Finding], positions: dict[str, Position] | dict[str, "YamlPosition"]
) -> Findings:
    return sorted_findings(
        f._replace(line=positions[f.path].line, column=positions[f.path].column) for f in findings
    )


def _undecodable(error: EncodingError) -> Finding:
    undecodable = finding(error.rule, "", error.message, hint=error.hint)
    return undecodable._replace(line=error.line, column=error.column)


def _bom() -> Finding:
    return finding(
        "encoding.bom", "", "the text begins with a byte order mark", hint="save it as UTF-8 without one"
    )


def _not_an_object(value: object, named: str | None) -> Finding:
    hint = f"expected one of: {_known_kinds()}"
    if named == TESTPLAN.name:
        hint = "a plan is a map of sections; run `runcard plan analyze --write` to make it again"
    return finding(
        "document.not-an-object", "", f"expected an object, found {display_value(value)}", hint=hint
    )


def _unknown_kind(value: JsonObject) -> Finding:
    keys = ", ".join(display_value(key) for key in list(value)[:5]) or "none"
    return finding(
        "document.unknown-kind",
        "",
        f"unknown kind of document; its first keys are: {keys}",
        hint=f"expected one of: {_known_kinds()}; name one with --kind to see what is missing",
    )


def _known_kinds() -> str:
    return ", ".join(f"{kind.name} ({_deciding_keys(kind)})" for kind in KINDS.values())


def _deciding_keys(kind: DocumentKind) -> str:
    return "has " + " or ".join(f"'{key}'" for key in sorted(kind.sure))
