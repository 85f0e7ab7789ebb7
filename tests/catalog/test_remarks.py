"""What users stumbled over: typing mistakes, lower bounds, names in completion."""

import json
from pathlib import Path

import pytest
from click.shell_completion import ShellComplete

import runcard
from conftest import Cli
from runcard.cli.app import root
from runcard.operations.catalog.names import complete_record
from sessions.build import AGENTS


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    with runcard.record("outputs", config={"temperature": 0.2}, experiment="personas", strict=True) as run:
        pass
    runcard.amend(run.path, "tag", "good")
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "message", "hint"),
    [
        (("--where", "config.temprature > 0"), "no record has config.temprature", "config.temperature"),
        (("--columns", "config.temprature"), "no record has config.temprature", "config.temperature"),
        (("--sort", "-config.temprature"), "no record has config.temprature", "config.temperature"),
        (("--columns", "metric.nope"), "no record has metric.nope", None),
        (("--status", "complete"), "no record has status complete", "completed"),
        (("--status", "done"), "no record has status done", None),
        (("--experiment", "persona"), "no record has experiment persona", "personas"),
        (("--tag", "goood"), "no record has tag goood", "good"),
    ],
)
def test_a_name_that_no_record_has_is_a_warning(
    cli: Cli, arguments: tuple[str, str], message: str, hint: str | None
) -> None:
    outcome = cli("ls", *arguments)
    assert outcome.code == 2
    assert f"Warning: {message}" in outcome.err
    assert (f"did you mean {hint}?" in outcome.err) == (hint is not None)


def test_what_is_there_or_can_be_is_no_warning(cli: Cli) -> None:
    for arguments in (
        ("--where", "config.temperature > 5"),
        ("--status", "completed"),
        ("--status", "running"),
        ("--experiment", "another"),
        ("--tag", "approved"),
    ):
        outcome = cli("ls", *arguments)
        assert (outcome.code, "Warning" in outcome.err) == (0, False)


def test_a_diff_with_an_unknown_cost_says_so(cli: Cli) -> None:
    for cost in (None, 2.5):
        agents = [dict(agent) | {"cost": None} for agent in AGENTS]
        agents[0]["cost"] = cost
        runcard.collect({"team_session_id": "team-1", "instances": agents}, artifacts="artifacts")
    first, second = sorted(str(path) for path in Path("artifacts").glob("20*"))
    out = cli("diff", first, second).out
    assert "known_cost: unknown → ≥ $2.5" in out
    assert "$0.00" not in out


def test_a_diff_of_lower_bounds_says_so(cli: Cli) -> None:
    for cost in (1.239, 2.349):
        agents = [dict(agent) | {"cost": None} for agent in AGENTS]
        agents[0]["cost"] = cost
        runcard.collect({"team_session_id": "team-1", "instances": agents}, artifacts="artifacts")
    first, second = sorted(str(path) for path in Path("artifacts").glob("20*"))
    out = cli("diff", first, second).out
    assert "known_cost: \u2265 $1.23 \u2192 \u2265 $2.34" in out


def test_a_tool_that_is_almost_right(cli: Cli) -> None:
    outcome = cli("import", "claude")
    assert outcome.code == 64
    assert "Did you mean claude-code?" in outcome.err


def test_an_id_is_completed_once() -> None:
    spec = {"team_session_id": "team-1", "instances": [dict(agent) for agent in AGENTS]}
    runcard.collect(spec, artifacts="artifacts")
    runcard.collect(spec, artifacts="artifacts", again=True)
    assert [name for name, _ in complete_record("team")] == ["team-1"]


def test_columns_and_statuses_are_completed() -> None:
    def complete(*words: str, incomplete: str) -> list[str]:
        found = ShellComplete(root, {}, "runcard", "_RUNCARD_COMPLETE")
        return [item.value for item in found.get_completions(list(words), incomplete)]

    assert complete("ls", "--columns", incomplete="id,sta") == ["id,status", "id,started"]
    assert complete("ls", "--sort", incomplete="sta") == ["status", "started"]
    assert complete("ls", "--sort", incomplete="model,-sta") == ["model,-status", "model,-started"]
    assert complete("ls", "--status", incomplete="fa") == ["failed"]


def test_a_maker_that_started_later_is_marked(cli: Cli, place: Path) -> None:
    (place / "in.txt").write_text("the same\n")
    with runcard.record("outputs", inputs=["in.txt"], strict=True) as reader:
        (reader.path / "out.txt").write_text("result\n")
    with runcard.record("outputs", strict=True) as later:
        (later.path / "copy.txt").write_text("the same\n")
    out = cli("whence", str(reader.path / "out.txt")).out
    assert f"made, by content, but later, by {later.id}" in out
    (maker,) = json.loads(cli("whence", str(reader.path / "out.txt"), "--json").out)["made_by"]
    ((above,),) = [source["made_by"] for source in maker["inputs"]]
    assert (above["id"], above["started_later"]) == (later.id, True)
