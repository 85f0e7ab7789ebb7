"""The test plan: what the tests of one Ruby method must cover, and the rules between its fields.

The rules of characteristics are in `characteristics.py`, the detection of versions in `versions.py`. Nothing here reads
files: `plans/target_check.py` checks the target in the project.
"""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any

from runcard.documents import schema
from runcard.documents.document import Document
from runcard.documents.findings import Finding, Report, display_value, finding, limit_findings
from runcard.documents.kinds import TESTPLAN
from runcard.documents.testplan.characteristics import characteristic_rules
from runcard.documents.testplan.versions import DetectedVersion, detect_version
from runcard.documents.versions import check_version
from runcard.encoding import JsonObject, decode_json, join_pointer
from runcard.encoding.json.edit import edit_json
from runcard.encoding.limits import DEFAULT, NONE, Limits
from runcard.errors import EncodingError
from runcard.files import check_relative

Findings = Iterator[Finding]

_FACTORIES = "factories_detected"  # those of the project: the same in all its plans
_OF_1_3 = {"validation", "analyzer.source_file_mtime"}  # the first is the validator's, the second is required
_MEANINGFUL_NULL = re.compile(r"/characteristics/(\d+)/(depends_on|when_parent)")
# How Ruby writes a time into YAML.
_YAML_TIME = re.compile(r"(\d{4}-\d\d-\d\d) +(\d\d:\d\d:\d\d(?:\.\d+)?) *(Z|[-+]\d\d(?::\d\d)?)", re.ASCII)
_FIRST_MILLISECONDS = 10**11  # as seconds, the year 5138
_MTIME = ("/analyzer", "source_file_mtime")  # how the schema reports that it is missing


class TestPlan(Document):
    """A test plan."""

    __slots__ = ()
    __test__ = False  # pytest collects classes of this name
    kind = TESTPLAN

    @property
    def target(self) -> JsonObject:
        return dict(self.to_dict()["target"])

    @property
    def characteristics(self) -> tuple[JsonObject, ...]:
        """The characteristics as the document lists them; `depends_on` and `when_parent` make the tree."""
        return tuple(self.to_dict()["characteristics"])

    @staticmethod
    def decode(source: bytes, limits: Limits = DEFAULT) -> Any:  # noqa: ANN401
        from runcard.encoding.yaml import decode_yaml  # noqa: PLC0415 - most commands do not need YAML

        if _is_json(source, limits):
            return decode_json(source, limits)
        return decode_yaml(source, limits, repeated=_FACTORIES)

    @staticmethod
    def encode(data: JsonObject) -> bytes:
        from runcard.encoding.yaml import encode_yaml  # noqa: PLC0415

        return encode_yaml(data, repeated=_FACTORIES)

    @staticmethod
    def edit(source: bytes, old: JsonObject, new: JsonObject) -> bytes:
        from runcard.encoding.yaml import edit_yaml  # noqa: PLC0415

        return edit_json(source, old, new) if _is_json(source, NONE) else edit_yaml(source, new)

    @classmethod
    def check(cls, data: JsonObject) -> Report:
        detected = detect_version(data)
        schema_version, findings = _schema_version(data, detected)
        if schema_version is not None:
            faults, sound = schema.check(cls.kind, schema_version, _with_rfc3339_time(data))
            if detected.is_older:
                faults = [fault for fault in faults if (fault.path, fault.expected) != _MTIME]
            _mark_faulty(faults, sound)
            findings += (*_absent(detected), *map(_with_yaml_hint, faults), *limit_findings(cls.rules(sound)))
        return Report(findings, cls.kind.name, detected.version)

    @staticmethod
    def rules(document: JsonObject) -> Findings:
        yield from _analyzer(document.get("analyzer") or {})
        yield from _validation(document.get("validation") or {})
        yield from _target(document.get("target") or {})
        listed = document.get("characteristics")
        if listed is not None:  # the schema reports an absent or wrong value
            yield from characteristic_rules(listed, is_later=detect_version(document).is_later)
        for name, factory in (document.get(_FACTORIES) or {}).items():
            file = (factory or {}).get("file")
            if file is not None and not _is_relative(file):
                yield from _path((_FACTORIES, name, "file"), file)
        yield from _automation(document.get("automation") or {})


def _is_json(source: bytes, limits: Limits) -> bool:
    """Whether a plan is JSON, which is not always valid YAML."""
    if source.lstrip()[:1] != b"{":
        return False
    try:
        decode_json(source, limits)
    except EncodingError:
        return False
    return True


def _schema_version(data: JsonObject, detected: DetectedVersion) -> tuple[str | None, tuple[Finding, ...]]:
    """The version whose schema applies, None when the plan is refused; and findings about the stated version."""
    if detected.is_older or not detected.is_stated:
        return ("1.3" if detected.is_older else detected.version), ()
    _, used, findings, _ = check_version(TESTPLAN, {TESTPLAN.version_key: detected.version})
    if detected.version in TESTPLAN.versions or findings:
        return used, findings
    stated = data["format_version"]
    unknown = finding(
        "version.unknown",
        "/format_version",
        f"{display_value(stated)} is not a version of testplan documents",
        hint=f"published versions: {', '.join(TESTPLAN.versions)}",
        expected=list(TESTPLAN.versions),
        found=stated,
    )
    return used, (unknown,)


def _absent(detected: DetectedVersion) -> Findings:
    absent = [path for path in detected.absent if detected.is_older or path not in _OF_1_3]
    if absent:
        listed = ", ".join(f"'{path}'" for path in absent)
        older = f"a plan of version {detected.version}, " if detected.is_older else ""
        yield finding(
            "section.absent",
            "",
            f"{older}without {listed}",
            hint="analyze the source again to get all current sections",
            expected=absent,
        )


def _with_rfc3339_time(plan: JsonObject) -> JsonObject:
    """The plan with its timestamp in the form of RFC 3339, if it has the YAML form with blanks."""
    analyzer = plan.get("analyzer")
    timestamp = analyzer.get("timestamp") if isinstance(analyzer, dict) else None
    time = _YAML_TIME.fullmatch(timestamp) if isinstance(timestamp, str) else None
    if analyzer is None or time is None:
        return plan
    day, hour, zone = time.groups()
    offset = zone if len(zone) != 3 else f"{zone}:00"
    return {**plan, "analyzer": {**analyzer, "timestamp": f"{day}T{hour}{offset}"}}


def _mark_faulty(faults: list[Finding], sound: JsonObject) -> None:
    """Mark faulty values in fields where null has a meaning, so that they are not taken for null."""
    for fault in faults:
        match = _MEANINGFUL_NULL.match(fault.path)
        if match and fault.rule != "schema.required":
            characteristic = sound["characteristics"][int(match[1])]
            if match[2] == "depends_on":
                characteristic.pop("depends_on", None)
            else:
                characteristic["when_parent"] = [None]


def _with_yaml_hint(fault: Finding) -> Finding:
    """A finding of the schema, with a hint for YAML."""
    if fault.rule == "schema.type" and fault.expected == "string" and fault.found is not None:
        return fault._replace(hint="put the value in quotes")
    return fault


def _analyzer(analyzer: JsonObject) -> Findings:
    if analyzer.get("completed") is False:
        yield finding(
            "analysis.incomplete",
            "/analyzer/completed",
            "the analysis is not completed",
            hint="run the analyzer again; agents must not use this plan",
            expected=True,
            found=False,
        )
    mtime = analyzer.get("source_file_mtime")
    is_wrong = mtime is not None and (mtime <= 0 or isinstance(mtime, float) or mtime >= _FIRST_MILLISECONDS)
    if is_wrong:
        yield finding(
            "mistake.mtime",
            "/analyzer/source_file_mtime",
            f"common mistake: source_file_mtime is {display_value(mtime)}, not the modification time of the source file",
            hint="write the modification time of the source in whole seconds: File.mtime(source_file).to_i",
            expected="a positive integer",
            found=mtime,
        )


def _validation(validation: JsonObject) -> Findings:
    errors = validation.get("errors")
    if errors:
        first = next((error for error in errors if error is not None), "")
        yield finding(
            "validation.errors",
            "/validation/errors",
            f"the validator found {len(errors):,} error{'s' * (len(errors) > 1)}, the first: {display_value(first, 200)}",
            hint="fix the plan, then run `runcard plan validate`; agents must not use it until then",
            expected=[],
            found=len(errors),
        )
    elif validation.get("completed") is False:
        yield finding(
            "validation.incomplete",
            "/validation/completed",
            "the validation is not completed",
            hint="run `runcard plan validate`",
            expected=True,
            found=False,
        )


def _target(target: JsonObject) -> Findings:
    name, method = target.get("class"), target.get("method")
    if name is not None and not is_class_name(name):
        yield finding(
            "name.class",
            "/target/class",
            f"{display_value(name)} is not the name of a Ruby class",
            hint="write a constant with its modules, such as Billing::Invoice",
            expected="a constant",
            found=name,
        )
    if method is not None and not is_method_name(method):
        bare = method.rpartition("#")[2].rpartition(".")[2]
        hint = (
            f"write {bare}"
            if bare != method and is_method_name(bare)
            else "write the name alone, such as total"
        )
        yield finding(
            "name.method",
            "/target/method",
            f"{display_value(method)} is not the name of a Ruby method",
            hint=f"{hint}: without class, '#' and '.'",
            expected="a method name",
            found=method,
        )
    yield from _path(("target", "file"), target.get("file"))


@lru_cache(maxsize=1024)
def _is_relative(path: str) -> bool:
    """Whether a path is not refused; cached, since the plans of a project name the same files."""
    return check_relative(path.removeprefix("./")) is None


def _path(keys: Iterable[str], path: str | None) -> Findings:
    if path is not None and (reason := check_relative(path.removeprefix("./"))):
        yield finding(
            "path.hostile",
            join_pointer(keys),
            f"the path {display_value(path)} is refused: {reason}",
            hint="write a path relative to the root of the project, without '..'",
            expected="a relative path",
            found=path,
        )


def _automation(automation: JsonObject) -> Findings:
    for name in ("errors", "warnings"):
        value = automation.get(name, [])
        if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
            yield finding(
                "agent.lists",
                f"/automation/{name}",
                f"{name} must be a list of strings, found {display_value(value)}",
                hint=f'write a list: {name}: ["…"]',
                expected="a list of strings",
                found=value,
            )
    yield from _path(("automation", "skeleton_file"), automation.get("skeleton_file"))


_LETTER = r"[A-Za-z_]|[^\x00-\x7f]"  # Ruby allows every character beyond ASCII
_WORD = rf"(?:{_LETTER})(?:{_LETTER}|[0-9])*"
_CLASS = re.compile(rf"(?:::)?{_WORD}(?:::{_WORD})*")
_METHOD = re.compile(rf"{_WORD}[?!]?=?")  # `Struct.new(:success?)` defines `success?=`
_OPERATORS = frozenset(
    [
        "!",
        "!=",
        "!~",
        "%",
        "&",
        "*",
        "**",
        "+",
        "+@",
        "-",
        "-@",
        "/",
        "<",
        "<<",
        "<=",
        "<=>",
        "==",
        "===",
        "=~",
        ">",
        ">=",
        ">>",
        "[]",
        "[]=",
        "^",
        "`",
        "|",
        "~",
        "!@",
        "~@",
    ]
)


def is_class_name(text: str) -> bool:
    """Whether this is a Ruby constant, perhaps with modules: `Foo`, `::Foo::Bar`."""
    return _CLASS.fullmatch(text) is not None and all(
        part[0].isupper() or part[0].istitle() for part in text.removeprefix("::").split("::")
    )


def is_method_name(text: str) -> bool:
    """Whether Ruby allows this name for a method: a word, perhaps with `?`, `!` and `=`, or an operator."""
    return text in _OPERATORS or _METHOD.fullmatch(text) is not None
