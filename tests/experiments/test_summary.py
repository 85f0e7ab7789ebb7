"""`runcard experiment list` and `show`: what came of it, and what is not known."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import runcard
from conftest import Cli
from experiments.folders import USAGE, config_of, metadata, record
from runcard.operations.experiments.run_table import RunTableBuilder
from runcard.views.record_table import experiment_runs, local_time

LEAVE = """
import os, runcard
with runcard.record("experiments/x/outputs", experiment="x", strict=True):
    os._exit(9)
"""


def fail(name: str) -> Path:
    """A run that fails before it has called any model."""
    with (
        pytest.raises(ValueError, match="no"),
        runcard.record(f"experiments/{name}/outputs", experiment=name, strict=True) as run,
    ):
        raise ValueError("no")
    return run.path


def shown(cli: Cli, *arguments: str) -> dict[str, object]:
    done = cli("experiment", "show", "x", "--json", *arguments)
    said: dict[str, object] = json.loads(done.out)
    return said | {"code": done.code, "err": done.err}


def test_a_name_that_is_nearly_right_is_answered_with_the_right_one(cli: Cli) -> None:
    assert cli("experiment", "create", "personas").code == 0
    for command in ("show", "delete"):
        done = cli("experiment", command, "persona")
        assert (done.code, done.out) == (1, "")
        assert done.err == "Error: there is no experiment persona\n  hint: did you mean personas?\n"


def test_no_experiments(cli: Cli) -> None:
    done = cli("experiment", "list")
    assert done.out == ""
    assert done.err == "no experiments yet; to make one: runcard experiment create personas\n"
    assert cli("experiment", "list", "--quiet").err == ""
    assert json.loads(cli("experiment", "list", "--json").out) == {"experiments": [], "half_deleted": []}
    done = cli("experiment", "show", "x")
    assert (done.code, done.out) == (1, "")
    assert "there is no experiment x" in done.err


def test_a_new_experiment_has_no_runs_yet(cli: Cli) -> None:
    cli("experiment", "create", "x", "--description", "about this")
    done = cli("experiment", "show", "x")
    assert done.code == 0
    assert "about        about this" in " ".join(done.out.split()).replace(
        "about about", "about        about"
    )
    assert done.out.endswith("Runs\n  none yet\n")


def test_the_list_tells_one_from_the_other(cli: Cli) -> None:
    cli("experiment", "create", "b", "--description", "the second")
    cli("experiment", "create", "a")
    started = metadata(record("b"))["generation"]["timestamp_start"]
    Path("experiments/no experiment").mkdir()
    Path("experiments/note.txt").write_text("")
    done = cli("experiment", "list")
    assert (done.code, done.err) == (0, "")
    assert [line.split() for line in done.out.splitlines()] == [
        ["experiment", "runs", "last", "run", "about"],
        ["a", "0", "none"],
        ["b", "1", *local_time(started).split(), "the", "second"],
    ]
    first, second = json.loads(cli("experiment", "list", "--json").out)["experiments"]
    assert (first["name"], first["runs"], first["last_run"]) == ("a", 0, None)
    assert second == {
        "name": "b",
        "path": "experiments/b",
        "experiment_id": config_of("b")["experiment_id"],
        "created_at": config_of("b")["created_at"],
        "description": "the second",
        "runs": 1,
        "last_run": started,
        "problem": None,
    }


def test_a_broken_one_hides_no_other(cli: Cli) -> None:
    cli("experiment", "create", "a")
    cli("experiment", "create", "b")
    Path("experiments/a/config.yaml").write_text("a: [\n")
    done = cli("experiment", "list")
    assert done.code == 2
    assert [line.split()[0] for line in done.out.splitlines()] == ["experiment", "a", "b"]
    assert done.err.startswith("Warning: experiments/a/config.yaml:2:1: ")


def test_listing_writes_nothing(cli: Cli) -> None:
    os.makedirs("experiments/x")
    cli("experiment", "list")
    assert os.listdir("experiments/x") == []


def test_runs_are_counted_and_added_up(cli: Cli) -> None:
    cli("experiment", "create", "x")
    first, second = record("x"), record("x", model="no-price-for-this-one")
    failed = fail("x")
    said = shown(cli)
    assert (said["code"], said["err"]) == (0, "")
    assert (said["runs"], said["by_status"]) == (3, {"completed": 2, "failed": 1})
    assert said["by_model"] == {"claude-sonnet-4-5-20250929": 1, "no-price-for-this-one": 1}
    assert said["cost_usd"] == {"known": 0.45, "runs_unknown": 1}
    assert said["input_tokens"] == {"known": 200_000, "runs_unknown": 0}
    assert said["output_tokens"] == {"known": 20_000, "runs_unknown": 0}
    spans = [metadata(run)["generation"]["duration_seconds"] for run in (first, second, failed)]
    assert said["duration_seconds"] == {"known": pytest.approx(sum(spans)), "runs_unknown": 0}
    last = said["last_runs"]
    assert isinstance(last, list)
    assert [run["path"] for run in last] == [
        str(run.relative_to(Path.cwd())) for run in (failed, second, first)
    ]
    text = " ".join(cli("experiment", "show", "x").out.split())
    assert "total 3 runs: 2 completed, 1 failed" in text
    assert "cost ≥ $0.45, unknown for 1 run input" in text
    assert "no calls 1 run without recorded model calls" in text
    assert "input 200,000 tokens output" in text


def test_what_is_known_of_a_cost_counts_although_the_whole_is_not(cli: Cli) -> None:
    cli("experiment", "create", "x")
    with runcard.record("experiments/x/outputs", experiment="x", provider="anthropic", strict=True) as run:
        usage = {"input_tokens": 100_000, "output_tokens": 0}
        run.add_usage(usage, model="claude-sonnet-4-5-20250929")
        run.add_usage(usage, model="no-price-for-this-one")
    assert metadata(run.path)["costs"]["total_cost_usd"] is None
    assert shown(cli)["cost_usd"] == {"known": 0.3, "runs_unknown": 1}
    assert "≥ $0.30" in cli("experiment", "show", "x").out


def test_runs_in_other_stores_belong_to_it_by_their_id(cli: Cli) -> None:
    before = record("x", "outputs")  # when it was a name only
    assert shown(cli)["runs"] == 1
    cli("experiment", "create", "x")
    record("x", "outputs")
    record("y", "outputs")
    record("x", "elsewhere")
    record("x")
    assert shown(cli)["runs"] == 3
    assert shown(cli, "--outputs", "elsewhere")["runs"] == 2
    assert shown(cli, "--outputs", "elsewhere", "--outputs", "outputs")["runs"] == 4
    assert metadata(before)["generation"]["run_id"] in cli("experiment", "show", "x").out


def test_a_run_whose_process_is_gone_is_interrupted(cli: Cli) -> None:
    cli("experiment", "create", "x")
    subprocess.run([sys.executable, "-c", LEAVE], check=False, timeout=60)
    assert shown(cli)["by_status"] == {"interrupted": 1}


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"generation": []}', '{"generation": {"run_id": 7, "status": []}}', None]
)
def test_a_run_that_cannot_be_read_is_named_and_hides_no_other(cli: Cli, text: str | None) -> None:
    cli("experiment", "create", "x")
    record("x")
    broken = Path("experiments/x/outputs/2026-01-01_000000")
    broken.mkdir()
    (broken / "experiment.jsonl").write_text("")
    if text is not None:
        (broken / "metadata.json").write_text(text)
    said = shown(cli)
    if text is not None and "run_id" in text:  # odd, and still a run
        assert (said["runs"], said["code"]) == (2, 0)
        return
    assert (said["runs"], said["code"]) == (1, 2)
    assert said["unreadable"][0]["path"] == str(broken)  # type: ignore[index]
    assert str(said["err"]).startswith(f"Warning: skipped {broken}: ")


NESTED = """
import runcard
with runcard.record("experiments/x/outputs", experiment="x", provider="anthropic", strict=True) as run:
    for number in range(2):
        run.add_usage({usage} | {{"id": f"msg_{{number}}"}})
"""


def listed(cli: Cli) -> tuple[object, ...]:
    """Runs, calls and cost of the experiment x, as the list of the catalog has them."""
    (row,) = json.loads(cli("ls", "experiments", "--json").out)["records"]
    return row["runs"], row["calls"], row["cost"], row["known_cost"], row["at_least"]


def nested_run(*, calls: int) -> str:
    """A run that calls models, and starts one that reports the first two calls as well; its id."""
    with runcard.record("experiments/x/outputs", experiment="x", provider="anthropic", strict=True) as run:
        for number in range(calls):
            run.add_usage(USAGE | {"id": f"msg_{number}"})
        env = os.environ | {"RUNCARD_PARENT": run.id}
        code = NESTED.format(usage=USAGE)
        subprocess.run([sys.executable, "-c", code], env=env, check=True, timeout=60)
    return run.id


def test_a_call_that_two_of_its_runs_have_counts_once_here_and_in_the_list(cli: Cli) -> None:
    cli("experiment", "create", "x")
    nested_run(calls=3)
    said = shown(cli)
    assert (said["runs"], said["incomplete"]) == (2, False)
    assert said["cost_usd"] == {"known": 1.35, "runs_unknown": 0}
    assert said["input_tokens"] == {"known": 300_000, "runs_unknown": 0}
    assert said["output_tokens"] == {"known": 30_000, "runs_unknown": 0}
    assert listed(cli) == (2, 3, 1.35, 1.35, False)
    nested_run(calls=2)  # with the same ids, as of a server that has few
    assert shown(cli)["cost_usd"] == {"known": 2.25, "runs_unknown": 0}
    assert listed(cli) == (4, 5, 2.25, 2.25, False)


def test_runs_of_two_experiments_that_share_calls_with_one_id(cli: Cli) -> None:
    """Two runs of x, each in a run of y that has its call as well: the id is that of both calls."""
    call = USAGE | {"id": "msg_0"}
    code = f"import runcard\nwith runcard.record(experiment='y', strict=True) as run: run.add_usage({call})"
    for _ in range(2):
        with runcard.record("outputs", experiment="x", provider="anthropic", strict=True) as run:
            run.add_usage(call)
            env = os.environ | {"RUNCARD_PARENT": run.id}
            subprocess.run([sys.executable, "-c", code], env=env, check=True, timeout=60)
    rows = json.loads(cli("ls", "experiments", "--json").out)["records"]
    assert {row["name"]: row["calls"] for row in rows} == {"x": 2, "y": 2}
    assert shown(cli)["input_tokens"] == {"known": 200_000, "runs_unknown": 0}


def test_a_copy_of_a_run_is_not_one_more_run(cli: Cli) -> None:
    cli("experiment", "create", "x")
    run = record("x")
    shutil.copytree(run, Path("outputs") / run.name)
    said = shown(cli)
    assert (said["runs"], said["cost_usd"]) == (1, {"known": 0.45, "runs_unknown": 0})
    assert listed(cli) == (1, 1, 0.45, 0.45, False)


def test_archived_runs_count(cli: Cli) -> None:
    cli("experiment", "create", "x")
    nested_run(calls=3)
    before = shown(cli) | {"last_runs": None}
    for run in sorted(Path("experiments/x/outputs").glob("20*")):
        assert cli("archive", str(run)).code == 0
    assert not list(Path("experiments/x/outputs").glob("20*"))
    assert shown(cli) | {"last_runs": None} == before
    assert listed(cli) == (2, 3, 1.35, 1.35, False)
    assert json.loads(cli("experiment", "list", "--json").out)["experiments"][0]["runs"] == 2


def test_a_run_that_is_open_makes_the_sums_lower_bounds(cli: Cli) -> None:
    cli("experiment", "create", "x")
    record("x")
    with runcard.record("experiments/x/outputs", experiment="x", provider="anthropic", strict=True) as run:
        run.add_usage(USAGE)
        text = " ".join(cli("experiment", "show", "x").out.split())
        assert "cost ≥ $0.90 input ≥ 200,000 tokens output ≥ 20,000 tokens" in text
        assert (shown(cli)["incomplete"], listed(cli)[-1]) == (True, True)
    assert "cost $0.90 input 200,000 tokens" in " ".join(cli("experiment", "show", "x").out.split())


def test_an_experiment_that_is_only_a_name_has_one_blank_line_below_its_title(cli: Cli) -> None:
    record("x", "outputs")
    lines = cli("experiment", "show", "x").out.splitlines()
    assert lines[1:3] == ["", "Runs"]


def test_the_last_runs_are_the_table_of_ls_with_the_values_that_differ(cli: Cli) -> None:
    for temperature in (0.2, 0.7):
        config = {"temperature": temperature, "nested": {"same": 1}}
        with runcard.record("outputs", experiment="x", model="m", config=config, strict=True) as run:
            run.log_metric("accuracy", 1 - temperature)
            run.log_metric("size", 3)
    with runcard.record("outputs", experiment="x", model="m", config={"nested": {"same": 1}}, strict=True):
        pass  # without the values of the others
    out = cli("experiment", "show", "x").out
    lines = [line.split() for line in out[out.index("Last runs") :].splitlines()[1:]]
    names = ["id", "started", "status", "model", "duration"]
    assert lines[0] == [*names, "config.temperature", "metric.accuracy", "metric.size"]
    assert [line[6:] for line in lines[1:]] == [[], ["0.7", "0.3", "3"], ["0.2", "0.8", "3"]]
    listed = json.loads(cli("ls", "runs", "--experiment", "x", "--json").out)["records"]
    assert [line[0] for line in lines[1:]] == [run["id"] for run in listed]


def test_the_table_of_runs_is_short_and_fits_the_terminal() -> None:
    table = RunTableBuilder()
    for number in range(50):
        document = {"configuration": {f"value_{key}": number for key in range(9)}, "token_usage": {}}
        row = {"id": f"run-{number}", "started": f"2026-01-01T00:00:{number:02}Z", "status": "completed"}
        table.add(
            row["id"], row | dict.fromkeys(("model", "tokens", "cost", "known_cost", "duration")), document
        )
    built = table.table()
    assert [row["id"] for row in built.rows] == [f"run-{number}" for number in range(49, 29, -1)]
    wide = experiment_runs("x", *built)
    assert wide[0].split() == ["id", "started", "status", *(f"config.value_{key}" for key in range(9))]
    assert wide[-1] == "… and 30 more: list them: runcard ls runs --experiment x"
    narrow = experiment_runs("x", *built, 80)
    assert max(map(len, narrow[:21])) <= 80
    left_out = narrow[-1].removeprefix("They also differ in ").split(", ")
    assert len(left_out) > 1
    assert [*narrow[0].split(), *left_out] == wide[0].split()
