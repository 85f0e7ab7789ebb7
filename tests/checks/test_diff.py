"""`runcard diff`: what differs in two records, and nothing else."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import runcard
from conftest import Cli
from runcard.operations.archives.archive import archive
from runcard.operations.checks.diff import diff
from runcard.operations.runs.export_bundle import export_bundle
from sessions.build import AGENTS


def record(outputs: Path, text: str = "same\n", **settings: Any) -> Path:
    source = outputs.parent / "in.md"
    source.write_text(settings.pop("source", "Q\n"))
    with runcard.record(outputs, inputs=[str(source)], strict=True, **settings) as run:
        run.add_usage({"input": 100, "output": 10}, cost=0.5)
        run.log_metric("accuracy", 0.5)
        (run.path / "out.txt").write_text(text)
    return run.path


def changes(old: Path, new: Path) -> set[tuple[str, str]]:
    return {(change.section, change.name) for change in diff(old, new).changes}


def test_two_runs_that_did_the_same_are_identical(cli: Cli, outputs: Path) -> None:
    first, second = record(outputs), record(outputs)
    outcome = cli("diff", first, second)
    assert (outcome.code, outcome.out, outcome.err) == (0, "", "")
    found = json.loads(cli("diff", first, second, "--json").out)
    assert found["identical"]
    assert {change["name"] for change in found["times"]} >= {"started"}


def test_a_run_its_copy_its_archive_and_its_bundle_are_identical(
    cli: Cli, outputs: Path, tmp_path: Path
) -> None:
    run = record(outputs)
    copy = shutil.copytree(run, tmp_path / "copy")
    bundle = tmp_path / "run.tar.gz"
    export_bundle(str(run), str(bundle))
    packed = archive(run).archive
    for other in (packed, bundle, copy):
        outcome = cli("diff", copy, other)
        assert (outcome.code, outcome.out) == (0, ""), outcome.err


def test_a_copy_whose_files_were_changed_is_not_the_same(cli: Cli, outputs: Path, tmp_path: Path) -> None:
    run = record(outputs)
    forged = shutil.copytree(run, tmp_path / "forged")
    (forged / "out.txt").write_text("better\n")
    outcome = cli("diff", run, forged)
    assert (outcome.code, outcome.out) == (1, "")
    assert f"Warning: {forged} fails verification: out.txt: " in outcome.err
    found = json.loads(cli("diff", run, forged, "--json").out)
    assert (found["identical"], [each["path"] for each in found["damaged"]]) == (False, [str(forged)])


def test_everything_that_differs_is_named(outputs: Path) -> None:
    first = record(outputs, config={"a": {"b": 1}, "same": 1}, labels={"team": "ux"})
    with runcard.record(
        outputs, config={"a": {"b": 2}, "same": 1, "new": True}, labels={"team": "core"}, strict=True
    ) as run:
        run.add_usage({"input": 200, "output": 10}, cost=0.75)
        run.log_metric("accuracy", 0.75)
        run.log_metric("loss", 1)
        (run.path / "out.txt").write_text("other\n")
        (run.path / "more.txt").write_text("x\n")
    found = diff(first, run.path)
    assert not found.identical
    assert changes(first, run.path) == {
        ("configuration", "a.b"),
        ("configuration", "new"),
        ("labels", "team"),
        ("metrics", "accuracy"),
        ("metrics", "loss"),
        ("tokens", "input_tokens"),
        ("cost", "total_cost_usd"),
    }
    assert [file.path for file in found.outputs.differing] == ["out.txt"]
    assert found.outputs.differing[0].diff == ("@@ -1 +1 @@", "-same", "+other")
    assert found.outputs.added == ("more.txt",)
    assert len(found.inputs.gone) == 1
    back = diff(run.path, first)
    assert back.outputs.gone == ("more.txt",)
    assert len(back.inputs.added) == 1


def test_a_changed_input_and_a_failed_run(outputs: Path) -> None:
    first = record(outputs)
    second = record(outputs, source="other\n")
    assert [Path(file.path).name for file in diff(first, second).inputs.differing] == ["in.md"]
    with pytest.raises(ZeroDivisionError), runcard.record(outputs, strict=True) as failed:
        raise ZeroDivisionError
    assert ("result", "status") in changes(first, failed.path)


def test_what_people_see(cli: Cli, outputs: Path) -> None:
    first, second = (
        record(outputs, "a\n\x1b[31mred\n"),
        record(outputs, "b\n\x1b[31mred\n", config={"x": "\x1b]0;\n"}),
    )
    outcome = cli("diff", first, second)
    assert outcome.code == 1
    assert outcome.out.startswith("--- run-")
    assert "configuration\n  x: none → " in outcome.out
    assert "    -a\n    +b\n" in outcome.out
    assert "\x1b" not in outcome.out


def session(artifacts: Path, name: str, **changed: Any) -> Path:
    agents = [dict(agent, instance_id=f"{name}-{number}") for number, agent in enumerate(AGENTS)]
    for agent in agents[1:]:
        agent["parent_instance_id"] = agents[0]["instance_id"]
    agents[1] |= changed
    (artifacts.parent / "coder.log").write_text(str(changed.get("tokens_used")))
    agents[1]["output"] = str(artifacts.parent / "coder.log")
    return runcard.collect({"team_session_id": name, "instances": agents}, artifacts=artifacts).path


def test_sessions_are_compared_by_the_names_of_agents(cli: Cli, tmp_path: Path) -> None:
    store = tmp_path / "artifacts"
    first, same = session(store, "one"), session(store, "two")
    other = session(store, "three", tokens_used=5, cost=1.5, model="gpt-5")
    assert cli("diff", first, same).out == ""
    found = diff(first, other)
    assert {("team", "coder: tokens_used"), ("team", "coder: cost"), ("team", "coder: model")} <= changes(
        first, other
    )
    assert [file.path for file in found.outputs.differing] == ["coder/output.log"]
    text = cli("diff", first, other).out
    assert "  coder: cost: $0.32 → $1.50\n" in text


def test_an_agent_that_only_one_session_has(tmp_path: Path) -> None:
    store = tmp_path / "artifacts"
    first = session(store, "one")
    second = runcard.collect(
        {"team_session_id": "two", "instances": [dict(AGENTS[0], children_count=None)]}, artifacts=store
    ).path
    assert ("team", "tester") in changes(first, second)


@pytest.mark.parametrize(("kind", "code"), [("session", 64), ("nothing", 1), ("open", 1)])
def test_what_cannot_be_compared(cli: Cli, outputs: Path, tmp_path: Path, kind: str, code: int) -> None:
    run = record(outputs)
    if kind == "session":
        outcome = cli("diff", run, session(tmp_path / "artifacts", "one"))
    elif kind == "nothing":
        outcome = cli("diff", run, tmp_path / "absent")
    else:
        with runcard.record(outputs, strict=True) as other:
            outcome = cli("diff", run, other.path)
    assert (outcome.code, outcome.out) == (code, "")
    assert outcome.err.startswith("Error:")


def test_another_version_of_the_program_is_a_difference(outputs: Path) -> None:
    runs = [record(outputs, application="persona", application_version=number) for number in ("1", "2")]
    assert changes(*runs) == {("environment", "persona_version")}
