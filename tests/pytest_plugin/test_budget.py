"""The marker `llm_budget`: a test fails if its calls cost more, or if it cannot be proven that they do not."""

from typing import Any

import pytest

from observe.clients import replies
from observe.clients.server import Answer, ModelServer
from pytest_plugin.conftest import Project, answers
from runcard.errors import UsageError
from runcard.pytest_plugin.budget import CallBudget, budget_of, violation
from runcard.pytest_plugin.figures import figures_of

ONE = "import pytest\n@pytest.mark.llm_budget({})\ndef test_it(ask): ask()"


@pytest.mark.parametrize(
    "budget", ["usd=0.0045", "usd=1, tokens=1100", "tokens=1100", "usd=None, tokens=1100"]
)
def test_a_test_within_its_budget_passes(project: Project, budget: str) -> None:
    project.run(ONE.format(budget)).assert_outcomes(passed=1)


@pytest.mark.parametrize(
    ("budget", "message"),
    [
        ("usd=0.0044", "the model calls cost $0.0045, the budget is $0.0044 (1 call)"),
        ("usd=0", "the model calls cost $0.0045, the budget is $0.00 (1 call)"),
        ("tokens=1099", "the model calls used 1,100 tokens, the budget is 1,099 (1 call)"),
        (
            "usd=0.001, tokens=1",
            "the model calls cost $0.0045, the budget is $0.001; the model calls used 1,100 tokens, the budget is 1 (1 call)",
        ),
    ],
)
def test_a_test_over_its_budget_fails_and_says_why(project: Project, budget: str, message: str) -> None:
    result = project.run(ONE.format(budget))
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([f"llm_budget: {message}"])
    assert project.records[0]["generation"]["status"] == "failed"
    assert project.tests["test_it"]["outcome"] == "failed"


UNPROVEN = "llm_budget: the cost of the model calls cannot be proven to be within the budget"


def test_an_unknown_cost_is_not_within_any_budget(project: Project, server: ModelServer) -> None:
    server.says(*answers(1, model="strange"))
    result = project.run(ONE.format("usd=100"))
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            f"{UNPROVEN}: unknown, the budget is $100.00; the price of strange is not known completely: *(1 call)"
        ]
    )


def test_a_cost_known_in_part_is_over_a_budget_that_the_part_exceeds(
    project: Project, server: ModelServer
) -> None:
    server.says(*answers(1, model="strange"), *answers(1))
    source = "import pytest\n@pytest.mark.llm_budget(usd={})\ndef test_it(ask): ask(); ask()"
    result = project.run(source.format(0.001))
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(
        ["llm_budget: the model calls cost ≥ $0.0045, the budget is $0.001 (2 calls)"]
    )
    server.says(*answers(1, model="strange"), *answers(1))
    result = project.run(source.format(1))
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines([f"{UNPROVEN}: ≥ $0.0045, the budget is $1.00; the price of strange *"])


def test_a_reply_that_was_not_read_to_its_end_is_noticed_after_the_test(
    project: Project, server: ModelServer
) -> None:
    server.says(Answer(events=replies.message_events()))
    source = """
import pytest
@pytest.mark.llm_budget(usd=100, tokens=100000)
def test_it(ask, claude):
    claude.stream = ask(stream=True)
    next(claude.stream)
"""
    result = project.run(source)
    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(
        [f"{UNPROVEN}: *; a reply was cut off, or was not read to its end; the tokens*"]
    )
    figures = project.tests["test_it"]
    assert (figures["cost_usd"], figures["at_least"], figures["outcome"]) == (None, True, "failed")
    assert project.records[0]["generation"]["labels"]["outcome"] == "failed"
    result.stdout.fnmatch_lines(
        ["≥ *≥ *≥ *1  test_it.py::test_it (failed, 1 in teardown)", "incomplete: a reply was cut off*"]
    )


def test_calls_that_are_not_recorded_are_not_within_a_budget(project: Project, server: ModelServer) -> None:
    server.says({"created": 1, "data": []})
    source = """
import os, openai, pytest
@pytest.mark.llm_budget(usd=100)
def test_it():
    with openai.OpenAI(api_key="k", base_url=os.environ["MODEL_URL"]) as client:
        client.images.generate(prompt="a fox")
"""
    result = project.run(source)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [f"{UNPROVEN}: unknown, the budget is $100.00; calls of images/generations are*"]
    )
    result.stdout.fnmatch_lines(
        ["unknown *test_it.py::test_it (failed)", "total: unknown, 0 calls in 1 test"]
    )
    assert len(project.records) == 1


def test_calls_of_fixtures_count(project: Project) -> None:
    source = """
import pytest
@pytest.fixture
def before(ask): ask(); yield
@pytest.fixture
def after(ask): yield; ask()
@pytest.mark.llm_budget(usd=0.0045)
class TestBoth:
    def test_before(self, before, ask): ask()
    def test_after(self, after, ask): ask()
    @pytest.mark.llm_budget(usd=0.009)
    def test_more(self, before, ask): ask()
"""
    result = project.run(source)
    result.assert_outcomes(failed=1, passed=2, errors=1)
    result.stdout.fnmatch_lines(
        [
            "llm_budget: the model calls cost $0.009, the budget is $0.0045 (2 calls, 1 in teardown)",
            "llm_budget: the model calls cost $0.009, the budget is $0.0045 (2 calls, 1 in setup)",
        ]
    )


def test_the_failure_of_the_test_comes_first(project: Project) -> None:
    result = project.run(
        "import pytest\n@pytest.mark.llm_budget(usd=0)\ndef test_it(ask): ask(); assert 0, 'mine'"
    )
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["E *mine*"])
    result.stdout.no_fnmatch_line("*llm_budget:*")


@pytest.mark.parametrize(
    "budget",
    ["", "5", "dollars=5", "usd=None", "usd='5'", "usd=-1", "usd=float('nan')", "usd=True", "tokens=1.5"],
)
def test_a_wrong_marker_is_an_error(budget: str, pytester: pytest.Pytester) -> None:
    item = pytester.getitem(ONE.format(budget), "test_it")
    with pytest.raises(UsageError, match="llm_budget"):
        budget_of(item)


def test_a_wrong_marker_fails_the_test_before_it_starts(project: Project, server: ModelServer) -> None:
    result = project.run(ONE.format("dollars=5"))
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["llm_budget has an unknown argument, dollars", "hint: write @pytest.mark.llm_budget(usd=0.05)*"]
    )
    result.stdout.no_fnmatch_line("*another exception occurred*")
    assert server.asked == []


def _call(**changes: Any) -> dict[str, Any]:
    payload = {
        "model": "m",
        "tokens": {"input": 10, "output": 5},
        "token_source": "reported",
        "cost_usd": 0.1,
        "cost_source": "priced",
        "price_row": None,
        **changes,
    }
    return {"event": "model.called", "timestamp": "2026-11-15T10:15:00Z", "payload": payload}


@pytest.mark.parametrize(
    ("call", "limits", "message"),
    [
        (
            {"token_source": "estimated"},
            (1, None),
            "*cannot be proven*: about $0.10*; the tokens are estimated*",
        ),
        ({"token_source": "estimated"}, (0.05, None), "*cost about $0.10, the budget is $0.05*"),
        ({"token_source": "estimated"}, (None, 100), "*cannot be proven*: ≥ 15, the budget is 100*"),
        (
            {"tokens": {}, "token_source": None, "cost_usd": None},
            (None, 9),
            "*: unknown*; a reply had no token counts*",
        ),
        ({"tokens": {"input": 10}, "cost_usd": None}, (None, 9), "*used ≥ 10 tokens, the budget is 9*"),
        ({"token_source": "given"}, (0.1, 15), None),
    ],
)
def test_only_what_is_certain_is_within_a_budget(
    call: dict[str, Any], limits: tuple[float | None, int | None], message: str | None
) -> None:
    from decimal import Decimal  # noqa: PLC0415
    from fnmatch import fnmatch  # noqa: PLC0415

    usd, tokens = limits
    budget = CallBudget(None if usd is None else Decimal(str(usd)), tokens)
    answer = violation(budget, figures_of([_call(**call)]))
    assert answer == message if message is None else answer and fnmatch(answer, message)


def test_a_cut_reply_counts_as_such_beside_counts_that_were_given() -> None:
    """The source of a total is its weakest one: `given`, which does not say that a part is missing."""
    figures = figures_of([_call(token_source="partial"), _call(token_source="given")])  # noqa: S106
    assert (figures["token_source"], figures["cost_usd"], figures["known_cost_usd"]) == ("given", None, 0.2)
    assert figures["at_least"]
