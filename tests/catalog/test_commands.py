"""`runcard ls`, `index` and `whence`, as users type them."""

import csv
import io
import json
import os
import pty
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import runcard
from conftest import Cli
from runcard.cli.catalog import ls
from runcard.operations.amendments.amend import amend
from runcard.operations.archives.archive import archive
from runcard.operations.catalog.list_records import DEFAULT_COLUMNS, WHATS
from runs.runs import record_one
from sessions.build import AGENTS

HOSTILE = "\x1b[31m=HYPERLINK(1)\u202e\n|"


@pytest.mark.file_only
def test_the_title_and_the_known_tokens_of_a_session(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    session = tmp_path / "artifacts" / "2026-01-01_00-00-00-team"
    session.mkdir(parents=True)
    document = {
        "version": "2.0.0",
        "team_session_id": "team",
        "instances": [],
        "execution_summary": {"known_tokens": 1762, "failed_instances": 0},
        "origin_session": {"tool": "codex", "title": "Fix the parser"},
    }
    (session / "metadata.json").write_text(json.dumps(document))
    table = cli("ls", "sessions").out.splitlines()
    assert table[0].split()[-1] == "title"
    assert table[1].endswith("Fix the parser")
    assert "≥ 1,762" in table[1]
    (row,) = records(cli, "--columns", "title,tokens")
    assert (row["title"], row["tokens"], row["known_tokens"]) == ("Fix the parser", None, 1762)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three runs and a session, of a user who works here."""
    monkeypatch.chdir(tmp_path)
    for temperature in (0.2, 0.7, 1.0):
        with runcard.record(
            "outputs",
            model="claude-sonnet-4-5",
            provider="anthropic",
            config={"temperature": temperature},
            experiment="personas",
            labels={"team": "ux"},
            strict=True,
        ) as run:
            run.add_usage({"input": 1000, "output": 200})
            run.log_metric("accuracy", 1 - temperature / 2)
            (run.path / "out.txt").write_text(f"{temperature}\n")
    spec = {"team_session_id": "team-1", "instances": [dict(agent) for agent in AGENTS]}
    runcard.collect(spec, artifacts="artifacts")
    return tmp_path


def records(cli: Cli, *arguments: str) -> list[dict[str, Any]]:
    outcome = cli("ls", *arguments, "--json")
    assert outcome.code == 0, outcome.err
    found: list[dict[str, Any]] = json.loads(outcome.out)["records"]
    return found


def test_the_words_of_the_command_are_those_of_the_operation() -> None:
    assert ls._WHATS == WHATS == tuple(DEFAULT_COLUMNS)


def test_an_unknown_cost_is_no_empty_cell_whatever_the_columns(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with runcard.record("outputs", model="strange-model", strict=True) as run:
        run.add_usage({"input": 1000, "output": 200})
    with runcard.record("outputs", model="no-call", strict=True):
        pass
    table = cli("ls", "--columns", "model,cost", "--sort", "model").out
    assert [line.split() for line in table.splitlines()] == [
        ["model", "cost"],
        ["no-call"],
        ["strange-model", "unknown"],
    ]
    assert (
        cli("ls", "--columns", "model,cost", "--sort", "model", "--csv").out
        == "model,cost\nno-call,\nstrange-model,\n"
    )


@pytest.mark.usefixtures("project")
def test_all_records_are_listed_newest_first(cli: Cli) -> None:
    found = records(cli)
    assert len(found) == 4
    assert [record["started"] for record in found] == sorted(
        (record["started"] for record in found), reverse=True
    )
    assert {"id", "kind", "path", "status", "started"} <= found[0].keys()
    assert [record["kind"] for record in records(cli, "runs")] == ["run"] * 3
    assert [record["id"] for record in records(cli, "sessions")] == ["team-1"]
    assert len(records(cli, "instances")) == len(AGENTS)


@pytest.mark.usefixtures("project")
def test_a_table_for_people(cli: Cli) -> None:
    lines = cli("ls", "runs").out.splitlines()
    assert lines[0].split() == [
        "id",
        "started",
        "status",
        "experiment",
        "model",
        "tokens",
        "cost",
        "duration",
    ]
    assert all("claude-sonnet-4-5   1,200  $0.006" in line for line in lines[1:])
    assert len(lines) == 4


@pytest.mark.usefixtures("project")
def test_csv_says_which_costs_are_lower_bounds(cli: Cli) -> None:
    rows = list(csv.DictReader(io.StringIO(cli("ls", "--csv").out)))
    assert [(row["known_cost"], row["at_least"]) for row in rows if row["kind"] == "run"] == [
        ("0.006", "false")
    ] * 3


@pytest.mark.usefixtures("project")
def test_on_a_narrow_terminal_ids_stay_different_and_times_whole(cli: Cli) -> None:
    lines = _on_a_terminal("ls", "runs", columns=80)
    assert max(map(len, lines)) <= 80
    assert "duration" not in lines[0]
    shown = [line.split()[0].removesuffix("…") for line in lines[1:]]
    assert len(set(shown)) == 3
    assert [cli("show", part).code for part in shown] == [0, 0, 0]
    assert all(re.search(r"  \d{4}-\d\d-\d\d \d\d:\d\d  ", line) for line in lines[1:])


def _on_a_terminal(*arguments: str, columns: int) -> list[str]:
    """What the command prints on a terminal of this width."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "runcard", *arguments]
    environment = {**os.environ, "COLUMNS": str(columns)}
    subprocess.run(command, stdout=theirs, env=environment, check=True, timeout=60)
    os.close(theirs)
    printed = os.read(ours, 65536).decode()
    os.close(ours)
    return printed.splitlines()


@pytest.mark.usefixtures("project")
def test_any_value_can_be_a_column_a_filter_and_the_sort_key(cli: Cli) -> None:
    arguments = (
        "runs",
        "--columns",
        "config.temperature,metric.accuracy,label.team",
        "--sort",
        "-metric.accuracy",
    )
    found = records(cli, *arguments)
    assert [record["config.temperature"] for record in found] == [0.2, 0.7, 1]
    assert [record["metric.accuracy"] for record in found] == [0.9, 0.65, 0.5]
    assert {record["label.team"] for record in found} == {"ux"}
    assert len(records(cli, "--where", "metric.accuracy > 0.6 and cost < 1")) == 2


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize(
    ("arguments", "count"),
    [
        (("--model", "SONNET"), 3),
        (("--status", "completed"), 3),
        (("--status", "failed"), 1),
        (("--experiment", "personas"), 3),
        (("--since", "1d"), 3),
        (("--until", "2026-01-01"), 1),
        (("--text", "ux"), 3),
        (("--text", "team-1"), 1),
        (("--text", "requests"), 1),
        (("--limit", "2"), 2),
        (("--where", "instances > 1"), 1),
        (("--tag", "best"), 0),
    ],
)
def test_filters(cli: Cli, arguments: tuple[str, ...], count: int) -> None:
    assert len(records(cli, *arguments)) == count


@pytest.mark.usefixtures("project")
def test_what_is_amended_and_archived_is_found_at_once(cli: Cli) -> None:
    run = records(cli, "runs")[0]
    amend(run["path"], "tag", "best")
    amend(run["path"], "evaluation", "taste=4")
    (found,) = records(cli, "--tag", "best", "--columns", "score.taste,archived")
    assert (found["id"], found["score.taste"], found["archived"]) == (run["id"], 4, False)
    archive(run["path"])
    (found,) = records(cli, "--tag", "best", "--columns", "score.taste,archived")
    assert (found["id"], found["score.taste"], found["archived"]) == (run["id"], 4, True)
    assert found["path"].endswith(".tar.gz")


@pytest.mark.usefixtures("project")
def test_records_are_found_from_everywhere(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    assert len(records(cli)) == 4


def test_a_store_that_cannot_be_reached_is_named(
    cli: Cli, project: Path, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    assert len(records(cli)) == 4
    (project / "outputs").rename(project / "moved")
    outcome = cli("ls", "--json")
    assert outcome.code == 2
    assert len(json.loads(outcome.out)["records"]) == 4
    assert "cannot be reached" in outcome.err


def test_csv_has_no_formulas(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with runcard.record("outputs", labels={"x": HOSTILE}, config={"y": "=1+1"}, strict=True):
        pass
    outcome = cli("ls", "--csv", "--columns", "label.x,config.y")
    (header, row) = csv.reader(io.StringIO(outcome.out))
    assert header == ["label.x", "config.y"]
    assert row[1] == "'=1+1"
    assert "\x1b" not in outcome.out
    assert "\u202e" not in outcome.out
    table = cli("ls", "--columns", "label.x").out
    assert len(table.splitlines()) == 2
    assert "\x1b" not in table


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--where", "costs > 1"), "there is no column 'costs'"),
        (("--columns", "nothing"), "there is no column 'nothing'"),
        (("--columns", ","), "a name is missing"),
        (("--since", "soon"), "'soon' is not a time"),
        (("--text", " "), "nothing to search for"),
        (("dogs",), "dogs"),
        (("--limit", str(10**20)), "--limit"),
        (("--columns", ",".join(f"config.k{number}" for number in range(61))), "more than 60 columns"),
    ],
)
def test_wrong_usage(cli: Cli, arguments: tuple[str, ...], words: str) -> None:
    outcome = cli("ls", *arguments)
    assert (outcome.code, outcome.out) == (64, "")
    assert words in outcome.err


def test_nothing_found_is_no_error(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    outcome = cli("ls")
    assert (outcome.code, outcome.out) == (0, "")
    assert outcome.err.startswith("no records yet; to make one: runcard run -- echo hello")
    assert cli("ls", "--status", "failed").err == "nothing found\n"
    assert cli("costs").out == "no model calls recorded\n"
    assert json.loads(cli("ls", "--json").out)["total"] == 0


def test_something_else_than_a_list_is_a_clear_error(cli: Cli) -> None:
    for name, hint in (("run", "did you mean runs?"), ("team-1", "to show one record: runcard show team-1")):
        outcome = cli("ls", name)
        assert (outcome.code, outcome.out) == (64, "")
        assert outcome.err.startswith(f"Error: cannot list '{name}': use one of records, runs, sessions")
        assert outcome.err.endswith(f"hint: {hint}\n")


@pytest.mark.file_only
def test_recording_goes_on_whatever_the_catalog_is(cli: Cli, project: Path, home: Path) -> None:
    cli("ls")
    (catalog,) = home.glob("**/catalog.db")
    shutil.rmtree(catalog.parent)
    catalog.parent.write_text("not a folder")
    record_one(project / "outputs")
    outcome = cli("ls", "--json")
    assert (outcome.code, json.loads(outcome.out)["total"]) == (2, 5)
    assert "cannot be used" in outcome.err
    catalog.parent.unlink()
    assert len(records(cli)) == 5


def test_index_finds_stores_below_a_folder(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, home: Path
) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    record_one(tmp_path / "a" / "b" / "outputs")
    shutil.rmtree(next(home.glob("**/stores")))
    monkeypatch.chdir(tmp_path)
    assert records(cli) == []
    outcome = cli("index", "a")
    assert outcome.code == 0
    assert "1 record, 1 read, 0 removed" in outcome.out
    assert len(records(cli)) == 1
    again = json.loads(cli("index", "--json").out)["stores"]
    assert [(store["records"], store["read"]) for store in again] == [(1, 0)]
    rebuilt = json.loads(cli("index", "--rebuild", "--json").out)["stores"]
    assert [(store["records"], store["read"]) for store in rebuilt] == [(1, 1)]


@pytest.mark.parametrize(("root", "words"), [("none", "is not a folder"), (".", "there are no records")])
def test_index_of_nothing(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, root: str, words: str
) -> None:
    monkeypatch.chdir(tmp_path)
    outcome = cli("index", root)
    assert (outcome.code, outcome.out) == (1, "")
    assert words in outcome.err


def test_whence_follows_files_up_to_the_first_run(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "raw.txt").write_text("raw\n")
    with runcard.record("outputs", inputs=["raw.txt"], strict=True) as first:
        (first.path / "clean.txt").write_text("clean\n")
    shutil.copy(first.path / "clean.txt", tmp_path / "renamed.txt")
    with runcard.record("outputs", inputs=["renamed.txt"], strict=True) as second:
        (second.path / "report.txt").write_text("report\n")
    shutil.copy(second.path / "report.txt", tmp_path / "final.txt")
    found = json.loads(cli("whence", "final.txt", "--json").out)
    ((maker),) = found["made_by"]
    assert (maker["id"], maker["file"]) == (second.id, "report.txt")
    (source,) = maker["inputs"]
    assert source["file"] == "renamed.txt"
    assert [above["id"] for above in source["made_by"]] == [first.id]
    assert source["made_by"][0]["inputs"][0]["file"] == "raw.txt"
    assert found["read_by"] == []
    assert [reader["id"] for reader in json.loads(cli("whence", "renamed.txt", "--json").out)["read_by"]] == [
        second.id
    ]
    outcome = cli("whence", "final.txt")
    assert outcome.err == f"not verified; to verify: runcard verify {second.path}\n"
    text = outcome.out.splitlines()
    assert text[0].startswith(f"made by {second.id}")
    assert text[1] == "  from renamed.txt"
    assert text[2].startswith(f"    made by {first.id}")
    assert json.loads(cli("whence", found["digest"], "--json").out) == found
    assert json.loads(cli("whence", found["digest"].removeprefix("sha256:"), "--json").out) == found


def test_two_runs_with_the_same_output_are_both_named(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "same.txt").write_text("same\n")
    ids = []
    for _ in range(2):
        with runcard.record("outputs", strict=True) as run:
            shutil.copy("same.txt", run.path)
        ids.append(run.id)
    found = json.loads(cli("whence", "same.txt", "--json").out)
    assert [maker["id"] for maker in found["made_by"]] == ids


def test_whence_prints_a_name_with_line_breaks_on_one_line(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with runcard.record(tmp_path / "outputs") as run:
        (run.path / "a\nmade by run-1").write_text("content")
    (line,) = cli("whence", run.path / "a\nmade by run-1").out.splitlines()
    assert line.endswith(r"as a\nmade by run-1")


def test_whence_of_a_run_that_reads_its_own_output_ends(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "loop.txt").write_text("loop\n")
    with runcard.record("outputs", inputs=["loop.txt"], strict=True) as run:
        shutil.copy(tmp_path / "loop.txt", run.path / "loop.txt")
    assert cli("whence", "loop.txt").code == 0


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("unknown.txt",), 1, "no known record made or read"),
        (("0" * 64,), 1, "no known record made or read"),
        (("missing.txt",), 1, "missing.txt"),
        (("sha256:abc",), 64, "sha256:abc is not a digest"),
        ((), 64, "name a FILE"),
        (("unknown.txt", "--commit", "abcd"), 64, "name a FILE"),
        (("--commit", "xyz"), 64, "is not a commit"),
        (("--commit", "abcdef1"), 1, "no known record was made with the commit"),
    ],
)
def test_whence_of_what_no_record_made(
    cli: Cli, project: Path, arguments: tuple[str, ...], code: int, words: str
) -> None:
    (project / "unknown.txt").write_text("never seen\n")
    outcome = cli("whence", *arguments)
    assert (outcome.code, outcome.out) == (code, "")
    assert words in outcome.err


def test_whence_by_commit(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    git = ("git", "-c", "user.name=a", "-c", "user.email=a@b")
    subprocess.run((*git, "init", "-q"), check=True)
    subprocess.run((*git, "commit", "-q", "--allow-empty", "-m", "x"), check=True)
    commit = subprocess.run(
        (*git, "rev-parse", "HEAD"), check=True, capture_output=True, text=True
    ).stdout.strip()
    with runcard.record("outputs", strict=True) as run:
        pass
    for revision in ("HEAD", commit, commit[:8]):
        found = json.loads(cli("whence", "--commit", revision, "--json").out)
        assert [maker["id"] for maker in found["made_by"]] == [run.id]
        assert found["digest"] is None
    assert cli("whence", "--commit", "HEAD").out.startswith(f"{run.id}  ")


def test_calls_are_listed_once_each(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with runcard.record("outputs", provider="anthropic", experiment="personas", strict=True) as run:
        for step in ("draft", "draft", "review"):
            run.add_usage({"input": 1000, "output": 200}, model="claude-sonnet-4-5", step=step)
        reply = {"id": "msg_1", "type": "message", "model": "claude-haiku-4-5", "stop_reason": "end_turn"}
        for _ in range(2):
            run.add_usage(reply | {"usage": {"input_tokens": 7, "output_tokens": 1}})
    found = json.loads(cli("ls", "calls", "--columns", "step,model,tokens", "--sort", "number", "--json").out)
    rows = found["records"]
    document = json.loads((run.path / "metadata.json").read_bytes())
    assert found["total"] == len(rows) == document["performance"]["calls"] == 4
    assert [row["step"] for row in rows] == ["draft", "draft", "review", None]
    assert sum(row["cost"] for row in rows) == pytest.approx(document["costs"]["total_cost_usd"])
    assert {row["run"] for row in rows} == {run.id}
    assert json.loads(cli("ls", "calls", "--model", "haiku", "--json").out)["total"] == 1
    assert json.loads(cli("ls", "calls", "--experiment", "personas", "--json").out)["total"] == 4
    assert json.loads(cli("ls", "calls", "--where", "step = review and cost > 0", "--json").out)["total"] == 1
    assert json.loads(cli("query", "SELECT count(*) FROM v1_calls", "--json").out)["rows"] == [[4]]
    archive(run.path)
    assert json.loads(cli("ls", "calls", "--json").out)["total"] == 4


def test_experiments_are_listed_with_their_sums(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for experiment, model in (
        ("a", "claude-sonnet-4-5"),
        ("a", "claude-sonnet-4-5"),
        ("b", "nobody-sells-this"),
        ("c", ""),
    ):
        with runcard.record("outputs", experiment=experiment, strict=True) as run:
            if model:
                run.add_usage({"input": 1000, "output": 200}, model=model, provider="anthropic")
    rows = json.loads(cli("ls", "experiments", "--sort", "name", "--json").out)["records"]
    assert [(row["name"], row["runs"], row["cost"], row["at_least"]) for row in rows] == [
        ("a", 2, 0.012, False),
        ("b", 1, None, True),
        ("c", 1, None, False),
    ]
    assert cli("ls", "experiments").out.splitlines()[0].split() == [
        "name",
        "runs",
        "failed",
        "started",
        "last",
        "calls",
        "cost",
    ]
    assert json.loads(cli("ls", "experiments", "--where", "runs > 1", "--json").out)["total"] == 1
    assert json.loads(cli("ls", "experiments", "--experiment", "b", "--json").out)["total"] == 1
    for arguments in (
        ("--tag", "x"),
        ("--where", "label.x = 1"),
        ("--columns", "config.a"),
        ("--status", "failed"),
    ):
        assert cli("ls", "experiments", *arguments).code == 64, arguments
