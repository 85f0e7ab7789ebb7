"""`runcard.Catalog()`: typed rows, and tables of other libraries."""

import subprocess
import sys
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, assert_type

import pyarrow as pa
import pytest

import runcard
from runcard.extras import install_hint, pip_command
from runcard.operations.catalog.catalog import CatalogInstance, CatalogRecord, CatalogRun, CatalogSession
from runcard.operations.catalog.tables import CatalogTable
from sessions.build import AGENTS


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for temperature in (0.2, 0.7):
        with runcard.record(
            "outputs",
            model="claude-sonnet-4-5",
            config={"temperature": temperature, "style": "dry" if temperature > 0.5 else 3},
            experiment="personas",
            labels={"team": "ux"},
            strict=True,
        ) as run:
            run.add_usage({"input": 1000, "output": 200})
            run.log_metric("accuracy", 1 - temperature / 2)
            (run.path / "out.txt").write_text(f"{temperature}\n")
    runcard.collect({"team_session_id": "team-1", "instances": [dict(agent) for agent in AGENTS]})
    return tmp_path


def test_runs_are_typed() -> None:
    runs = runcard.Catalog().runs(
        experiment="personas", sort="-metric.accuracy", columns=["config.temperature"]
    )
    assert_type(runs, CatalogTable[CatalogRun])
    assert [run.values["config.temperature"] for run in runs] == [0.2, 0.7]
    first = runs[0]
    assert first.kind == "run"
    assert (first.cost, first.known_cost, first.at_least) == (Decimal("0.006"), Decimal("0.006"), False)
    assert first.started is not None
    assert datetime.now(UTC) - first.started < timedelta(hours=1)
    assert (first.path / "out.txt").read_text() == "0.2\n"
    assert (first.tokens, first.cache_read, first.provider) == (1200, None, None)
    assert (len(runs), runs.total, runs.unreachable_stores) == (2, 2, ())
    assert runs[-1].id != runs[:1][0].id == first.id
    assert repr(runs) == "<CatalogTable of 2 rows>"
    limited = runcard.Catalog().runs(limit=1)
    assert (len(limited), limited.total, repr(limited)) == (1, 2, "<CatalogTable of 1 row>")


def test_sessions_and_their_agents_are_typed() -> None:
    catalog = runcard.Catalog()
    (session,) = catalog.sessions(until=datetime(2026, 1, 1, tzinfo=UTC))
    assert_type(session, CatalogSession)
    assert (session.id, session.instances, session.failed_instances, session.status) == (
        "team-1",
        3,
        1,
        "failed",
    )
    agents = catalog.instances(where="cost > 0.1", sort=["-cost"])
    assert_type(agents, CatalogTable[CatalogInstance])
    assert [agent.name for agent in agents] == ["coordinator", "coder"]
    assert agents[0].session == "team-1"


def test_words_find_records_of_both_kinds() -> None:
    catalog = runcard.Catalog()
    found = catalog.find("ux", columns=["label.team"])
    assert_type(found, CatalogTable[CatalogRecord])
    assert {record.values["label.team"] for record in found} == {"ux"}
    assert [record.kind for record in catalog.find("team-1", limit=5)] == ["session"]


def test_costs_are_typed() -> None:
    report = runcard.Catalog().costs(by="model, label.team", since="1d")
    (group,) = report.groups
    assert (group.key, group.totals.cost) == (
        {"model": "claude-sonnet-4-5", "label.team": "ux"},
        Decimal("0.012"),
    )
    assert runcard.Catalog().costs(["month"]).totals.cost == Decimal("0.792")


def test_the_run_that_made_a_file(project: Path) -> None:
    (project / "copy.txt").write_text("0.7\n")
    (maker,) = runcard.Catalog().whence(project / "copy.txt").made_by
    assert maker.match.file == "out.txt"


def test_sql() -> None:
    assert runcard.Catalog().query("SELECT count(*) FROM v1_runs").rows == [(2,)]


def test_a_catalog_in_another_file(project: Path) -> None:
    catalog = runcard.Catalog(project / "own" / "catalog.db")
    assert len(catalog.runs()) == len(catalog.query("SELECT id FROM v1_runs").rows) == 2
    assert catalog.costs().facts.records == 3
    assert (project / "own" / "catalog.db").exists()


@pytest.mark.parametrize(
    ("filters", "error", "message"),
    [
        ({"modle": "x"}, TypeError, "'modle' is not a filter"),
        ({"columns": ["mood"]}, runcard.RuncardError, "there is no column 'mood'"),
        ({"since": "yesterday"}, runcard.RuncardError, "is not a time"),
    ],
)
def test_wrong_filters(filters: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        runcard.Catalog().runs(**filters)


def test_arrow() -> None:
    runs = runcard.Catalog().runs(columns=["config.temperature", "config.style"], sort="config.temperature")
    table = runs.to_arrow()
    assert table.num_rows == 2
    assert table.schema.field("cost").type == pa.decimal128(38, 10)
    assert table.column("cost").to_pylist() == [Decimal("0.0060000000")] * 2
    assert table.column("started").to_pylist() == [run.started for run in runs]
    assert table.column("cache_read").to_pylist() == [None, None]
    assert table.column("config.temperature").to_pylist() == [0.2, 0.7]
    assert table.column("config.style").to_pylist() == ["3", "dry"]  # a number and a text
    costs = runcard.Catalog().costs("model").to_arrow()
    assert costs.column("model").to_pylist() == ["claude-sonnet-4-5", "claude-haiku-4-5"]
    assert runcard.Catalog().runs(status="nothing").to_arrow().schema.names[:3] == ["id", "path", "status"]


def test_pandas() -> None:
    frame = runcard.Catalog().runs(columns=["config.style"], sort="config.temperature").to_pandas()
    assert list(frame["cost"]) == [0.006, 0.006]
    assert str(frame["started"].dtype).endswith("UTC]")
    assert frame["cache_read"].isna().all()
    assert list(frame["config.style"]) == ["3", "dry"]
    assert frame["calls"].sum() == 2
    assert len(runcard.Catalog().costs("day,model").to_pandas()) == 3


def test_without_these_libraries_everything_else_works_and_an_error_names_the_package() -> None:
    code = (
        "import sys; sys.modules['pyarrow'] = sys.modules['pandas'] = None\n"
        "import runcard\n"
        "runs = runcard.Catalog().runs()\n"
        "for to in (runs.to_arrow, runs.to_pandas):\n"
        "    try: to()\n"
        "    except runcard.RuncardError as error: print(error.message, '|', error.hint)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [
        f"this table needs the package pyarrow, which is not installed | {install_hint('arrow')}",
        f"pandas is not installed | install it: {pip_command('pandas')}",
    ]
