"""Which version a document has, and whether it may be read."""

import pytest

from documents import samples
from runcard.documents.kinds import KINDS, detect
from runcard.documents.reader import parse_document
from runcard.documents.versions import check_version
from runcard.encoding import encode_json


@pytest.mark.parametrize(
    ("kind", "stated", "used", "rule"),
    [
        ("team", "1.0.0", "1.0.0", None),
        ("team", "2.0.0", "2.0.0", None),
        ("team", "1.0.1", "1.0.0", "version.newer-minor"),
        ("team", "1.99", "1.0.0", "version.newer-minor"),
        ("team", "2.0.1", "2.0.0", "version.newer-minor"),
        ("team", "2.1", "2.0.0", "version.newer-minor"),
        ("team", "2.999999999.0", "2.0.0", "version.newer-minor"),
        ("team", "3.0.0", None, "version.newer-major"),
        ("team", "3.0", None, "version.newer-major"),
        ("team", "999999999.0", None, "version.newer-major"),
        ("team", "0.0.0", "1.0.0", "version.unknown"),
        ("team", "0.9.9", "1.0.0", "version.unknown"),
        ("team", "1.0", "1.0.0", "version.unknown"),
        ("team", "2.0", "1.0.0", "version.unknown"),
        ("team", "02.0.0", "1.0.0", "version.unknown"),
        ("manifest", "1.0.0", "1.0.0", None),
        ("manifest", "1.3.0", "1.0.0", "version.newer-minor"),
        ("manifest", "2.0.0", None, "version.newer-major"),
        ("generation", "1.0", "1.0", None),
        ("generation", "1.1", "1.0", "version.newer-minor"),
        ("generation", "1.0.1", "1.0", "version.newer-minor"),
        ("generation", "1.0.0", "1.0", "version.unknown"),
        ("generation", "0.1.0", "1.0", "version.unknown"),
        ("generation", "1", "1.0", "version.unknown"),
        ("generation", "2", None, "version.newer-major"),
        ("generation", "2.0", None, "version.newer-major"),
        ("generation", "99999999999999999999.0", None, "version.newer-major"),
    ],
)
def test_a_version_decides_by_which_schema_a_document_is_read(
    kind: str, stated: str, used: str | None, rule: str | None
) -> None:
    version = check_version(KINDS[kind], {KINDS[kind].version_key: stated})
    assert (version.stated, version.used) == (stated, used)
    assert [found.rule for found in version.findings] == ([rule] if rule else [])
    for found in version.findings:
        assert found.path == f"/{KINDS[kind].version_key}"
        assert found.found == stated
        assert kind in found.message
        assert stated in found.message


@pytest.mark.parametrize(
    "stated",
    [
        "",
        "v1.0.0",
        "1.0.0-beta",
        "1.0.0.0",
        " 1.0.0",
        "1.0.0\n",
        "one",
        "1..0",
        "-1.0.0",
        "1.0.x",
        "٣.0.0",
        "9" * 5000,
    ],
)
def test_what_has_not_the_form_of_a_version_is_refused_by_the_schema(stated: str) -> None:
    for data, kind in (
        (samples.team(), "team"),
        (samples.instance(), "instance"),
        (samples.manifest(), "manifest"),
    ):
        report = parse_document(encode_json(data | {"version": stated})).report
        assert [(found.rule, found.path) for found in report.findings] == [("schema.enum", "/version")]
        assert (report.kind, report.version) == (kind, stated)
        assert len(report.findings[0].message) < 200


@pytest.mark.parametrize("stated", [None, 1, 1.0, True, [], {}, ["1.0.0"]])
def test_a_version_that_is_no_text_is_an_error_at_the_version(stated: object) -> None:
    for data in (samples.team(), samples.archive_index()):
        report = parse_document(encode_json(data | {"version": stated})).report
        assert {found.path for found in report.errors} == {"/version"}
        assert report.version is None
    report = parse_document(encode_json(samples.run() | {"metadata_version": stated})).report
    assert [(found.rule, found.path) for found in report.errors] == [("schema.enum", "/metadata_version")]


def test_a_document_without_a_version_says_that_it_needs_one_unless_it_never_had_one() -> None:
    data = samples.team()
    del data["version"]
    (found,) = parse_document(encode_json(data)).report.findings
    assert (found.rule, found.path, found.hint) == (
        "schema.required",
        "",
        'add the version: "version": "2.0.0"',
    )
    assert parse_document(encode_json(samples.archive_index())).report.version == "1.0.0"


def test_the_rest_of_a_document_of_an_unknown_version_is_still_checked() -> None:
    data = samples.team() | {"version": "0.5.0", "total_instances": 9}
    assert {found.rule for found in parse_document(encode_json(data)).report.errors} == {
        "version.unknown",
        "count.instances",
    }


def test_the_rest_of_a_newer_minor_is_checked_by_the_newest_schema_of_its_major() -> None:
    report = parse_document(encode_json(samples.team() | {"version": "1.5.0", "total_instances": "4"})).report
    assert [found.rule for found in report.errors] == ["schema.type"]
    assert [found.rule for found in report.warnings] == ["version.newer-minor"]
    labels = {"labels": 5}  # a word that 2.0.0 knows and 1.x does not
    assert parse_document(encode_json(samples.team() | {"version": "1.5.0"} | labels)).report.valid
    assert not parse_document(encode_json(samples.team() | {"version": "2.5.0"} | labels)).report.valid


def test_nothing_else_is_said_of_a_newer_major() -> None:
    report = parse_document(b'{"version": "7.0.0", "execution_summary": 1}').report
    assert [found.rule for found in report.findings] == ["version.newer-major"]
    assert (report.kind, report.version) == ("team", "7.0.0")


@pytest.mark.parametrize(
    ("keys", "kind"),
    [
        ({"metadata_version"}, "generation"),
        ({"execution_summary"}, "team"),
        ({"children_instance_ids"}, "instance"),
        ({"instances_index", "team_session_id"}, "manifest"),
        ({"archived_runs"}, "archive-index"),
        ({"archived_sessions"}, "archive-index"),
        ({"generation", "configuration", "costs"}, "generation"),
        ({"team_session_id", "instances", "total_instances"}, "team"),
        ({"instance_id", "role", "status"}, "instance"),
        ({"team_session_id", "timestamp", "summary"}, "manifest"),
        ({"generation", "configuration"}, None),
        ({"team_session_id", "instances"}, None),
        ({"name", "version", "dependencies"}, None),
        ({"generated_at", "persona_count"}, "generation"),
        ({"generated_at", "persona_count", "version"}, None),
        ({"generated_at"}, None),
        (set(), None),
    ],
)
def test_the_kind_of_a_document_is_told_by_its_keys(keys: set[str], kind: str | None) -> None:
    found = detect(dict.fromkeys(keys))
    assert (found and found.name) == kind


@pytest.mark.parametrize(
    ("stated", "rules"),
    [
        ("2.0.0", []),
        ("1.0.0", []),
        ("2.0.7", ["version.newer-minor"]),
        ("3.0.0", ["version.newer-major"]),
        ("0.1.0", ["version.unknown"]),
        ("two", ["schema.enum"]),
        (2, ["schema.type"]),
        (None, ["schema.type"]),
    ],
)
def test_the_format_version_of_an_instance_decides_and_the_version_stays_the_first(
    stated: object, rules: list[str]
) -> None:
    data = samples.instance() | {"format_version": stated}
    report = parse_document(encode_json(data)).report
    assert [(found.rule, found.path) for found in report.findings] == [
        (rule, "/format_version") for rule in rules
    ]
    assert report.version == (stated if isinstance(stated, str) else None)


def test_the_additions_are_checked_in_both_shapes_of_2_0_0_and_in_no_other() -> None:
    wrong = samples.instance() | {"token_source": "guessed"}
    shapes: list[dict[str, str]] = [{"version": "1.0.0", "format_version": "2.0.0"}, {"version": "2.0.0"}]
    for versions in shapes:
        report = parse_document(encode_json(wrong | versions)).report
        assert [(found.rule, found.path) for found in report.findings] == [("schema.enum", "/token_source")]
    assert not parse_document(encode_json(wrong)).report.findings


def test_a_document_without_a_version_is_told_the_one_that_it_must_state() -> None:
    data = {name: value for name, value in samples.instance().items() if name != "version"}
    (found,) = parse_document(encode_json(data)).report.findings
    assert found.hint == 'add the version: "version": "1.0.0"'
