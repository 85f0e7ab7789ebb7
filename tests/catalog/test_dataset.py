"""`runcard export --to parquet DIR/`: a dataset by month, of which only what changed is written."""

import json
import os
import shutil
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import runcard
from archives.remote.conftest import (
    _storage_library,
    folder,
    proxy,
    s3_server,
    server,
    session_proxy,
    session_server,
)
from archives.remote.records_there import Server
from conftest import Cli
from runcard.catalog.months import MONTH_TABLES
from runcard.operations.catalog import export_dataset
from runcard.views.table_files import parquet_blocks
from sessions.build import AGENTS

__all__ = [
    "_storage_library", "folder", "proxy", "s3_server", "server", "session_proxy", "session_server",
]  # fixtures  # fmt: skip

DAYS = ("2026-09-30T23:59:59Z", "2026-10-01T00:00:00Z", "2026-10-15T12:00:00Z", "2026-11-01T00:00:00Z")


@pytest.fixture
def project(here: Path) -> Path:
    """Runs of three months, at their edges, and a session."""
    for number, day in enumerate(DAYS):
        _record(here, day, number)
    spec = {"team_session_id": "team-1", "instances": [dict(agent) for agent in AGENTS]}
    runcard.collect(spec, artifacts="artifacts")
    return here


def _record(folder: Path, day: str, number: int) -> Path:
    """A run that began on this day, by what its document says."""
    with runcard.record("outputs", model="claude-sonnet-4-5", provider="anthropic", strict=True) as run:
        run.add_usage({"input": 1001 + number, "output": 207})
        run.log_metric("accuracy", number / 10)
    path = folder / run.path
    document = json.loads((path / "metadata.json").read_bytes())
    document["generation"]["timestamp_start"] = day
    (path / "metadata.json").write_text(json.dumps(document))
    return path


def files(folder: Path) -> dict[str, int]:
    """The files of a dataset, with the times at which they were written."""
    return {
        str(path.relative_to(folder)): path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()
    }


def ask(sql: str) -> list[tuple[Any, ...]]:
    return duckdb.execute(sql).fetchall()


def months(table: str) -> str:
    return f"read_parquet('dataset/{table}/*/*.parquet', hive_partitioning = true)"


@pytest.mark.usefixtures("project")
def test_each_record_is_in_the_file_of_its_month_with_exact_values(cli: Cli) -> None:
    done = cli("export", "--to", "parquet", "dataset/", "--json")
    assert (done.code, done.err) == (0, "")
    written = json.loads(done.out)["written"]
    assert {table: sum(of.values()) for table, of in written.items()} == {
        "runs": 4, "sessions": 1, "instances": 3, "calls": 4, "metrics": 12,
    }  # fmt: skip
    found = ask(f"SELECT month, count(*), sum(cost_usd) FROM {months('runs')} GROUP BY month ORDER BY month")  # noqa: S608
    assert [row[:2] for row in found] == [("2026-09", 1), ("2026-10", 2), ("2026-11", 1)]
    # 3 dollars for a million tokens of input, 15 for output
    exact = [Decimal(3 * (1001 + number) + 15 * 207).scaleb(-6) for number in range(4)]
    assert [row[2] for row in found] == [exact[0], exact[1] + exact[2], exact[3]]
    schema = pq.read_schema("dataset/runs/month=2026-10/part-0.parquet")
    assert schema.field("cost_usd").type == pa.decimal128(19, 10)
    assert schema.field("started").type == pa.timestamp("ms", tz="UTC")
    table = pq.read_table("dataset/runs/month=2026-09/part-0.parquet", partitioning=None)
    assert table.column("started").to_pylist() == [datetime(2026, 9, 30, 23, 59, 59, tzinfo=UTC)]


def test_only_months_that_changed_are_written_again(cli: Cli, project: Path) -> None:
    dataset = project / "dataset"
    assert cli("export", "--to", "parquet", "-o", "dataset/").code == 0
    first = files(dataset)
    assert cli("export", "--to", "parquet", "-o", "dataset").out == (
        "dataset: 4 months, 0 files with 0 rows written\n"
    )
    assert files(dataset) == first
    cli("index", "--rebuild")
    assert cli("export", "--to", "parquet", "dataset/").out.endswith(" 0 files with 0 rows written\n")

    new = _record(project, "2026-10-20T00:00:00Z", 9)
    later = cli("export", "--to", "parquet", "dataset/", "--json")
    changed = {name for name, time in files(dataset).items() if first.get(name) != time}
    assert changed == {
        "_runcard.json",
        *(f"{name}/month=2026-10/part-0.parquet" for name in ("runs", "calls", "metrics")),
    }
    assert json.loads(later.out)["written"]["runs"] == {"2026-10": 3}
    shutil.rmtree(new)
    for name in ask(f"SELECT path FROM {months('runs')} WHERE month = '2026-11'"):  # noqa: S608
        shutil.rmtree(name[0])
    gone = json.loads(cli("export", "--to", "parquet", "dataset/", "--json").out)
    assert gone["removed"] == [
        f"{name}/month=2026-11/part-0.parquet" for name in ("calls", "metrics", "runs")
    ]
    assert not (dataset / "runs" / "month=2026-11").exists()


def test_an_export_that_is_stopped_goes_on_where_it_was(
    cli: Cli, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until a file is whole, readers have the one before."""
    cli("export", "--to", "parquet", "dataset/")
    before = files(project / "dataset")
    for day in DAYS[:3]:
        _record(project, day, 7)
    real = parquet_blocks

    def broken(columns: Any, batches: Any) -> Any:
        names = [column.name for column in columns]
        rows = list(batches)
        yield from list(real(columns, rows))[:1]
        if "exit_code" in names and any("2026-10" in str(row) for row in _texts(rows, names)):
            raise OSError(28, "No space left on device")
        yield from list(real(columns, rows))[1:]

    with monkeypatch.context() as patch:
        patch.setattr(export_dataset, "parquet_blocks", broken)
        done = cli("export", "--to", "parquet", "dataset/")
    assert (done.code, "No space left" in done.err) == (1, True)
    assert files(project / "dataset").keys() == before.keys()
    assert ask(f"SELECT count(*) FROM {months('runs')}") == [(5,)]  # noqa: S608
    assert json.loads(cli("export", "--to", "parquet", "dataset/", "--json").out)["written"]["runs"] == {
        "2026-10": 4
    }


def test_a_file_that_is_not_the_one_that_was_written_is_written_again(
    cli: Cli, project: Path, folder: str, server: Server
) -> None:
    """It was removed by hand, or an export at the same time has written an older one."""
    for target in ("dataset/", folder):
        assert cli("export", "--to", "parquet", target).code == 0
    name = "runs/month=2026-10/part-0.parquet"
    file = project / "dataset" / name
    whole, other = file.read_bytes(), file.with_name("own.parquet")
    other.write_bytes(b"of a user")
    for change in (file.unlink, lambda: file.write_bytes(b"other")):
        change()
        assert cli("export", "--to", "parquet", "dataset/").out.endswith(" 1 file with 2 rows written\n")
        assert file.read_bytes() == whole
    server.put(f"{folder}/{name}", b"other")
    server.delete(f"{folder}/{name.replace('runs', 'calls')}")
    assert runcard.export_dataset(folder).written == {"runs": {"2026-10": 2}, "calls": {"2026-10": 2}}
    assert server.get(f"{folder}/{name}") == whole
    assert cli("export", "--to", "parquet", folder).out.endswith(" 0 rows written\n")
    assert other.read_bytes() == b"of a user"


def test_a_file_of_an_export_that_was_stopped_is_not_left_behind(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As by `kill -9` between a new file and the state, before the records of that month are removed."""
    run = _record(project, "2027-01-01T00:00:00Z", 1)
    real = export_dataset._State.set

    def killed(self: Any, table: str, partition: str, digest: str, *facts: Any) -> None:
        if digest and partition == "2027-01":
            raise KeyboardInterrupt
        real(self, table, partition, digest, *facts)

    with monkeypatch.context() as patch:
        patch.setattr(export_dataset._State, "set", killed)
        with pytest.raises(KeyboardInterrupt):
            runcard.export_dataset("dataset/")
    assert (project / "dataset/runs/month=2027-01/part-0.parquet").exists()
    shutil.rmtree(run)
    assert runcard.export_dataset("dataset/").removed == ("runs/month=2027-01/part-0.parquet",)
    assert not (project / "dataset/runs/month=2027-01").exists()


def test_any_start_has_a_month(here: Path) -> None:
    days = (
        "0001-01-01T00:00:00Z",
        "1969-12-31T23:59:59Z",
        "2026-10-01T01:30:00+02:00",
        "9999-12-31T23:59:59Z",
        "x",
    )
    for number, day in enumerate(days):
        _record(here, day, number)
    assert runcard.export_dataset("dataset/").written["runs"] == dict.fromkeys(
        ["0001-01", "1969-12", "2026-09", "9999-12", "__HIVE_DEFAULT_PARTITION__"], 1
    )
    assert runcard.export_dataset("dataset/").files == 0


def _texts(rows: list[Any], names: list[str]) -> list[str]:
    started = names.index("started")
    return [f"{datetime.fromtimestamp(row[started] / 1000, UTC):%Y-%m}" for batch in rows for row in batch]


def test_a_url_and_a_folder_hold_the_same(cli: Cli, project: Path, folder: str, server: Server) -> None:
    assert runcard.export_dataset("dataset/").files == 11
    done = runcard.export_dataset(folder)
    assert (done.months, done.files, done.rows) == (4, 11, 24)
    names = sorted(files(project / "dataset"))
    assert sorted(server.keys(folder)) == names
    for name in names[1:]:
        assert server.get(f"{folder}/{name}") == (project / "dataset" / name).read_bytes()
    assert cli("export", "--to", "parquet", folder).out.endswith(" 0 rows written\n")
    for run in (project / "outputs").glob("2*"):
        shutil.rmtree(run)
    assert len(runcard.export_dataset(folder).removed) == 9
    assert len(server.keys(folder)) == 3
    assert runcard.export_dataset("few/", ["sessions"]).written.keys() == {"sessions"}


@pytest.mark.usefixtures("project")
def test_what_is_not_a_dataset_of_this_catalog_is_left_alone(cli: Cli, project: Path) -> None:
    cli("export", "--to", "parquet", "dataset/")
    state = project / "dataset" / "_runcard.json"
    good = json.loads(state.read_bytes())
    for change, message in (
        ({"catalog": "elsewhere:/c.db"}, "is the dataset of another catalog: elsewhere:/c.db"),
        ({"format": 2}, "_runcard.json that cannot be used"),
        ({"tables": {"../runs": {}, "runs": {"../x": {"rows": 1}}}}, "_runcard.json that cannot be used"),
    ):
        state.write_text(json.dumps(good | change))
        before = files(project / "dataset")
        done = cli("export", "--to", "parquet", "dataset/")
        assert (done.code, message in done.err) == (1, True), done.err
        assert files(project / "dataset") == before


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["usage", "-o", "dataset/"], 64, "there is no table 'usage' in a dataset"),
        (["dataset/", "--model", "x"], 64, "a dataset has all records"),
        (["s3://u:p@nowhere/x"], 64, "must not have a user, a password or options"),
    ],
)
def test_wrong_targets_are_named(cli: Cli, arguments: list[str], code: int, message: str) -> None:
    done = cli("export", "--to", "parquet", *arguments)
    assert (done.code, done.out) == (code, "")
    assert message in done.err
    assert not os.path.exists("dataset")


def test_the_tables_are_documented(cli: Cli) -> None:
    assert f"the tables {', '.join(MONTH_TABLES[:-1])} and {MONTH_TABLES[-1]}" in " ".join(
        cli("export", "--help").out.split()
    )
