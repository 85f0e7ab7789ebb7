"""The catalog over many sessions: built, brought up to date, asked; compared with reading the documents, jq, DuckDB and MLflow.

The sessions are synthetic, with four instances each. What is compared finds the same sessions.
"""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

from bench import peers
from bench.catalog_questions import DEAR, asked, runs_and_calls, search_index
from bench.measuring import RUNCARD, BenchError, environment, race, scratch, timed
from bench.table import Row, Target, at_most, faster
from runcard.catalog.database import CatalogDatabase
from runcard.catalog.filling import fill
from runcard.encoding import decode_json

ROLES = ("architect", "backend_developer", "qa_engineer", "general")
MODELS = ("claude-sonnet-4-5", "claude-haiku-4-5", "gpt-5", "claude-opus-4-1")
START = datetime(2026, 1, 1, tzinfo=UTC)


def measure(*, quick: bool = False) -> Iterator[Row]:
    count = 2_000 if quick else 100_000
    with scratch() as folder:
        store = folder / "artifacts"
        write_sessions(store, count)
        catalog = folder / "catalog.db"
        yield from _filled(store, catalog, count, 2 if quick else 3)
        yield from asked(str(catalog), count)
        yield from _on_server(store, count)
        yield from _by_command(folder, catalog, count, 3)
        yield from runs_and_calls(folder)
        yield search_index(folder)


def write_sessions(store: Path, count: int) -> None:
    (store / ".runcard").mkdir(parents=True)
    for number in range(count):
        began = START + timedelta(minutes=4 * number)
        session = store / f"{began:%Y-%m-%d_%H-%M-%S}-team-{number}"
        session.mkdir()
        (session / "metadata.json").write_text(json.dumps(_document(number, began)))
        names = ("audit.jsonl", "manifest.json", "summary.md")
        digests = (f"{number * 3 + place:064x}  {name}\n" for place, name in enumerate(names))
        (session / "SHA256SUMS").write_text("".join(digests))


def _document(number: int, began: datetime) -> dict[str, object]:
    start, end = f"{began:%Y-%m-%dT%H:%M:%SZ}", f"{began + timedelta(minutes=3):%Y-%m-%dT%H:%M:%SZ}"
    cost = 0.1 + number % 100 / 1000
    tokens = {
        "input": 800,
        "output": 200 + number % 100,
        "cache_read": 0,
        "cache_write": 0,
        "reasoning": None,
    }
    instances = [
        {
            "instance_id": f"i{number}-{place}",
            "name": f"agent{place}",
            "role": role,
            "model": MODELS[(number + place) % 4],
            "status": "error" if (number + place) % 17 == 0 else "completed",
            "created_at": start,
            "terminated_at": end,
            "execution_time_seconds": 180,
            "calls": 5,
            "tokens_used": 1000 + number % 100,
            "tokens": tokens,
            "token_source": "reported",
            "cost": cost / 4,
            "parent_instance_id": f"i{number}-0" if place else None,
        }
        for place, role in enumerate(ROLES)
    ]
    summary = {
        "total_instances": 4,
        "failed_instances": sum(entry["status"] == "error" for entry in instances),
        "total_cost": cost,
        "execution_start": start,
        "execution_end": end,
        "total_execution_time_seconds": 180,
    }
    return {
        "version": "2.0.0",
        "created_at": end,
        "team_session_id": f"team-{number}",
        "total_instances": 4,
        "instances": instances,
        "execution_summary": summary,
        "system_info": {"hostname": "host"},
        "errors": [],
        "resources": {"tokens": {"input": 3200, "output": 4 * (200 + number % 100)}},
        "token_source": "reported",
        "labels": {"team": ("ux", "core", "data")[number % 3], "tier": f"tier{number // 3 % 4}"},
        "relations": [],
    }


def _filled(store: Path, catalog: Path, count: int, rounds: int) -> Iterator[Row]:
    def read() -> None:
        for entry in os.scandir(store):
            if not entry.name.startswith("."):
                decode_json(Path(entry.path, "metadata.json").read_bytes())
                Path(entry.path, "SHA256SUMS").read_bytes()

    def build() -> None:
        with CatalogDatabase(str(catalog)) as database:
            database.clear()
            fill(database, str(store))

    def again() -> None:
        with CatalogDatabase(str(catalog)) as database:
            if fill(database, str(store)).read:
                raise BenchError("records were read again")

    works = {"read": read, "build": build, "again": again}
    times = race({name: partial(timed, work) for name, work in works.items()}, rounds, slowest=None)
    peer, what = "reading and decoding them", f"the catalog of {count:,} sessions"
    yield Row(f"build {what}", times["build"], peer, times["read"], "s", at_most(2))
    yield Row(
        f"bring {what} up to date, nothing changed", times["again"], peer, times["read"], "s", at_most(0.1)
    )


def _on_server(store: Path, count: int) -> Iterator[Row]:
    """The same on a PostgreSQL server on this machine."""
    from bench.postgres_server import PostgresServer  # noqa: PLC0415 - loads psycopg

    server = PostgresServer()
    try:

        def build() -> None:
            with CatalogDatabase(server.empty_database()) as database:
                fill(database, str(store))

        times = race({"build": partial(timed, build)}, 1, slowest=None)["build"]
        yield Row(f"build the catalog of {count:,} sessions on PostgreSQL", times, "", None, "s", None)
        yield from asked(server.url(), count, " on PostgreSQL")
    finally:
        server.remove()


def _by_command(folder: Path, catalog: Path, count: int, rounds: int) -> Iterator[Row]:
    home = environment(RUNCARD_CATALOG=str(catalog), HOME=str(folder), XDG_STATE_HOME=str(folder / "state"))
    ours = [RUNCARD, "ls", "sessions", "--where", f"cost > {DEAR}", "--columns", "id", "--json"]
    jq = f"select(.execution_summary.total_cost > {DEAR}) | .team_session_id"
    sql = (
        "SELECT team_session_id FROM read_json('artifacts/*/metadata.json', columns={team_session_id: 'VARCHAR', "  # noqa: S608
        f"execution_summary: 'STRUCT(total_cost DOUBLE)'}}) WHERE execution_summary.total_cost > {DEAR}"
    )
    programs: dict[str, list[str]] = {"ours": ours}
    if shutil.which("jq"):
        find = f"find artifacts -name metadata.json -print0 | xargs -0 jq -r '{jq}'"
        programs["jq"] = ["sh", "-c", find]
    missing = peers.unavailable("duckdb")
    if not missing:
        python = f"import duckdb\nfor row in duckdb.sql({sql!r}).fetchall(): print(row[0])"
        programs["duckdb"] = [str(peers.program("python")), "-c", python]
    expected = {f"team-{number}" for number in range(count) if 0.1 + number % 100 / 1000 > DEAR}
    for name, words in programs.items():
        out = _output(words, folder, home)
        found = {row["id"] for row in json.loads(out)["records"]} if name == "ours" else set(out.split())
        if found != expected:
            raise BenchError(f"{name} found {len(found)} sessions, not {len(expected)}")
    runners = {name: partial(timed, _output, words, folder, home) for name, words in programs.items()}
    times = race(runners, rounds)
    work = f"find the dearest of {count:,} sessions, by command"
    yield Row(work, times["ours"].scaled(1000), "", None, "ms", Target("<=", 200, "ms"))
    yield Row(
        work,
        times["ours"],
        "find | jq" if "jq" in times else "not measured: there is no jq",
        times.get("jq"),
        "s",
        faster(1),
    )
    yield Row(work, times["ours"], missing or "DuckDB over the files", times.get("duckdb"), "s", faster(1))


def _output(words: list[str], folder: Path, home: dict[str, str]) -> str:
    return subprocess.run(words, cwd=folder, env=home, check=True, capture_output=True, text=True).stdout
