"""`runcard costs` over records: each call once; what is known, unknown, estimated and a lower bound is kept apart."""

import csv
import io
import json
import shutil
import time
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import runcard
from acceptance.command import runcard_on_terminal
from conftest import Cli
from meter.exchanges import ANTHROPIC, answer, pass_exchange, post
from runcard.observe.meter.routes import Route
from runcard.operations.catalog.budget import Budget, parse_amount
from runcard.operations.catalog.costs import all_costs, record_costs
from runcard.operations.sessions.import_sessions import import_sessions
from runcard.recording.metered_calls import make_observer
from runcard.recording.recorder import events_of
from sessions.build import AGENTS
from sessions.importing.sample_sessions import AGENT, FIRST, session_with_sub_agent
from sessions.importing.test_metered_runs import metered_run
from transcripts.session_files import usage

Json = dict[str, Any]
SONNET = "claude-sonnet-4-5"
HOSTILE = "\x1b[31m=1+1\u202e"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(tokens: Json, model: str = SONNET, **more: Any) -> runcard.Run:
    with runcard.record("outputs", model=model, strict=True, **more) as recorded:
        recorded.add_usage(tokens)
    return recorded


def asked(cli: Cli, *arguments: str, code: int = 0) -> Json:
    outcome = cli("costs", *arguments, "--json")
    assert outcome.code == code, outcome.err
    data: Json = json.loads(outcome.out)
    return data


def by_key(data: Json) -> dict[str | None, Json]:
    return {next(iter(group["key"].values())): group for group in data["groups"]}


@pytest.mark.usefixtures("folder")
def test_the_shape_of_the_json(cli: Cli) -> None:
    run({"input": 1000, "output": 200, "cache_read": 400, "cache_write": 100})
    data = asked(cli, "--by", "model")
    expected = {
        "calls": 1,
        "known_calls": 1,
        "tokens": {"input": 500, "output": 200, "cache_read": 400, "cache_write": 100, "reasoning": None},
        "known_tokens": {"input": 500, "output": 200, "cache_read": 400, "cache_write": 100, "reasoning": 0},
        "cost_usd": 0.004995,
        "known_cost_usd": 0.004995,
        "known_cost_by_token_source": {"given": 0.004995},
        "at_least": False,
        "token_source": "given",
    }
    assert data["totals"] == expected
    assert data["groups"] == [{"key": {"model": SONNET}, **expected}]
    assert (data["unpriced"], data["unread"], data["unknown_types"], data["records"]) == ([], [], {}, 1)


@pytest.mark.usefixtures("folder")
def test_an_unknown_cost_is_not_zero_and_not_hidden(cli: Cli) -> None:
    run({"input": 1000, "output": 200})
    run({"input": 1000, "output": 200}, "a-model-of-ours")
    data = asked(cli, "--by", "model", code=2)
    assert (data["totals"]["cost_usd"], data["totals"]["known_cost_usd"]) == (None, 0.006)
    assert data["totals"]["at_least"]
    groups = by_key(data)
    assert (groups[SONNET]["cost_usd"], groups[SONNET]["at_least"]) == (0.006, False)
    assert (groups["a-model-of-ours"]["cost_usd"], groups["a-model-of-ours"]["known_cost_usd"]) == (
        None,
        None,
    )
    rows = list(csv.DictReader(io.StringIO(cli("costs", "--by", "model", "--csv").out)))
    assert {(row["model"], row["cost_usd"], row["known_cost_usd"], row["at_least"]) for row in rows} == {
        (SONNET, "0.006", "0.006", "false"),
        ("a-model-of-ours", "", "", "true"),
    }
    listed = json.loads(cli("ls", "runs", "--columns", "model", "--json").out)["records"]
    assert {(row["model"], row["cost"], row["known_cost"], row["at_least"]) for row in listed} == {
        (SONNET, 0.006, 0.006, False),
        ("a-model-of-ours", None, None, True),
    }
    assert (data["unpriced"], data["records_without_cost"]) == (["a-model-of-ours"], 1)
    outcome = cli("costs", "--by", "model")
    lines = {line.split()[0]: line for line in outcome.out.splitlines() if line}
    assert lines[SONNET].endswith("  $0.006")
    assert lines["a-model-of-ours"].endswith("unknown")
    assert lines["total"].endswith("≥ $0.006")
    assert "Warning: the price is unknown, or known only in part: a-model-of-ours" in outcome.err


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("by", ["session", "label.n"])
def test_a_limit_keeps_the_most_expensive_groups(cli: Cli, by: str) -> None:
    for number in range(4):
        run({"input": 1000 * (number + 1), "output": 200}, labels={"n": f"n{number}"})
    every, limited = asked(cli, "--by", by), asked(cli, "--by", by, "--limit", "2")
    assert limited["groups"] == every["groups"][:2]
    assert limited["totals"] == every["totals"]
    assert limited["more_groups"] == len(every["groups"]) - len(limited["groups"])
    if by == "label.n":
        assert [group["key"] for group in limited["groups"]] == [{by: "n3"}, {by: "n2"}]
        assert "2 more groups, which the total includes." in cli("costs", "--by", by, "--limit", "2").out
        days = asked(cli, "--by", "day,label.n", "--limit", "3")
        assert [group["key"][by] for group in days["groups"]] == ["n1", "n2", "n3"]


@pytest.mark.usefixtures("folder")
def test_an_agent_without_figures_makes_the_total_a_lower_bound(cli: Cli) -> None:
    silent = {
        name: AGENTS[1][name] for name in ("instance_id", "name", "status", "created_at", "terminated_at")
    }
    runcard.collect({"team_session_id": "t", "instances": [dict(AGENTS[0]) | {"children_count": 0}, silent]})
    data = asked(cli, "--by", "agent")
    assert (data["totals"]["cost_usd"], data["totals"]["known_cost_usd"]) == (None, 0.45)
    groups = by_key(data)
    assert groups["coordinator"]["cost_usd"] == 0.45
    assert (groups["coder"]["cost_usd"], groups["coder"]["calls"], groups["coder"]["known_calls"]) == (
        None,
        None,
        0,
    )
    assert "1 record with an unknown cost, in whole or in part." in cli("costs").out


@pytest.mark.usefixtures("folder")
def test_no_part_of_a_lower_bound_is_shown_as_more_than_it(cli: Cli) -> None:
    first = {"cost": 1.549, "token_source": "given", "children_count": 1}
    agents = [dict(AGENTS[0]) | first, dict(AGENTS[1]) | {"cost": None}]
    runcard.collect({"team_session_id": "t", "instances": agents})
    out = cli("costs").out
    assert "≥ $1.54\n" in out
    assert "$1.54 is based on figures given by the caller." in out


@pytest.mark.usefixtures("folder")
def test_estimated_and_incomplete_usage_is_kept_apart(cli: Cli) -> None:
    run({"input": 1000, "output": 200})
    agent = dict(AGENTS[0]) | {"children_count": 0, "token_source": "estimated", "cost": 0.0003}
    runcard.collect({"team_session_id": "guessed", "instances": [agent]})
    data = asked(cli)
    assert data["totals"]["known_cost_by_token_source"] == {"given": 0.006, "estimated": 0.0003}
    assert data["totals"]["cost_usd"] == 0.0063
    assert "$0.0003 is based on estimated token counts." in cli("costs").out


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("by", "costs"),
    [
        ("provider", {"anthropic": 0.006, None: 0.786}),
        ("experiment", {"personas": 0.006, None: 0.786}),
        ("label.team", {"ux": 0.006, None: 0.786}),
        ("config.temperature", {"0.5": 0.006, None: 0.786}),
        ("role", {"architect": 0.45, "backend_developer": 0.32, None: 0.012, "qa_engineer": 0.01}),
        ("session", {"team-1": 0.78, None: 0.012}),
        ("model", {SONNET: 0.782, "claude-haiku-4-5": 0.01}),
        ("month", {"2025-11": 0.78}),
    ],
)
def test_groups(cli: Cli, by: str, costs: dict[str | None, float]) -> None:
    run({"input": 1000, "output": 200})
    run(
        {"input": 1000, "output": 200},
        provider="anthropic",
        experiment="personas",
        config={"temperature": 0.5},
        labels={"team": "ux"},
    )
    runcard.collect({"team_session_id": "team-1", "instances": [dict(agent) for agent in AGENTS]})
    found = {key: group["known_cost_usd"] for key, group in by_key(asked(cli, "--by", by)).items()}
    assert costs.items() <= found.items()
    assert round(sum(found.values()), 9) == 0.792


@pytest.mark.usefixtures("folder")
def test_a_day_is_that_of_the_agent_in_the_local_time_zone(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    late = {
        "created_at": "2025-11-06T23:30:00Z",
        "terminated_at": "2025-11-07T01:00:00Z",
        "children_count": 0,
    }
    agents = [dict(AGENTS[0]) | {"children_count": 0}, dict(AGENTS[1]) | late | {"parent_instance_id": None}]
    for agent in agents:
        agent.pop("execution_time_seconds")
    runcard.collect({"team_session_id": "t", "instances": agents})
    monkeypatch.setenv("TZ", "Asia/Kolkata")
    time.tzset()
    try:
        groups = by_key(asked(cli, "--by", "day"))
        assert {day: group["cost_usd"] for day, group in groups.items()} == {
            "2025-11-06": 0.45,
            "2025-11-07": 0.32,
        }
        assert asked(cli, "--since", "2025-11-07")["totals"]["cost_usd"] == 0.32
        assert set(by_key(asked(cli, "--by", "week"))) == {"2025-11-03"}
    finally:
        monkeypatch.undo()
        time.tzset()


def test_copies_count_once_and_different_ones_are_named(cli: Cli, folder: Path) -> None:
    recorded = run({"input": 1000, "output": 200})
    shutil.copytree(recorded.path, folder / "outputs" / "copy")
    (folder / "elsewhere").mkdir()
    shutil.copytree(recorded.path, folder / "elsewhere" / "copy")
    assert cli("index", "elsewhere").code == 0
    data = asked(cli)
    assert (data["totals"]["cost_usd"], data["copies_not_counted"], data["conflicts"]) == (0.006, 2, [])
    path = folder / "elsewhere" / "copy" / "metadata.json"
    path.write_text(path.read_text().replace("0.006", "0.5"))
    assert cli("index", "elsewhere").code == 0
    data = asked(cli, code=2)
    assert (data["totals"]["cost_usd"], data["conflicts"]) == (0.5, [recorded.id])
    assert "copies of a record differ" in cli("costs").err


@pytest.mark.usefixtures("folder")
def test_two_collected_sessions_of_one_name_are_two(cli: Cli) -> None:
    for day in ("06", "07"):
        agent = dict(AGENTS[0]) | {"children_count": 0}
        for name in ("created_at", "terminated_at"):
            agent[name] = agent[name].replace("-06T", f"-{day}T")
        runcard.collect({"team_session_id": "nightly", "instances": [agent]})
    data = asked(cli)
    assert (data["totals"]["cost_usd"], data["copies_not_counted"]) == (0.9, 0)


def metered_calls() -> list[tuple[str, Json, str | None]]:
    calls: list[tuple[str, Json, str | None]] = [(f"msg_{number}", usage(), None) for number in (1, 2, 3)]
    return [*calls, ("msg_4", usage(output=90), AGENT), ("msg_5", usage(service_tier="batch"), AGENT)]


def test_a_metered_run_and_its_imported_session_count_once(cli: Cli, folder: Path) -> None:
    session_with_sub_agent(folder / "home")
    metered = metered_run(*metered_calls(), ("msg_title", usage(output=7), None))
    import_sessions("claude-code", [str(folder / "home")])
    costs = json.loads((metered.path / "metadata.json").read_bytes())["costs"]
    data = asked(cli, "--by", "session")
    assert [group["key"]["session"] for group in data["groups"]] == [FIRST]
    assert data["totals"]["calls"] == 6
    assert data["totals"]["cost_usd"] == costs["total_cost_usd"]  # the wire names another model for a call
    assert data["partly_joined"] == 0


def test_calls_of_a_run_that_are_not_in_the_session_count(cli: Cli, folder: Path) -> None:
    session_with_sub_agent(folder / "home")
    run_ = runcard.start("outputs")
    meter = make_observer(events_of(run_))
    for call, session in (("msg_1", FIRST), ("msg_other", "another-session")):
        message = {"id": call, "type": "message", "role": "assistant", "model": SONNET, "content": []}
        body = json.dumps(message | {"stop_reason": "end_turn", "usage": usage()}).encode()
        request = post("/v1/messages", **{"x-claude-code-session-id": session})
        reply = answer(request_id=f"req_{call}")
        pass_exchange(meter.observe(ANTHROPIC, request), {"model": SONNET}, reply, [body])
    meter.close()
    run_.finish()
    import_sessions("claude-code", [str(folder / "home")])
    data = asked(cli)
    assert (data["totals"]["calls"], data["partly_joined"], data["totals"]["at_least"]) == (6, 1, True)
    assert "1 record with calls that other records have as well: each counts once." in cli("costs").out


def test_a_run_since_counts_though_its_session_is_older(cli: Cli, folder: Path) -> None:
    session_with_sub_agent(folder / "home")
    metered_run(("msg_1", usage(), None))
    import_sessions("claude-code", [str(folder / "home")])
    data = asked(cli, "--since", "1h")
    assert (data["totals"]["calls"], data["totals"]["at_least"]) == (1, False)


def test_session_files_and_records_count_each_call_once(cli: Cli, folder: Path) -> None:
    home = str(folder / "home")
    session_with_sub_agent(folder / "home")
    run({"input": 1000, "output": 200})
    metered_run(("msg_1", usage(), None), ("msg_title", usage(output=7), None))
    files = json.loads(cli("costs", "--source", "claude-code", home, "--json").out)["totals"]["calls"]
    assert files == 5
    both = ("--source", "claude-code", home, "--with-records", "--by", "tool")
    before = asked(cli, *both)
    assert {key: group["calls"] for key, group in by_key(before).items()} == {"claude-code": 6, None: 1}
    import_sessions("claude-code", [home])
    after = asked(cli, *both)
    assert after["totals"] == before["totals"]
    assert "1 session imported and in session files: counted once." in cli("costs", *both).out
    shutil.rmtree(folder / "home")  # as tools do after a time
    assert asked(cli, "--by", "tool")["totals"]["calls"] == 7
    counted = cli("query", "SELECT sum(calls) FROM v1_counted_usage", "--json")
    assert json.loads(counted.out)["rows"] == [[7]]


@pytest.mark.usefixtures("folder")
def test_without_session_files_records_count(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "none"))
    run({"input": 1000, "output": 200})
    assert all_costs("claude-code").totals.cost == Decimal("0.006")


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("amount", "code", "state", "text"),
    [
        ("0.0076", 0, "within", "Budget: $0.006 of $0.0076 spent since "),
        ("0.0075", 2, "near", "Warning: the budget is nearly spent: $0.006 of $0.0075 spent since "),
        ("$0.006", 2, "near", "(100 %)"),
        ("0.0059", 1, "over", "Error: the budget is exceeded: $0.006 of $0.0059 spent since "),
        ("0", 1, "over", "Error: the budget is exceeded: $0.006 of $0.00 spent since "),
    ],
)
def test_a_budget(cli: Cli, amount: str, code: int, state: str, text: str) -> None:
    run({"input": 1000, "output": 200})
    runcard.collect({"team_session_id": "old", "instances": [dict(agent) for agent in AGENTS]})
    outcome = cli("costs", "--budget", amount)  # of this month
    assert outcome.code == code
    assert text in outcome.out + outcome.err
    data = asked(cli, "--budget", amount, "--since", "1d", code=code)
    assert (data["budget"]["state"], data["budget"]["spent_usd"]) == (state, 0.006)
    assert asked(cli, "--budget", "0.7", "--since", "2025-11-01", code=1)["budget"]["spent_usd"] == 0.786


@pytest.mark.usefixtures("folder")
def test_a_budget_counts_what_is_known_at_least(cli: Cli) -> None:
    run({"input": 1000, "output": 200})
    run({"input": 1000, "output": 200}, "a-model-of-ours")
    outcome = cli("costs", "--budget", "0.005")
    assert (outcome.code, "≥ $0.006 of $0.005" in outcome.err) == (1, True)


def test_amounts() -> None:
    assert parse_amount("$1,000.50") == Decimal("1000.5")
    for wrong in ("", "x", "-1", "nan", "inf", "1e99"):
        with pytest.raises(runcard.RuncardError, match="is not an amount"):
            parse_amount(wrong)
    assert Budget.__doc__


@pytest.mark.usefixtures("folder")
def test_a_bar_on_a_terminal_only(cli: Cli) -> None:
    run({"input": 1000, "output": 200})
    run({"input": 500, "output": 100}, "claude-haiku-4-5")
    _, shown = runcard_on_terminal("costs", "--by", "model", "-q")
    lines = shown.splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[1].count("█") > lines[2].count("█")
    assert "█" not in lines[-1]
    assert "█" not in cli("costs", "--by", "model").out


@pytest.mark.usefixtures("folder")
def test_hostile_names(cli: Cli) -> None:
    run({"input": 1000, "output": 200}, labels={"team": HOSTILE}, experiment=None)
    outcome = cli("costs", "--by", "label.team")
    assert "\x1b" not in outcome.out
    assert "\u202e" not in outcome.out
    run({"input": 1, "output": 2}, labels={"team": "=1+1"})
    rows = list(csv.DictReader(io.StringIO(cli("costs", "--by", "label.team", "--csv").out)))
    assert "'=1+1" in {row["label.team"] for row in rows}
    assert cli("costs", "--by", "label.x' OR 1=1 --").code == 0


def test_an_unreadable_record_is_named(cli: Cli, folder: Path) -> None:
    run({"input": 1000, "output": 200})
    (folder / "outputs" / "broken").mkdir()
    (folder / "outputs" / "broken" / "metadata.json").write_text("{")
    data = asked(cli, code=2)
    assert data["totals"]["cost_usd"] == 0.006
    assert [entry["path"] for entry in data["unread"]] == [str(folder / "outputs" / "broken")]
    assert data["unread"][0]["reason"]


@pytest.mark.usefixtures("folder")
def test_sums_beyond_the_range_of_the_database() -> None:
    run({"input": 1000, "output": 200})
    for _ in range(8):
        path = run({"input": 1000, "output": 200}).path / "metadata.json"
        document = json.loads(path.read_bytes())
        document["costs"] |= {"input_tokens": 2**62 - 1, "total_cost_usd": 4 * 10**8}
        path.write_text(json.dumps(document))
    for by in (["model"], ["model", "config.model"]):
        totals = record_costs(by=by).totals
        assert totals.cost == Decimal("3200000000.006")
        assert totals.tokens["input"] == 8 * (2**62 - 1) + 1000


@pytest.mark.usefixtures("folder")
def test_the_provider_of_a_call_at_a_base_url_of_ones_own_is_that_of_its_price(cli: Cli) -> None:
    recorded = runcard.start("outputs")
    meter = make_observer(events_of(recorded))
    for model in (SONNET, "no-such-model"):
        message = {
            "id": f"msg_{model}",
            "type": "message",
            "role": "assistant",
            "model": model,
            "content": [],
        }
        body = json.dumps(message | {"stop_reason": "end_turn", "usage": usage()}).encode()
        route = Route("anthropic", "http://127.0.0.1:4000")
        pass_exchange(meter.observe(route, post("/v1/messages")), {"model": model}, answer(), [body])
    meter.close()
    recorded.finish()
    groups = by_key(asked(cli, "--by", "provider", code=2))
    assert {name: group["calls"] for name, group in groups.items()} == {"anthropic": 1, None: 1}
    assert groups["anthropic"]["cost_usd"] > 0
