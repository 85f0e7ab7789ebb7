"""`runcard costs`: sums, prices, groups, formats, warnings and exit codes."""

import csv
import io
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from acceptance.command import runcard_on_terminal
from conftest import Cli
from runcard.accounting import Prices
from runcard.catalog import columns, usage_sums
from runcard.cli.sessions import costs as command
from runcard.operations.sessions.costs import DIMENSIONS, TIMES, TOOLS, costs
from runcard.transcripts.sources import SOURCES
from transcripts.session_files import (
    OPUS,
    assistant,
    calls,
    claude,
    event,
    meta,
    token_counts,
    turn,
    usage,
    user,
    write,
)

TOOL = "claude-code"
WHEN = datetime(2026, 11, 2, 10, tzinfo=UTC)


@pytest.fixture(autouse=True)
def _user(monkeypatch: pytest.MonkeyPatch, home: Path) -> Iterator[None]:
    monkeypatch.setenv("TZ", "UTC")
    monkeypatch.setenv("HOME", str(home))
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def run(cli: Cli, *arguments: str | Path, code: int = 0) -> dict[str, Any]:
    outcome = cli("costs", *arguments, "--json")
    assert outcome.code == code, outcome.err
    data: dict[str, Any] = json.loads(outcome.out)
    return data


def test_the_shape_of_the_json(cli: Cli, tmp_path: Path) -> None:
    claude(tmp_path, user(), assistant())
    data = run(cli, "--source", TOOL, tmp_path)
    expected = {
        "calls": 1,
        "known_calls": 1,
        "tokens": {"input": 10, "output": 20, "cache_read": 300, "cache_write": 45, "reasoning": None},
        "known_tokens": {"input": 10, "output": 20, "cache_read": 300, "cache_write": 45, "reasoning": 0},
        "cost_usd": 0.0006,
        "known_cost_usd": 0.0006,
        "known_cost_by_token_source": {"reported": 0.0006},
        "at_least": True,
        "token_source": "reported",
    }
    assert data["totals"] == expected
    assert data["groups"] == [{"key": {"day": "2026-11-02"}, **expected}]
    assert (data["unpriced"], data["unread"], data["unknown_types"]) == ([], [], {})
    assert data["price_rows"][0]["usd_per_million"]["cache_write_1h"] == 6


def test_the_cost_is_the_sum_of_the_costs_of_the_calls(tmp_path: Path) -> None:
    """Sizes on both sides of a limit, tiers, searches, two models: added up together, and priced one by one."""
    records = [
        assistant("msg_1"),
        assistant("msg_2", model=OPUS),
        assistant("msg_3", usage(sent=150_000, read=60_000)),
        assistant("msg_4", usage(sent=199_655)),
        assistant("msg_5", usage(sent=199_656)),
        assistant("msg_6", usage(server_tool_use={"web_search_requests": 2})),
        assistant("msg_7", usage(service_tier="batch")),
        assistant("msg_8", time="2025-01-01T00:00:00Z"),
    ]
    claude(tmp_path, *records)
    prices = Prices.packaged()
    report = costs(TOOL, [str(tmp_path)], by=["model"])
    found = calls(TOOL, tmp_path)
    one_by_one = [
        prices.charge(call.usage, when=datetime.fromtimestamp(call.time / 1000, UTC)) for call in found
    ]
    assert len(one_by_one) == 8
    assert report.totals.known_cost == sum(charge.known_cost or Decimal(0) for charge in one_by_one)
    assert report.totals.is_priced == all(charge.cost is not None for charge in one_by_one)
    assert report.totals.known_cost == sum(group.totals.known_cost for group in report.groups)


def test_large_calls_have_their_own_price(tmp_path: Path) -> None:
    write(
        tmp_path / "tmp/p/chats/session-1.jsonl",
        {"sessionId": "g", "projectHash": "h", "startTime": "x"},
        *(
            {
                "id": f"m{n}",
                "type": "gemini",
                "model": "gemini-2.5-pro",
                "timestamp": "2026-11-02T10:00:00Z",
                "tokens": tokens,
            }
            for n, tokens in enumerate(
                {"input": sent, "output": 0, "cached": 0, "thoughts": 0, "tool": 0, "total": sent}
                for sent in (200_000, 200_001)
            )
        ),
    )
    report = costs("gemini", [str(tmp_path)])
    assert report.totals.cost == Decimal("0.25") + Decimal("0.5000025")
    assert [row.tier and row.tier.above_input_tokens for row in report.price_rows] == [None, 200_000]


def test_an_unknown_price_is_not_zero(cli: Cli, tmp_path: Path) -> None:
    claude(tmp_path, assistant("msg_1"), assistant("msg_2", model="claude-unheard-of"))
    data = run(cli, "--source", TOOL, tmp_path, "--by", "model", code=2)
    assert data["unpriced"] == ["claude-unheard-of"]
    assert (data["totals"]["cost_usd"], data["totals"]["known_cost_usd"]) == (None, 0.0006)
    by_model = {group["key"]["model"]: group["cost_usd"] for group in data["groups"]}
    assert by_model == {"claude-sonnet-4-5-20250929": 0.0006, "claude-unheard-of": None}
    outcome = cli("costs", "--source", TOOL, tmp_path, "--by", "model")
    assert "Warning: the price is unknown, or known only in part: claude-unheard-of" in outcome.err
    assert [line.split()[-1] for line in outcome.out.splitlines()[1:3]] == ["$0.0006", "unknown"]


def test_a_price_that_is_missing_names_the_provider_that_the_file_names(cli: Cli, tmp_path: Path) -> None:
    """A provider of one's own in Codex: a price of this name is needed, also for a model that another one sells."""
    for number, provider in enumerate(["corp\x1b[2J", "team", "openai"]):
        first = token_counts(100, 10, 20, 1)
        path = tmp_path / f"sessions/2026/11/02/rollout-2026-11-02T10-00-00-t-{number}.jsonl"
        write(path, meta(f"t-{number}", model_provider=provider), turn("gpt-5"), event(first, first))
    claude(tmp_path / "claude", assistant("msg_2", model="claude-unheard-of"))
    outcome = cli("costs", "--source", "codex", tmp_path)
    assert outcome.code == 2
    (warning,) = [line for line in outcome.err.splitlines() if line.startswith("Warning: the price")]
    assert warning == "Warning: the price is unknown, or known only in part: gpt-5 of corp\\x1b[2J and team"
    assert run(cli, "--source", "codex", tmp_path, code=2)["unpriced"] == ["gpt-5"]
    outcome = cli("costs", "--source", TOOL, tmp_path / "claude")
    assert "known only in part: claude-unheard-of\n" in outcome.err


def test_prices_of_the_user_count_first(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = {
        "source": "us",
        "as_of": "2026-11-01",
        "providers": {
            "anthropic": {
                "models": [
                    {
                        "model": "m",
                        "match": {"contains": "sonnet"},
                        "usd_per_million": {
                            "input": 1,
                            "output": 1,
                            "cache_read": 1,
                            "cache_write_5m": 1,
                            "cache_write_1h": 1,
                        },
                    }
                ]
            }
        },
    }
    monkeypatch.setenv("RUNCARD_PRICES", str(write(tmp_path / "prices.json", own)))
    claude(tmp_path, assistant())
    assert run(cli, "--source", TOOL, tmp_path)["totals"]["cost_usd"] == 0.000375


def test_a_partial_call_weakens_the_total(cli: Cli, tmp_path: Path) -> None:
    claude(tmp_path, assistant("msg_1"), assistant("msg_2", usage(output=1), stop=None))
    data = run(cli, "--source", TOOL, tmp_path)
    assert (data["totals"]["token_source"], data["totals"]["cost_usd"]) == ("partial", None)
    assert data["totals"]["known_cost_usd"] > 0.0006
    assert data["token_sources"] == {"reported": 1, "partial": 1}
    assert data["unpriced"] == []
    assert "1 cut off" in cli("costs", "--source", TOOL, tmp_path).out


def test_a_count_that_is_unknown_in_a_call_is_unknown_in_the_total(cli: Cli, tmp_path: Path) -> None:
    bare = {"input_tokens": 5, "output_tokens": 6}
    claude(tmp_path, assistant("msg_1"), assistant("msg_2", bare))
    totals = run(cli, "--source", TOOL, tmp_path)["totals"]
    assert totals["tokens"] == {
        "input": 15,
        "output": 26,
        "cache_read": None,
        "cache_write": None,
        "reasoning": None,
    }
    assert totals["known_tokens"]["cache_read"] == 300
    assert "≥ 300" in cli("costs", "--source", TOOL, tmp_path).out


@pytest.mark.parametrize(
    ("by", "keys"),
    [
        ("day", ["2026-11-01", "2026-11-02", None]),
        ("week", ["2026-10-26", "2026-11-02", None]),
        ("month", ["2026-11", None]),
        ("tool", ["claude-code"]),
        ("session", ["s-1"]),
        ("branch", ["main"]),
        ("project", ["/home/u/shop"]),
        ("agent", ["Explore", "main", None]),
    ],
)
def test_groups(cli: Cli, tmp_path: Path, by: str, keys: list[str | None]) -> None:
    claude(
        tmp_path,
        assistant("msg_1", time="2026-11-01T23:59:59.999Z"),
        assistant("msg_2", usage(sent=10_000), agentId="a", attributionAgent="Explore"),
        assistant("msg_3", time=None, isSidechain=True),
        assistant("msg_4", time="2026-11-02T00:00:00"),  # without a zone: no time
    )
    data = run(cli, "--source", TOOL, tmp_path, "--by", by)
    found = [group["key"][by] for group in data["groups"]]
    assert found == keys
    assert sum(group["calls"] for group in data["groups"]) == 4
    rows = cli("costs", "--source", TOOL, tmp_path, "--by", by).out
    assert ("unattributed" in rows) == (None in keys)


def test_days_are_those_of_the_local_time_zone(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    claude(tmp_path, assistant(time="2026-11-02T20:00:00Z"))
    monkeypatch.setenv("TZ", "Asia/Kathmandu")
    time.tzset()
    assert run(cli, "--source", TOOL, tmp_path)["groups"][0]["key"] == {"day": "2026-11-03"}


def test_since_leaves_out_what_is_older_and_names_what_has_no_time(cli: Cli, tmp_path: Path) -> None:
    claude(
        tmp_path,
        *(
            assistant(f"msg_{n}", time=when)
            for n, when in enumerate(["2026-11-01T23:59:59Z", "2026-11-02T00:00:00Z", None])
        ),
    )
    assert run(cli, "--source", TOOL, tmp_path, "--since", "2026-11-02", code=2)["totals"]["calls"] == 1
    assert (
        run(cli, "--source", TOOL, tmp_path, "--since", "2026-11-01T23:59:59+00:00", code=2)["totals"][
            "calls"
        ]
        == 2
    )
    outcome = cli("costs", "--source", TOOL, tmp_path, "--since", "1d")
    assert "Warning: 1 call without a time left out, because of --since" in outcome.err
    assert run(cli, "--source", TOOL, tmp_path)["calls_without_time"] == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--source", "clippy"], "'clippy' is not one of"),
        (["somewhere"], "PATH needs --source"),
        (["--with-records"], "--with-records needs --source"),
        (["--by", "mood"], "'mood' is not one of day, week"),
        (["--by", "label."], "'label.' is not one of"),
        (["--by", "temperature"], "for a configuration value: config.temperature"),
        (["--budget", "much"], "'much' is not an amount in dollars"),
        (["--budget", "-1"], "'-1' is not an amount in dollars"),
        (["--source", TOOL, "--by", "day,mood"], "'mood' is not one of day, week"),
        (["--source", TOOL, "--since", "yesterday"], "'yesterday' is neither an age nor a day"),
        (["--source", TOOL, "--csv", "--json"], "--csv contradicts --json"),
    ],
)
def test_wrong_usage(cli: Cli, options: list[str], message: str) -> None:
    outcome = cli("costs", *options)
    assert (outcome.code, outcome.out) == (64, "")
    assert message in outcome.err


@pytest.mark.parametrize("tool", [*TOOLS, "all"])
def test_where_nothing_is_it_says_where_it_looked(cli: Cli, home: Path, tool: str) -> None:
    outcome = cli("costs", "--source", tool)
    assert (outcome.code, outcome.out) == (1, "")
    assert outcome.err.startswith("Error: no sessions of ")
    assert f"looked in {home}/." in outcome.err
    assert cli("costs", "--source", tool, home).code == 1
    assert cli("costs", "--source", tool, home / "missing").code == 1


def test_the_folders_of_the_tools_are_read(cli: Cli, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    claude(home / ".claude", assistant())
    write(
        home / ".codex/sessions/2026/11/02/rollout-2026-11-02T10-00-00-t.jsonl",
        meta(),
        turn(),
        event(token_counts(9, 1), token_counts(9, 1)),
    )
    data = run(cli, "--source", "all", "--by", "model")
    assert {group["key"]["model"] for group in data["groups"]} == {"claude-sonnet-4-5-20250929", "gpt-5"}
    assert set(data["never_in_transcripts"]) == {"claude-code", "codex"}
    claude(home / "moved", assistant("msg_1"), assistant("msg_2"))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(home / "moved"))
    assert run(cli, "--source", TOOL)["totals"]["calls"] == 2


def test_the_tool_of_a_file_is_found_by_its_first_record(cli: Cli, tmp_path: Path) -> None:
    one = write(tmp_path / "x.jsonl", assistant())
    other = write(tmp_path / "y.jsonl", meta(), turn(), event(token_counts(9, 1), token_counts(9, 1)))
    assert run(cli, "--source", "all", one, other)["totals"]["calls"] == 2
    assert run(cli, "--source", "all", tmp_path)["totals"]["calls"] == 2
    outcome = cli("costs", "--source", "all", write(tmp_path / "z.jsonl", {"a": 1}))
    assert outcome.code == 1
    assert "is no session file of a known tool" in outcome.err
    data = run(cli, "--source", "all", tmp_path, code=2)
    assert data["totals"]["calls"] == 2
    assert [part["reason"] for part in data["unread"]] == ["its first record is of no known tool"]


def test_what_could_not_be_read_is_named(cli: Cli, tmp_path: Path) -> None:
    path = claude(tmp_path, assistant(), b"{bad", {"type": "dream"}, *([b"x"] * 150))
    data = run(cli, "--source", TOOL, tmp_path, code=2)
    assert data["unread"][0]["path"] == str(path)
    assert data["unread"][0]["line"] == 2
    assert (len(data["unread"]), data["unread"][-1]["reason"]) == (101, "51 more lines")
    assert data["unknown_types"] == {"dream": 1}
    outcome = cli("costs", "--source", TOOL, tmp_path)
    assert outcome.code == 2
    assert f"{path}:2: the line is cut off" in outcome.err
    assert "unknown types of records, whose calls are not counted: dream (1)" in outcome.err


def test_csv_is_safe_in_a_spreadsheet(cli: Cli, tmp_path: Path) -> None:
    claude(
        tmp_path, assistant("msg_1", gitBranch="=cmd|'/c calc'!A1"), assistant("msg_2", gitBranch='a,"b\n')
    )
    outcome = cli("costs", "--source", TOOL, tmp_path, "--by", "branch", "--csv")
    rows = list(csv.DictReader(io.StringIO(outcome.out)))
    assert sorted(row["branch"] for row in rows) == ["'=cmd|'/c calc'!A1", 'a,"b\\n']
    assert {(row["calls"], row["input"], row["cost_usd"], row["reasoning"]) for row in rows} == {
        ("1", "10", "0.0006", "")
    }


def test_names_of_a_file_do_not_reach_the_terminal_raw(cli: Cli, tmp_path: Path) -> None:
    claude(tmp_path, assistant(gitBranch="\x1b[2J\u202e", model="\x1b]0;x\x07"), {"type": "\x1b[31m"})
    outcome = cli("costs", "--source", TOOL, tmp_path, "--by", "branch,model")
    assert "\x1b" not in outcome.out + outcome.err
    assert "\u202e" not in outcome.out + outcome.err


def test_the_table_fits_a_terminal_and_is_whole_elsewhere(cli: Cli, tmp_path: Path) -> None:
    cwd = "/home/u/" + "long/" * 30 + "end"
    claude(tmp_path, assistant(counts=usage(sent=123_456_789), cwd=cwd))
    whole = cli("costs", "--source", TOOL, tmp_path, "--by", "project,session").out
    assert cwd in whole
    assert "123,456,789" in whole
    _, shown = runcard_on_terminal("costs", "--source", TOOL, str(tmp_path), "--by", "project,session", "-q")
    lines = shown.splitlines()
    assert max(map(len, lines)) <= 80
    assert "123.4M" in lines[1]
    assert "/end" in lines[1]


def test_the_notes_fit_a_terminal_too(tmp_path: Path) -> None:
    claude(tmp_path, assistant())
    _, shown = runcard_on_terminal("costs", "--source", TOOL, str(tmp_path))
    assert max(map(len, shown.splitlines())) <= 80
    assert "≥ because Claude Code does not write:" in shown


def test_without_a_call_there_is_no_table_and_no_cost(cli: Cli, tmp_path: Path) -> None:
    claude(tmp_path, assistant(time="2026-11-02T00:00:00Z"))
    outcome = cli("costs", "--source", TOOL, tmp_path, "--since", "2026-11-03")
    assert (outcome.code, outcome.out) == (0, "no calls since 2026-11-03 00:00 in 1 file\n")


def test_files_of_another_tool_get_a_hint(cli: Cli, tmp_path: Path) -> None:
    claude(tmp_path, {"type": "session_meta"})
    outcome = cli("costs", "--source", TOOL, tmp_path)
    assert (outcome.code, outcome.out) == (2, "no calls in 1 file\n")
    assert "hint: if these are files of another tool, pass --source" in outcome.err


def test_the_command_knows_the_tools_and_dimensions_of_the_operation() -> None:
    assert (*TOOLS, "all") == command._TOOLS
    assert DIMENSIONS == command._OF_FILES
    assert (*TIMES, *usage_sums.DIMENSIONS) == command._OF_RECORDS
    assert columns.FACTS == command._FACTS


def test_costs_load_nothing_that_only_imports_need() -> None:
    """What agents said and did is not read; only names are masked, at the end."""
    program = (
        "import sys\n"
        "from runcard.operations.sessions.costs import costs\n"
        "from runcard.settings.apply import configured_prices\n"
        "print(*sorted(sys.modules))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = {name.removeprefix("runcard.") for name in done.stdout.split()}
    readers = {"claude_code.activity_reader", "codex.activity", "gemini.activity"}
    assert loaded & {"masking", "msgspec", *(f"transcripts.{name}" for name in readers)} == set()


def test_the_documentation_lists_the_kinds_of_calls_that_no_file_has() -> None:
    page = (Path(__file__).parents[2] / "docs" / "costs.md").read_text("utf-8")
    _, _, table = page.partition("| tool | kind of calls that are in no session file |")
    rows = [line.split("|")[1:3] for line in table.partition("\n\n")[0].splitlines()[2:]]
    listed = {(tool.strip(), kind.strip()) for tool, kind in rows}
    kinds = {(SOURCES[tool].TITLE, kind) for tool in TOOLS for kind in SOURCES[tool].NOT_WRITTEN}
    of_all = {kind for tool, kind in listed if tool == "all"}
    assert of_all == set.intersection(*(set(SOURCES[tool].NOT_WRITTEN) for tool in TOOLS))
    assert {pair for pair in listed if pair[0] != "all"} == {pair for pair in kinds if pair[1] not in of_all}


def test_secrets_in_names_are_masked(cli: Cli, tmp_path: Path) -> None:
    secret = "ghp_" + "0123456789abcdefABCDEF0123456789abcd"  # no real one
    record = assistant(model=f"m-{secret}", gitBranch=secret, cwd=f"/home/{secret}", agentId=secret)
    claude(tmp_path, record, {"type": secret})
    for form in ([], ["--json"], ["--csv"]):
        names = "session,agent,branch,project,model"
        outcome = cli("costs", "--source", "claude-code", "--by", names, *form, tmp_path)
        assert outcome.code == 2
        assert secret not in outcome.out + outcome.err
