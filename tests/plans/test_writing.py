"""Changing a plan: in place, atomically, and never over the change of another writer."""

import difflib
import os
import stat
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import runcard
from documents.samples import CORPUS, every_file, is_yaml
from plans.projects import SOURCE, Fields, RubyProject
from runcard.documents.reader import parse_document
from runcard.encoding.yaml import decode_yaml, encode_yaml
from runcard.errors import DocumentError, EncodingError, MachineError, StoreError

WRITTEN_BY_HAND = b"""\
# The plan of Invoice#total.   Keep it!

analyzer: {completed: true, timestamp: 2025-11-07T10:35:20Z, source_file_mtime: 1699352120, version: "1.0"}
validation:   # by the validator
  completed: true
  errors: []
  warnings: []
test_level: 'unit'
target:
  class: "Billing::Invoice"
  method: total
  method_type: instance
  file: app/models/billing/invoice.rb

characteristics:
# the first
- name: customer   # who pays
  type: enum
  states: ['yes', "no", regular]
  default: ~
  depends_on: null
  level: 1
- {name: size, type: range, states: [small, large], default: null, depends_on: null, level: 1}
factories_detected: {}   # none
automation:
    # four blanks
    analyzer_completed: true
    note: >-
      folded
      text
# the end
"""


def lines_changed(before: bytes, after: bytes) -> list[str]:
    old, new = before.decode().splitlines(), after.decode().splitlines()
    return [line for line in difflib.ndiff(old, new) if line[0] in "+-"]


def test_a_mark_adds_a_line_and_changes_no_other(project: RubyProject) -> None:
    project.write(WRITTEN_BY_HAND)
    runcard.open_plan(project.source).mark("architect", version="1.0")
    assert lines_changed(WRITTEN_BY_HAND, project.plan.read_bytes()) == [
        "+     architect_completed: true",
        "+     architect_version: '1.0'",
    ]


def test_a_section_is_replaced_and_the_others_keep_their_bytes(project: RubyProject) -> None:
    project.write(WRITTEN_BY_HAND)
    plan = runcard.open_plan(project.source)
    data = plan.to_dict()
    data["validation"]["warnings"] = ["on: the way"]
    plan.write("validator", data)
    after = project.plan.read_bytes()
    assert lines_changed(WRITTEN_BY_HAND, after) == [
        "-   warnings: []",
        "+   warnings:",
        "+     - 'on: the way'",
    ]


def test_new_sections_stand_where_plans_have_them(project: RubyProject) -> None:
    data = project.plan_of()
    del data["validation"], data["automation"]
    project.write(data)
    plan = runcard.open_plan(project.source)
    verdict = {"completed": True, "errors": [], "warnings": []}
    plan.write("validator", plan.to_dict() | {"validation": verdict})
    runcard.open_plan(project.source).mark("skeleton")
    assert list(project.read()) == [
        *("analyzer", "validation", "test_level", "target", "characteristics"),
        *("factories_detected", "automation"),
    ]


def test_what_is_not_changed_is_not_written(project: RubyProject) -> None:
    project.write(WRITTEN_BY_HAND)
    before = project.plan.stat()
    plan = runcard.open_plan(project.source)
    assert plan.write("architect", plan.to_dict()).path == str(project.plan)
    assert project.plan.stat().st_ino == before.st_ino


def test_the_data_of_a_plan_are_the_callers_own(project: RubyProject) -> None:
    project.write(WRITTEN_BY_HAND)
    plan = runcard.open_plan(project.source)
    plan.to_dict()["characteristics"].clear()
    assert len(plan.to_dict()["characteristics"]) == 2
    assert (plan.exists, plan.source, plan.path) == (True, str(project.source), str(project.plan))
    assert plan.report.valid


class TestANewPlan:
    def data(self, project: RubyProject) -> Fields:
        data = project.plan_of()
        del data["validation"]
        return data | {"automation": {"analyzer_completed": True}}

    def test_the_analyzer_makes_it(self, project: RubyProject) -> None:
        plan = runcard.open_plan(project.source)
        assert (plan.exists, plan.to_dict()) == (False, {})
        written = plan.write("analyzer", self.data(project))
        assert written.exists
        assert project.read() == {"format_version": "1.3"} | self.data(project)
        assert next(iter(project.read())) == "format_version"
        assert project.plan.stat().st_mode & 0o777 == 0o666 & ~_umask()

    def test_what_ruby_would_misread_is_quoted(self, project: RubyProject) -> None:
        data = self.data(project)
        words = ["yes", "no", "on", "0777", "1_000", "null", "2024-01-01", ":sym", "1.5"]
        data["characteristics"][0] |= {"states": words, "default": "no"}
        data["characteristics"][1] |= {"when_parent": "yes"}
        runcard.open_plan(project.source).write("analyzer", data)
        assert project.read()["characteristics"][0]["states"] == words
        assert parse_document(project.plan.read_bytes()).report.valid

    def test_one_that_is_not_valid_is_not_written(self, project: RubyProject) -> None:
        data = self.data(project)
        data["characteristics"][1]["depends_on"] = "nobody"
        with pytest.raises(runcard.InvalidDocument, match=r"the new .* is not valid"):
            runcard.open_plan(project.source).write("analyzer", data)
        assert not project.plan.exists()

    def test_nobody_else_makes_it(self, project: RubyProject) -> None:
        with pytest.raises(StoreError, match="there is no plan for"):
            runcard.open_plan(project.source).write("architect", self.data(project))
        assert not project.folder.exists()

    def test_it_replaces_one_that_cannot_be_read(self, project: RubyProject) -> None:
        project.write(b"analyzer: [")
        plan = runcard.open_plan(project.source)
        with pytest.raises(runcard.InvalidDocument):
            plan.mark("skeleton")
        plan.write("analyzer", self.data(project))
        assert parse_document(project.plan.read_bytes()).report.valid


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


class TestStaleWrites:
    def test_a_write_over_a_change_is_refused(self, project: RubyProject) -> None:
        project.write(WRITTEN_BY_HAND)
        plan = runcard.open_plan(project.source)
        data = plan.to_dict()
        runcard.open_plan(project.source).mark("skeleton")
        between = project.plan.read_bytes()
        data["automation"]["architect_completed"] = True
        with pytest.raises(StoreError, match="has changed since it was read"):
            plan.write("architect", data)
        assert project.plan.read_bytes() == between

    def test_so_is_one_over_a_plan_that_came_or_went(self, project: RubyProject) -> None:
        fresh = runcard.open_plan(project.source)
        project.write(WRITTEN_BY_HAND)
        with pytest.raises(StoreError, match="has changed"):
            fresh.write("analyzer", project.plan_of())
        read = runcard.open_plan(project.source)
        project.plan.unlink()
        with pytest.raises(StoreError, match="has changed"):
            read.write("analyzer", read.to_dict() | {"test_level": "e2e"})
        assert not project.plan.exists()

    def test_a_mark_is_made_on_the_plan_as_it_is(self, project: RubyProject) -> None:
        project.write(WRITTEN_BY_HAND)
        one, other = runcard.open_plan(project.source), runcard.open_plan(project.source)
        one.mark("skeleton")
        other.mark("architect")
        automation = project.read()["automation"]
        assert automation["skeleton_completed"] is automation["architect_completed"] is True


class TestVersions:
    def test_an_older_plan_is_written_back_in_the_shape_it_had(self, project: RubyProject) -> None:
        older = (CORPUS / "warnings/section.absent--1.2.yml").read_bytes()
        project.write(older)
        runcard.open_plan(project.source).mark("skeleton")
        after = project.plan.read_bytes()
        assert lines_changed(older, after) == ["+   skeleton_generated: true", "+   skeleton_completed: true"]
        assert parse_document(after).report.version == "1.2"

    @pytest.mark.parametrize("name", ["major--testplan-3.0", "major--testplan-2.1", "minor--testplan-1.4"])
    def test_a_newer_plan_is_never_rewritten(self, project: RubyProject, name: str) -> None:
        newer = (CORPUS / f"future/{name}.yml").read_bytes()
        project.write(newer)
        plan = runcard.open_plan(project.source)
        with pytest.raises((DocumentError, runcard.InvalidDocument)):
            plan.mark("skeleton")
        with pytest.raises(DocumentError, match="is not rewritten"):
            plan.write("analyzer", plan.to_dict() | {"test_level": "e2e"})
        assert project.plan.read_bytes() == newer


def test_mode_and_links_stay(project: RubyProject) -> None:
    real = project.root / "elsewhere.yml"  # a link may not lead out of the project
    real.write_bytes(WRITTEN_BY_HAND)
    real.chmod(0o640)
    project.folder.mkdir(parents=True)
    project.plan.symlink_to(real)
    runcard.open_plan(project.source).mark("skeleton")
    assert project.plan.is_symlink()
    assert stat.S_IMODE(real.stat().st_mode) == 0o640


def test_what_aliases_stand_for_is_not_silently_changed(project: RubyProject) -> None:
    text = WRITTEN_BY_HAND.replace(b"note: >-\n      folded\n      text", b"errors: &e []\n    warnings: *e")
    project.write(text)
    try:
        runcard.open_plan(project.source).mark("architect", warnings=["x"])
    except EncodingError:
        assert project.plan.read_bytes() == text
    else:
        automation = project.read()["automation"]
        assert (automation["errors"], automation["warnings"]) == ([], ["x"])


def test_a_full_or_read_only_folder_keeps_the_old_plan(
    project: RubyProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.write(WRITTEN_BY_HAND)

    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(MachineError, match="No space left"):
        runcard.open_plan(project.source).mark("skeleton")
    assert project.plan.read_bytes() == WRITTEN_BY_HAND
    assert os.listdir(project.folder) == [project.plan.name]


PLANS = [
    path.read_bytes()
    for folder in ("valid", "warnings")
    for path in every_file(folder)
    if is_yaml(path) and b"analyzer" in path.read_bytes() and not path.read_bytes().startswith(b"\xef")
]
texts = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=12) | st.sampled_from(
    ["yes", "0777", "", "# no comment", "a: b", "- x", "'", '"', "\n", "null", "é"]
)


@settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.sampled_from(PLANS), st.lists(texts, max_size=3), st.lists(texts, min_size=1, max_size=3), st.data()
)
def test_an_update_keeps_every_byte_that_it_need_not_change(
    project: RubyProject, source: bytes, errors: list[str], warnings: list[str], drawn: st.DataObject
) -> None:
    """Whatever agents say in `automation`, all that stands before that section stays as it is."""
    project.write(source)
    path = str(project.plan)
    before = decode_yaml(source)
    agent = drawn.draw(st.sampled_from(["skeleton", "architect", "polisher"]))
    try:
        runcard.open_plan(path).mark(agent, errors=errors, warnings=warnings)
    except DocumentError:
        assert project.plan.read_bytes() == source
        return
    after = project.plan.read_bytes()
    data = decode_yaml(after)
    assert {**data, "automation": None} == {**before, "automation": None}
    assert data["automation"]["warnings"][-len(warnings) :] == warnings
    removed = [line for line in lines_changed(source, after) if line.startswith("-")]
    assert len(removed) <= 6
    head = source.partition(b"automation")[0].rstrip()
    assert after.startswith(head)


values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**6), 10**6) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=5,
)


@settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(values, values)
def test_what_an_agent_sets_is_read_back(project: RubyProject, one: Any, other: Any) -> None:
    project.write(WRITTEN_BY_HAND)
    plan = runcard.open_plan(project.source)
    for value in (one, other):
        plan = plan.mark("architect", values={"architect_said": deepcopy(value)})
        assert encode_yaml(project.read()["automation"]["architect_said"]) == encode_yaml(value)
    assert project.read()["target"]["file"] == SOURCE
    runcard.open_plan(project.source)
