"""A lower bound says so, and nothing that is known is left out: open and killed runs, sessions whose calls were cut, several models."""

import json
import os
import signal
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import runcard
from conftest import Cli
from runcard.catalog.call_identity import UNKNOWN
from runcard.catalog.columns import EXPERIMENTS
from runcard.catalog.database import CatalogDatabase
from runcard.catalog.document_values import as_time
from runcard.catalog.filling import FoundRecord, table_rows
from runcard.catalog.rows import RUN, SESSION, RecordRows
from runcard.catalog.run_rows import run_rows
from runcard.catalog.searching import Filters, list_table
from runcard.catalog.session_rows import session_rows
from runcard.catalog.tables import USAGE_COLUMNS
from runcard.digests import short_digest
from runcard.documents.run.call_totals import RunCalls, distinct_calls
from runcard.operations.catalog.costs import _RecordSums
from runcard.operations.sessions.import_sessions import import_sessions
from sessions.importing.sample_sessions import FIRST, reply, said, text
from transcripts.session_files import claude

Json = dict[str, Any]
SONNET = "claude-sonnet-4-5"
KILLED = """import os, runcard, signal
run = runcard.start("outputs", model="claude-sonnet-4-5")
run.add_usage({"input": 1000, "output": 200})
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def costs(cli: Cli, *arguments: str, code: int = 0) -> Json:
    outcome = cli("costs", *arguments, "--json")
    assert outcome.code == code, outcome.err
    return dict(json.loads(outcome.out))


def test_an_open_run_counts_with_what_its_journal_has(cli: Cli) -> None:
    run = runcard.start("outputs", model=SONNET)
    assert costs(cli)["totals"]["calls"] == 0
    for number in (1, 2):
        run.add_usage({"input": 1000, "output": 200})
        totals = costs(cli)["totals"]
        assert (totals["calls"], totals["known_cost_usd"], totals["at_least"]) == (
            number,
            0.006 * number,
            True,
        )
    budget = cli("costs", "--budget", "0.01")
    assert (budget.code, "≥ $0.012 of $0.01" in budget.err) == (1, True)
    (row,) = json.loads(cli("ls", "--columns", "calls,tokens", "--json").out)["records"]
    assert (row["calls"], row["known_cost"], row["at_least"], row["incomplete"]) == (2, 0.012, True, True)
    assert cli("ls", "--columns", "calls,tokens,cost").out.splitlines()[1].split("  ")[-1] == "≥ $0.012"
    assert "≥ 2,400" in cli("ls").out
    assert "≥ 2,000" in cli("costs").out
    run.finish()
    totals = costs(cli)["totals"]
    assert (totals["calls"], totals["cost_usd"], totals["at_least"]) == (2, 0.012, False)


def test_a_killed_run_counts_as_a_lower_bound_closed_or_not(cli: Cli) -> None:
    done = subprocess.run([sys.executable, "-c", KILLED], check=False, capture_output=True)
    assert done.returncode == -signal.SIGKILL
    for _ in range(2):
        totals = costs(cli)["totals"]
        assert (totals["calls"], totals["known_cost_usd"], totals["at_least"]) == (1, 0.006, True)
        assert "≥ $0.006" in cli("ls").out
        (run,) = (path.parent for path in Path("outputs").glob("*/metadata.json"))
        assert "≥ $0.006" in cli("show", str(run)).out
        assert cli("close", str(run)).code == 0


def test_a_session_whose_only_call_was_cut_cost_at_least_nothing(cli: Cli, folder: Path) -> None:
    claude(folder / "home", said("hello", 0), said("[Request interrupted by user]", 1), name=f"{FIRST}.jsonl")
    (session,) = import_sessions("claude-code", [str(folder / "home")]).sessions
    assert session.document is not None
    (instance,) = session.document.to_dict()["instances"]
    assert (instance["cost"], instance.get("cost_source")) == (0, None)
    assert "≥ $0.00" in cli("ls").out
    shown = cli("show", FIRST).out
    assert "≥ $0.00" in shown
    assert "≥ 0" in shown
    table = cli("costs", "--by", "session").out.splitlines()[1]
    assert table.endswith("≥ $0.00")
    assert "≥ 0" in table


def test_all_figures_beside_a_lower_bound_are_lower_bounds(cli: Cli, folder: Path) -> None:
    claude(folder / "home", said("hello", 0), reply("msg_1", 0, text("Hi."), second=2), name=f"{FIRST}.jsonl")
    import_sessions("claude-code", [str(folder / "home")])
    lines = cli("show", FIRST).out.splitlines()
    figures = [
        line
        for line in lines
        if line.split()[:1] in (["input"], ["output"], ["calls"], ["tokens"], ["total"])
    ]
    assert len(figures) >= 4
    assert all("≥" in line for line in figures)
    assert cli("costs", "--by", "model").out.splitlines()[1].count("≥") == 6


def test_two_models_in_one_run_keep_every_class_of_tokens(cli: Cli) -> None:
    with runcard.record("outputs", strict=True) as run:
        for model in (SONNET, "claude-haiku-4-5"):
            tokens = {"input": 100, "output": 20, "cache_read": 30, "cache_write": 10, "reasoning": 5}
            run.add_usage(tokens, model=model)
    document = json.loads((run.path / "metadata.json").read_bytes())
    for part in document["token_usage"]["breakdown_by_model"]:
        assert (part["cache_read"], part["cache_write"], part["reasoning"]) == (30, 10, 5)
    assert cli("verify", str(run.path)).code == 0
    for group in costs(cli, "--by", "model")["groups"]:
        assert list(group["tokens"].values()) == [60, 20, 30, 10, 5]
        assert group["calls"] == 1


def test_the_calls_of_a_session_with_two_models_are_known_by_agent(cli: Cli) -> None:
    with runcard.Session("team-1") as session, session.start_instance("ann") as agent:
        for model in (SONNET, SONNET, "claude-haiku-4-5"):
            agent.add_usage({"input": 10, "output": 2}, model=model)
    for by in ("agent", "session", "model"):
        assert costs(cli, "--by", by)["totals"]["calls"] == 3
        assert sum(group["calls"] for group in costs(cli, "--by", by)["groups"]) == 3


def test_calls_of_a_resumed_session_count_in_their_own_month(cli: Cli, folder: Path) -> None:
    later = reply("msg_2", 0, text("Later."), second=3)
    later["timestamp"] = "2026-12-24T10:00:00.000Z"
    claude(
        folder / "home",
        said("hello", 0),
        reply("msg_1", 0, text("Hi."), second=2),
        later,
        name=f"{FIRST}.jsonl",
    )
    import_sessions("claude-code", [str(folder / "home")])
    months = {group["key"]["month"]: group["calls"] for group in costs(cli)["groups"]}
    assert months == {"2026-11": 1, "2026-12": 1}


def put(database: CatalogDatabase, **records: RecordRows) -> None:
    places = [FoundRecord(name, f"/outputs/{name}", "1") for name in records]
    first = database.take_numbers(len(places))
    database.put(1, table_rows(1, first, places, lambda place: records[place.name]))
    database.settle()


def metered(name: str, *calls: Json, parent: str | None = None) -> RecordRows:
    sums = RunCalls()
    for call in calls:
        sums.add(call)
    sections = sums.sections({}, {})
    document = {
        "generation": {"run_id": name, "status": "completed", "timestamp_start": "2026-11-02T10:00:00Z"},
        "costs": sections.costs,
        "token_usage": sections.token_usage,
        "performance": sections.performance,
        "relations": [{"type": "parent", "id": parent}] if parent else [],
    }
    rows = run_rows(document, (), distinct_calls(calls))
    rows.record |= {"kind": RUN, "record_id": name, "is_open": 0}
    return rows


def call(number: int, **more: Any) -> Json:
    tokens = {"input": 10 + number, "output": 5}
    fields = {
        "model": SONNET,
        "tokens": tokens,
        "token_source": "reported",
        "cost_usd": 0.5,
        "cost_source": "priced",
    }
    return fields | {"timestamp": f"2026-11-02T10:00:{number:02}Z", "latency_seconds": 1} | more


def on_wire(number: int, session: str | None = "s-1") -> Json:
    return call(number, response_id=f"msg_{number}", observer="meter", client_session=session)


@pytest.fixture
def database() -> Any:
    with CatalogDatabase(os.environ.get("RUNCARD_CATALOG")) as opened:
        opened.query("INSERT INTO stores (id, path) VALUES (1, '/outputs')")
        yield opened


def counted(database: CatalogDatabase) -> dict[str, int]:
    sql = "SELECT r.record_id, sum(u.calls) FROM usage u JOIN records r ON r.id = u.record WHERE u.counts = 1 GROUP BY 1"
    return dict(database.rows(sql))


def earlier_session(calls: int) -> RecordRows:
    """A session of a version that did not list its calls: two calls, joined with so many of a run."""
    rows = session_rows(earlier_document(calls))
    rows.record |= {"kind": SESSION, "record_id": "s-1", "is_open": 0}
    return rows


def earlier_document(calls: int) -> Json:
    return {
        "team_session_id": "s-1",
        "instances": [{"instance_id": "main", "calls": 2, "cost": 1, "tokens": {"input": 23, "output": 10}}],
        "execution_summary": {"total_cost": 1, "execution_start": "2026-11-02T10:00:00Z"},
        "origin_session": {"tool": "claude-code", "id": "s-1"},
        "metered_runs": [{"run_id": "run-1", "calls_in_both": calls, "only_metered": 0}],
        "relations": [{"type": "run", "id": "run-1"}],
    }


def test_a_session_that_lists_no_calls_hides_as_many_as_were_joined(database: CatalogDatabase) -> None:
    run = metered("run-1", *map(on_wire, (1, 2, 3)), call(4, response_id="msg_4", observer="meter"))
    put(database, run=run, session=earlier_session(2))
    assert counted(database) == {"s-1": 2, "run-1": 2}
    database.remove(1, ["session"])
    database.settle()
    assert counted(database) == {"run-1": 4}


def test_the_total_of_a_session_that_a_program_reported_is_not_one_more_call(
    database: CatalogDatabase,
) -> None:
    total = {
        "tokens": {"input": 23, "output": 10},
        "is_total": True,
        "client_session": "s-1",
        "token_source": "reported",
    }
    inner = metered("run-2", call(3, **total), parent="run-1")
    put(database, inner=inner)
    assert counted(database) == {"run-2": 1}
    put(database, outer=metered("run-1", *map(on_wire, (1, 2))))
    assert counted(database) == {"run-1": 2}
    database.remove(1, ["outer"])
    put(database, session=earlier_session(0))
    assert counted(database) == {"s-1": 2}


def test_a_tool_that_writes_no_ids_of_the_provider(database: CatalogDatabase) -> None:
    """Its calls are those of the wire at the same time with the same counts; each call of the wire is one of them."""
    listed = [
        call(number, instance_id="main", response=f"{number:016x}", observer="transcript")
        for number in (1, 2, 3)
    ]
    document = {
        "team_session_id": "g-1",
        "instances": [
            {"instance_id": "main", "calls": 3, "cost": 1.5, "tokens": {"input": 36, "output": 15}}
        ],
        "execution_summary": {"total_cost": 1.5, "execution_start": "2026-11-02T10:00:00Z"},
        "origin_session": {"tool": "gemini", "id": "g-1"},
        "usage_incomplete": {"calls": None},
    }
    session = session_rows(document, (), listed)
    session.record |= {"kind": SESSION, "record_id": "g-1", "is_open": 0}
    wire = metered(
        "run-1", *(on_wire(number, None) for number in (2, 3)), call(3, response_id="x", observer="meter")
    )
    put(database, session=session)
    put(database, run=wire)
    assert counted(database) == {"g-1": 3, "run-1": 1}
    put(database, run=wire)
    assert counted(database) == {"g-1": 3, "run-1": 1}
    sure = database.rows("SELECT sum(calls) FROM usage WHERE counts = 1 AND at_least = 0")
    assert sure == [(1,)]  # two programs may have sent the same prompt


def session_of(*calls: Json, name: str = "s-1") -> RecordRows:
    """An imported session of Claude Code, with these calls in its transcript."""
    tokens = {name: sum(one["tokens"][name] for one in calls) for name in ("input", "output")}
    document = {
        "team_session_id": name,
        "instances": [
            {"instance_id": "main", "calls": len(calls), "cost": 0.5 * len(calls), "tokens": tokens}
        ],
        "execution_summary": {"execution_start": "2026-11-02T10:00:00Z"},
        "origin_session": {"tool": "claude-code", "id": name},
    }
    own = {"instance_id": "main", "observer": "transcript", "client_session": name}
    rows = session_rows(document, (), [one | own for one in calls])
    rows.record |= {"kind": SESSION, "record_id": name, "is_open": 0}
    return rows


def input_and_bounds(database: CatalogDatabase) -> list[tuple[int, int]]:
    return database.rows("SELECT input, at_least FROM usage WHERE counts = 1 ORDER BY 1")


def test_a_session_and_a_run_whose_calls_have_one_id(database: CatalogDatabase) -> None:
    """Calls with the same counts are one, whichever are nearest in time. Others are perhaps two: that is a lower bound."""
    one = {"response": short_digest("always").hex()}
    wire = [on_wire(number) | {"response_id": "always"} for number in (1, 2)]
    times = [{"timestamp": wire[number]["timestamp"]} for number in (1, 0)]
    put(database, run=metered("run-1", *wire))
    put(database, session=session_of(call(1, **one, **times[0]), call(2, **one, **times[1])))
    assert input_and_bounds(database) == [(11, 0), (12, 0)]
    put(database, session=session_of(call(1, **one), call(4, **one)))
    assert input_and_bounds(database) == [(11, 0), (12, 1)]


def test_a_transcript_with_other_counts_than_the_wire(database: CatalogDatabase) -> None:
    """An id tells the call: those of the wire count, unless it was at another time."""
    other = call(4, response=short_digest("msg_1").hex(), timestamp="2026-11-02T10:00:01Z")
    put(database, run=metered("run-1", on_wire(1)), session=session_of(other))
    assert input_and_bounds(database) == [(11, 0)]
    put(database, session=session_of(other | {"timestamp": "2026-11-02T11:00:00Z"}))
    assert input_and_bounds(database) == [(11, 1)]


def test_a_forked_session_has_the_calls_of_the_one_before(database: CatalogDatabase) -> None:
    def listed(number: int) -> Json:
        ids = {
            "response": short_digest(f"msg_{number}").hex(),
            "request": short_digest(f"req_{number}").hex(),
        }
        return call(number, **ids)

    wire = [on_wire(number) | {"request_id": f"req_{number}"} for number in (1, 2)]
    put(database, run=metered("run-1", *wire), session=session_of(*map(listed, (1, 2))))
    put(database, fork=session_of(*map(listed, (1, 2, 3)), name="s-2"))
    assert sorted(row[0] for row in input_and_bounds(database)) == [11, 12, 13]
    without = call(
        1, response=short_digest("msg_1").hex()
    )  # one of the ids alone may be that of another call
    put(database, fork=session_of(without, name="s-2"), session=session_of(listed(2)))
    assert sorted(row[0] for row in input_and_bounds(database)) == [11, 11, 12]
    put(database, run=metered("run-1", on_wire(1), wire[1]))
    assert sorted(row[0] for row in input_and_bounds(database)) == [11, 11, 12]
    put(database, run=metered("run-1", *wire))
    other = call(4, **{key: value for key, value in listed(1).items() if key in {"response", "request"}})
    put(database, fork=session_of(other, name="s-2"))
    assert sorted(row[0] for row in input_and_bounds(database)) == [11, 12, 14]


def test_totals_that_a_program_in_a_metered_run_stated(database: CatalogDatabase) -> None:
    """The calls of the relay count. Where the totals are others, they may be of other calls: what they have more is a lower bound."""

    def stated(sent: int, **more: Any) -> RecordRows:
        run = metered("run-2", parent="run-1")
        costs = {"input_tokens": sent, "output_tokens": 10, "total_cost_usd": 2, "token_source": "given"}
        document = {
            "generation": {
                "run_id": "run-2",
                "status": "completed",
                "timestamp_start": "2026-11-02T10:00:00Z",
                "timestamp_end": "2026-11-02T10:01:00Z",
            },
            "costs": costs,
            "relations": [{"type": "parent", "id": "run-1"}],
        }
        rows = run_rows(document | more)
        rows.record |= {name: run.record[name] for name in ("kind", "record_id", "is_open")}
        return rows

    def sums() -> tuple[Any, ...]:
        sql = "SELECT sum(calls), sum(input), sum(coalesce(cost, known_cost)), max(at_least) FROM usage WHERE counts = 1"
        ((calls, sent, cost, bound),) = database.rows(sql)
        return calls, sent, cost / 10**10, bound

    outer = metered("run-1", *map(on_wire, (1, 2)))
    put(database, inner=stated(23))
    assert sums() == (None, 23, 2, 0)
    put(database, outer=outer)
    assert sums() == (2, 23, 1, 0)
    put(database, inner=stated(20))
    assert sums() == (2, 23, 1, 1)
    put(database, inner=stated(40))
    assert sums() == (3, 40, 2, 1)
    later = [on_wire(number) | {"timestamp": f"2026-11-02T11:00:0{number}Z"} for number in (1, 2)]
    put(database, outer=metered("run-1", *later))  # not those of the program
    assert sums()[1:] == (63, 3, 0)
    put(
        database,
        outer=outer,
        other=metered("run-3", call(1, response_id="msg_1"), call(2, response_id="msg_2"), parent="run-1"),
    )
    assert sums()[1:] == (63, 3, 0)  # they are those of another program
    database.remove(1, ["outer", "other"])
    database.settle()
    assert sums() == (None, 40, 2, 0)


def test_a_run_whose_journal_lost_a_call(database: CatalogDatabase) -> None:
    """A redaction took the ids: the calls that others have count, and the rest of the document, which may be the same."""

    def redacted() -> RecordRows:
        rows = metered("run-1", *map(on_wire, (1, 2, 3)))
        rows.usage = [(*usage[:-4], *UNKNOWN) for usage in rows.usage]
        return rows

    def sums() -> list[tuple[int, int]]:
        return database.rows("SELECT sum(input), max(at_least) FROM usage WHERE counts = 1")

    put(database, outer=redacted())
    assert sums() == [(36, 0)]
    inner = metered("run-2", call(1, response_id="msg_1", observer="watch"), parent="run-1")
    put(database, inner=inner)
    assert sums() == [(36, 1)]
    session = session_of(call(2, response=short_digest("msg_2").hex()))
    session.relations = [("run", "run-1", None, 1)]
    put(database, session=session)
    assert sums() == [(36, 1)]
    database.remove(1, ["inner", "session"])
    database.settle()
    assert sums() == [(36, 0)]


def test_a_report_without_an_id_beside_one_with_it(database: CatalogDatabase) -> None:
    """The relay saw one call with these counts."""
    nameless = call(1) | {"token_source": "given"}
    inner = metered("run-2", call(1, response_id="msg_1", observer="watch"), nameless, parent="run-1")
    put(database, outer=metered("run-1", on_wire(1, None)), inner=inner)
    assert input_and_bounds(database) == [(11, 0)]
    put(database, outer=metered("run-1", *(on_wire(1, None) | {"response_id": f"msg_{n}"} for n in (1, 2))))
    assert input_and_bounds(database) == [(11, 0), (11, 0)]


def test_servers_that_use_an_id_again(database: CatalogDatabase) -> None:
    same = [call(number, response_id="chatcmpl-1", observer="meter") for number in (1, 1, 2)]
    put(database, one=metered("run-1", *same), other=metered("run-2", *same))
    assert counted(database) == {"run-1": 3, "run-2": 3}
    put(database, inner=metered("run-3", call(1, response_id="chatcmpl-1", observer="watch"), parent="run-1"))
    assert sum(counted(database).values()) == 6


def test_a_run_between_two_others_is_gone(database: CatalogDatabase) -> None:
    """The inner run names a parent of which there is no record: the run around both has its call all the same."""
    outer = metered("run-1", call(1, response_id="msg_1", observer="meter"))
    inner = metered("run-3", call(1, response_id="msg_1", observer="watch"), parent="run-2")
    alone = metered("run-4", call(1, response_id="msg_1", observer="watch"))
    put(database, outer=outer, inner=inner)
    assert counted(database) == {"run-3": 1}
    put(database, alone=alone)  # a server that uses an id again
    assert sum(counted(database).values()) == 2
    other = metered("run-5", call(2, response_id="msg_1", observer="watch"), parent="run-2")
    put(database, other=other)
    assert sum(counted(database).values()) == 3


def test_a_run_in_a_run_of_the_same_experiment_counts_once_in_the_list(database: CatalogDatabase) -> None:
    def of_experiment(rows: RecordRows) -> RecordRows:
        rows.record |= {"experiment": "ex", "experiment_id": "exp-1"}
        return rows

    def listed() -> tuple[Any, ...]:
        (row,) = list_table(database, EXPERIMENTS, Filters(), ["calls", "known_cost", "at_least"]).rows
        return row

    wire = [call(number, response_id=f"msg_{number}", observer="meter") for number in (1, 2, 3)]
    outer = of_experiment(metered("run-1", *wire))
    watched = call(1, response_id="msg_1", observer="watch")
    inner = of_experiment(metered("run-2", watched, call(9, response_id="msg_9"), parent="run-1"))
    put(database, outer=outer, inner=inner)
    assert listed() == (4, 2.0, 0)
    put(database, copy=outer)
    assert listed() == (4, 2.0, 0)
    unpriced = watched | {"cost_usd": None, "cost_source": None}
    put(database, inner=of_experiment(metered("run-2", unpriced, parent="run-1")))
    assert listed() == (3, 1.5, 1)


def test_a_call_of_a_session_stays_in_the_experiment_of_its_run(database: CatalogDatabase) -> None:
    def by(*names: str) -> dict[Any, int]:
        groups = _RecordSums(database, names, None).report().groups
        return {tuple(group.key.values()): group.totals.calls for group in groups}

    run = metered("run-1", *map(on_wire, (1, 2, 3)))
    run.record["experiment"] = "ex"
    run.facts = {"label.team": (None, "a")}
    inner = metered("run-2", call(3, response_id="msg_3", observer="watch"), parent="run-1")
    put(database, run=run, inner=inner)
    assert by("experiment") == {("ex",): 2, (None,): 1}
    listed = [
        call(number, instance_id="main", response=short_digest(f"msg_{number}").hex(), observer="meter")
        for number in (1, 2)
    ]
    session = session_rows(earlier_document(2), (), listed)
    session.record |= {"kind": SESSION, "record_id": "s-1", "is_open": 0}
    put(database, session=session)
    assert by("experiment", "tool") == {("ex", "claude-code"): 2, (None, None): 1}
    assert by("experiment") == {("ex",): 2, (None,): 1}
    assert by("label.team", "month") == {("a", "2026-11"): 2, (None, "2026-11"): 1}
    view = "SELECT experiment, substr(started, 1, 19) FROM v1_counted_usage ORDER BY 2"
    times = [f"2026-11-02T10:00:0{number}" for number in (1, 2, 3)]
    assert database.rows(view) == list(zip(("ex", "ex", None), times, strict=True))
    session.facts = {"label.team": (None, "of the session")}
    put(database, session=session)
    assert by("label.team") == {("of the session",): 2, (None,): 1}


def test_a_report_without_an_id_is_not_of_a_call_at_another_time(database: CatalogDatabase) -> None:
    """The same prompt was sent before the inner run began, in it, and after its report."""
    times = ("08:00:01", "10:00:02", "12:00:03")
    wire = [
        call(1, response_id=f"msg_{time}", observer="meter", timestamp=f"2026-11-02T{time}Z")
        for time in times
    ]
    own = call(1, timestamp="2026-11-02T10:01:00Z") | {"token_source": "given"}
    put(database, outer=metered("run-1", wire[0], wire[2]), inner=metered("run-2", own, parent="run-1"))
    assert sum(counted(database).values()) == 3
    put(database, outer=metered("run-1", *wire))
    assert counted(database) == {"run-1": 2, "run-2": 1}


def test_what_began_before_and_lists_no_calls_makes_a_sum_since_a_lower_bound(
    database: CatalogDatabase,
) -> None:
    session = earlier_session(0)
    session.record["ended"] = session.record["started"] + 3_600_000
    put(database, session=session, run=metered("run-1", call(3, timestamp="2026-11-02T10:40:00Z")))
    began = datetime(2026, 11, 2, 10, tzinfo=UTC)

    def since(minutes: int) -> tuple[int, bool]:
        totals = _RecordSums(database, ("model",), began + timedelta(minutes=minutes)).report().totals
        return totals.calls, totals.at_least

    assert [since(0), since(30), since(60)] == [(3, False), (1, True), (0, True)]
    assert since(61) == (0, False)


def since_ten_thirty(database: CatalogDatabase, *by: str) -> dict[Any, bool]:
    """Whether each sum since half past ten is a lower bound; that of all has no key."""
    report = _RecordSums(database, by, datetime(2026, 11, 2, 10, 30, tzinfo=UTC)).report()
    groups = {tuple(group.key.values()): group.totals.at_least for group in report.groups}
    return {(): report.totals.at_least, **groups}


def unlisted(model: str | None = "claude-opus-4-1", ended: str | None = "2026-11-03T09:00:00Z") -> RecordRows:
    """A run that began at ten, and whose document alone tells what it used."""
    rows = metered("run-old", call(1, model=model, provider="anthropic"))
    rows.usage = [(*row[: USAGE_COLUMNS.index("response")], *UNKNOWN) for row in rows.usage]
    rows.record["ended"] = None if ended is None else as_time(ended)
    rows.record["experiment"] = "old"
    return rows


def test_groups_of_a_sum_since_that_may_lack_calls_are_lower_bounds(database: CatalogDatabase) -> None:
    later = [
        call(number, model=model, provider="anthropic", timestamp=f"2026-11-0{day}T11:00:00Z")
        for number, (model, day) in enumerate([("claude-opus-4-1", 2), (SONNET, 3), (SONNET, 4)])
    ]
    new = metered("run-new", *later)
    new.record["experiment"] = "new"
    put(database, new=new, old=unlisted())
    opus, sonnet = ("claude-opus-4-1",), (SONNET,)
    assert since_ten_thirty(database, "model") == {(): True, opus: True, sonnet: False}
    days: dict[Any, bool] = {(f"2026-11-0{day}",): day < 4 for day in (2, 3, 4)}
    assert since_ten_thirty(database, "day") == days | {(): True}
    assert since_ten_thirty(database, "month") == {(): True, ("2026-11",): True}
    pairs: dict[Any, bool] = {("2026-11-02", *opus): True, ("2026-11-03", *sonnet): False}
    pairs |= {("2026-11-04", *sonnet): False, (): True}
    assert since_ten_thirty(database, "day", "model") == pairs
    assert since_ten_thirty(database, "experiment") == {(): True, ("new",): False}
    put(database, old=unlisted(model=None))  # it may have called any
    assert since_ten_thirty(database, "model") == {(): True, opus: True, sonnet: True}
    put(database, old=unlisted(ended="2026-11-02T10:29:59Z"))
    assert since_ten_thirty(database, "model") == {(): False, opus: False, sonnet: False}


def test_an_open_run_that_lists_no_calls_may_have_more_since(database: CatalogDatabase) -> None:
    rows = unlisted(ended=None)
    rows.record |= {"is_open": 1, "status": "running"}
    put(database, old=rows, new=metered("run-new", call(1, timestamp="2026-11-02T11:00:00Z")))
    assert since_ten_thirty(database) == {(): True}
    rows.record["status"] = "interrupted"
    put(database, old=rows)
    assert since_ten_thirty(database) == {(): False}


def test_a_session_with_a_later_agent_may_have_more_of_an_earlier_one(database: CatalogDatabase) -> None:
    document = earlier_document(0)
    later = {**document["instances"][0], "instance_id": "late", "created_at": "2026-11-02T11:00:00Z"}
    document["instances"] = [document["instances"][0] | {"created_at": "2026-11-02T10:00:00Z"}, later]
    rows = session_rows(document)
    rows.record |= {
        "kind": SESSION,
        "record_id": "s-1",
        "is_open": 0,
        "ended": as_time("2026-11-02T12:00:00Z"),
    }
    rows.usage = [
        (*row[: USAGE_COLUMNS.index("at_least")], 0, *row[USAGE_COLUMNS.index("at_least") + 1 :])
        for row in rows.usage
    ]
    put(database, session=rows)
    assert since_ten_thirty(database) == {(): True}


def test_a_provider_that_a_run_names_is_not_replaced_by_that_of_a_price(database: CatalogDatabase) -> None:
    wire = call(1, response_id="msg_1", observer="meter", price_row={"provider": "anthropic"})
    own = call(1, response_id="msg_1", observer="watch", provider="gateway")
    put(database, outer=metered("run-1", wire), inner=metered("run-2", own, parent="run-1"))
    groups = _RecordSums(database, ("provider",), None).report().groups
    assert [(group.key, group.totals.calls) for group in groups] == [({"provider": "gateway"}, 1)]


@pytest.mark.parametrize(
    ("wire", "report", "calls"),
    [
        ({}, {}, 1),
        ({"provider": "anthropic"}, {}, 1),
        ({}, {"provider": "aws"}, 1),
        ({"provider": "anthropic"}, {"provider": "anthropic"}, 1),
        ({"provider": "anthropic"}, {"provider": "aws"}, 2),
        ({"price_row": {"provider": "anthropic"}}, {"provider": "gateway"}, 1),
        ({}, {"model": f"{SONNET}-20250929"}, 1),
        ({}, {"model": "claude-opus-4-1"}, 2),
        ({"cache_read": 3}, {}, 1),
        ({}, {"reasoning": 3}, 1),
        ({"cache_read": 3}, {"cache_read": 3}, 1),
        ({"cache_read": 3}, {"cache_read": 0}, 2),
        ({"reasoning": 0}, {"reasoning": 3}, 2),
    ],
)
def test_a_report_of_a_call_around_the_meter_is_not_taken_for_one_of_the_wire(
    database: CatalogDatabase, wire: Json, report: Json, calls: int
) -> None:
    """A program reports a call to another provider with `add_usage`; input and output are those of a metered one."""

    def made(number: int, fields: Json, **more: Any) -> Json:
        counts = {name: fields[name] for name in ("cache_read", "reasoning") if name in fields}
        found = call(number) | {name: value for name, value in fields.items() if name not in counts} | more
        return found | {"tokens": found["tokens"] | counts}

    outer = metered("run-1", made(1, wire, response_id="msg_1", observer="meter"))
    outer.record["provider"] = wire.get("provider")
    own = made(1, report, timestamp="2026-11-02T10:01:00Z", token_source="given")  # noqa: S106 - no password
    put(database, outer=outer, inner=metered("run-2", own, parent="run-1"))
    assert sum(counted(database).values()) == calls
