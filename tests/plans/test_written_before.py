"""Plans of version 2.0 that were written before 1.3 was the format of new plans. Do not write these files again."""

import json
import re
import shutil
from pathlib import Path

import pytest

import runcard
from conftest import Cli
from plans.shop import BEFORE, MODIFIED, PAY, USER, Shop
from plans.specification import problems
from runcard.documents.migrations import migrate
from runcard.encoding.yaml import decode_yaml
from runcard.errors import DocumentError
from runcard.plans.analysis import VERSION

PLANS = sorted(path.name for path in (BEFORE / "tmp/rspec_claude_metadata").iterdir())


@pytest.fixture
def old(tmp_path: Path) -> Shop:
    return Shop(tmp_path / "old", is_new=False)


def contents(shop: Shop) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in shop.plan.parent.iterdir()}


def without_instructions(spec: bytes) -> bytes:
    """The code of a spec; comments on what is left to do, and line breaks, may change."""
    return b" ".join(re.sub(rb"# .*", b"", spec).split())


def test_there_are_some_with_reports_and_several_states_of_a_parent() -> None:
    plans = [decode_yaml((BEFORE / "tmp/rspec_claude_metadata" / name).read_bytes()) for name in PLANS]
    assert {plan["format_version"] for plan in plans} == {"2.0"}
    assert any(len(each["when_parent"] or ()) > 1 for plan in plans for each in plan["characteristics"])
    assert any(plan["automation"].get("implementer_completed") for plan in plans)
    assert any(plan["analyzer"]["timestamp"] == "2026-11-07T10:30:45Z" for plan in plans)


def test_they_are_read_and_valid(cli: Cli, old: Shop) -> None:
    done = cli("validate", "--json", "--root", old.root, old.plan.parent)
    report = json.loads(done.out)
    assert (len(PLANS), done.code) == (3, 2)
    assert all(each["valid"] and each["version"] == "2.0" for each in report["documents"])


def test_they_are_fresh_and_a_new_analysis_keeps_every_byte(cli: Cli, old: Shop) -> None:
    before = contents(old)
    listed = cli("plan", "list", old.root).out.splitlines()
    assert [line.split()[:3] for line in listed] == [
        ["fresh", "architect", "User#full_name"],
        ["fresh", "validator", "Checkout#greet"],
        ["fresh", "factory-optimizer", "Checkout#pay"],
    ]
    cli("plan", "analyze", old.source, "--all-methods", "--write")
    cli("plan", "analyze", old.root / USER, "--all-methods", "--write")
    assert contents(old) == before


def test_agents_go_on_with_them(cli: Cli, old: Shop) -> None:
    before = old.plan.read_text()
    assert cli("plan", "begin", "factory-optimizer", old.source, *PAY).code == 0
    assert cli("plan", "mark", "factory-optimizer", old.source, *PAY, "--completed").code == 0
    assert old.plan.read_text() == f"{before}  factory_optimizer_completed: true\n"
    plan = runcard.open_plan(old.source, method="pay")
    data = plan.to_dict()
    data["automation"]["linter"] = None
    assert plan.write("polisher", data).to_dict() == data
    assert old.read()["characteristics"] == decode_yaml(before.encode())["characteristics"]


def test_a_changed_source_keeps_the_version(cli: Cli, old: Shop) -> None:
    old.change("order.confirmed?", "order.checked?")
    assert cli("plan", "analyze", old.source, *PAY, "--write").code == 0
    plan = old.read()
    assert plan["format_version"] == "2.0"
    assert [each["when_parent"] for each in plan["characteristics"]][2] == ["card", "prepaid"]
    assert "implementer_completed" not in plan["automation"]
    assert plan["automation"]["implementer_examples"] == 12


def test_skeleton_and_review_go_on_with_their_spec(cli: Cli, old: Shop) -> None:
    spec = old.spec.read_bytes()
    assert cli("plan", "skeleton", old.source, *PAY).code in {0, 2}
    assert old.spec.read_bytes() == spec
    states = json.loads(cli("plan", "review", old.source, *PAY, "--json").out)["states"]
    assert len(states) == 14
    assert all(state["lines"] for state in states)
    old.spec.unlink()
    cli("plan", "skeleton", old.source, *PAY)
    assert without_instructions(old.spec.read_bytes()) == without_instructions(spec)


def test_they_are_converted_on_request(cli: Cli, old: Shop, tmp_path: Path) -> None:
    """The reports stay, the states are split, and the spec of before still fits."""
    spec = old.spec.read_bytes()
    assert cli("plan", "analyze", old.source, *PAY, "--format", "1.3", "--write").code == 0
    plan = old.read()
    assert problems(plan) == []
    assert plan["automation"]["implementer_completed"] is True
    assert plan["validation"]["completed"] is True
    assert sum("repeats" in each for each in plan["characteristics"]) == 3
    assert cli("plan", "skeleton", old.source, *PAY).code in {0, 2}
    assert old.spec.read_bytes() == spec
    before = tmp_path / "before.yml"
    shutil.copyfile(BEFORE / "tmp/rspec_claude_metadata" / old.plan.name, before)
    assert json.loads(cli("plan", "diff", before, old.plan, "--json").out)["same"] is True
    cli("plan", "analyze", old.source, *PAY, "--format", "2.0", "--write")
    again, first = old.read(), decode_yaml(before.read_bytes())
    del again["analyzer"]["timestamp"], first["analyzer"]["timestamp"]
    assert again["analyzer"].pop("version") == again["automation"].pop("analyzer_version") == VERSION
    del first["analyzer"]["version"], first["automation"]["analyzer_version"]
    assert (again["automation"].pop("factories_detected"), again["factories_detected"]) == (False, {})
    del first["automation"]["factories_detected"]
    assert (again, again["analyzer"]["source_file_mtime"]) == (first, MODIFIED)


def test_a_migration_there_and_back_changes_nothing(cli: Cli, old: Shop) -> None:
    before = decode_yaml(old.user_plan.read_bytes())
    done = cli("migrate", "--to", "1.3", old.user_plan)
    assert (done.code, done.err) == (0, "")
    plan = decode_yaml(old.user_plan.read_bytes())
    assert problems(plan) == []
    assert plan["characteristics"][0]["setup_class"] == "User"
    assert cli("migrate", "--to", "2.0", "--no-backup", old.user_plan).code == 0
    assert decode_yaml(old.user_plan.read_bytes()) == before


def test_a_migration_does_not_split(old: Shop) -> None:
    with pytest.raises(DocumentError, match="depends on 2 states of its parent") as refused:
        migrate("testplan", old.read(), "2.0", "1.3")
    assert "plan analyze --format 1.3 --write" in (refused.value.hint or "")
