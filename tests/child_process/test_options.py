"""The command line of `runcard run` is read twice: plainly, and by click when it is not plain. Both read the same."""

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runcard.cli.runs.run import command
from runcard.cli.runs.run_arguments import OPTIONS, parse

WORDS = [*(option.flag for option in OPTIONS), "--set=a=1", "--quiet=1", "--no-such", "-x", "-h", "--help"]
WORDS += ["--", "-", "", "=", "true", "a=b", "--config=", "--model=m"]


def by_click(arguments: list[str]) -> dict[str, object] | None:
    try:
        return command.make_context("run", list(arguments), help_option_names=["-h", "--help"]).params
    except (click.UsageError, click.exceptions.Exit):
        return None


@given(st.lists(st.sampled_from(WORDS), max_size=8))
def test_both_readings_agree(arguments: list[str]) -> None:
    assert parse(arguments) == by_click(arguments)


@pytest.mark.parametrize(
    ("arguments", "read"),
    [
        (["--", "a", "--", "b"], ("a", "--", "b")),
        (["a", "--quiet"], ("a", "--quiet")),
        (["-", "x"], ("-", "x")),
        (["--quiet", "--", "--help"], ("--help",)),
    ],
)
def test_what_is_behind_the_first_word_is_the_commands(arguments: list[str], read: tuple[str, ...]) -> None:
    parsed = parse(arguments)
    assert parsed is not None
    assert parsed["command_line"] == read


def test_options_are_read_in_both_forms_and_the_last_one_wins() -> None:
    parsed = parse(["--set", "a=1", "--set=b=2", "--model", "x", "--model=y", "--quiet", "true"])
    assert parsed is not None
    assert (parsed["assignments"], parsed["model"], parsed["quiet"]) == (("a=1", "b=2"), "y", True)
