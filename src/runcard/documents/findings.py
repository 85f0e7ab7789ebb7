"""The findings of checks, as data. Nothing here prints or raises.

Every rule has its id, severity and meaning in `RULES` and nowhere else; a test compares the page of rules in the docs.
"""

from collections.abc import Iterable, Iterator
from enum import StrEnum
from json import dumps
from typing import Any, NamedTuple, Self

from runcard.encoding import JsonObject
from runcard.errors import DocumentError
from runcard.files import json_name, printable


class Severity(StrEnum):
    """How bad a finding is."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"  # worth knowing, and nothing is wrong


ERROR, WARNING, NOTE = Severity.ERROR, Severity.WARNING, Severity.NOTE

INTACT, COMPLETE = "intact", "complete"  # the two verdicts on a record

# The kinds of findings about a record: how bad each is, and which verdict it makes false. Those about a ledger differ.
RECORD_RULES: dict[str, tuple[Severity, str | None]] = {
    **dict.fromkeys(
        ("changed", "unexpected", "link", "chain", "document", "signature", "timestamp"), (ERROR, INTACT)
    ),
    "signer": (ERROR, None),  # no signature of somebody who is trusted: the record itself may be good
    "authority": (ERROR, None),  # the same for time-stamps
    **dict.fromkeys(("missing", "tail"), (ERROR, COMPLETE)),
    "open": (WARNING, COMPLETE),
    **dict.fromkeys(("amended", "withheld", "limits"), (NOTE, None)),
}
LEDGER, ANCHOR = "ledger", "anchor"

RULES: dict[str, tuple[Severity, str]] = {
    "file.missing": (ERROR, "the path does not exist"),
    "file.unreadable": (ERROR, "the file cannot be read"),
    "file.nothing-found": (ERROR, "the folder holds no document of a known kind"),
    "encoding.too-big": (ERROR, "the document is larger than the limit"),
    "encoding.utf-8": (ERROR, "the bytes are not UTF-8 text"),
    "encoding.bom": (WARNING, "the text begins with a byte order mark"),
    "json.syntax": (ERROR, "the text is not JSON"),
    "json.duplicate-key": (ERROR, "a key occurs twice in one object"),
    "json.not-finite": (ERROR, "NaN, Infinity, or a number that is too large"),
    "json.lone-surrogate": (ERROR, "a lone surrogate: half of a pair"),
    "json.too-deep": (ERROR, "nested deeper than the limit"),
    "json.too-many-digits": (ERROR, "an integer longer than the limit"),
    "json.not-plain": (ERROR, "a value that JSON cannot represent"),
    "yaml.syntax": (ERROR, "the text is not YAML"),
    "yaml.documents": (ERROR, "several documents in one file"),
    "yaml.key": (ERROR, "a key that is not text"),
    "yaml.duplicate-key": (ERROR, "a key occurs twice in one map"),
    "yaml.merge": (ERROR, "a merge key without a map"),
    "yaml.alias": (ERROR, "an alias without an anchor, of itself, or beyond the limit"),
    "yaml.tag": (ERROR, "a tag that asks for an object, or does not match its value"),
    "yaml.not-finite": (ERROR, "not a number, infinity, or a number that is too large"),
    "yaml.too-deep": (ERROR, "nested deeper than the limit of YAML documents"),
    "yaml.too-many-digits": (ERROR, "an integer longer than the limit of YAML documents"),
    "yaml.unquoted": (ERROR, "an unquoted text that YAML 1.1, and so Ruby, reads as something else"),
    "document.not-an-object": (ERROR, "the document is a list, a string or a number"),
    "document.unknown-kind": (ERROR, "not a known kind of document"),
    "version.newer-major": (ERROR, "a major version that this runcard does not know"),
    "version.newer-minor": (WARNING, "a newer minor version of a known major: read, never rewritten"),
    "version.unknown": (ERROR, "not a published version"),
    "version.older": (WARNING, "an older format, upgraded in memory"),
    "findings.many": (ERROR, "more findings than are listed; a warning if all the others are warnings"),
    "schema.required": (ERROR, "a required field is missing"),
    "schema.type": (ERROR, "a value of the wrong type"),
    "schema.enum": (ERROR, "a value that is not one of the allowed ones"),
    "schema.minimum": (ERROR, "a number below the minimum"),
    "schema.min-length": (ERROR, "a text that is too short"),
    "schema.pattern": (ERROR, "a text of the wrong form"),
    "schema.format": (ERROR, "not a time with a zone as RFC 3339 writes it"),
    "schema.other": (ERROR, "another requirement of the schema is not met"),
    "id.form": (
        ERROR,
        "an id that is used as a file name has a forbidden character or length",
    ),
    "id.duplicate": (ERROR, "an id occurs twice"),
    "path.hostile": (ERROR, "a path that leads out of its directory"),
    "path.duplicate": (ERROR, "two entries name the same file"),
    "time.order": (ERROR, "an end before its start"),
    "time.duration": (WARNING, "a duration that is not the time between start and end"),
    "count.instances": (ERROR, "a count of instances that is not the number of instances"),
    "count.completed": (ERROR, "a count by status that is not the number of instances with that status"),
    "count.files": (ERROR, "a count or size that does not agree with the files listed"),
    "count.children": (ERROR, "a count of children that is not the number of instances naming this parent"),
    "sum.tokens": (ERROR, "a token total that is not the sum of its parts"),
    "sum.cost": (ERROR, "a cost that is not the sum of its parts"),
    "sum.average": (ERROR, "an average that is not the total divided by the count"),
    "sum.unknown": (WARNING, "a total although a part is unknown"),
    "sum.absent": (WARNING, "a summary without totals"),
    "source.tokens": (ERROR, "a token total that claims a better source than its parts"),
    "source.cost": (ERROR, "a computed cost without the price rows it was computed from"),
    "time.summary": (ERROR, "times of calls that contradict each other"),
    "metric.range": (ERROR, "a value of a metric outside of its smallest and largest"),
    "digest.config": (ERROR, "checksums.config is not the digest of the configuration"),
    "parent.missing": (ERROR, "a parent that is not in the team"),
    "parent.cycle": (ERROR, "instances that are each other's parents"),
    "parent.ambiguous": (ERROR, "a parent whose name several instances have, or two different parents"),
    "summary.times": (ERROR, "start, end or duration that do not agree with the instances"),
    "session.manifest": (ERROR, "a manifest that contradicts the team document of its session"),
    "session.instance": (ERROR, "an instance document that contradicts the team document"),
    "session.file-missing": (ERROR, "a file that a document of the session names does not exist"),
    "session.figures": (
        ERROR,
        "workspace or transcript figures that do not match the stored files",
    ),
    "status.running": (WARNING, "not finished"),
    "expected.absent": (WARNING, "an expected field is missing"),
    "spec.unknown-key": (WARNING, "an unknown key in a SPEC: its value is not collected"),
    "spec.conflict": (WARNING, "two fields of a SPEC that contradict each other"),
    "spec.usage": (ERROR, "usage that cannot be read"),
    "spec.secret": (ERROR, "an id that seems to contain a secret"),
    "spec.price": (WARNING, "a price or a count is not known, so the cost is unknown or known only in part"),
    "name.file-type": (WARNING, "a file type that is not a lower-case suffix with its dot"),
    "name.timezone": (WARNING, "a timezone that is not an IANA name"),
    "name.language": (WARNING, "a language that is not a POSIX locale name"),
    "name.class": (ERROR, "not the name of a Ruby class"),
    "name.method": (ERROR, "not the name of a Ruby method"),
    "section.absent": (WARNING, "a section of later versions is missing"),
    "analysis.incomplete": (ERROR, "the analysis is not completed"),
    "validation.incomplete": (ERROR, "the validation is not completed"),
    "validation.errors": (ERROR, "the validator found errors in this plan"),
    "agent.lists": (WARNING, "errors or warnings are not a list of strings"),
    "characteristic.none": (WARNING, "a plan without characteristics"),
    "characteristic.single": (WARNING, "a plan with a single characteristic"),
    "characteristic.duplicate": (ERROR, "two characteristics have the same name"),
    "characteristic.explosion": (WARNING, "too many innermost contexts (combinatorial explosion)"),
    "name.blank": (ERROR, "a characteristic or a state without a name"),
    "state.few": (ERROR, "fewer than two states"),
    "state.binary": (WARNING, "a binary characteristic without exactly two states"),
    "state.duplicate": (WARNING, "a state is listed twice"),
    "state.default": (ERROR, "a default that is not one of the states"),
    "state.terminal": (ERROR, "a terminal state that is not one of the states"),
    "state.terminal-parent": (WARNING, "a child under a terminal state"),
    "dependency.missing": (ERROR, "a dependency on a characteristic that is not in the plan"),
    "dependency.cycle": (ERROR, "characteristics that depend on each other"),
    "dependency.state": (ERROR, "a when_parent that is not a state of the parent"),
    "dependency.root": (ERROR, "a when_parent without a parent"),
    "dependency.level": (WARNING, "roots are numbered, but a level is a depth"),
    "mistake.factory": (WARNING, "common mistake: factory information inside a characteristic"),
    "mistake.mtime": (ERROR, "common mistake: source_file_mtime was not updated to a real time"),
    "mistake.when-parent": (ERROR, "common mistake: depends_on without when_parent"),
    "mistake.level": (ERROR, "common mistake: a level that is not the depth of the dependency"),
    "target.file": (ERROR, "the file of the target is not in the project"),
    "target.class": (ERROR, "the class of the target is not in its file"),
    "target.method": (ERROR, "the method of the target is not in its class"),
    "target.short-name": (WARNING, "the class of the target is named without its modules"),
    "target.unchecked": (WARNING, "the class and method of the target were not checked"),
}


_MANY = "findings.many"
MAX_FINDINGS = 10_000  # findings that are listed for one document

_LONG = 10**200


class Finding(NamedTuple):
    """One problem of a document or a record: what is wrong, where, and how to fix it."""

    rule: str  # of a record: the kind of finding, such as `changed`
    severity: Severity
    path: str  # a JSON pointer in a document; of a record, a file
    message: str
    hint: str | None = None
    expected: Any = None
    found: Any = None
    line: int | None = None
    column: int | None = None
    record: str | None = None  # None for a finding about a document
    breaks: str | None = None  # which verdict on the record it makes false, if any

    @property
    def kind(self) -> str:
        """The rule, as findings about records call it."""
        return self.rule

    def to_dict(self) -> JsonObject:
        if self.record is not None:
            names = ("kind", "record", "path", "expected", "found", "message")
            return {name: getattr(self, name) for name in names}
        fields: JsonObject = {
            "rule": self.rule,
            "path": self.path,
            "message": self.message,
            "hint": self.hint,
        }
        extra = {"expected": self.expected, "found": self.found, "line": self.line, "column": self.column}
        return fields | {key: value for key, value in extra.items() if value is not None}


def finding(
    rule: str,
    path: str,
    message: str,
    *,
    hint: str | None = None,
    expected: object = None,
    found: object = None,
) -> Finding:
    """A finding with the severity of its rule."""
    expected = shorten_value(expected) if isinstance(expected, str | int) else expected
    return Finding(rule, RULES[rule][0], path, message, hint, expected, shorten_value(found))


def record_finding(
    kind: str,
    record: str,
    path: str,
    message: str,
    *,
    expected: str | None = None,
    found: str | None = None,
) -> Finding:
    """A finding about a file of a record, with the effect that its kind has."""
    severity, breaks = RECORD_RULES[kind]
    name = json_name(path).text
    return Finding(
        kind, severity, name, message, expected=expected, found=found, record=record, breaks=breaks
    )


def ledger_finding(
    record: str,
    path: str,
    message: str,
    *,
    breaks: str | None = None,
    expected: str | None = None,
    found: str | None = None,
) -> Finding:
    """A finding about what a ledger says: an error when it makes a verdict false, else a warning."""
    severity = WARNING if breaks is None else ERROR
    return Finding(
        LEDGER, severity, path, message, expected=expected, found=found, record=record, breaks=breaks
    )


def anchor_finding(
    record: str,
    message: str,
    *,
    breaks: str | None = None,
    expected: str | None = None,
    found: str | None = None,
) -> Finding:
    """A finding about what an anchor says: an error when it makes a verdict false, else a note."""
    severity = NOTE if breaks is None else ERROR
    return Finding(
        ANCHOR, severity, "", message, expected=expected, found=found, record=record, breaks=breaks
    )


def omitted_finding(count: int, severity: Severity = ERROR) -> Finding:
    """A finding for the number of findings that are not listed."""
    summary = finding(
        _MANY,
        "",
        f"{count:,} more findings; only {MAX_FINDINGS:,} are listed",
        hint="fix the listed ones, then check again",
        found=count,
    )
    return summary._replace(severity=severity)


def limit_findings(findings: Iterable[Finding]) -> Iterator[Finding]:
    """The first findings of each severity, and a finding for the number of the others."""
    counts = dict.fromkeys(Severity, 0)
    for each in findings:
        counts[each.severity] += 1
        if counts[each.severity] <= MAX_FINDINGS:
            yield each
    yield from (
        omitted_finding(count - MAX_FINDINGS, severity)
        for severity, count in counts.items()
        if count > MAX_FINDINGS
    )


def display_value(value: object, limit: int = 60) -> str:
    """A value for a message: on one line, short, and safe to print on a terminal."""
    if isinstance(value, dict | list):
        return f"{'an object' if isinstance(value, dict) else 'a list'} of {len(value):,}"
    text = printable(value[: limit + 1]) if isinstance(value, str) else _literal(value)
    text = text if len(text) <= limit else text[: limit - 1] + "…"
    return f"'{text}'" if isinstance(value, str) else text


def _literal(value: object) -> str:
    from decimal import Decimal  # noqa: PLC0415 - most documents have no findings

    try:
        return str(value) if isinstance(value, Decimal) else dumps(value)
    except ValueError:  # a sum can have more digits than Python writes
        return "a number of too many digits to show"


def shorten_value(value: object) -> object:
    """A value for a report: itself if it is small, else shortened."""
    is_long = len(value) > 200 if isinstance(value, str) else isinstance(value, int) and abs(value) >= _LONG
    return display_value(value, 200) if isinstance(value, dict | list) or is_long else value


class Report(NamedTuple):
    """All findings about one document."""

    findings: tuple[Finding, ...] = ()
    kind: str | None = None
    version: str | None = None

    @property
    def errors(self) -> list[Finding]:
        return [f for f in self.findings if f.severity is ERROR]

    @property
    def warnings(self) -> list[Finding]:
        return [f for f in self.findings if f.severity is WARNING]

    @property
    def valid(self) -> bool:
        return not any(f.severity is ERROR for f in self.findings)

    def strict(self) -> Self:
        """The same report with every warning as an error."""
        return self._replace(findings=tuple(f._replace(severity=ERROR) for f in self.findings))


class InvalidDocument(DocumentError):  # noqa: N818 - reads as what it is
    """A document that violates its schema or a rule; `report` has all findings."""

    def __init__(self, report: Report, name: str = "the document") -> None:
        self.report = report
        errors = report.errors
        count = sum(finding.found if finding.rule == _MANY else 1 for finding in errors)
        more = f" (and {count - 1:,} more)" if count > 1 else ""
        where = f" at {printable(errors[0].path)}" if errors[0].path else ""
        super().__init__(f"{name} is not valid{where}: {errors[0].message}{more}", hint=errors[0].hint)


def sorted_findings(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """In the order of the text, errors before warnings at the same position; the number of unlisted ones last."""
    return tuple(sorted(findings, key=lambda f: (f.rule == _MANY, f.line or 0, f.column or 0, f.severity)))


__all__ = [
    "COMPLETE",
    "ERROR",
    "INTACT",
    "MAX_FINDINGS",
    "NOTE",
    "RECORD_RULES",
    "RULES",
    "WARNING",
    "Finding",
    "InvalidDocument",
    "Report",
    "Severity",
    "display_value",
    "finding",
    "ledger_finding",
    "limit_findings",
    "omitted_finding",
    "record_finding",
    "shorten_value",
]
