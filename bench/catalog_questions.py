"""What is asked of a catalog, and how long the slowest answer of each kind takes."""

import json
import sysconfig
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

from bench import peers
from bench.measuring import BenchError, race, timed
from bench.peer_turns import RUNS
from bench.table import Row, Target, Times, at_most, faster
from runcard.catalog.columns import CALLS, INSTANCES, RECORDS
from runcard.catalog.database import CatalogDatabase
from runcard.catalog.filling import fill
from runcard.catalog.searching import Filters, list_table
from runcard.catalog.transcript_index import update_index
from runcard.catalog.usage_sums import UsageFilter, counted_records, usage_facts, usage_sums

DEAR = 0.1985  # dollars: one session in a hundred costs more
_CALLS = 200  # of each run: two million
_START = datetime(2026, 1, 1, tzinfo=UTC)
_MIDDLE = int((_START + timedelta(days=2, seconds=1234)).timestamp() * 1000)

COLUMNS = {
    RECORDS: ("id", "kind", "path", "started", "status", "model", "tokens", "cost", "duration"),
    INSTANCES: ("session", "id", "name", "role", "model", "status", "tokens", "cost", "duration"),
    CALLS: ("run", "number", "started", "model", "step", "tokens", "cost", "duration"),
}
NEWEST = ("-started",)
QUESTIONS: dict[str, tuple[str, Filters, tuple[str, ...]]] = {
    "the newest": (RECORDS, Filters(), NEWEST),
    "a cost": (RECORDS, Filters(where=f"cost > {DEAR}"), NEWEST),
    "a status": (RECORDS, Filters(status="failed"), NEWEST),
    "a label": (RECORDS, Filters(where="label.team = ux"), NEWEST),
    "a label and a cost": (RECORDS, Filters(where="label.team = ux and cost > 0.15"), NEWEST),
    "two labels": (RECORDS, Filters(where="label.team = ux and label.tier = tier1"), NEWEST),
    "two labels of instances": (INSTANCES, Filters(where="label.team = ux and label.tier = tier1"), NEWEST),
    "a word and a kind": (RECORDS, Filters(kind="session", text="ux"), NEWEST),
    "a word of a third": (RECORDS, Filters(text="ux"), NEWEST),
    "a word of all": (RECORDS, Filters(text="agent1"), NEWEST),
    "the most expensive": (RECORDS, Filters(), ("-cost",)),
    "by a label": (RECORDS, Filters(), ("-label.team",)),
    "instances of a role": (INSTANCES, Filters(where="role = architect"), NEWEST),
    "instances of a model": (INSTANCES, Filters(model="haiku"), NEWEST),
    "the most expensive instances": (INSTANCES, Filters(), ("-cost",)),
}
CALL_QUESTIONS: dict[str, tuple[str, Filters, tuple[str, ...]]] = {
    "the newest calls": (CALLS, Filters(), NEWEST),
    "calls of a model": (CALLS, Filters(model="haiku"), NEWEST),
    "the most expensive calls": (CALLS, Filters(), ("-cost",)),
    "calls of a step": (CALLS, Filters(where="step = generate"), NEWEST),
    "runs by a metric": (RECORDS, Filters(), ("-metric.accuracy",)),
}
COSTS: dict[str, tuple[tuple[str, ...], int | None, bool]] = {  # dimensions, since, by day
    "by month": ((), None, True),
    "by model and month": (("model",), None, True),
    "by role": (("role",), None, False),
    "by role and model": (("role", "model"), None, False),
    "by role and agent": (("role", "agent"), None, False),
    "by role and agent, since a time": (("role", "agent"), _MIDDLE, False),
    "by a label": (("label.team",), None, False),
    "by a label and role": (("label.team", "role"), None, False),
    "by two labels": (("label.team", "label.tier"), None, False),
    "by two labels, since a time": (("label.team", "label.tier"), _MIDDLE, False),
}


def asked(catalog: str, count: int, where: str = "") -> Iterator[Row]:
    """The slowest list, and the slowest sum of costs."""
    with CatalogDatabase(catalog) as database:
        lists = {name: partial(_list, database, *question) for name, question in QUESTIONS.items()}
        yield _slowest(f"list from the catalog of {count:,} sessions{where}", lists)
        sums = {name: partial(_costs, database, *question) for name, question in COSTS.items()}
        yield _slowest(f"add up the costs of {count:,} sessions{where}", sums)


def _list(database: CatalogDatabase, table: str, filters: Filters, sort: tuple[str, ...]) -> None:
    if not list_table(database, table, filters, COLUMNS[table], sort, 50).rows:
        raise BenchError(f"nothing was found: {filters}")


def _costs(database: CatalogDatabase, by: tuple[str, ...], since: int | None, by_day: bool) -> None:  # noqa: FBT001
    """As `runcard costs` does it."""
    counted_records(database)
    wanted = UsageFilter(since)
    if (
        not list(usage_sums(database, by, wanted, by_time=by_day))
        or not usage_facts(database, wanted).records
    ):
        raise BenchError(f"there are no costs by {by}")


def _slowest(work: str, questions: Mapping[str, Callable[[], None]]) -> Row:
    times = {
        name: race({"ours": partial(timed, ask)}, 5)["ours"].scaled(1000) for name, ask in questions.items()
    }
    name = max(times, key=lambda name: times[name].best)
    return Row(
        f"{work}, the slowest of {len(times)} questions: {name}",
        times[name],
        "",
        None,
        "ms",
        Target("<=", 50, "ms"),
    )


def runs_and_calls(folder: Path) -> Iterator[Row]:
    """Searching in runs beside MLflow, and questions about millions of calls."""
    _write_runs(folder / "outputs")
    with CatalogDatabase(str(folder / "runs.db")) as database:
        fill(database, str(folder / "outputs"))
        yield _beside_mlflow(database, folder)
        total = _add_calls(database)
        questions = {name: partial(_list, database, *question) for name, question in CALL_QUESTIONS.items()}
        yield _slowest(f"list from a catalog of {total:,} calls", questions)


def search_index(folder: Path) -> Row:
    """What the words of transcripts take: of programs, which have more different words than talk."""
    programs = sorted(Path(sysconfig.get_path("stdlib")).glob("*.py"))
    size = 0
    for run in _write_runs(folder / "logs", 10):
        with open(run / "output.log", "wb") as log:
            size += sum(log.write(program.read_bytes()) for program in programs[::10])
        programs.pop(0)
    with CatalogDatabase(str(folder / "logs.db")) as database:
        fill(database, str(folder / "logs"))
        update_index(database)
        sql = "SELECT sum(pgsize) FROM dbstat WHERE name LIKE 'transcript%'"
        (words,) = database.query(sql).fetchone()
    sizes = Times.once(words / 1e6), Times.once(size / 1e6)
    return Row("the search index over transcripts", sizes[0], "their text", sizes[1], "MB", at_most(0.3))


def _write_runs(store: Path, count: int = RUNS) -> list[Path]:
    folders = []
    for number in range(count):
        began = _START + timedelta(minutes=number)
        folders.append(store / f"{began:%Y-%m-%d_%H%M%S}")
        folders[-1].mkdir(parents=True)
        (folders[-1] / "metadata.json").write_text(json.dumps(_run(number, f"{began:%Y-%m-%dT%H:%M:%SZ}")))
    return folders


def _run(number: int, start: str) -> dict[str, object]:
    value = number % 1000 / 1000
    return {
        "version": "1.0.0",
        "generation": {
            "run_id": f"run-{number}",
            "timestamp_start": start,
            "timestamp_end": start,
            "duration_seconds": 1.5,
            "status": "completed",
        },
        "configuration": {"model": "claude-sonnet-4-5", "provider": "anthropic"},
        "metrics": {"accuracy": {"count": 1, "last": value, "min": value, "max": value}},
        "costs": {"input_tokens": 1000, "output_tokens": 100, "total_cost_usd": 0.0045},
    }


def _beside_mlflow(database: CatalogDatabase, folder: Path) -> Row:
    question = RECORDS, Filters(kind="run", where="metric.accuracy > 0.95"), NEWEST
    runners = {"ours": partial(timed, partial(_list, database, *question))}
    work, missing = f"find the newest of {RUNS:,} runs by a metric", peers.unavailable("mlflow")
    if missing:
        return Row(work, race(runners, 5)["ours"].scaled(1000), missing, None, "ms", faster(1))
    with peers.PeerProcess("mlflow-search", folder) as peer:
        times = race({**runners, "mlflow": peer}, 10, slowest=None)
    ours, theirs = (times[name].scaled(1000) for name in ("ours", "mlflow"))
    return Row(work, ours, "MLflow search_runs, SQLite", theirs, "ms", faster(1))


def _add_calls(database: CatalogDatabase) -> int:
    """Give each run calls: in the database, since two million lines of journals take minutes to write."""
    sql = (
        "INSERT INTO calls (record, number, started, model, provider, step, seconds, input, output, cost, known_cost, at_least) "
        "WITH RECURSIVE calls_of (number) AS (SELECT 0 UNION ALL SELECT number + 1 FROM calls_of WHERE number < ?) "
        "SELECT r.id, n.number, r.started + n.number, CASE n.number % 4 WHEN 0 THEN 'claude-haiku-4-5' ELSE 'gpt-5' END, 'openai', "
        "CASE n.number % 3 WHEN 0 THEN 'generate' ELSE 'review' END, 0.5, 1000, n.number, n.number * 1000, n.number * 1000, 0 "
        "FROM records r, calls_of n"
    )
    with database.writing():
        database.query(sql, (_CALLS - 1,))
    (total,) = database.query("SELECT count(*) FROM calls").fetchone()
    return int(total)
