"""What a SPEC may say, and everything that is wrong with one, at once and with its place."""

import json
from pathlib import Path
from typing import Any

import pytest

import runcard
from runcard.documents.session.session_spec import template
from sessions.collecting.teams import KEY, document, everything, instance, team, write_spec


def refused(spec: Any) -> list[runcard.Finding]:
    with pytest.raises(runcard.InvalidDocument) as error:
        runcard.collect(spec)
    assert not Path("artifacts").exists()  # nothing was begun
    return list(error.value.report.findings)


def rules(spec: Any) -> list[tuple[str, str]]:
    return [(found.rule, found.path) for found in refused(spec)]


def told(spec: dict[str, Any]) -> list[tuple[str, str]]:
    """The warnings about a SPEC that can be collected."""
    return [(found.rule, found.path) for found in runcard.collect(spec).findings]


def test_all_that_is_wrong_is_said_at_once_with_line_and_column(here: Path) -> None:
    path = here / "spec.yaml"
    path.write_text(
        "team_session_id: ../evil\n"
        "lables: {a: b}\n"
        "instances:\n"
        "  - name: a\n"
        "    status: finished\n"
        "    created_at: 2025-11-06T14:00:00\n"
        "    usage: {input: 5, output: 3, foo: 1}\n"
        "  - name: b\n"
        "    status: completed\n"
        "    created_at: 2025-11-06T14:00:00Z\n"
        "    terminated_at: 2025-11-06T13:00:00Z\n"
        "    parent: nobody\n"
        "    cost: -1\n"
    )
    found = [(one.rule, one.path, one.line, one.column) for one in refused(path)]
    assert found == [
        ("id.form", "/team_session_id", 1, 18),
        ("spec.unknown-key", "/lables", 2, 9),
        ("schema.enum", "/instances/0/status", 5, 13),
        ("schema.format", "/instances/0/created_at", 6, 17),
        ("spec.usage", "/instances/0/usage", 7, 12),
        ("time.order", "/instances/1/terminated_at", 11, 20),
        ("parent.missing", "/instances/1/parent", 12, 13),
        ("schema.minimum", "/instances/1/cost", 13, 11),
    ]


def test_the_same_in_json(here: Path) -> None:
    path = write_spec(here, team(instance(status="done"), {"name": ""}))
    assert [(one.rule, one.path, one.line) for one in refused(path)] == [
        ("schema.enum", "/instances/0/status", 6),
        ("schema.required", "/instances/1", 10),
        ("schema.required", "/instances/1", 10),
        ("schema.min-length", "/instances/1/name", 11),
    ]


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("", "document.not-an-object"),
        ("[]", "document.not-an-object"),
        ("{", "json.syntax"),
        ("{}", "schema.required"),
        ('{"team_session_id": 5, "instances": 7}', "schema.type"),
        ("team_session_id: [", "yaml.syntax"),
        ("\xff", "encoding.utf-8"),
    ],
)
def test_what_is_no_spec_is_a_finding_and_no_traceback(here: Path, text: str, rule: str) -> None:
    path = here / "spec"
    path.write_bytes(text.encode("latin-1"))
    assert rule in {one.rule for one in refused(path)}


@pytest.mark.parametrize(
    "wrong", ["", " ", ".", "..", "../x", "a/b", "-x", "é", "a b", "x" * 129, "a\n", "a\0"]
)
def test_an_id_that_cannot_be_a_name_is_refused_and_never_changed(wrong: str) -> None:
    assert {path for _, path in rules(team(instance(), team_session_id=wrong))} == {"/team_session_id"}
    assert ("id.form", "/instances/0/instance_id") in rules(team(instance(instance_id=wrong)))


def test_an_empty_session_is_refused_in_the_documented_words() -> None:
    assert [one.message for one in refused(team())] == [
        "No instances found for team session 'research-team-001'"
    ]
    assert [one.message for one in refused(team(instance(), team_session_id=""))] == [
        "Team session ID cannot be empty"
    ]


def test_ids_stand_once() -> None:
    spec = team(instance(instance_id="x"), instance("b", instance_id="x"))
    assert rules(spec) == [("id.duplicate", "/instances/1/instance_id")]


class TestParents:
    def parents(self, *instances: dict[str, Any]) -> list[str | None]:
        data = runcard.collect(team(*instances)).document.to_dict()["instances"]
        names = {entry["instance_id"]: entry["name"] for entry in data}
        return [names.get(entry["parent_instance_id"]) for entry in data]

    def test_by_name_and_by_id(self) -> None:
        boss = instance("boss", instance_id="b-1")
        one, two, three = (
            instance("one", parent="boss"),
            instance("two", parent_instance_id="b-1"),
            instance("three", parent="b-1"),
        )
        assert self.parents(one, boss, two, three) == ["boss", None, "boss", "boss"]

    def test_said_twice_in_agreement(self) -> None:
        one = instance("one", parent="boss", parent_instance_id="b-1")
        assert self.parents(instance("boss", instance_id="b-1"), one) == [None, "boss"]

    def test_a_name_that_two_have(self) -> None:
        spec = team(instance("twin"), instance("twin"), instance("child", parent="twin"))
        assert rules(spec) == [("parent.ambiguous", "/instances/2/parent")]

    def test_two_different_parents(self) -> None:
        spec = team(
            instance("a", instance_id="a-1"),
            instance("b", instance_id="b-1"),
            instance("c", parent="a", parent_instance_id="b-1"),
        )
        assert rules(spec) == [("parent.ambiguous", "/instances/2/parent")]

    def test_one_that_is_not_there(self) -> None:
        spec = team(instance(parent="ghost"), instance("b", parent_instance_id="ghost"))
        assert rules(spec) == [
            ("parent.missing", "/instances/0/parent"),
            ("parent.missing", "/instances/1/parent_instance_id"),
        ]

    def test_a_cycle_is_told_by_names(self) -> None:
        (found,) = refused(
            team(instance("a", parent="c"), instance("b", parent="a"), instance("c", parent="b"))
        )
        assert (found.rule, found.path) == ("parent.cycle", "/instances/0/parent")
        assert found.message == "a cycle of parents: a → c → b → a"

    def test_a_count_of_children_that_is_wrong(self) -> None:
        assert rules(team(instance(children_count=2))) == [("count.children", "/instances/0/children_count")]


def test_what_is_odd_is_a_warning_and_collected() -> None:
    assert told(team(instance(), owner="me")) == [("spec.unknown-key", "/owner")]
    assert told(team(instance(colour="red"))) == [("spec.unknown-key", "/instances/0/colour")]
    assert told(team(instance(error_details={"category": "other", "x": 1}))) == [
        ("spec.unknown-key", "/instances/0/error_details/x")
    ]
    assert told(team(instance(status="running"))) == [
        ("status.running", "/instances/0/status"),
        ("spec.conflict", "/instances/0/terminated_at"),
    ]
    assert told(team(instance(terminated_at=None))) == [("expected.absent", "/instances/0")]
    assert told(team(instance(tokens_used=9, usage={"input": 5, "output": 3}, cost=1))) == [
        ("spec.conflict", "/instances/0/tokens_used")
    ]
    assert told(team(instance(model="nobody-knows", usage={"input": 5, "output": 3}))) == [
        ("spec.price", "/instances/0/usage")
    ]
    assert told(team(instance(labels={"any": "thing"}), labels={"a": "b"})) == []


def test_an_error_goes_by_either_name() -> None:
    instances = [
        instance("a", status="error", error="one"),
        instance("b", error_message="two", error="three"),
    ]
    data = runcard.collect(team(*instances)).document.to_dict()
    assert [entry["error_message"] for entry in data["instances"]] == ["one", "two"]


def test_tokens_go_by_either_name(here: Path) -> None:
    spec = team(instance(model="claude-sonnet-4-5", tokens={"input": 10, "output": 5}))
    (entry,) = runcard.collect(spec).document.to_dict()["instances"]
    assert (entry["tokens"]["input"], entry["tokens_used"], entry["cost"]) == (10, 15, 0.000105)
    bad = write_spec(here, team(instance(tokens={"input": 5, "cache_read": 9, "output": 0})))
    with pytest.raises(runcard.InvalidDocument) as caught:
        runcard.collect(bad)
    assert {found.line is not None for found in caught.value.report.errors} == {True}


def test_an_instance_of_tomorrow_that_still_runs_is_refused() -> None:
    spec = team({"name": "a", "status": "running", "created_at": "2999-01-01T00:00:00Z"})
    assert ("time.order", "/instances/0/created_at") in rules(spec)


@pytest.mark.parametrize("moment", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00"])
def test_a_time_that_utc_has_no_year_for_is_refused(moment: str) -> None:
    assert ("schema.format", "/instances/0/created_at") in rules(team(instance(created_at=moment)))


@pytest.mark.parametrize(
    ("moment", "hint"),
    [
        ("2025-11-06T14:05:00", "add the zone"),
        ("yesterday", "write a date, a time and a zone"),
        ("2025-11-06", "write a date, a time and a zone"),
    ],
)
def test_the_hint_for_a_wrong_time_names_what_is_missing(moment: object, hint: str) -> None:
    [found] = [
        finding
        for finding in refused(team(instance(created_at=moment)))
        if finding.path.endswith("created_at")
    ]
    assert found.hint is not None
    assert found.hint.startswith(hint)


def test_the_template_can_be_collected_as_it_is(here: Path) -> None:
    path = here / "spec.yaml"
    path.write_text(template())
    collected = runcard.collect(path)
    assert collected.findings == ()
    assert [entry["cost"] for entry in collected.document.instances] == [0.15405, 0.32]
    assert collected.is_whole  # so the exit code is 0


def test_the_example_is_the_template() -> None:
    example = Path(__file__).parents[3] / "examples" / "session.yaml"
    assert example.read_text("utf-8") == template()


def test_paths_are_relative_to_the_spec_or_absolute(here: Path) -> None:
    folder = here / "elsewhere"
    (folder / "w").mkdir(parents=True)
    (folder / "w" / "f.txt").write_text("f")
    (folder / "log").write_text("log\n")
    spec = team(
        instance(instance_id="a", workspace="w", output="log"),
        instance("b", instance_id="b", workspace=str(folder / "w")),
    )
    session = runcard.collect(write_spec(folder, spec)).path
    assert session == here / "artifacts" / session.name
    assert (session / "instances" / "a" / "workspace" / "f.txt").read_text() == "f"
    assert (session / "instances" / "b" / "workspace" / "f.txt").read_text() == "f"
    assert (session / "instances" / "a" / "output.log").read_text() == "log\n"
    assert document(session, "instances/a/metadata.json")["workspace"]["path"] == str(folder / "w")


def test_secrets_in_a_spec_are_masked_wherever_it_is_written(here: Path) -> None:
    spec = team(
        instance(
            f"agent {KEY}",
            role=KEY,
            model=KEY,
            error_message=f"401 for {KEY}",
            labels={"api_key": "hunter2-is-the-word"},
            workspace=f"w/{KEY}",
            output=f"{KEY}.log",
        ),
        labels={"note": KEY},
        **{KEY: 1},
    )
    collected = runcard.collect(write_spec(here, spec))
    kept = everything(here / "artifacts")
    assert KEY.encode() not in kept
    assert b"hunter2" not in kept
    redactions = collected.document.to_dict()["audit"]["redactions"]
    assert {(one["rule"], one["where"]) for one in redactions} >= {("anthropic-key", "SPEC")}
    open_hearted = runcard.collect(spec, keep_secrets=True, artifacts=here / "other")
    assert KEY in json.dumps(open_hearted.document.to_dict())
    assert open_hearted.document.to_dict()["audit"]["options"]["keep_secrets"] is True


def test_an_id_that_looks_like_a_secret_is_refused() -> None:
    assert rules(team(instance(instance_id=KEY))) == [("spec.secret", "/instances/0/instance_id")]
    assert rules(team(instance(), team_session_id=KEY)) == [("spec.secret", "/team_session_id")]
