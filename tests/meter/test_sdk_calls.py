"""Programs with the vendors' libraries, as they are, under `runcard run`: the record equals what the upstream sent.

Most have no line of runcard in them; others also watch their client, or pass replies on to `add_usage`: a call is counted
once all the same. Each row is a program of its own in the long tests. The others run all rows of a vendor in one program.
"""

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from measured_processes import VARIABLE
from meter.agents import KEY, agent_environment
from meter.records import MeteredRun, assert_equals, run_metered
from meter.scripted_upstream import ScriptedUpstream, Step, scripted_upstream

PROGRAM = Path(__file__).with_name("sdk_program.py")


@dataclass(frozen=True)
class Scenario:
    """One program, and what the upstream answers."""

    way: str
    options: tuple[str, ...] = ()
    steps: tuple[Step, ...] = ()
    calls: int = 1  # that the upstream gets

    @property
    def vendor(self) -> str:
        return self.way.partition("_")[0]

    @property
    def all_steps(self) -> list[Step]:
        """One step for each call, so that none takes that of the next scenario."""
        left = self.calls - sum(step.times for step in self.steps)
        return [Step(**vars(step)) for step in self.steps] + [Step() for _ in range(left)]

    @property
    def name(self) -> str:
        step = self.steps[0] if self.steps else Step()
        parts = [step.coding, step.fault, str(step.status) if step.status != 200 else None]
        return " ".join(filter(None, [self.way, *self.options, *parts]))


WEATHER = ("weather", {"city": "Paris"})
RETRY = {"retry-after": "0", "retry-after-ms": "1"}


def steps(*, times: int = 1, **answer: object) -> tuple[Step, ...]:
    return (Step(times=times, **answer),)  # type: ignore[arg-type]


PLAIN = [
    Scenario("anthropic_create"),
    Scenario("anthropic_three", calls=3),
    Scenario("anthropic_stream"),
    Scenario("anthropic_stream_helper"),
    Scenario("anthropic_raw"),
    Scenario("anthropic_raw_stream"),
    Scenario("anthropic_tools", steps=steps(tool=WEATHER), calls=2),
    Scenario("anthropic_async", calls=8),
    Scenario("anthropic_async_stream", calls=4),
    Scenario("anthropic_threads", calls=64),
    Scenario("openai_response"),
    Scenario("openai_response_stream"),
    Scenario("openai_response_helper"),
    Scenario("openai_response_raw"),
    Scenario("openai_response_async", calls=4),
    Scenario("openai_response_async_stream"),
    Scenario("openai_chat"),
    Scenario("openai_chat_stream"),
    Scenario("openai_chat_stream_without_usage"),
    Scenario("openai_chat_async", calls=4),
    Scenario("openai_chat_tools", steps=steps(tool=WEATHER), calls=2),
    Scenario("openai_embeddings"),
    Scenario("openai_mixed", calls=3),
    Scenario("gemini_generate"),
    Scenario("gemini_stream"),
    Scenario("gemini_async", calls=4),
    Scenario("gemini_async_stream"),
    Scenario("gemini_chat", calls=2),
    Scenario("gemini_tools", steps=steps(tool=WEATHER), calls=2),
]
CODINGS = [
    Scenario("openai_chat", steps=steps(coding="br")),
    Scenario("anthropic_stream", steps=steps(coding="gzip")),
    Scenario("openai_response_stream", steps=steps(coding="br")),
    Scenario("gemini_stream", steps=steps(coding="deflate")),
]
TROUBLE = [
    Scenario("anthropic_create", steps=steps(status=429, headers=RETRY), calls=2),
    Scenario("anthropic_stream", steps=steps(status=529, headers=RETRY, times=2), calls=3),
    Scenario("openai_response", steps=steps(status=500, headers=RETRY), calls=2),
    Scenario("anthropic_create", ("expect-error",), steps(status=401)),
    Scenario("openai_chat", ("expect-error",), steps(status=401)),
    Scenario("gemini_generate", ("expect-error",), steps(status=401)),
    Scenario("openai_response", steps=steps(fault="reset"), calls=2),
    Scenario("anthropic_stream", ("expect-error",), steps(fault="cut")),
    Scenario("gemini_stream", ("expect-error",), steps(fault="cut")),
    Scenario("openai_response_stream", ("expect-error",), steps(fault="cut")),
    Scenario("anthropic_left_stream", steps=steps(fault="stall")),
]
REPORTED_TWICE = [
    Scenario("anthropic_create", ("watch",)),
    Scenario("anthropic_stream", ("watch",)),
    Scenario("openai_response_async", ("watch",), calls=4),
    Scenario("openai_chat_tools", ("watch",), steps(tool=WEATHER), calls=2),
    Scenario("openai_chat", ("watch",), steps(status=429, headers=RETRY), calls=2),
    Scenario("openai_response", ("watch", "add-reply")),
    Scenario("openai_chat_stream", ("watch",)),
    Scenario("openai_embeddings", ("watch",)),
    Scenario("gemini_stream", ("watch",)),
    Scenario("anthropic_three", ("add-reply",), calls=3),
    Scenario("anthropic_three", ("add-usage",), calls=3),
    Scenario("openai_mixed", ("add-reply",), calls=3),
    Scenario("openai_chat", ("add-usage",)),
    Scenario("gemini_chat", ("add-reply",), calls=2),
    Scenario("gemini_generate", ("add-usage",)),
    Scenario("openai_chat", ("watch", "add-usage")),
]
SCENARIOS = [*PLAIN, *CODINGS, *TROUBLE, *REPORTED_TWICE]
GROUPS = {"plain": PLAIN + CODINGS, "trouble": TROUBLE, "reported twice": REPORTED_TWICE}


@pytest.fixture(scope="module")
def one_upstream() -> Iterator[ScriptedUpstream]:
    with scripted_upstream() as server:
        yield server


@pytest.fixture
def upstream(one_upstream: ScriptedUpstream) -> ScriptedUpstream:
    one_upstream.clear()
    return one_upstream


def sdk_environment(folder: Path, url: str) -> dict[str, str]:
    """The environment of a user with a URL of their own for each vendor."""
    return agent_environment(folder) | {
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_KEY": KEY,
        "OPENAI_BASE_URL": f"{url}/v1",
        "OPENAI_API_KEY": KEY,
        "GOOGLE_GEMINI_BASE_URL": url,
        "GEMINI_API_KEY": KEY,
    }


def sdk_command(*arguments: str) -> list[str]:
    """The program, not measured for coverage: the libraries are large."""
    return ["env", "-u", VARIABLE, sys.executable, str(PROGRAM), *arguments]


def run_program(folder: Path, url: str, *arguments: str, **variables: str) -> MeteredRun:
    return run_metered(sdk_command(*arguments), sdk_environment(folder, url) | variables, folder / "work")


@pytest.mark.parametrize("vendor", ["anthropic", "openai", "gemini"])
@pytest.mark.parametrize("group", GROUPS)
def test_the_record_of_one_program_equals_what_the_upstream_sent(
    group: str, vendor: str, upstream: ScriptedUpstream, tmp_path: Path
) -> None:
    scenarios = [scenario for scenario in GROUPS[group] if scenario.vendor == vendor]
    upstream.plan(*(step for scenario in scenarios for step in scenario.all_steps))
    run = run_program(
        tmp_path, upstream.url, "several", *(":".join((each.way, *each.options)) for each in scenarios)
    )
    assert run.code == 0, run.err
    assert len(upstream.calls) == sum(scenario.calls for scenario in scenarios)
    assert upstream.end_plan() == []
    assert_equals(run, upstream)


@pytest.mark.long
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_the_record_equals_what_the_upstream_sent(
    scenario: Scenario, upstream: ScriptedUpstream, tmp_path: Path
) -> None:
    upstream.plan(*(Step(**vars(step)) for step in scenario.steps))
    run = run_program(tmp_path, upstream.url, scenario.way, *scenario.options)
    assert run.code == 0, run.err
    assert len(upstream.calls) == scenario.calls
    assert_equals(run, upstream)


def test_there_are_at_least_40_scenarios() -> None:
    assert len({scenario.name for scenario in SCENARIOS}) == len(SCENARIOS) >= 40
