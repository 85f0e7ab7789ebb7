"""Each command that a hint names exists, has the options that are named, and all that it requires."""

import ast
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

import runcard
from cli.commands import EVERY_COMMAND, commands_in

PACKAGE = Path(runcard.__path__[0])
VALUE = "value"  # what stands for a part that is known at run time


def texts(node: ast.AST) -> Iterator[tuple[int, str]]:
    """The strings in an expression, with their lines."""
    if isinstance(node, ast.JoinedStr):
        parts = (str(one.value) if isinstance(one, ast.Constant) else VALUE for one in node.values)
        yield node.lineno, "".join(parts)
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.lineno, node.value
    else:
        for part in ast.iter_child_nodes(node):
            yield from texts(part)


def hints(module: Path) -> Iterator[tuple[int, str]]:
    """The strings that a module passes as a hint, or keeps under a name that says so."""
    for node in ast.walk(ast.parse(module.read_text("utf-8"))):
        if isinstance(node, ast.keyword) and node.arg == "hint":
            yield from texts(node.value)
        elif isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            names = [one.id for one in ast.walk(node) if isinstance(one, ast.Name)]
            if any(re.search(r"hint|empty", name, re.IGNORECASE) for name in names):
                yield from texts(node.value)
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == "say_note":
            yield from texts(node)


WITHOUT_PATHS = (
    "documents/",
    "web/",
)  # these layers name the command for a document, and do not know its path
COMMANDS = sorted(
    {
        (f"{module.relative_to(PACKAGE)}:{line}", command)
        for module in PACKAGE.rglob("*.py")
        for line, text in hints(module)
        for command in commands_in(text)
    }
)


def problem(words: list[str]) -> str | None:
    """What is wrong with a command line; None for one that a shell could carry out."""
    count = 2 if " ".join(words[:2]) in EVERY_COMMAND else 1
    command = EVERY_COMMAND.get(" ".join(words[:count]))
    if command is None:
        return "no such command"
    context = click.Context(command, help_option_names=["-h", "--help"])  # click keeps what it finds here
    try:
        values, *_ = command.make_parser(context).parse_args(words[count:])
    except click.UsageError as error:
        return error.format_message()
    given = {name for name, value in values.items() if value and isinstance(value, str | list | tuple)}
    if "--help" in words:
        return None
    missing = [one.name for one in command.params if one.required and one.name not in given]
    return f"without {missing[0]}" if missing else None


def test_hints_are_found() -> None:
    assert len(COMMANDS) > 50


@pytest.mark.parametrize(("place", "command"), COMMANDS, ids=[f"{place} {text}" for place, text in COMMANDS])
def test_a_command_in_a_hint_can_be_pasted(place: str, command: str) -> None:
    words = shlex.split(command)
    found = problem(words)
    assert found is None or (found.startswith("without ") and place.startswith(WITHOUT_PATHS)), found
    assert not re.search(r"\b(?!SELECT|GROUP|BY|FROM)[A-Z]{2,}\b", command), (place, "a placeholder")
