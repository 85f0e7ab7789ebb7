"""The one road in and out: bytes → kind → version → upgrade → findings → document.

`parse_document` judges bytes and never raises for what they say; `load_document` makes a document of them or raises everything that was
found. DocumentKind and version are told by content, never by a file's name. All documents are JSON but test plans, which are YAML.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from runcard.documents import schema
from runcard.documents.archive_index import ArchiveIndex
from runcard.documents.document import Document
from runcard.documents.findings import Finding, InvalidDocument, Report, finding, shown, sorted_findings
from runcard.documents.kinds import KINDS, TESTPLAN, DocumentKind, detect, is_legacy
from runcard.documents.migrations import MigratedData, migrate
from runcard.documents.run.generation import Generation
from runcard.documents.session.instance import Instance
from runcard.documents.session.manifest import Manifest
from runcard.documents.session.team import Team
from runcard.documents.testplan.plan import TestPlan
from runcard.encoding import BOM, JsonObject, Limits, as_text, decode_json, locate
from runcard.encoding.limits import NONE
from runcard.errors import EncodingError

MODELS: dict[str, type[Document]] = {
    model.kind.name: model for model in (Generation, Team, Instance, Manifest, ArchiveIndex, TestPlan)
}

Findings = tuple[Finding, ...]
Look = Callable[[JsonObject], Iterable[Finding]]

_LOOKS_LIKE_A_PLAN = re.compile(
    rb"^(?:analyzer|characteristics|factories_detected|test_level)[ \t]*:", re.MULTILINE
)


@dataclass(frozen=True, slots=True)
class ParsedDocument:
    """What was read, and everything that was found about it."""

    report: Report
    data: JsonObject | None = None  # as it stands in the bytes
    upgraded: JsonObject | None = None  # in the current version, for a shape that has no schema of its own


def parse_document(
    data: bytes,
    *,
    kind: str | None = None,
    limits: Limits | None = None,
    is_yaml: bool = False,
    look: Look | None = None,
) -> ParsedDocument:
    """Everything that is wrong with these bytes as a document; of the kind that their content shows, unless told.

    What is no JSON is taken for YAML where it looks like a plan, or with `is_yaml`. What a plan says about files is
    asked of `look`, since nothing here reads them.
    """
    limits = limits or Limits()
    try:
        value = decode_json(data, limits)
    except EncodingError as error:
        may_be_yaml = kind == TESTPLAN.name or (kind is None and (is_yaml or _LOOKS_LIKE_A_PLAN.search(data)))
        if may_be_yaml and error.rule == "json.syntax":
            return _examine_yaml(data, kind, limits, look)
        return ParsedDocument(Report((_undecodable(error),), kind))
    examined = _looked(_judge(value, kind), look)
    return _finished(examined, data, limits, _located)


def _examine_yaml(data: bytes, kind: str | None, limits: Limits, look: Look | None) -> ParsedDocument:
    from runcard.encoding.yaml import decode_yaml  # noqa: PLC0415 - most commands never see YAML

    try:
        value = decode_yaml(data, limits)
    except EncodingError as error:
        return ParsedDocument(Report((_undecodable(error),), kind))
    named = kind or (TESTPLAN.name if isinstance(value, dict) and detect(value) is TESTPLAN else None)
    if named is None and isinstance(value, dict):
        examined = ParsedDocument(Report((_unknown(value),)), value)
    else:
        examined = _looked(_judge(value, named), look)
    return _finished(
        examined, data, limits, lambda findings, text: _located_in_yaml(findings, text, examined)
    )


def _looked(examined: ParsedDocument, look: Look | None) -> ParsedDocument:
    """A plan with what somebody who may read files has to say about it."""
    report, data = examined.report, examined.data
    refused = any(found.rule == "version.newer-major" for found in report.findings)
    if look is None or data is None or refused or report.kind != TESTPLAN.name:
        return examined
    return replace(examined, report=replace(report, findings=(*report.findings, *look(data))))


def _finished(
    examined: ParsedDocument,
    data: bytes,
    limits: Limits,
    located: Callable[[Iterable[Finding], str], Findings],
) -> ParsedDocument:
    """What was found with its places in the text, and what there is to say about the text itself."""
    findings = examined.report.findings
    if data.startswith(BOM):
        findings = (_bom(), *findings)
    if findings or examined.report.kind == TESTPLAN.name:
        findings = located(findings, as_text(data, limits))
    return replace(examined, report=replace(examined.report, findings=findings))


def load_document(
    data: bytes, *, kind: str | None = None, limits: Limits | None = None, is_yaml: bool = False
) -> Document:
    """The document that these bytes hold; older shapes are upgraded in memory, the bytes stay as they are."""
    examined = parse_document(data, kind=kind, limits=limits, is_yaml=is_yaml)
    report = examined.report
    if not report.valid or report.kind is None or examined.data is None:
        raise InvalidDocument(report)
    return MODELS[report.kind](
        source=data,
        version=report.version,
        warnings=report.findings,
        upgraded=examined.upgraded is not None,
        _data=examined.upgraded or examined.data,
    )


def valid_parts(examined: ParsedDocument) -> JsonObject:
    """The data of a document, with None for everything that its schema finds fault with; {} where there are none."""
    report, data = examined.report, examined.upgraded or examined.data
    if report.kind is None or data is None:
        return {}
    kind = KINDS[report.kind]
    is_known = examined.upgraded is None and report.version in kind.versions
    return schema.check(kind, report.version if is_known and report.version else kind.latest, data)[1]


def add_findings(examined: ParsedDocument, more: Iterable[Finding], source: bytes) -> Report:
    """The report on a document with findings that others have about it, all in the order of its text."""
    found = list(more)
    if not found:
        return examined.report
    findings = (*examined.report.findings, *_located(found, as_text(source, NONE)))
    return replace(examined.report, findings=sorted_findings(findings))


def migrate_document(examined: ParsedDocument, target: str, zone: Any = None) -> MigratedData:  # noqa: ANN401
    """A valid document's data in another version."""
    kind = examined.report.kind
    if kind is None or examined.data is None:
        raise InvalidDocument(examined.report)
    return migrate(kind, examined.data, examined.report.version, target, zone)


def _judge(value: object, named: str | None) -> ParsedDocument:
    if not isinstance(value, dict):
        return ParsedDocument(Report((_not_an_object(value),), named))
    kind = KINDS[named] if named else detect(value)
    if kind is None:
        return ParsedDocument(Report((_unknown(value),)), value)
    model = MODELS[kind.name]
    if kind is Generation.kind and is_legacy(value):
        return _judge_legacy(value, model)
    return ParsedDocument(model.judge(value), value)


def _judge_legacy(value: JsonObject, model: type[Document]) -> ParsedDocument:
    """An older shape has no schema: what counts is whether the upgrade of it is valid."""
    stated = value.get("version")
    moved = migrate(model.kind.name, value, stated, model.kind.latest)
    report = model.judge(moved.data)
    notes = "".join(f"; {note}" for note in moved.notes)
    older = finding(
        "version.older",
        "",
        f"an older shape ({f'version {stated}' if stated else 'without a version'}), read as {report.version}{notes}",
        hint=f"`runcard migrate --to {model.kind.latest}` rewrites it",
        found=stated,
    )
    return ParsedDocument(Report((older, *report.findings), model.kind.name, stated), value, moved.data)


def _located_in_yaml(findings: Iterable[Finding], text: str, examined: ParsedDocument) -> Findings:
    """The same in YAML, where what stands without quotes has to be looked at besides."""
    from runcard.documents.testplan.unquoted_scalars import suspects, unquoted  # noqa: PLC0415
    from runcard.encoding.yaml import locate_yaml  # noqa: PLC0415

    found = list(findings)
    asked = set(suspects(examined.data)) if examined.data and examined.report.kind else set()
    if not found and not asked:
        return ()
    places = locate_yaml(text, {f.path for f in found} | asked)
    traps = list(unquoted({pointer: places[pointer] for pointer in asked}))
    trapped = {trap.path for trap in traps}
    found = [f for f in found if f.rule != "schema.type" or f.path not in trapped] + traps
    return sorted_findings(replace(f, line=places[f.path].line, column=places[f.path].column) for f in found)


def _located(findings: Iterable[Finding], text: str) -> Findings:
    found = list(findings)
    if not found:
        return ()
    places = locate(text, {f.path for f in found})
    return sorted_findings(replace(f, line=places[f.path].line, column=places[f.path].column) for f in found)


def _undecodable(error: EncodingError) -> Finding:
    found = finding(error.rule, "", error.message, hint=error.hint)
    return replace(found, line=error.line, column=error.column)


def _bom() -> Finding:
    return finding(
        "encoding.bom", "", "the text begins with a byte order mark", hint="save it as UTF-8 without one"
    )


def _not_an_object(value: object) -> Finding:
    return finding(
        "document.not-an-object",
        "",
        f"a document is an object, found {shown(value)}",
        hint=f"expected one of: {_expected()}",
    )


def _unknown(value: JsonObject) -> Finding:
    keys = ", ".join(shown(key) for key in list(value)[:5]) or "none"
    return finding(
        "document.unknown-kind",
        "",
        f"no document of a known kind; its first keys are: {keys}",
        hint=f"expected one of: {_expected()}; name one with --kind to see what is missing",
    )


def _expected() -> str:
    return ", ".join(f"{kind.name} ({_mark(kind)})" for kind in KINDS.values())


def _mark(kind: DocumentKind) -> str:
    return "has " + " or ".join(f"'{key}'" for key in sorted(kind.sure))
