"""The test plan: what the tests of one Ruby method must cover, and the rules that join its fields.

The rules about characteristics are in `characteristics.py`, what tells the versions apart in `shapes.py`. Whether the
target exists in the project's files is asked elsewhere; nothing here reads files.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from runcard.documents import schema
from runcard.documents.document import Document
from runcard.documents.findings import Finding, Report, bounded, finding, shown
from runcard.documents.kinds import TESTPLAN
from runcard.documents.testplan.characteristics import characteristic_rules
from runcard.documents.testplan.dialects import Shape, shape_of
from runcard.documents.testplan.ruby_names import is_class_name, is_method_name
from runcard.documents.versions import check_version
from runcard.encoding import JsonObject, decode_json, join_pointer
from runcard.encoding.json.edit import edit_json
from runcard.encoding.limits import DEFAULT, NONE, Limits
from runcard.errors import EncodingError
from runcard.files import check_relative

Findings = Iterator[Finding]

_OF_1_3 = {"validation", "analyzer.source_file_mtime"}  # the first is the validator's, the second is required
_NULL_SPEAKS = re.compile(r"/characteristics/(\d+)/(depends_on|when_parent)")
# How Ruby writes a time into YAML.
_YAML_TIME = re.compile(r"(\d{4}-\d\d-\d\d) +(\d\d:\d\d:\d\d(?:\.\d+)?) *(Z|[-+]\d\d(?::\d\d)?)", re.ASCII)
_MTIME = ("/analyzer", "source_file_mtime")  # where and how the schema says that it is missing


class TestPlan(Document):
    """A test plan."""

    __slots__ = ()
    __test__ = False  # pytest takes every class of such a name for tests
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
        from runcard.encoding.yaml import decode_yaml  # noqa: PLC0415 - most commands never see YAML

        return decode_json(source, limits) if _is_json(source, limits) else decode_yaml(source, limits)

    @staticmethod
    def encode(data: JsonObject) -> bytes:
        from runcard.encoding.yaml import encode_yaml  # noqa: PLC0415

        return encode_yaml(data)

    @staticmethod
    def edit(source: bytes, old: JsonObject, new: JsonObject) -> bytes:
        from runcard.encoding.yaml import edit_yaml  # noqa: PLC0415

        return edit_json(source, old, new) if _is_json(source, NONE) else edit_yaml(source, new)

    @classmethod
    def check(cls, data: JsonObject) -> Report:
        shape = shape_of(data)
        used, found = _settled(data, shape)
        if used is not None:
            faults, sound = schema.check(cls.kind, used, _with_plain_time(data))
            if shape.is_older:
                faults = [fault for fault in faults if (fault.path, fault.expected) != _MTIME]
            _mark_faulty(faults, sound)
            found += (*_absent(shape), *map(_in_words, faults), *bounded(cls.rules(sound)))
        return Report(found, cls.kind.name, shape.version)

    @staticmethod
    def rules(document: JsonObject) -> Findings:
        yield from _analyzer(document.get("analyzer") or {})
        yield from _validation(document.get("validation") or {})
        yield from _target(document.get("target") or {})
        listed = document.get("characteristics")
        if listed is not None:  # absent or no list, and that is said already
            yield from characteristic_rules(listed, is_later=shape_of(document).is_later)
        for name, factory in (document.get("factories_detected") or {}).items():
            yield from _path(("factories_detected", name, "file"), (factory or {}).get("file"))
        yield from _automation(document.get("automation") or {})


def _is_json(source: bytes, limits: Limits) -> bool:
    """Whether a plan is written as JSON, which is not always YAML as its readers take it."""
    if source.lstrip()[:1] != b"{":
        return False
    try:
        decode_json(source, limits)
    except EncodingError:
        return False
    return True


def _settled(data: JsonObject, shape: Shape) -> tuple[str | None, tuple[Finding, ...]]:
    """The version whose schema a plan is to be checked by, None when it is refused; and what is wrong with its own."""
    if shape.is_older or not shape.is_stated:
        return ("1.3" if shape.is_older else shape.version), ()
    _, used, found = check_version(TESTPLAN, {TESTPLAN.version_key: shape.version})
    if shape.version in TESTPLAN.versions or found:
        return used, found
    stated = data["format_version"]
    unknown = finding(
        "version.unknown",
        "/format_version",
        f"{shown(stated)} is no version of testplan documents",
        hint=f"published versions: {', '.join(TESTPLAN.versions)}",
        expected=list(TESTPLAN.versions),
        found=stated,
    )
    return used, (unknown,)


def _absent(shape: Shape) -> Findings:
    named = [place for place in shape.absent if shape.is_older or place not in _OF_1_3]
    if named:
        listed = ", ".join(f"'{place}'" for place in named)
        older = f"a plan of version {shape.version}, " if shape.is_older else ""
        yield finding(
            "section.absent",
            "",
            f"{older}without {listed}",
            hint="a new analysis writes everything that plans have today",
            expected=named,
        )


def _with_plain_time(plan: JsonObject) -> JsonObject:
    """The plan with its time as RFC 3339 has it, where it stands as YAML writes times: with blanks."""
    analyzer = plan.get("analyzer")
    written = analyzer.get("timestamp") if isinstance(analyzer, dict) else None
    time = _YAML_TIME.fullmatch(written) if isinstance(written, str) else None
    if analyzer is None or time is None:
        return plan
    day, hour, zone = time.groups()
    offset = zone if len(zone) != 3 else f"{zone}:00"
    return {**plan, "analyzer": {**analyzer, "timestamp": f"{day}T{hour}{offset}"}}


def _mark_faulty(faults: list[Finding], sound: JsonObject) -> None:
    """Where null has a meaning of its own, what the schema found fault with must not look like null."""
    for fault in faults:
        match = _NULL_SPEAKS.match(fault.path)
        if match and fault.rule != "schema.required":
            one = sound["characteristics"][int(match[1])]
            if match[2] == "depends_on":
                one.pop("depends_on", None)
            else:
                one["when_parent"] = [None]


def _in_words(fault: Finding) -> Finding:
    """A fault that the schema found, with the hint that helps somebody who writes YAML."""
    if fault.rule == "schema.type" and fault.expected == "string" and fault.found is not None:
        return replace(fault, hint="put it in quotes")
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
    if mtime is not None and (mtime <= 0 or isinstance(mtime, float)):
        yield finding(
            "mistake.mtime",
            "/analyzer/source_file_mtime",
            f"common mistake: source_file_mtime is {shown(mtime)}, not a time of the source file",
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
            f"the validator found {len(errors):,} error{'s' * (len(errors) > 1)}, the first: {shown(first, 200)}",
            hint="mend the plan, then run `runcard plan validate`; agents must not use it until then",
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
            f"{shown(name)} is not the name of a Ruby class",
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
            f"{shown(method)} is not the name of a Ruby method",
            hint=f"{hint}: without class, '#' and '.'",
            expected="a method name",
            found=method,
        )
    yield from _path(("target", "file"), target.get("file"))


def _path(place: Iterable[str], path: str | None) -> Findings:
    if path is not None and (reason := check_relative(path.removeprefix("./"))):
        yield finding(
            "path.hostile",
            join_pointer(place),
            f"the path {shown(path)} is refused: {reason}",
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
                f"{name} should be a list of texts, found {shown(value)}",
                hint=f'write a list: {name}: ["…"]',
                expected="a list of texts",
                found=value,
            )
    yield from _path(("automation", "skeleton_file"), automation.get("skeleton_file"))
