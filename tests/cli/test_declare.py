"""A command line is read without click where it is right and simple. What is read so, click reads the same."""

from importlib import import_module

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.commands import EVERY_COMMAND
from runcard.cli.command_groups import COMMANDS, module_of
from runcard.cli.declare import DeclaredCommand
from runcard.cli.verbosity import is_quiet, is_verbose, reset_verbosity
from runcard.errors import UsageError

DECLARED: dict[str, DeclaredCommand] = {
    name: command
    for name in COMMANDS
    if isinstance(command := import_module(module_of(name)).command, DeclaredCommand)
}
OPTIONS = sorted(
    {
        name
        for command in DECLARED.values()
        for parameter in command.parameters
        for name in parameter.names
        if name.startswith("-")
    }
)
WORDS = [
    *OPTIONS,
    "-q",
    "-v",
    "--quiet",
    "--verbose",
    "-qv",
    "-ox",
    "-o=x",
    "--no-such",
    "-x",
    "-h",
    "--help",
]
WORDS += ["--", "-", "", "=", "a", "b c", "a=b", "@latest", "--output=", "--output=a", "--json=1", "--pin=-"]
WORDS += ["--to=a", "--older-than=3d", "3d", "--kind=team", "team", "--root=x=y", "--dry", "é", "\udc80"]


def by_click(name: str, words: list[str]) -> dict[str, object] | None:
    reset_verbosity()
    try:
        values = EVERY_COMMAND[name].make_context(name, [*words], help_option_names=["-h", "--help"]).params
    except (click.UsageError, click.exceptions.Exit, UsageError):
        return None
    return {**values, "quiet": is_quiet(), "verbose": is_verbose()}


@given(st.sampled_from(sorted(DECLARED)), st.lists(st.sampled_from(WORDS), max_size=6))
def test_what_is_read_without_click_is_what_click_reads(name: str, words: list[str]) -> None:
    parsed = DECLARED[name].parse(words)
    assert parsed is None or parsed == by_click(name, words)


@pytest.mark.parametrize("name", ["show", "verify", "validate", "archive", "extract"])
def test_the_commands_about_one_record_need_no_click(name: str) -> None:
    words = ["a", "b"] if name == "extract" else ["a"]
    assert DECLARED[name].parse([*words, "--json", "-q"]) == by_click(name, [*words, "--json", "-q"])
    assert DECLARED[name].parse([*words, "--json", "-q"]) is not None


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("show", []),
        ("show", ["a", "b"]),
        ("show", ["--instance"]),
        ("show", ["a", "--help"]),
        ("show", ["a", "--nope"]),
        ("verify", []),
        ("verify", ["a", "-q", "-v"]),
        ("extract", ["a"]),
        ("archive", ["--older-than", "3d"]),
        ("validate", ["a", "--kind", "team"]),
    ],
    ids=str,
)
def test_wrong_command_lines_and_values_that_need_a_check_are_left_to_click(
    name: str, words: list[str]
) -> None:
    assert DECLARED[name].parse(words) is None


def test_options_stand_before_between_and_behind_the_arguments() -> None:
    parsed = DECLARED["extract"].parse(["--json", "a", "-o", "x", "b", "--output=y", "--", "--json"])
    assert parsed is not None
    assert (parsed["archive"], parsed["paths"], parsed["output"]) == ("a", ("b", "--json"), "y")
    assert parsed["as_json"] is True
