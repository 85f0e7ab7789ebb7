"""The catalog follows its stores: after any history, its rows are those of a catalog that is built anew."""

import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

import runcard
from runcard.catalog.database import CatalogDatabase, CatalogError
from runcard.catalog.filling import catch_up, fill
from runcard.catalog.tables import APPLICATION_ID, VERSION
from runcard.operations.amendments.amend import amend
from runcard.operations.amendments.redact import redact
from runcard.operations.archives.archive import archive
from runcard.operations.archives.candidates import candidates, delete_intact
from runcard.operations.archives.restore import restore
from runcard.store.known_stores import forget_store, known_stores, note_store
from runs.runs import record_one
from sessions.build import AGENTS

TABLES = ("facts", "instances", "usage", "calls", "files", "relations")


def dump(database: CatalogDatabase) -> dict[str, list[tuple[Any, ...]]]:
    """All rows but numbers, in an order of their own."""
    cursor = database.query(
        "SELECT r.*, s.path AS store_path, s.is_reachable FROM records r JOIN stores s ON s.id = r.store"
    )
    names = database.columns(cursor)
    skip = {names.index("id"), names.index("store")}
    own = names.index("id")
    records, keys = [], {}
    for row in cursor.fetchall():
        keys[row[own]] = (row[names.index("store_path")], row[names.index("name")])
        records.append(tuple(value for position, value in enumerate(row) if position not in skip))
    rows = {"records": sorted(records, key=repr)}
    for table in TABLES:
        found = database.query(f"SELECT * FROM {table}").fetchall()  # noqa: S608
        rows[table] = sorted(((keys[row[0]], *row[1:]) for row in found), key=repr)
    column = "record" if database.host else "rowid"
    texts = database.query(f"SELECT {column}, name, summary, errors, labels FROM texts").fetchall()  # noqa: S608
    rows["texts"] = sorted(((keys[row[0]], *row[1:]) for row in texts), key=repr)
    rows["usage_totals"] = sorted(database.query("SELECT * FROM usage_totals").fetchall())
    return rows


@pytest.fixture
def database(tmp_path: Path) -> Iterator[CatalogDatabase]:
    with CatalogDatabase(
        os.environ.get("RUNCARD_CATALOG") or str(tmp_path / "catalog" / "catalog.db")
    ) as opened:
        yield opened


def rebuilt(tmp_path: Path, *stores: Path) -> dict[str, list[tuple[Any, ...]]]:
    path = tmp_path / "again" / "catalog.db"
    shutil.rmtree(path.parent, ignore_errors=True)
    with CatalogDatabase(str(path)) as fresh:
        for store in stores:
            fill(fresh, str(store))
        return dump(fresh)


def names(database: CatalogDatabase) -> list[str]:
    return [name for (name,) in database.query("SELECT name FROM records ORDER BY name")]


class History:
    """Random work in a store."""

    def __init__(self, store: Path, random: Random) -> None:
        self.store, self.random, self.count = store, random, 0

    def records(self) -> list[Path]:
        return [path for path in sorted(self.store.glob("2*")) if (path / "metadata.json").is_file()]

    def step(self) -> None:
        work = [self.record, self.record, self.collect, self.amend, self.archive, self.restore]
        work += [self.redact, self.prune, self.copy, self.move, self.edit, self.lose_document, self.delete]
        self.random.choice(work)()

    def record(self) -> None:
        self.count += 1
        with runcard.record(
            self.store, labels={"n": self.count}, config={"seed": self.count}, strict=True
        ) as run:
            run.log_metric("score", self.count)
            run.add_usage({"input": self.count, "output": 1}, model="claude-sonnet-4-5")
            (run.path / "out.txt").write_text(f"{self.count} {'x' * 40}\n")

    def collect(self) -> None:
        self.count += 1
        spec = {"team_session_id": f"team-{self.count}", "instances": [dict(AGENTS[0], children_count=None)]}
        runcard.collect(spec, artifacts=self.store)

    def _any(self) -> Path | None:
        records = self.records()
        return self.random.choice(records) if records else None

    def amend(self) -> None:
        if (record := self._any()) is not None and (record / "SHA256SUMS").exists():
            amend(record, self.random.choice(["tag", "note"]), "best")

    def redact(self) -> None:
        record = self._any()
        if record is not None and (record / "out.txt").exists() and (record / "SHA256SUMS").exists():
            redact(record, files=["out.txt"], reason="private")

    def archive(self) -> None:
        if (record := self._any()) is not None:
            archive(record)

    def restore(self) -> None:
        archives = sorted(self.store.glob("archive/*/*.tar.gz"))
        if archives and not (self.store / archives[0].name.removesuffix(".tar.gz")).exists():
            restore(archives[0])

    def prune(self) -> None:
        found = candidates([str(self.store)], max_size=0)
        list(delete_intact(found.records[:1], on_kept=lambda *_: None))

    def copy(self) -> None:
        if (record := self._any()) is not None:
            shutil.copytree(
                record, self.store / f"{record.name}-copy{self.count}", symlinks=True, dirs_exist_ok=True
            )

    def move(self) -> None:
        if (record := self._any()) is not None:
            record.rename(self.store / f"{record.name}m{self.random.random()}")

    def edit(self) -> None:
        if (record := self._any()) is not None:
            document = record / "metadata.json"
            document.write_bytes(document.read_bytes().replace(b"completed", b"failed", 1))

    def lose_document(self) -> None:
        if (record := self._any()) is not None:
            (record / "metadata.json").unlink()

    def delete(self) -> None:
        if (record := self._any()) is not None:
            shutil.rmtree(record)


@pytest.mark.parametrize("seed", range(6))
def test_rows_are_those_of_a_new_catalog_after_any_history(
    tmp_path: Path, database: CatalogDatabase, seed: int
) -> None:
    store, random = tmp_path / "outputs", Random(seed)  # noqa: S311
    history = History(store, random)
    history.record()
    for _ in range(25):
        try:
            history.step()
        except runcard.errors.RuncardError:
            continue  # what was edited by hand cannot be archived, for example
        if random.random() < 0.5:
            catch_up(database, str(store))
        if random.random() < 0.2:
            fill(database, str(store))
    fill(database, str(store))
    assert dump(database) == rebuilt(tmp_path, store)


@pytest.mark.parametrize("has_ids", [False, True])
def test_which_of_equal_copies_counts_does_not_depend_on_when_each_was_read(
    tmp_path: Path, database: CatalogDatabase, *, has_ids: bool
) -> None:
    store = tmp_path / "outputs"
    with runcard.record(store, strict=True) as run:
        usage = {"model": "claude-sonnet-4-5", "usage": {"input_tokens": 1, "output_tokens": 1}}
        run.add_usage(usage | ({"id": "msg_1", "type": "message"} if has_ids else {}))
    shutil.copytree(run.path, store / f"{run.path.name}-copy")
    fill(database, str(store))
    before = dump(database)
    amend(run.path, "tag", "best")  # it is read again, after its copy
    fill(database, str(store))
    ((name,),) = database.query("SELECT name FROM records WHERE is_counted = 1")
    assert name == run.path.name
    assert dump(database) == rebuilt(tmp_path, store)
    assert [row[1:] for row in dump(database)["usage"]] == [row[1:] for row in before["usage"]]


def test_catching_up_sees_what_runcard_does(tmp_path: Path, database: CatalogDatabase) -> None:
    """Without looking at every record."""
    store = tmp_path / "outputs"
    history = History(store, Random(1))  # noqa: S311
    for work in (history.record, history.record, history.collect, history.amend, history.archive):
        work()
        catch_up(database, str(store))
        assert dump(database) == rebuilt(tmp_path, store), work.__name__
    for work in (
        history.restore,
        history.redact,
        history.prune,
        history.record,
        history.move,
        history.delete,
    ):
        work()
        catch_up(database, str(store))
        assert dump(database) == rebuilt(tmp_path, store), work.__name__


def test_a_store_that_did_not_change_is_not_read(tmp_path: Path, database: CatalogDatabase) -> None:
    run = record_one(tmp_path / "outputs")
    assert catch_up(database, str(run.parent)) is not None
    assert catch_up(database, str(run.parent)) is None
    (run / "metadata.json").chmod(0o600)  # changes its fingerprint, and nothing that a store tells
    assert catch_up(database, str(run.parent)) is None
    assert fill(database, str(run.parent)).read == 1
    assert fill(database, str(run.parent)).read == 0


def test_an_open_run_is_looked_at_again(tmp_path: Path, database: CatalogDatabase) -> None:
    store = tmp_path / "outputs"
    with runcard.record(store, strict=True):
        catch_up(database, str(store))
        assert database.query("SELECT status FROM records").fetchall() == [("running",)]
    catch_up(database, str(store))
    assert database.query("SELECT status FROM records").fetchall() == [("completed",)]


def test_an_unreadable_record_is_a_row_that_says_so(tmp_path: Path, database: CatalogDatabase) -> None:
    run = record_one(tmp_path / "outputs")
    for content, words in (
        (b"{", "metadata.json"),
        (b"[]", "not the document"),
        (b'{"a": 1}', "not the document"),
    ):
        (run / "metadata.json").write_bytes(content)
        fill(database, str(run.parent))
        (problem,) = database.query("SELECT problem FROM records").fetchone()
        assert problem, words
    (run / "metadata.json").unlink()
    fill(database, str(run.parent))
    assert "no metadata.json" in database.query("SELECT problem FROM records").fetchone()[0]


def test_a_store_that_is_gone_keeps_its_rows(tmp_path: Path, database: CatalogDatabase) -> None:
    run = record_one(tmp_path / "outputs")
    fill(database, str(run.parent))
    run.parent.rename(tmp_path / "elsewhere")
    result = catch_up(database, str(run.parent))
    assert result is not None
    assert (result.is_reachable, result.records) == (False, 1)
    assert names(database) == [run.name]
    (tmp_path / "elsewhere").rename(run.parent)
    catch_up(database, str(run.parent))
    assert database.query("SELECT is_reachable FROM stores").fetchone() == (1,)


def test_names_that_are_not_utf_8(tmp_path: Path, database: CatalogDatabase) -> None:
    run = record_one(tmp_path / "outputs")
    shutil.copytree(run, run.parent / os.fsdecode(b"caf\xe9"), symlinks=True)
    fill(database, str(run.parent))
    result = fill(database, str(run.parent))
    assert (result.records, result.read) == (2, 0)
    assert "caf\\xe9" in names(database)
    assert catch_up(database, str(run.parent)) is None


def _foreign(path: Path) -> None:
    path.unlink()
    _execute(path, "CREATE TABLE bookmarks (url)")


def _execute(path: Path, sql: str) -> None:
    connection = sqlite3.connect(path)
    connection.execute(sql)
    connection.commit()
    connection.close()


DAMAGES: dict[str, Callable[[Path], object]] = {
    "empty": lambda path: path.write_bytes(b""),
    "text": lambda path: path.write_bytes(b"not a database, but long enough to look at" * 100),
    "torn": lambda path: path.write_bytes(path.read_bytes()[:5000]),
    "foreign": _foreign,
    "newer": lambda path: _execute(path, f"PRAGMA user_version = {VERSION + 1}"),
    "no tables": lambda path: _execute(path, "DROP TABLE records"),
}


@pytest.mark.file_only
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_catalog_that_cannot_be_used_is_put_aside(tmp_path: Path, damage: str) -> None:
    run = record_one(tmp_path / "outputs")
    path = tmp_path / "catalog.db"
    with CatalogDatabase(str(path)) as database:
        fill(database, str(run.parent))
    for suffix in ("-wal", "-shm"):
        Path(f"{path}{suffix}").unlink(missing_ok=True)
    DAMAGES[damage](path)
    before = path.read_bytes()
    with CatalogDatabase(str(path)) as database:
        assert names(database) == []
        fill(database, str(run.parent))
        assert names(database) == [run.name]
        assert database.query("PRAGMA application_id").fetchone() == (APPLICATION_ID,)
    if before:
        assert Path(f"{path}.replaced").read_bytes()[:100] == before[:100]


@pytest.mark.long
@pytest.mark.new_server
def test_fifty_processes_that_find_it_broken_build_it_once(tmp_path: Path, back_end: str) -> None:
    for _ in range(5):
        record_one(tmp_path / "outputs")
    path = os.environ.get("RUNCARD_CATALOG") or str(tmp_path / "catalog.db")
    if back_end == "sqlite":
        Path(path).write_bytes(b"broken" * 1000)
    # One process loads everything and forks fifty: to start each takes longer than the test.
    program = (
        "import os, sys; from runcard.catalog import filling, reading; from runcard.catalog.database import CatalogDatabase\n"
        "if '://' in sys.argv[1]: import psycopg; from runcard.catalog import postgres_engine\n"
        "read = filling.read_rows; reads = []\n"
        "filling.read_rows = lambda record: (reads.append(record), read(record))[1]\n"
        "def ask():\n"
        "    with CatalogDatabase(sys.argv[1]) as database:\n"
        "        filling.catch_up(database, sys.argv[2])\n"
        "        (count,) = database.query('SELECT count(*) FROM records').fetchone()\n"
        "    os.write(1, f'{count} {len(reads)}\\n'.encode())\n"
        "for _ in range(50):\n"
        "    if not os.fork():\n"
        "        try: ask()\n"
        "        finally: os._exit(0)\n"
        "for _ in range(50): os.wait()"
    )
    command = (sys.executable, "-c", program, path, str(tmp_path / "outputs"))
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, timeout=300)
    results = [line.split() for line in done.stdout.splitlines()]
    assert [count for count, _ in results] == ["5"] * 50
    assert sum(int(reads) for _, reads in results) == 5


def test_a_build_that_was_killed_goes_on(tmp_path: Path) -> None:
    for _ in range(4):
        record_one(tmp_path / "outputs")
    path = os.environ.get("RUNCARD_CATALOG") or str(tmp_path / "catalog.db")
    program = (
        "import os, signal, sys; from runcard.catalog import filling; from runcard.catalog.database import CatalogDatabase\n"
        "filling._BATCH = 2\n"
        "read = filling.read_rows; reads = []\n"
        "def counted(record):\n"
        "    reads.append(record)\n"
        "    if len(reads) == 4: os.kill(os.getpid(), signal.SIGKILL)\n"
        "    return read(record)\n"
        "filling.read_rows = counted\n"
        "with CatalogDatabase(sys.argv[1]) as database: filling.catch_up(database, sys.argv[2])"
    )
    command = (sys.executable, "-c", program, path, str(tmp_path / "outputs"))
    assert subprocess.run(command, check=False, timeout=60).returncode == -9
    with CatalogDatabase(path) as database:
        assert len(names(database)) == 2
        result = catch_up(database, str(tmp_path / "outputs"))
        assert result is not None
        assert (result.records, result.read) == (4, 2)


@pytest.mark.file_only
def test_a_catalog_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CatalogError) as raised:
        CatalogDatabase(str(tmp_path / "file" / "catalog.db"))
    assert "cannot be used" in raised.value.message


def test_stores_are_noted_when_a_record_is_closed(tmp_path: Path) -> None:
    run = record_one(tmp_path / "outputs")
    assert known_stores() == [str(run.parent)]
    note_store(str(run.parent))
    assert forget_store(str(run.parent))
    assert not forget_store(str(run.parent))
    assert known_stores() == []


def test_a_file_that_is_not_ours_among_the_noted_stores(tmp_path: Path, home: Path) -> None:
    record_one(tmp_path / "outputs")
    (folder,) = home.glob("**/stores")
    (folder / "notes.txt").write_text("/etc")
    (folder / ("0" * 32)).write_text(str(tmp_path))
    os.mkfifo(folder / "fifo")
    assert known_stores() == [str(tmp_path / "outputs")]
