"""`runcard export --to csv|jsonl|parquet`: other programs read what the documents say."""
# ruff: noqa: S608 - the SQL is of these tests

import csv
import io
import json
import os
import subprocess
import sys
import tracemalloc
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pytest

import runcard
from conftest import Cli
from runcard.catalog.database import CatalogDatabase
from runcard.catalog.export import TABLE_NAMES, TypedColumn, table_columns
from runcard.catalog.searching import Filters
from runcard.catalog.tables import COLUMNS_OF, VIEWS
from runcard.cli.runs import export
from runcard.documents.run.fields import RunFields
from runcard.extras import install_hint
from runcard.operations.catalog.export_table import FORMATS, export_table
from runcard.operations.catalog.open import catalog_path, open_catalog
from runcard.views import table_files
from runs.runs import read
from sessions.build import AGENTS

HOSTILE = "=HYPERLINK(1)\x1b[31m\u202e\n|,\"'ü"
EXACT = 2**53 + 1  # a cost that no float has


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three runs, one of them with an unknown price, and a session, of a user who works here."""
    monkeypatch.chdir(tmp_path)
    for number, model in enumerate(("claude-sonnet-4-5", "claude-haiku-4-5", "no-such-model")):
        with runcard.record(
            "outputs", model=model, provider="anthropic", config={"number": number}, strict=True
        ) as run:
            run.add_usage({"input": 1001 + number, "output": 207})
            (run.path / "out.txt").write_text(f"{number}\n")
    spec = {"team_session_id": "team-1", "instances": [dict(agent) for agent in AGENTS]}
    runcard.collect(spec, artifacts="artifacts")
    return tmp_path


@pytest.fixture
def catalog(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[CatalogDatabase]:
    """An empty catalog of a store that is elsewhere, to put rows into."""
    monkeypatch.chdir(tmp_path)
    with CatalogDatabase(catalog_path()) as database:
        database.query("INSERT INTO stores (id, path) VALUES (1, '/elsewhere')")
        yield database


def put_run(catalog: CatalogDatabase, number: int, **values: Any) -> None:
    place = {"id": number, "store": 1, "name": f"n{number}", "path": f"/elsewhere/n{number}", "kind": "run"}
    row = place | {"is_archived": 0, "fingerprint": "", "record_id": f"run-{number}", "at_least": 0}
    row |= {"errors": 0, "warnings": 0, "is_open": 0, "undated_usage": 0} | values
    columns = COLUMNS_OF["records"]
    marks = ", ".join("?" * len(columns))
    catalog.query(
        f"INSERT INTO records ({', '.join(columns)}) VALUES ({marks})", [row.get(name) for name in columns]
    )


def exported(cli: Cli, table: str, form: str, *arguments: str) -> str:
    """The file of an export, for DuckDB."""
    path = f"{table}.{form}"
    outcome = cli("export", table, "--to", form, "-o", path, *arguments)
    assert (outcome.code, outcome.err) == (0, "")
    return path


def ask(sql: str) -> list[tuple[Any, ...]]:
    return duckdb.execute(sql).fetchall()


def rows(cli: Cli, table: str, *arguments: str) -> list[dict[str, Any]]:
    outcome = cli("export", table, "--to", "jsonl", *arguments)
    assert (outcome.code, outcome.err) == (0, "")
    return [json.loads(line, parse_float=Decimal) for line in outcome.out.splitlines()]


def test_the_words_of_the_command_are_those_of_the_operation() -> None:
    assert tuple(FORMATS) == export._TABLES
    documented = " ".join((export.command.help or "").split())
    assert f"TABLE is runs (the default), {', '.join(TABLE_NAMES[1:-1])} or {TABLE_NAMES[-1]}" in documented


@pytest.mark.file_only
def test_every_view_is_a_table_with_its_columns_and_the_types_of_the_database() -> None:
    views = [view for view in VIEWS if view != "v1_plans"]  # plans are not records
    assert [f"v1_{table}" for table in TABLE_NAMES] == views
    stored = {"INTEGER": {"count", "flag", "cost", "time"}, "REAL": {"number", "seconds"}, "TEXT": {"text"}}
    with open_catalog([]) as database:
        for table, view in zip(TABLE_NAMES, views, strict=True):
            columns = table_columns(database, table)
            asked = database.query(f"SELECT * FROM {view} LIMIT 0")
            assert [column.name for column in columns] == database.columns(asked)
            for _, name, declared, *__ in database.query(f"PRAGMA table_info({view})"):
                (kind,) = [column.type for column in columns if column.name == name]
                assert kind in stored.get(declared, {kind}), (view, name)


@pytest.mark.usefixtures("project")
def test_sums_of_parquet_are_those_of_the_documents(cli: Cli, project: Path) -> None:
    documents = [read(path) for path in (project / "outputs").iterdir() if path.name[:2] == "20"]
    costs = [document["costs"]["total_cost_usd"] for document in documents]
    known = sum(Decimal(str(cost)) for cost in costs if cost is not None)
    assert costs.count(None) == 1
    assert known > 0
    path = exported(cli, "runs", "parquet")
    ((count, with_cost, cost, tokens),) = ask(
        f"SELECT count(*), count(cost_usd), sum(cost_usd), sum(input_tokens + output_tokens) FROM '{path}'"
    )
    assert (count, with_cost, cost) == (3, 2, known)
    assert tokens == 1001 + 1002 + 1003 + 3 * 207
    ids = sorted(str(RunFields(document).run_id) for document in documents)
    assert ask(f"SELECT id FROM '{path}' ORDER BY id") == [(own,) for own in ids]

    path = exported(cli, "instances", "parquet")
    spent = sum(Decimal(str(agent["cost"])) for agent in AGENTS if agent["cost"] is not None)
    assert ask(f"SELECT sum(cost_usd), count(*) FROM '{path}'") == [(spent, len(AGENTS))]
    path = exported(cli, "usage", "parquet")
    assert ask(f"SELECT sum(known_cost_usd) FROM '{path}' WHERE kind = 'run'") == [(known,)]


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize("table", TABLE_NAMES)
def test_the_three_formats_say_the_same(cli: Cli, table: str) -> None:
    parquet = exported(cli, table, "parquet")
    columns = {name: kind for name, kind, *_ in ask(f"DESCRIBE FROM '{parquet}'")}
    times = [name for name, kind in columns.items() if kind == "TIMESTAMP WITH TIME ZONE"]
    chosen = f"* REPLACE ({', '.join(f'epoch_ms({name}) AS {name}' for name in times)})" if times else "*"
    expected = ask(f"SELECT {chosen} FROM '{parquet}'")
    for form, reader in (
        ("csv", "read_csv('{}', columns = {}, auto_detect = false, header = true)"),
        ("jsonl", "read_json('{}', columns = {})"),
    ):
        source = reader.format(exported(cli, table, form), columns)
        assert ask(f"SELECT {chosen} FROM {source}") == expected, form
    assert expected or table in {"relations", "calls"}


@pytest.mark.usefixtures("project")
def test_types_of_parquet(cli: Cli) -> None:
    path = exported(cli, "runs", "parquet")
    types = {name: kind for name, kind, *_ in ask(f"DESCRIBE FROM '{path}'")}
    assert types["cost_usd"] == types["known_cost_usd"] == "DECIMAL(19,10)"
    assert types["started"] == types["ended"] == "TIMESTAMP WITH TIME ZONE"
    assert (types["calls"], types["duration_seconds"], types["archived"]) == ("BIGINT", "DOUBLE", "BOOLEAN")
    assert types["id"] == "VARCHAR"
    (run,) = [row for row in rows(cli, "runs") if row["model"] == "no-such-model"]
    assert run["cost_usd"] is None
    assert ask(f"SELECT cost_usd FROM '{path}' WHERE id = '{run['id']}'") == [(None,)]


def test_costs_are_exact(cli: Cli, catalog: CatalogDatabase) -> None:
    put_run(catalog, 1, cost=EXACT, known_cost=-5, started=1_700_000_000_000)
    put_run(catalog, 2, cost=2**63 - 1, known_cost=10**10, started=1_700_000_000_123)
    dollars = Decimal("900719.9254740993")
    assert dollars == Decimal(EXACT).scaleb(-10)
    path = exported(cli, "runs", "parquet")
    largest = Decimal(2**63 - 1).scaleb(-10)
    assert ask(f"SELECT cost_usd, known_cost_usd FROM '{path}'") == [
        (dollars, Decimal("-5E-10")),
        (largest, Decimal(1)),
    ]
    first, second = rows(cli, "runs")
    assert (first["cost_usd"], second["cost_usd"]) == (dollars, largest)
    assert (first["started"], second["started"]) == ("2023-11-14T22:13:20Z", "2023-11-14T22:13:20.123Z")
    text = cli("export", "--to", "csv").out
    line = next(csv.DictReader(io.StringIO(text)))
    assert (line["cost_usd"], line["known_cost_usd"]) == ("900719.9254740993", "-0.0000000005")


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize(
    "filters",
    [
        ("--model", "haiku"),
        ("--status", "completed"),
        ("--since", "1d"),
        ("--until", "1d"),
        ("--where", "config.number > 0"),
        ("--text", "outputs"),
        ("--tag", "none"),
        ("--experiment", "none"),
    ],
)
@pytest.mark.parametrize("table", ["runs", "sessions", "instances", "calls"])
def test_filters_are_those_of_ls(cli: Cli, table: str, filters: tuple[str, str]) -> None:
    outcome = cli("ls", table, *filters, "--json")
    if outcome.code == 64:  # calls have no status
        assert cli("export", table, "--to", "csv", *filters).err == outcome.err
        return
    listed, own = json.loads(outcome.out)["records"], ("record", "run") if table == "calls" else ("id", "id")
    found = sorted(row[own[0]] for row in rows(cli, table, *filters))
    assert found == sorted(row[own[1]] for row in listed)


@pytest.mark.usefixtures("project")
def test_filters_of_the_parts_of_records(cli: Cli) -> None:
    assert {row["model"] for row in rows(cli, "usage", "--model", "haiku")} == {"claude-haiku-4-5"}
    (run,) = rows(cli, "runs", "--model", "haiku")
    values = rows(cli, "values", "--where", f"id = {run['id']}")
    assert {row["record"] for row in values} == {run["id"]}
    assert [row["number"] for row in values if row["key"] == "config.number"] == [1]
    both = rows(cli, "usage", "--model", "claude", "--where", f"id = {run['id']}")
    assert [row["record"] for row in both] == [run["id"]]
    assert len(rows(cli, "values")) > len(values)


@pytest.mark.usefixtures("project")
def test_the_order_does_not_depend_on_the_catalog(cli: Cli) -> None:
    before = [cli("export", table, "--to", "csv").out for table in TABLE_NAMES]
    started = [row["started"] for row in rows(cli, "runs")]
    assert started == sorted(started)
    assert cli("index", "--rebuild").code == 0
    assert [cli("export", table, "--to", "csv").out for table in TABLE_NAMES] == before


def test_hostile_texts(cli: Cli, catalog: CatalogDatabase) -> None:
    put_run(catalog, 1, model=HOSTILE, command="-1+1", host="")
    out = cli("export", "--to", "csv").out
    assert "\x1b" not in out
    assert "\u202e" not in out
    (row,) = csv.DictReader(io.StringIO(out))
    assert row["model"] == "'=HYPERLINK(1)\\x1b[31m\\u202e\\n|,\"'ü"
    assert row["command"] == "'-1+1"
    out = cli("export", "--to", "jsonl").out
    assert "\x1b" not in out
    assert "\u202e" not in out
    assert json.loads(out)["model"] == HOSTILE
    path = exported(cli, "runs", "parquet")
    assert ask(f"SELECT model, host FROM '{path}'") == [(HOSTILE, "")]


def test_numbers_that_json_lacks_are_null() -> None:
    columns = [TypedColumn("number", "number"), TypedColumn("started", "time")]
    (block,) = table_files.json_blocks(columns, [[(float("inf"), -(10**15))]])
    assert json.loads(block) == {"number": None, "started": None}


@pytest.mark.usefixtures("project")
def test_stdout_is_the_default_and_the_same_as_a_file(cli: Cli) -> None:
    for form in ("csv", "jsonl"):
        out = cli("export", "usage", "--to", form).out
        assert cli("export", "usage", "--to", form, "-o", "-").out == out
        assert Path(exported(cli, "usage", form)).read_text() == out
    assert cli("export", "--to", "csv").out.startswith("id,name,path,store,")


def test_an_empty_table_has_its_columns(cli: Cli, catalog: CatalogDatabase) -> None:
    assert catalog.query("SELECT count(*) FROM records").fetchone() == (0,)
    assert cli("export", "values", "--to", "csv").out == "record,key,number,text\n"
    assert cli("export", "values", "--to", "jsonl").out == ""
    path = exported(cli, "values", "parquet")
    assert [name for name, *_ in ask(f"DESCRIBE FROM '{path}'")] == ["record", "key", "number", "text"]


@pytest.mark.usefixtures("project")
def test_the_result_as_json(cli: Cli) -> None:
    outcome = cli("export", "sessions", "--to", "csv", "-o", "s.csv", "--json")
    expected = {"path": "s.csv", "form": "csv", "table": "sessions", "rows": 1, "unreachable_stores": []}
    assert json.loads(outcome.out) == expected
    assert cli("export", "--to", "csv", "-o", "r.csv").out == "r.csv: 3 rows\n"
    assert cli("export", "--to", "csv", "-o", "r.csv", "-q").out == ""


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--to", "parquet"), "Parquet is not written to stdout"),
        (("--to", "parquet", "-o", "-"), "Parquet is not written to stdout"),
        (("--to", "csv", "--json"), "--json and the table cannot both go to stdout"),
        (("--to", "csv", "--with", "x"), "--with is for bundles"),
        (("@latest", "--model", ""), "--model is for tables"),
        (("@latest", "--tag", "x"), "--tag is for tables"),
        (("@latest", "--progress"), "--progress is for tables"),
        ((), "Missing argument 'RUN'."),
        (("runs",), "runs is a table, not a run"),
        (("@latest", "--to", "csv"), "there is no table '@latest'"),
        (("--to", "csv", "--where", "cost >"), "in the condition, after cost > a value is missing"),
        (("--to", "csv", "--where", "no = 1"), "there is no column 'no'"),
    ],
)
def test_wrong_usage(cli: Cli, arguments: tuple[str, ...], message: str) -> None:
    before = sorted(os.listdir())
    outcome = cli("export", *arguments)
    assert (outcome.code, outcome.out) == (64, "")
    assert outcome.err.startswith(f"Error: {message}\n  hint: ")
    assert sorted(os.listdir()) == before


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize(
    ("output", "message"),
    [
        ("outputs", "outputs is not a regular file"),
        ("/dev/null", "/dev/null is not a regular file"),
        ("none/a.csv", "none is not a folder"),
    ],
)
def test_what_is_no_file_is_never_replaced(cli: Cli, output: str, message: str) -> None:
    outcome = cli("export", "--to", "csv", "-o", output)
    assert outcome.code == 1
    assert message in outcome.err
    assert os.path.exists("/dev/null")
    assert not os.path.isfile("/dev/null")


@pytest.mark.usefixtures("project")
def test_a_link_stays(cli: Cli) -> None:
    Path("real.csv").write_text("old")
    Path("link.csv").symlink_to("real.csv")
    assert cli("export", "--to", "csv", "-o", "link.csv").code == 0
    assert Path("link.csv").is_symlink()
    assert Path("real.csv").read_text().startswith("id,")


LIMITED = """
import resource, sys
sys.dont_write_bytecode = True
resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 17, 1 << 17))
from runcard.cli.main import main
sys.argv[0] = "runcard"
sys.exit(main())
"""


@pytest.mark.parametrize("form", FORMATS)
def test_a_full_disk_leaves_the_old_file(catalog: CatalogDatabase, form: str) -> None:
    with catalog.writing():
        for number in range(1, 400):
            put_run(catalog, number, command=os.urandom(1000).hex())
    Path("old").write_text("old")
    before = sorted(os.listdir())
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, "export", "--to", form, "-o", "old"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    assert done.stderr.startswith("Error: cannot write old: File too large\n")
    assert Path("old").read_text() == "old"
    assert sorted(os.listdir()) == before


def test_a_reader_that_goes_away_ends_the_export(catalog: CatalogDatabase) -> None:
    with catalog.writing():
        for number in range(1, 2000):
            put_run(catalog, number, command="x" * 1000)
    command = f"{sys.executable} -m runcard export --to csv | head -1; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)
    header, code = done.stdout.splitlines()
    assert header.startswith("id,")
    assert (code, done.stderr) == ("141", "")


@pytest.mark.usefixtures("project")
def test_without_pyarrow(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    Path("old").write_text("old")
    outcome = cli("export", "--to", "parquet", "-o", "old")
    assert outcome.code == 1
    assert (
        outcome.err == "Error: Parquet needs the package pyarrow, which is not installed\n"
        f"  hint: {install_hint('arrow')}\n"
    )
    assert Path("old").read_text() == "old"
    assert cli("export", "--to", "csv").code == 0


def test_a_store_that_cannot_be_reached_is_named(
    cli: Cli, project: Path, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    assert len(rows(cli, "runs")) == 3
    (project / "outputs").rename(project / "moved")
    outcome = cli("export", "--to", "jsonl")
    assert outcome.code == 2
    assert [json.loads(line)["reachable"] for line in outcome.out.splitlines()] == [False] * 3
    assert "cannot be reached: its records are exported as they were" in outcome.err


def test_a_run_whose_process_is_gone_is_interrupted(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    program = "import os, runcard; runcard.start('outputs'); os._exit(0)"
    subprocess.run([sys.executable, "-c", program], check=True)
    assert [row["status"] for row in rows(cli, "runs")] == ["interrupted"]


@pytest.mark.file_only
def test_a_wrong_value_in_the_catalog_is_an_error(cli: Cli, catalog: CatalogDatabase) -> None:
    put_run(catalog, 1, calls="many")
    outcome = cli("export", "--to", "parquet", "-o", "runs.parquet")
    assert outcome.code == 1
    assert outcome.err.startswith("Error: the catalog has a wrong value in calls: ")
    assert outcome.err.endswith("hint: run: runcard index --rebuild\n")
    assert not os.path.exists("runs.parquet")


def test_a_large_parquet_file_has_groups_of_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_files, "_ROW_GROUP", 4)
    batches = [[(number,), (number + 1,)] for number in range(0, 10, 2)]
    path = tmp_path / "numbers.parquet"
    path.write_bytes(b"".join(table_files.parquet_blocks([TypedColumn("number", "count")], batches)))
    assert ask(
        f"SELECT list(number ORDER BY file_row_number) FROM read_parquet('{path}', file_row_number = true)"
    ) == [(list(range(10)),)]
    groups = f"SELECT DISTINCT row_group_num_rows FROM parquet_metadata('{path}') ORDER BY 1"
    assert ask(groups) == [(2,), (4,)]


SERIES = "(WITH RECURSIVE n (value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM n WHERE value < 120000) SELECT value FROM n) AS some_rows"


class _Nowhere(io.RawIOBase):
    def write(self, data: Any) -> int:
        return len(data)


@pytest.mark.long
@pytest.mark.parametrize("form", FORMATS)
def test_memory_does_not_grow_with_the_table(catalog: CatalogDatabase, form: str) -> None:
    put_run(catalog, 1)
    insert = "INSERT INTO facts SELECT 1, 'config.' || value, value, 'a text of this length, about' FROM "
    catalog.query(f"{insert} (SELECT 0 AS value) AS some_rows")
    # pyarrow loads pandas with the first values: that takes more memory than the rows of a batch.
    assert export_table("values", form, _Nowhere(), Filters(where="id = run-1")).rows == 1  # type: ignore[arg-type]
    catalog.query(insert + SERIES)
    peaks, exported_rows = [], []
    for condition in ("id = none", "id = run-1"):
        tracemalloc.start()
        done = export_table("values", form, _Nowhere(), Filters(where=condition))  # type: ignore[arg-type]
        exported_rows.append(done.rows)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert exported_rows == [0, 120_001]
    assert peaks[1] - peaks[0] < 12 << 20, "all rows at once take 40 MiB"
