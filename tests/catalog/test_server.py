"""A catalog on a PostgreSQL server: shared by hosts and writers, away for a while, and never with its password in a message."""

import json
import os
import random
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

import runcard
from bench.postgres_server import PostgresServer
from catalog.test_filling import dump, rebuilt
from conftest import Cli
from runcard.catalog import postgres_engine
from runcard.catalog.database import CatalogDatabase, CatalogError
from runcard.catalog.filling import catch_up, fill, store_number
from runcard.catalog.postgres_tables import SCHEMA
from runcard.catalog.word_filter import longest_beginning, make_filter, marks
from runcard.catalog.word_split import split_words
from runcard.extras import install_hint
from runcard.operations.catalog.list_records import list_records
from runs.runs import record_one
from sessions.build import AGENTS
from waiting import wait_until

pytestmark = pytest.mark.server_only

SECRET = "hunter2secretword"  # noqa: S105 - not one


@pytest.fixture
def url(server: PostgresServer) -> str:
    return server.empty_database()


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    record_one(tmp_path / "outputs")
    return tmp_path


def on_host(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Be another host, with other known stores."""
    monkeypatch.setattr(postgres_engine, "host_name", lambda: name)
    monkeypatch.setenv("XDG_STATE_HOME", str(Path(os.environ["XDG_STATE_HOME"]).parent / name))


def total(cli: Cli, *arguments: str) -> int:
    done = cli("ls", *arguments, "--json")
    assert done.code == 0, done.err
    return int(json.loads(done.out)["total"])


def test_a_server_that_is_down_is_named_at_once(
    cli: Cli, project: Path, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert total(cli) == 1
    monkeypatch.setenv("RUNCARD_CATALOG", f"postgresql://ada:{SECRET}@127.0.0.1:1/runs?password={SECRET}")
    for arguments in (("ls",), ("index",), ("costs",), ("query", "SELECT 1"), ("whence", "0" * 64)):
        done = cli(*arguments)
        assert (done.code, done.out) == (1, ""), arguments
        assert "Error: the catalog postgresql://ada@127.0.0.1:1/runs does not answer: " in done.err
        assert "hint: " in done.err
        assert SECRET not in done.err
    record_one(project / "outputs")  # goes on
    assert cli("show", "@latest").code == 0
    monkeypatch.setenv("RUNCARD_CATALOG", url)
    assert cli("index").code == 0
    assert total(cli) == 2


def test_a_server_that_says_nothing_is_not_waited_for() -> None:
    """It accepts the connection, and is silent, as behind a broken firewall."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        started = time.monotonic()
        with pytest.raises(CatalogError) as raised:
            CatalogDatabase(f"postgresql://127.0.0.1:{port}/runs")
        assert time.monotonic() - started < 60, "psycopg alone waits for minutes"
    assert raised.value.message.endswith("does not answer: no answer")


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize(
    "url",
    [
        f"postgresql://ada:x@{SECRET}@host/runs",
        f"postgresql://ada:x/{SECRET}@host/runs",
        f"postgresql://host/runs?password=a@{SECRET}",
        f"postgresql://ada:{SECRET}@host:port/runs",
        f"postgresql://ada:{SECRET}@host/runs?nothing=1",
        f"postgresql://ada:{SECRET}@127.0.0.1:1/runs",
        f"mysql://ada:{SECRET}@127.0.0.1:1/runs",
        f"PostgreSQL://ada:{SECRET}@127.0.0.1:1/runs",
    ],
)
def test_a_password_is_in_no_message(cli: Cli, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RUNCARD_CATALOG", url)
    for arguments in (("ls",), ("config",), ("config", "--json"), ("doctor",), ("doctor", "--json")):
        done = cli(*arguments)
        assert SECRET not in done.out + done.err, arguments
        assert "Traceback" not in done.err
    with runcard.record("outputs", strict=True) as run:
        pass
    for file in run.path.rglob("*"):
        assert file.is_dir() or SECRET.encode() not in file.read_bytes()
    with pytest.raises(CatalogError) as raised:
        list_records()
    assert SECRET not in repr(raised.value)
    assert not [path for path in Path().iterdir() if ":" in path.name]


def test_the_settings_of_a_project_name_a_server(cli: Cli, project: Path, url: str) -> None:
    os.environ.pop("RUNCARD_CATALOG")
    (project / "runcard.toml").write_text(f'[catalog]\nurl = "{url}"\n')
    assert cli("config", "trust").code == 0
    (project / "below").mkdir()
    os.chdir(project / "below")
    assert json.loads(cli("doctor", "--json").out)["catalog"]["place"] == "postgresql://postgres@/postgres"


@pytest.mark.usefixtures("project")
def test_doctor_says_whether_it_answers(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    assert total(cli) == 1
    done = cli("doctor")
    assert "postgresql://postgres@/postgres" in done.out
    assert "1 record of 1 host" in done.out
    monkeypatch.setenv("RUNCARD_CATALOG", "postgresql://127.0.0.1:1/runs")
    done = cli("doctor")
    assert done.code == 2
    assert "Warning: the catalog postgresql://127.0.0.1:1/runs does not answer" in done.err


def test_without_psycopg(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(CatalogError) as raised:
        CatalogDatabase(url)
    assert raised.value.hint == install_hint("postgres")


def test_hosts_share_a_catalog(cli: Cli, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two hosts have a store with the same path."""
    on_host(monkeypatch, "one")
    cli("index", "outputs")
    first = json.loads(cli("ls", "--json").out)["records"]
    assert [row["stored_on"] for row in first] == ["one"]
    on_host(monkeypatch, "two")
    assert total(cli, "--text", first[0]["id"]) == 2  # it has the same store at hand
    assert {row["stored_on"] for row in json.loads(cli("ls", "--json").out)["records"]} == {"one", "two"}
    (project / "outputs").rename(project / "away")
    (project / "elsewhere").mkdir()
    monkeypatch.chdir(project / "elsewhere")
    done = cli("ls", "--json")
    assert done.code == 0  # that of two is not known there: it was at hand only
    assert {row["stored_on"] for row in json.loads(done.out)["records"]} == {"one", "two"}
    assert json.loads(cli("costs", "--json").out)["copies_not_counted"] == 1
    on_host(monkeypatch, "one")
    done = cli("ls", "--json")
    assert done.code == 2
    assert json.loads(done.out)["unreachable_stores"] == [str(project / "outputs")]
    on_host(monkeypatch, "two")
    assert json.loads(cli("ls", "--json").out)["unreachable_stores"] == [f"{project / 'outputs'} on one"]
    assert cli("ls", "--text", "x", "--transcripts").code == 2
    (project / "away").rename(project / "gone")
    done = cli("show", first[0]["id"])
    where = f"it is {project / 'outputs'}"
    assert (done.code, where in done.err, " on one" in done.err) == (1, True, True), done.err
    hosts = {
        group["key"]["host"] for group in json.loads(cli("costs", "--by", "host", "--json").out)["groups"]
    }
    assert hosts <= {None, *os.uname()[1:2]}


@pytest.mark.usefixtures("project")
def test_a_rebuild_changes_no_sum(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    with runcard.record("outputs", model="claude-sonnet-4-5") as run:
        run.add_usage({"input": 1000, "output": 200})
    for host in ("one", "two"):
        on_host(monkeypatch, host)
        cli("index", "outputs")
    totals = [json.loads(cli("costs", "--json").out)["totals"]]
    for host in ("one", "two"):
        on_host(monkeypatch, host)
        assert cli("index", "--rebuild").code == 0
        totals.append(json.loads(cli("costs", "--json").out)["totals"])
    assert totals[0] == totals[1] == totals[2]
    assert totals[0]["calls"] == 2


@pytest.mark.usefixtures("project")
def test_a_rebuild_leaves_the_records_of_other_hosts(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    on_host(monkeypatch, "one")
    cli("index", "outputs")
    on_host(monkeypatch, "two")
    cli("index", "outputs")
    with psycopg.connect(os.environ["RUNCARD_CATALOG"]) as connection:
        connection.execute(f"UPDATE {SCHEMA}.records SET status = 'changed'")  # noqa: S608
    assert cli("index", "--rebuild").code == 0
    rows = json.loads(cli("ls", "--json").out)["records"]
    assert {row["stored_on"]: row["status"] for row in rows} == {"one": "changed", "two": "completed"}


def test_a_rebuild_moves_everything_from_one_to_the_other(
    cli: Cli, project: Path, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    runcard.collect({"team_session_id": "team", "instances": [dict(agent) for agent in AGENTS]})
    answers = []
    for place in (url, str(project / "catalog.db"), url):
        monkeypatch.setenv("RUNCARD_CATALOG", place)
        assert cli("index", "--rebuild").code == 0
        rows = json.loads(cli("ls", "--json").out)["records"]
        answers.append([{name: value for name, value in row.items() if name != "stored_on"} for row in rows])
    assert answers[0] == answers[1] == answers[2]
    assert len(answers[0]) == 2


def test_a_role_that_only_reads(
    cli: Cli, project: Path, server: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert total(cli) == 1
    server.execute("DROP ROLE IF EXISTS runcard_reader")
    server.execute("CREATE ROLE runcard_reader LOGIN")
    server.execute(f"GRANT USAGE ON SCHEMA {SCHEMA} TO runcard_reader")
    server.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA {SCHEMA} TO runcard_reader")
    monkeypatch.setenv("RUNCARD_CATALOG", server.url(user="runcard_reader"))
    assert cli("ls").code == 0  # nothing is to be written
    record_one(project / "outputs")
    done = cli("ls", "--json")
    assert (done.code, json.loads(done.out)["total"]) == (2, 1)
    assert "the role may not do this in the catalog" in done.err
    assert ": permission denied for " in done.err
    assert "this may not be the newest" in done.err
    assert json.loads(cli("query", "SELECT count(*) FROM v1_runs", "--json").out)["rows"] == [[1]]
    assert cli("index").code == 1
    server.execute(f"DROP SCHEMA {SCHEMA} CASCADE; DROP OWNED BY runcard_reader; DROP ROLE runcard_reader")


@pytest.mark.usefixtures("project")
def test_a_role_that_may_not_read(cli: Cli, server: PostgresServer, monkeypatch: pytest.MonkeyPatch) -> None:
    assert total(cli) == 1
    server.execute("DROP ROLE IF EXISTS runcard_stranger")
    server.execute("CREATE ROLE runcard_stranger LOGIN")
    server.execute(f"GRANT USAGE ON SCHEMA {SCHEMA} TO runcard_stranger")
    monkeypatch.setenv("RUNCARD_CATALOG", server.url(user="runcard_stranger"))
    done = cli("costs")
    assert (done.code, done.out) == (1, "")
    assert ": permission denied for table " in done.err
    assert "SELECT on its tables" in done.err
    assert "written" not in done.err
    server.execute(
        f"DROP SCHEMA {SCHEMA} CASCADE; DROP OWNED BY runcard_stranger; DROP ROLE runcard_stranger"
    )


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 1; COMMIT; DELETE FROM records",
        "SELECT 1; SET TRANSACTION READ WRITE",
        "WITH gone AS (DELETE FROM records RETURNING 1) SELECT * FROM gone",
        "SELECT * FROM records FOR UPDATE",
        "SELECT 1 INTO other",
        "VALUES (1); DROP TABLE records",
        "-- a comment\nDROP TABLE records",
        "/* */ COMMIT",
        "DO $$ BEGIN DELETE FROM records; END $$",
        "COPY records TO PROGRAM 'cat'",
        "SET statement_timeout = 0",
        "SELECT set_config('statement_timeout', '0', false), pg_sleep(30)",
        "SELECT pg_sleep(30)",
        "SELECT $1",
    ],
)
def test_a_question_cannot_write_or_go_on(cli: Cli, sql: str) -> None:
    before = cli("ls", "--json").out
    done = cli("query", sql, "--timeout", "0.5")
    assert (done.code, done.out) == (64, ""), done.err
    assert cli("ls", "--json").out == before


@pytest.mark.usefixtures("project")
def test_a_percent_sign_in_a_question(cli: Cli) -> None:
    sql = "SELECT count(*), 7 % 4, '%s ?' FROM v1_runs WHERE id LIKE 'run-%'"
    assert json.loads(cli("query", sql, "--json").out)["rows"] == [[1, 3, "%s ?"]]


def test_a_table_that_is_missing_is_built_anew(cli: Cli, project: Path) -> None:
    assert total(cli) == 1
    for table in ("facts", "usage_totals", "next_record"):
        with psycopg.connect(os.environ["RUNCARD_CATALOG"]) as connection:
            connection.execute(f"DROP TABLE {SCHEMA}.{table} CASCADE")
        record_one(project / "outputs")
        if cli("ls").code != 0:
            assert cli("ls").code == 0
    assert total(cli) == 4


def write_runs(store: Path, url: str, failures: list[BaseException]) -> None:
    try:
        with CatalogDatabase(url) as database:
            for _ in range(2):
                fill(database, str(store))
                catch_up(database, str(store))
    except BaseException as error:  # noqa: BLE001 - looked at by the test
        failures.append(error)


@pytest.mark.long
def test_two_hundred_writers(tmp_path: Path, url: str) -> None:
    """Each has a connection; ten write the same store."""
    url += "&connect_timeout=60"  # they share a core
    stores = [tmp_path / f"s{number}" / "outputs" for number in range(20)]
    for store in stores:
        store.parent.mkdir()
        record_one(store)
    failures: list[BaseException] = []
    threads = [
        threading.Thread(target=write_runs, args=(stores[number % 20], url, failures))
        for number in range(200)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert failures == []
    with CatalogDatabase(url) as database:
        assert dump(database) == rebuilt(tmp_path, *stores)


@pytest.mark.long
def test_a_server_that_restarts_in_the_middle(tmp_path: Path, server: PostgresServer, url: str) -> None:
    stores = [tmp_path / f"s{number}" / "outputs" for number in range(4)]
    for store in stores:
        store.parent.mkdir()
        for _ in range(5):
            record_one(store)
    failures: list[BaseException] = []
    is_done = threading.Event()
    rounds = Counter[str]()

    def work(store: Path) -> None:
        while not is_done.is_set():
            write_runs(store, url, failures)
            rounds["done"] += 1

    threads = [threading.Thread(target=work, args=(store,)) for store in stores]
    for thread in threads:
        thread.start()
    for number in range(1, 3):
        wait_until(lambda: rounds["done"] > 4 * number, "the writers")  # noqa: B023 - called here
        server.stop()
        server.start()
    is_done.set()
    for thread in threads:
        thread.join(60)
    assert all(isinstance(error, CatalogError) for error in failures), failures
    with CatalogDatabase(url) as database:
        for store in stores:
            fill(database, str(store))
        assert dump(database) == rebuilt(tmp_path, *stores)


def test_a_fill_goes_on_after_a_restart(
    tmp_path: Path, server: PostgresServer, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = tmp_path / "outputs"
    for _ in range(6):
        record_one(store)
    monkeypatch.setattr("runcard.catalog.filling._BATCH", 2)
    restarts: list[int] = []

    def restart(_: str, count: int) -> None:
        if not restarts:
            restarts.append(count)
            server.stop()
            server.start()

    with CatalogDatabase(url) as database:
        assert fill(database, str(store), restart).read == 6
        assert dump(database) == rebuilt(tmp_path, store)
    assert restarts


def hostile_texts() -> Iterator[str]:
    yield from (
        "snake_case src/app.py",
        "Éa e\u0301a",
        "日本語 ΑΣ x² ﬁn İ ١٢",
        "a-b a--b -> !",
        "\ud7a3 \uffff",
        "don't \\ ' \" : * & |",
    )
    chance = random.Random(3)  # noqa: S311
    letters = "ab_9 /-.'\"\\:*&|()éÉ日\u0301\u200bİßΣς"
    for _ in range(60):
        yield "".join(chance.choices(letters, k=chance.randrange(1, 12)))


def test_words_are_found_as_in_a_file(tmp_path: Path, url: str) -> None:
    texts = list(hostile_texts())
    row: dict[str, Any] = {
        "facts": [],
        "instances": [],
        "usage": [],
        "calls": [],
        "files": [],
        "relations": [],
    }
    rows = row | {
        "records": [],
        "texts": [(number, text, "", text[::-1], "") for number, text in enumerate(texts)],
    }
    with CatalogDatabase(url) as server, CatalogDatabase(str(tmp_path / "c.db")) as file:
        for database in (server, file):
            number = store_number(database, str(tmp_path))
            database.put(number, {table: list(some) for table, some in rows.items()})
        for asked in [*texts, "app.py", "sna", "sna case", "case", "日", "a -> b"]:
            if asked.split():
                found = [database.rows(*database.records_with_words(asked)) for database in (server, file)]
                assert sorted(found[0]) == sorted(found[1]), asked


def test_numbers_are_written_as_in_a_file(tmp_path: Path, url: str) -> None:
    chance = random.Random(5)  # noqa: S311
    numbers = [0.0, 1.0, -2.5, 0.1 + 0.2, 1e15, 1e14, 123456789012345.0, 1e-4, 1e-5, 1.5e300, -1e20, 1 / 3]
    numbers += [float(f"{chance.uniform(-1, 1) * 10.0 ** chance.randrange(-12, 25):.9g}") for _ in range(300)]
    with CatalogDatabase(url) as server, CatalogDatabase(str(tmp_path / "c.db")) as file:
        for number in numbers:
            ((ours,),) = server.rows("SELECT number_text(?)", (number,))
            ((theirs,),) = file.rows("SELECT CAST(? AS TEXT)", (number,))
            assert ours == theirs, number


def test_a_filter_of_words_has_all_of_them() -> None:
    words = split_words("the quick_brown fox9 of src/app.py and 日本語")
    bits = make_filter(words)

    def has(word: str) -> bool:
        return all(bits[(mark % (8 * len(bits))) >> 3] >> (mark % 8) & 1 for mark in marks(word))

    assert all(map(has, words))
    assert all(has(longest_beginning(word[:length]) or "th") for word in words for length in (2, 3, 5, 7))
    assert sum(has(f"absent{number}") for number in range(1000)) < 60
    assert longest_beginning("a") is None


def test_values_that_no_server_takes(tmp_path: Path, url: str) -> None:
    """NUL, lone surrogates, names that are too long for an index, and more digits than a number has."""
    long = "".join(chr(0x4E00 + number * 7 % 20_000) for number in range(5000))
    with runcard.record(
        tmp_path / "outputs",
        labels={"nul": "a\0b", long[:300]: long},
        strict=True,
    ) as run:
        run.add_usage({"input": 2**53 - 1, "output": 1}, model=long, provider=long)
        run.add_error(long)
    with CatalogDatabase(url) as database:
        assert fill(database, str(tmp_path / "outputs")).read == 1
        assert database.rows("SELECT count(*) FROM records WHERE record_id = ?", ("\ud800\0",)) == [(0,)]
        ((text,),) = database.rows("SELECT text FROM facts WHERE key = 'label.nul'")
        assert text == "a\\0b"


@pytest.mark.usefixtures("project")
def test_a_command_by_a_url_in_the_environment_of_libpq(server: PostgresServer) -> None:
    """What libpq takes from variables, such as PGHOST, does not have to be in the URL."""
    environ = os.environ | {
        "RUNCARD_CATALOG": "postgresql:///postgres",
        "PGHOST": str(server.data.parent),
        "PGUSER": "postgres",
    }
    command = (
        sys.executable,
        "-c",
        "import sys; from runcard.cli.main import main; sys.exit(main())",
        "ls",
        "--json",
    )
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["total"] == 1
