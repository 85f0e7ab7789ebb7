"""Each call counts once, whoever recorded it: real processes, compared with what the upstream sent."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from meter.agents import KEY, agent_environment
from meter.scripted_upstream import ScriptedUpstream, scripted_upstream

PROGRAM = Path(__file__).with_name("nested_program.py")
SESSIONS = ("11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222")
Plan = list[Any]
TEST = """import anthropic

def test_the_model():
    for _ in range(2):
        anthropic.Anthropic().messages.create(model="claude-sonnet-4-5", max_tokens=9, messages=[{"role": "user", "content": "x"}])
"""


@pytest.fixture
def upstream() -> Iterator[ScriptedUpstream]:
    with scripted_upstream() as server:
        yield server


def follow(plan: Plan) -> list[str]:
    return [sys.executable, str(PROGRAM), json.dumps(plan)]


def spent(folder: Path, upstream: ScriptedUpstream, command: list[str]) -> dict[str, Any]:
    """What `runcard costs` says after a command under `runcard run`."""
    env = agent_environment(folder) | {"ANTHROPIC_BASE_URL": upstream.url, "ANTHROPIC_API_KEY": KEY}
    env |= {"RUNCARD_ARTIFACTS_DIR": str(folder / "sessions")}
    run = [sys.executable, "-m", "runcard"]
    done = subprocess.run(
        [*run, "run", "--quiet", "--", *command],
        env=env,
        cwd=folder / "work",
        capture_output=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr.decode()
    found = {}
    for by in ("model", "day"):
        costs = subprocess.run(
            [*run, "costs", "--by", by, "--json"],
            env=env,
            cwd=folder / "work",
            capture_output=True,
            check=False,
        )
        assert costs.returncode == 0, costs.stderr.decode()
        found[by] = json.loads(costs.stdout)
    assert found["model"]["totals"] == found["day"]["totals"]
    totals: dict[str, Any] = found["model"]["totals"]
    return totals


def assert_is_what_was_sent(totals: dict[str, Any], upstream: ScriptedUpstream) -> None:
    sent = [call.tokens for call in upstream.calls]
    assert totals["calls"] == len(sent)
    assert totals["tokens"]["output"] == sum(tokens["output"] for tokens in sent)
    for name, classes in (
        ("cache_read", ["cache_read"]),
        ("cache_write", ["cache_write_5m", "cache_write_1h"]),
    ):
        assert totals["tokens"][name] == sum(tokens.get(one, 0) for tokens in sent for one in classes)
    assert totals["cost_usd"] is not None


@pytest.mark.parametrize("step", ["reply", pytest.param("usage", marks=pytest.mark.long)])
def test_a_run_in_a_run(step: str, upstream: ScriptedUpstream, tmp_path: Path) -> None:
    """The relay of the outer run sees the call, and the inner run gets the reply, or only its usage."""
    totals = spent(tmp_path, upstream, follow([step]))
    assert_is_what_was_sent(totals, upstream)
    assert not totals["at_least"]


@pytest.mark.long
def test_an_import_in_the_middle_of_a_run(upstream: ScriptedUpstream, tmp_path: Path) -> None:
    """As a hook does it: what the run calls afterwards counts as well."""
    plan = [f"agent {SESSIONS[0]}", "import", *["call"] * 5, f"agent {SESSIONS[0]}", ["call", "reply"]]
    assert_is_what_was_sent(spent(tmp_path, upstream, follow(plan)), upstream)
    assert len(upstream.calls) == 9


@pytest.mark.long
def test_tests_that_report_their_calls(upstream: ScriptedUpstream, tmp_path: Path) -> None:
    """`runcard run -- pytest --runcard`: the relay and the plugin have the same calls."""
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "test_model.py").write_text(TEST)
    words = [sys.executable, "-m", "pytest", "-q", "--runcard", "-p", "no:cacheprovider", "test_model.py"]
    assert_is_what_was_sent(spent(tmp_path, upstream, words), upstream)
    assert len(upstream.calls) == 2


def random_plan(random: Random, depth: int = 0) -> Plan:
    steps: Plan = []
    for _ in range(random.randint(1, 3)):
        kinds = ["call", "reply", "usage", f"agent {random.choice(SESSIONS)}", "import"]
        steps.append(
            random_plan(random, depth + 1) if depth < 2 and random.random() < 0.35 else random.choice(kinds)
        )
    return steps


@pytest.mark.long
@pytest.mark.parametrize("seed", range(50))
def test_random_histories(seed: int, upstream: ScriptedUpstream, tmp_path: Path) -> None:
    plan = random_plan(Random(seed))  # noqa: S311
    totals = spent(tmp_path, upstream, follow(plan))
    if not upstream.calls:
        assert not totals["calls"]
        return
    assert_is_what_was_sent(totals, upstream)
