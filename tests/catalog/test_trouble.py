"""A catalog that is locked, read-only, on a full disk or torn: questions are answered all the same, and say what is wrong."""

import ctypes
import json
import os
import resource
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from conftest import Cli
from measured_processes import VARIABLE
from runcard.catalog import filling, sqlite_engine
from runcard.catalog.database import CatalogDatabase
from runcard.catalog.reading import read_rows
from runcard.store.record import Record
from runs.runs import record_one
from waiting import wait_until

pytestmark = pytest.mark.file_only

_PR_CAPBSET_DROP = 24
_CAPABILITIES = (1, 2)  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RUNCARD_CATALOG", str(tmp_path / "catalog" / "catalog.db"))
    record_one(tmp_path / "outputs")
    return tmp_path


@pytest.fixture
def catalog(project: Path, cli: Cli) -> Path:
    assert cli("ls").code == 0
    return project / "catalog" / "catalog.db"


@pytest.fixture
def locked(catalog: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setattr(sqlite_engine, "_BUSY", 0.1)
    with closing(sqlite3.connect(catalog, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        yield catalog


def total(out: str) -> int:
    return int(json.loads(out)["total"])


@pytest.mark.parametrize("cursor", ["{", "[1]", "{}", "7"])
def test_what_others_write_about_a_store_is_read_anew(cli: Cli, catalog: Path, cursor: str) -> None:
    change(catalog, "UPDATE stores SET cursor = ?", cursor)
    done = cli("ls", "--json")
    assert (done.code, total(done.out)) == (0, 1)


def change(catalog: Path, sql: str, value: str) -> None:
    with closing(sqlite3.connect(catalog)) as connection, connection:
        assert connection.execute(sql, (value,)).rowcount > 0


def test_a_locked_catalog_answers_what_it_has(cli: Cli, project: Path, locked: Path) -> None:
    assert cli("ls").code == 0  # nothing is to be written
    record_one(project / "outputs")
    outcome = cli("ls", "--json")
    assert (outcome.code, total(outcome.out)) == (2, 1)
    assert (
        f"Warning: the catalog {locked} cannot be used: database is locked: this may not be the newest"
        in outcome.err
    )
    outcome = cli("query", "SELECT count(*) FROM v1_runs", "--json")
    assert (outcome.code, json.loads(outcome.out)["rows"]) == (2, [[1]])


@pytest.mark.usefixtures("locked")
def test_a_store_that_a_locked_catalog_lacks_is_read(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    record_one(tmp_path / "elsewhere" / "outputs")
    outcome = cli("ls", "--json")
    assert (outcome.code, total(outcome.out)) == (2, 2)
    assert "all records were read instead" in outcome.err
    outcome = cli("query", "SELECT count(*) FROM v1_runs", "--json")
    assert (outcome.code, json.loads(outcome.out)["rows"]) == (2, [[2]])
    assert cli("query", "DELETE FROM records").code == 64
    digest = json.loads(cli("query", "SELECT sha256 FROM v1_files", "--json").out)["rows"][0][0]
    assert cli("whence", digest).code == 2


def test_nobody_waits_long_for_a_process_that_reads_a_store(
    cli: Cli, catalog: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("runcard.operations.catalog.open._PATIENCE", 0.1)
    with CatalogDatabase(str(catalog)) as opened:
        opened.clear()
        with opened.locked("filling", 1):
            outcome = cli("ls", "--json")
    assert (outcome.code, total(outcome.out)) == (2, 1)


def in_process(
    arguments: tuple[str, ...], before: Callable[[], object]
) -> "subprocess.CompletedProcess[str]":
    program = "import sys; from runcard.cli.main import main; sys.exit(main())"
    command = (sys.executable, "-c", program, *arguments)
    return subprocess.run(command, preexec_fn=before, capture_output=True, text=True, timeout=60, check=False)


def without_privileges() -> None:
    """Root has to obey the modes of files, too."""
    for capability in _CAPABILITIES if os.getuid() == 0 else ():
        ctypes.CDLL(None).prctl(_PR_CAPBSET_DROP, capability)


@pytest.fixture
def read_only(catalog: Path) -> Iterator[Path]:
    """A catalog in a folder that cannot be written."""
    catalog.parent.chmod(0o555)
    catalog.chmod(0o444)
    yield catalog
    catalog.parent.chmod(0o755)


@pytest.mark.usefixtures("read_only")
def test_a_catalog_that_cannot_be_written(project: Path) -> None:
    result = in_process(("ls", "--json"), without_privileges)
    assert (result.returncode, total(result.stdout)) == (0, 1), result.stderr
    record_one(project / "outputs")
    result = in_process(("ls", "--json"), without_privileges)
    assert (result.returncode, total(result.stdout)) == (2, 1), result.stderr
    assert "attempt to write a readonly database: this may not be the newest" in result.stderr
    result = in_process(("query", "SELECT count(*) FROM v1_runs", "--json"), without_privileges)
    assert (result.returncode, json.loads(result.stdout)["rows"]) == (2, [[1]]), result.stderr


@pytest.mark.parametrize("size", [0, 5000, 100_000])
def test_a_full_disk(project: Path, catalog: Path, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The process cannot write more than this to any file."""
    monkeypatch.delenv(VARIABLE, raising=False)  # it could not write what it measures
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    record_one(project / "outputs")
    for name in ("catalog.db", "catalog.db-wal"):
        result = in_process(("ls", "--json"), limit)
        assert result.returncode == (2 if "Warning" in result.stderr else 0)
        assert total(result.stdout) in {1, 2}
        assert "Traceback" not in result.stderr
        (catalog.parent / name).unlink(missing_ok=True)
    assert not list(catalog.parent.glob("*.new*"))


def tear(catalog: Path, *names: str) -> None:
    with CatalogDatabase(str(catalog)) as opened:
        opened.query("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        (size,) = opened.query("PRAGMA page_size").fetchone()
        sql = "SELECT rootpage FROM sqlite_master WHERE name = ?"
        pages = [opened.query(sql, (name,)).fetchone()[0] for name in names]
    data = bytearray(catalog.read_bytes())
    for number in pages:
        data[(number - 1) * size : number * size] = b"\xff" * size
    catalog.write_bytes(data)


def test_a_catalog_with_a_torn_page_is_built_anew(cli: Cli, catalog: Path) -> None:
    tear(catalog, "instances_lists", "records_lists")
    outcome = cli("ls")
    assert outcome.code in {0, 1}
    assert "Traceback" not in outcome.err
    assert outcome.code == 0 or "ask again" in outcome.err
    assert total(cli("ls", "--json").out) == 1


def test_a_record_that_is_removed_while_it_is_read(
    cli: Cli, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = record_one(project / "outputs")

    def remove(record: Record) -> Any:
        if record.name == gone.name:
            shutil.rmtree(gone)
        return read_rows(record)

    monkeypatch.setattr(filling, "read_rows", remove)
    found = json.loads(cli("ls", "--json").out)
    assert [(row["problem"], gone.name in row["path"]) for row in found["records"]] == [(None, False)]
    assert total(cli("ls", "--json").out) == 1


def test_one_id_with_two_contents(cli: Cli, project: Path) -> None:
    (run,) = (project / "outputs").glob("2*")
    copy = project / "elsewhere" / "outputs" / run.name
    shutil.copytree(run, copy, symlinks=True)
    assert cli("index", "elsewhere").code == 0
    assert cli("ls").code == 0  # a copy is not a conflict
    document = copy / "metadata.json"
    document.write_bytes(document.read_bytes().replace(b"completed", b"failed", 1))
    cli("index")
    outcome = cli("ls", "--json")
    assert outcome.code == 2
    rows = json.loads(outcome.out)["records"]
    assert [row["conflict"] for row in rows] == [True, True]
    assert f"Warning: {rows[0]['id']} has several contents" in outcome.err
    assert total(cli("ls", "--where", "conflict = true", "--json").out) == 2


def test_index_replaces_a_damaged_catalog(cli: Cli, catalog: Path) -> None:
    tear(catalog, "sqlite_autoindex_records_1")
    outcome = cli("index")
    assert (outcome.code, "Traceback" in outcome.err) == (0, False), outcome.err
    assert total(cli("ls", "--json").out) == 1


def test_a_question_in_sql_is_not_to_blame_for_damage(cli: Cli, catalog: Path) -> None:
    tear(catalog, "facts", "facts_by_text", "facts_by_number")
    outcome = cli("query", "SELECT * FROM v1_values")
    assert outcome.code == 1
    assert "the catalog is damaged" in outcome.err
    assert "in the SQL" not in outcome.err
    assert cli("query", "SELECT * FROM v1_values").code == 0


def test_a_run_whose_process_is_gone_is_interrupted_in_filters_too(cli: Cli, project: Path) -> None:
    program = (
        "import os, runcard\n"
        "with runcard.record('outputs', strict=True) as run:\n"
        "    open('ready', 'w').close()\n"
        "    input()"
    )
    process = subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, cwd=project)
    try:
        wait_until((project / "ready").exists, "the run")
        assert total(cli("ls", "--status", "running", "--json").out) == 1
        assert total(cli("ls", "--status", "interrupted", "--json").out) == 0
    finally:
        process.kill()
        process.communicate()
    assert total(cli("ls", "--status", "running", "--json").out) == 0
    found = json.loads(cli("ls", "--where", "status = interrupted", "--json").out)
    assert [row["status"] for row in found["records"]] == ["interrupted"]
    outcome = cli("query", "SELECT status FROM v1_runs ORDER BY status", "--json")
    assert json.loads(outcome.out)["rows"] == [["completed"], ["interrupted"]]
