"""`runcard query`: it answers, and whatever it is asked, it only reads, for a while, and in bounded memory."""

import json
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import runcard
from conftest import Cli
from runcard.catalog.engine import SqlRows
from runcard.catalog.tables import VIEWS
from runcard.operations.catalog.query import query
from runs.runs import record_one
from sessions.build import AGENTS


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    record_one(tmp_path / "outputs")
    with runcard.record("calls", strict=True) as run:
        run.add_usage({"input": 1, "output": 1}, model="claude-sonnet-4-5")
    runcard.collect({"team_session_id": "team-1", "instances": [dict(agent) for agent in AGENTS]})
    return tmp_path


@pytest.mark.usefixtures("project")
def test_every_view_can_be_read(cli: Cli) -> None:
    views = json.loads(cli("query", "--views", "--json").out)["views"]
    assert list(views) == list(VIEWS)
    for name, columns in views.items():
        found = json.loads(cli("query", f"SELECT * FROM {name}", "--json").out)  # noqa: S608
        assert found["columns"] == columns
        assert found["rows"] or name in {"v1_relations", "v1_plans"}
        assert f"{name}: " in cli("query", "--views").out


@pytest.mark.usefixtures("project")
def test_views_have_dollars_and_times_in_utc(cli: Cli) -> None:
    sql = "SELECT cost_usd, started FROM v1_sessions UNION ALL SELECT sum(cost_usd), 'x' FROM v1_instances"
    (session, instances) = json.loads(cli("query", sql, "--json").out)["rows"]
    assert session == [0.78, "2025-11-06T14:00:00.000Z"]
    assert instances[0] == pytest.approx(0.78)
    table = cli("query", "SELECT id, cost_usd FROM v1_sessions").out
    assert table == "id      cost_usd\nteam-1      0.78\n"
    assert cli("query", "SELECT '=1' AS x", "--csv").out == "x\n'=1\n"


_WORDS_OF_A_SERVER = {
    "no such column": "does not exist",
    "one statement": "multiple commands",
    "too big": "requested length too large",
}


@pytest.mark.parametrize(
    ("sql", "words"),
    [
        ("DELETE FROM records", "only reading is allowed"),
        ("INSERT INTO stores (path) VALUES ('x')", "only reading is allowed"),
        ("UPDATE records SET cost = 0", "only reading is allowed"),
        ("UPDATE v1_runs SET id = 1", "only reading is allowed"),
        ("DROP TABLE records", "only reading is allowed"),
        ("CREATE TEMP TABLE t (x)", "only reading is allowed"),
        ("ATTACH 'other.db' AS other", "only reading is allowed"),
        ("VACUUM INTO 'other.db'", "only reading is allowed"),
        ("PRAGMA query_only = OFF", "only reading is allowed"),
        ("PRAGMA journal_mode = DELETE", "only reading is allowed"),
        ("BEGIN", "only reading is allowed"),
        ("SELECT load_extension('x')", "only reading is allowed"),
        ("SELECT * FROM pragma_database_list", "only reading is allowed"),
        ("SELECT 1; SELECT 2", "one statement"),
        ("", "not a single SELECT statement"),
        ("SELEC", "syntax error"),
        ("SELECT x FROM v1_runs", "no such column"),
        ("SELECT zeroblob(1000000000)", "too big"),
        (
            "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT max(x) FROM c",
            "took longer",
        ),
        (
            "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT randomblob(10000000) FROM c",
            "64 MiB",
        ),
        ("SELECT " + "1, " * 600_000 + "1", "too"),
    ],
)
def test_it_only_reads_and_in_bounds(cli: Cli, project: Path, sql: str, words: str, back_end: str) -> None:
    before = cli("ls", "--json").out
    if back_end == "postgres":
        sql = sql.replace("zeroblob(1000000000)", "repeat('x', 2000000000)").replace(
            "randomblob(", "repeat('x', "
        )
        sql = sql.replace("load_extension('x')", "setval(pg_get_serial_sequence('stores', 'id'), 5)").replace(
            "* FROM pragma_database_list", "* FROM nextval(pg_get_serial_sequence('stores', 'id'))"
        )
    outcome = cli("query", sql, "--timeout", "0.2" if words == "took longer" else "60")
    assert (outcome.code, outcome.out) == (64, "")
    assert (_WORDS_OF_A_SERVER.get(words, words) if back_end == "postgres" else words) in outcome.err
    assert cli("ls", "--json").out == before
    assert not (project / "other.db").exists()


@pytest.mark.long
def test_one_row_that_takes_long_is_ended(project: Path, back_end: str) -> None:
    """SQLite looks at the time after so many steps only, and each of these is slow: the process ends."""
    numbers = "WITH RECURSIVE n(v) AS (SELECT 1 UNION ALL SELECT v + 1 FROM n WHERE v < 400)"
    long = "replace(printf('%' || (15000000 + v) || 'c', 'x'), 'x', 'y')"
    sql = f"{numbers} SELECT max(length({long})) FROM n" if back_end == "sqlite" else "SELECT pg_sleep(30)"  # noqa: S608
    arguments = [sys.executable, "-m", "runcard", "query", sql, "--timeout", "0.5"]
    done = subprocess.run(arguments, cwd=project, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (64, "")
    assert "the query took longer than 0.5 s" in done.stderr


@pytest.mark.file_only
@pytest.mark.usefixtures("project")
def test_a_query_that_needs_too_much_memory_is_an_error(cli: Cli) -> None:
    texts = "+".join(f"length(printf('%{15_000_000 + number}c', 'x'))" for number in range(40))
    done = cli("query", f"SELECT {texts}")
    assert (done.code, done.out) == (64, "")
    assert "the query needs more than 256 MiB of memory" in done.err


def test_the_time_limit_of_a_query_is_watched(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ended = threading.Event()
    assert query("SELECT 1", catalog=str(project / "x.db"), on_overrun=ended.set).rows == [(1,)]
    assert not ended.is_set()
    monkeypatch.setattr("runcard.operations.catalog.query._GRACE", 0)

    def ask(*_: object) -> SqlRows:
        assert ended.wait(60)
        return SqlRows([], [], is_cut=False)

    monkeypatch.setattr("runcard.catalog.database.CatalogDatabase.ask", ask)
    query("SELECT 1", timeout=0.01, catalog=str(project / "x.db"), on_overrun=ended.set)
    assert ended.is_set()


@pytest.mark.usefixtures("project")
def test_a_time_limit_is_a_number(cli: Cli) -> None:
    outcome = cli("query", "SELECT 1", "--timeout", "nan")
    assert (outcome.code, outcome.out) == (64, "")
    assert "nan is not a time limit" in outcome.err


@pytest.mark.usefixtures("project")
def test_more_rows_than_the_limit_are_cut_with_a_warning(cli: Cli) -> None:
    sql = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x FROM c"
    outcome = cli("query", sql, "--limit", "3", "--json")
    assert outcome.code == 2
    assert json.loads(outcome.out) == {"columns": ["x"], "rows": [[1], [2], [3]], "more": True}
    assert "more than 3 rows" in outcome.err
    assert not query("SELECT 1 AS x", limit=1).is_cut


def test_hostile_texts_do_not_reach_the_terminal(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with runcard.record("outputs", labels={"x": "\x1b[31m\n\u202e"}, strict=True):
        pass
    out = cli("query", "SELECT text FROM v1_values").out
    assert "\x1b" not in out
    assert len(out.splitlines()) == 2
