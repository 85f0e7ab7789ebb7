"""What findings say: in one line, short, harmless to a terminal, with a way to mend it."""

from decimal import Decimal
from typing import Any

import pytest

from documents import samples
from documents.samples import at, is_harmless, put
from runcard.documents.findings import (
    ERROR,
    RULES,
    WARNING,
    Finding,
    InvalidDocument,
    Report,
    display_value,
    finding,
    shorten_value,
    sorted_findings,
)
from runcard.documents.reader import load_document, parse_document
from runcard.encoding import encode_json

HOSTILE = {
    "a newline": ("x\ny", r"x\ny"),
    "an escape sequence": ("x\x1b[31my", r"x\x1b[31my"),
    "a mark that turns the text": ("x\u202ey", r"x\u202ey"),
    "an isolate": ("x\u2066y", r"x\u2066y"),
    "a line separator": ("x\u2028y", r"x\u2028y"),
    "a bell": ("x\x07y", r"x\x07y"),
    "a C1 control": ("x\x9by", r"x\x9by"),
    "no width": ("x\u200by", r"x\u200by"),
    "a NUL": ("x\x00y", r"x\x00y"),
}


def _changed(document: Any, pointer: str, value: object) -> Any:
    put(document, pointer, value)
    return document


def _team(pointer: str, value: object) -> Any:
    return _changed(samples.team(), pointer, value)


def _instance(pointer: str, value: object) -> Any:
    return _changed(samples.instance(), pointer, value)


def _manifest(pointer: str, value: object) -> Any:
    return _changed(samples.manifest(), pointer, value)


def _run(pointer: str, value: object) -> Any:
    return _changed(samples.run(), pointer, value)


def _without(pointer: str) -> Any:
    document = samples.run()
    parent, _, key = pointer.rpartition("/")
    del at(document, parent)[key]
    return document


def _running(name: str) -> Any:
    return samples.instance() | {"name": name, "status": "running"}


def _twice(name: str) -> Any:
    return _changed(
        _manifest("/instances_index/1/metadata_file", name), "/instances_index/0/metadata_file", name
    )


# Places where a name of the author's choice turns up in a message, and what else must be wrong there for it.
PLACES: dict[str, Any] = {
    "a session id": lambda name: samples.team() | {"team_session_id": name},
    "an instance id": lambda name: _team("/instances/3/instance_id", name),
    "a role": lambda name: _team("/instances/3/role", name),
    "a time": lambda name: _team("/instances/3/created_at", name),
    "a version": lambda name: samples.team() | {"version": name},
    "a running instance": _running,
    "a parent": lambda name: _team("/instances/3/parent_instance_id", name),
    "a child": lambda name: samples.instance() | {"children_instance_ids": [name, name]},
    "the key of a label": lambda name: samples.rich_team() | {"labels": {name: 5}},
    "a file type": lambda name: _instance("/workspace/file_types", {name: 1}),
    "the count of a file type": lambda name: _instance("/workspace/file_types", {name: "1"}),
    "a timezone": lambda name: _instance("/environment/timezone", name),
    "a language": lambda name: _instance("/environment/language", name),
    "a path": lambda name: _manifest("/instances_index/1/metadata_file", f"../{name}"),
    "a path that stands twice": _twice,
    "a run id": lambda name: _run("/generation/run_id", name),
    "a digest": lambda name: _run("/checksums/output", name),
    "a text for a number": lambda name: _run("/costs/input_tokens", name),
    "a package": lambda name: _run("/environment/packages", {name: 1}),
    "unknown keys": lambda name: {name: 1},
    "a cycle": lambda name: samples.team_of({name: "b", "b": name}),
    "itself as parent": lambda name: samples.instance() | {"instance_id": name, "parent_instance_id": name},
    "an older time": lambda name: samples.data("legacy/flat") | {"generated_at": name},
    "a document that is a text": lambda name: name,
}


@pytest.mark.parametrize(("name", "escaped"), HOSTILE.values(), ids=HOSTILE)
@pytest.mark.parametrize("place", PLACES)
def test_names_are_shown_escaped(place: str, name: str, escaped: str) -> None:
    data = encode_json(PLACES[place](name))
    report = parse_document(data).report
    assert report.findings
    said = [text for found in report.findings for text in (found.message, found.hint or "")]
    assert all(is_harmless(text) for text in said)
    assert any(escaped in text for text in said)
    if not report.valid:
        with pytest.raises(InvalidDocument) as refused:
            load_document(data)
        assert is_harmless(refused.value.message)


@pytest.mark.parametrize("place", PLACES)
def test_names_are_shown_short(place: str) -> None:
    report = parse_document(encode_json(PLACES[place]("|" * 100_000))).report
    assert report.findings
    for found in report.findings:
        assert len(found.message) < 500
        assert len(found.hint or "") < 500
        assert len(str(found.found)) < 300


def test_a_pipe_is_shown_as_it_is() -> None:
    assert display_value("a|b") == "'a|b'"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "null"),
        (True, "true"),
        (1.5, "1.5"),
        (10**30, str(10**30)),
        (Decimal("1.10"), "1.10"),
        ("", "''"),
        ("é\n", "'é\\n'"),
        ([1, 2], "a list of 2"),
        ({}, "an object of 0"),
        ([0] * 1000, "a list of 1,000"),
        ("x" * 60, f"'{'x' * 60}'"),
        ("x" * 61, f"'{'x' * 59}…'"),
        (10**4299, "1" + "0" * 58 + "…"),
        pytest.param(10**5000, "a number of too many digits to show", id="5,000 digits"),
    ],
)
def test_a_value_is_shown_on_one_short_line(value: object, text: str) -> None:
    assert display_value(value) == text


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        (None, None),
        (False, False),
        (1.5, 1.5),
        ("x" * 200, "x" * 200),
        ("x" * 201, f"'{'x' * 199}…'"),
        (10**199, 10**199),
        (-(10**200), "-1" + "0" * 197 + "…"),
        ([1], "a list of 1"),
    ],
)
def test_a_report_holds_small_values_as_they_are(value: object, kept: object) -> None:
    assert shorten_value(value) == kept
    assert finding("schema.type", "", "x", found=value).found == kept


def test_a_finding_has_the_severity_of_its_rule_and_says_nothing_that_it_does_not_know() -> None:
    found = finding("sum.absent", "/a", "message", hint="do this")
    assert found == Finding("sum.absent", WARNING, "/a", "message", "do this")
    assert found.to_dict() == {"rule": "sum.absent", "path": "/a", "message": "message", "hint": "do this"}
    full = Finding("sum.cost", ERROR, "", "m", "h", 0, 1, 2, 3)
    assert full.to_dict() == {
        "rule": "sum.cost",
        "path": "",
        "message": "m",
        "hint": "h",
        "expected": 0,
        "found": 1,
        "line": 2,
        "column": 3,
    }


def test_a_rule_that_nobody_owns_cannot_be_found() -> None:
    with pytest.raises(KeyError):
        finding("no.such-rule", "", "x")


def test_errors_stand_before_warnings_at_the_same_place() -> None:
    warning = Finding("sum.absent", WARNING, "", "w", line=2, column=1)
    error = Finding("sum.cost", ERROR, "", "e", line=2, column=1)
    first = Finding("sum.cost", ERROR, "", "f", line=1, column=9)
    assert sorted_findings([warning, error, first]) == (first, error, warning)


def test_a_strict_report_takes_warnings_as_errors() -> None:
    report = Report((finding("sum.absent", "", "x"),), "team", "1.0.0")
    assert (report.valid, report.errors, len(report.warnings)) == (True, [], 1)
    strict = report.strict()
    assert (strict.valid, len(strict.errors), strict.warnings) == (False, 1, [])
    assert (strict.kind, strict.version) == ("team", "1.0.0")


def test_every_rule_has_a_meaning_in_a_line() -> None:
    for rule, (severity, meaning) in RULES.items():
        assert severity in {ERROR, WARNING}
        assert is_harmless(meaning)
        assert 10 < len(meaning) < 120
        group, dot, name = rule.partition(".")
        assert group.isalpha()
        assert dot
        assert name.replace("-", "").isalnum()


@pytest.mark.parametrize(
    ("document", "message"),
    [
        (_team("/version", None), "null is not of type 'string' for field 'version'"),
        (
            _team("/instances/3/tokens_used", 123.456),
            "123.456 is not of type 'integer' for field 'tokens_used'",
        ),
        ({"execution_summary": {}}, "'version' is a required property"),
    ],
)
def test_the_common_mistakes_are_told_in_the_words_of_the_specification(document: Any, message: str) -> None:
    assert message in [found.message for found in parse_document(encode_json(document)).report.findings]


@pytest.mark.parametrize(
    ("document", "said"),
    [
        (_run("/costs/input_tokens", "1"), "null"),
        (_run("/generation/command", "x"), "null"),
        (_run("/generation/status", "x"), None),
        (_team("/instances/3/tokens_used", "1"), None),
        (_team("/instances/3/error_message", 1), "null"),
        (samples.run() | {"costs": []}, None),
        (_without("/checksums"), None),
        (_without("/checksums/data"), "null"),
        (_without("/environment/persona_version"), "null"),
        (_without("/data_sources/files/0/path"), None),
    ],
)
def test_a_hint_speaks_of_null_only_where_null_is_allowed(document: Any, said: str | None) -> None:
    (found,) = parse_document(encode_json(document)).report.errors
    assert found.hint is not None
    assert ("null" in found.hint) == (said is not None)


def test_a_status_that_does_not_exist_is_told_with_those_that_do() -> None:
    (found,) = parse_document(encode_json(_team("/instances/3/status", "complete"))).report.findings
    assert found.message.startswith("'complete' is not one of 'completed', 'error', 'timeout'")
    assert found.hint is not None
    assert "'completed'" in found.hint
    assert found.expected == ["completed", "error", "timeout", "terminated", "running"]
