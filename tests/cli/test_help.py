"""What the command line says about itself."""

import re
import shlex
from pathlib import Path

import click
import pytest

import runcard.cli
from cli.commands import EVERY_COMMAND
from conftest import Cli
from runcard import __version__
from runcard.cli.app import root, run
from runcard.cli.command_groups import COMMANDS, EXAMPLE, GROUPS, SYNONYMS, module_of, root_help
from runcard.cli.help_examples import EXAMPLES
from runcard.cli.verbosity import reset_verbosity

_DEFINED = r'^(@(click|declare)\.(command|group)\(\n? *"|command = click\.Command\()'


def test_the_root_help_is_what_click_would_print(capsys: pytest.CaptureFixture[str]) -> None:
    with root.make_context("runcard", ["schema", "team"], resilient_parsing=True) as context:
        context.terminal_width = 80
        assert root.get_help(context) + "\n" == root_help()
    assert run(["--help"]) == 0
    assert capsys.readouterr().out == root_help()


def test_no_line_of_the_root_help_is_wider_than_a_terminal() -> None:
    assert max(map(len, root_help().splitlines())) <= 78


def test_every_command_has_a_file_of_its_own_and_every_file_is_listed() -> None:
    folder = Path(runcard.cli.__path__[0])
    with_command = {
        ".".join(("runcard.cli", *file.relative_to(folder).with_suffix("").parts)).removesuffix(".__init__")
        for file in folder.glob("**/*.py")
        if re.search(_DEFINED, file.read_text(), re.MULTILINE)
    }
    assert with_command == {
        ".".join([module_of(first), *rest]) for first, *rest in map(str.split, EVERY_COMMAND)
    }
    assert root.list_commands(click.Context(root)) == list(COMMANDS)


@pytest.mark.parametrize("name", EVERY_COMMAND)
def test_a_command_is_listed_with_its_own_short_help(cli: Cli, name: str) -> None:
    group, _, own = name.rpartition(" ")
    command = EVERY_COMMAND[name]
    assert command.name == own
    assert re.search(
        rf"^  {own} +{re.escape(command.short_help or '?')}$", cli(*group.split(), "--help").out, re.MULTILINE
    )


@pytest.mark.parametrize("flag", ["--help", "-h"])
@pytest.mark.parametrize("name", EVERY_COMMAND)
def test_every_command_has_help_on_stdout(cli: Cli, name: str, flag: str) -> None:
    done = cli(*name.split(), flag)
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith(f"Usage: runcard {name} [OPTIONS]")


@pytest.mark.parametrize("name", ["plan", "experiment"])
def test_a_group_of_commands_alone_prints_its_help(cli: Cli, name: str) -> None:
    assert cli(name) == cli(name, "--help")


@pytest.mark.parametrize("name", EVERY_COMMAND)
def test_every_option_says_what_it_is_for(name: str) -> None:
    for option in EVERY_COMMAND[name].params:
        if isinstance(option, click.Option):
            assert option.help, option.name
            assert re.fullmatch(r"[A-Z].*\.", option.help), option.help


@pytest.mark.parametrize(
    "arguments", [["--version"], ["-V"], ["-V", "--help"], ["--version", "--help"]], ids=" ".join
)
def test_the_version_is_the_packages_also_by_the_long_way(cli: Cli, arguments: list[str]) -> None:
    done = cli(*arguments)
    assert (done.code, done.out, done.err) == (0, f"runcard {__version__}\n", "")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["bogus"], "Error: No such command 'bogus'.\n  hint: see `runcard --help`\n"),
        (["validate"], "Error: Missing argument 'PATH...'.\n  hint: see `runcard validate --help`\n"),
        (["redact", "x"], "Error: Missing option '--reason'.\n  hint: see `runcard redact --help`\n"),
        (["--colour"], "Error: No such option '--colour'.\n  hint: see `runcard --help`\n"),
        (
            ["doctor", "--jsn"],
            "Error: No such option '--jsn'. Did you mean '--json'?\n  hint: see `runcard doctor --help`\n",
        ),
        (
            ["run", "--tag", "x", "true"],
            "Error: No such option '--tag'.\n  hint: see `runcard run --help`\n",
        ),
        (
            ["session", "list"],
            "Error: No such command 'list'. Did you mean 'runcard ls sessions'?\n  hint: see `runcard session --help`\n",
        ),
        (["plan", "bogus"], "Error: No such command 'bogus'.\n  hint: see `runcard plan --help`\n"),
        (
            ["valdate", "x"],
            "Error: No such command 'valdate'. Did you mean 'validate'?\n  hint: see `runcard --help`\n",
        ),
        (
            ["search", "x"],
            "Error: No such command 'search'. Did you mean 'ls'?\n  hint: see `runcard --help`\n",
        ),
        (
            ["plan", "lst"],
            "Error: No such command 'lst'. Did you mean 'list'?\n  hint: see `runcard plan --help`\n",
        ),
    ],
    ids=[
        "command",
        "argument",
        "required option",
        "option",
        "similar option",
        "no similar option",
        "a command elsewhere",
        "command of a group",
        "typo",
        "another word",
        "in a group",
    ],
)
def test_wrong_usage_is_told_in_a_line_and_a_hint(cli: Cli, arguments: list[str], message: str) -> None:
    done = cli(*arguments)
    assert (done.code, done.out, done.err) == (64, "", message)


def test_a_missing_choice_is_told_on_one_line(cli: Cli) -> None:
    done = cli("schema")
    assert done.code == 64
    assert (
        "Choose from: anchor, anchor-proof, archive-index, generation, instance, ledger-statement, manifest, record-statement, session-spec, team, testplan\n"
        in done.err
    )
    assert len(done.err.splitlines()) == 2


def test_what_the_user_typed_is_shown_harmless(cli: Cli) -> None:
    done = cli("schema", "\x1b[31mteam\u202e")
    assert done.code == 64
    assert "\x1b" not in done.err
    assert "\u202e" not in done.err
    assert r"\x1b[31mteam" in done.err


@pytest.mark.parametrize(
    ("function", "command"),
    [("runcard.cli.app.run", "ledger"), ("runcard.cli.outcome.exit_code_of", "validate")],
)
def test_an_interrupt_while_a_command_is_imported_is_130(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, function: str, command: str
) -> None:
    def interrupted(_: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(function, interrupted)
    done = cli(command, "x")
    assert (done.code, done.out, done.err) == (130, "", "Error: interrupted\n")


def test_other_words_for_commands_lead_to_commands() -> None:
    assert set(SYNONYMS.values()) <= COMMANDS.keys()
    assert not SYNONYMS.keys() & COMMANDS.keys()


def test_no_command_is_in_two_groups() -> None:
    names = [name for group in GROUPS.values() for name in group]
    assert len(names) == len(set(names)) == len(COMMANDS)


@pytest.mark.parametrize("name", EVERY_COMMAND)
def test_the_help_of_every_command_ends_with_an_example(cli: Cli, name: str) -> None:
    _, title, examples = cli(*name.split(), "--help").out.rpartition("  Example")
    assert title
    lines = [line.strip() for line in examples.splitlines()[1:]]
    assert lines == list(EXAMPLES[name])
    assert any(f"runcard {name}" in line for line in lines)


def test_there_is_no_example_of_a_command_that_does_not_exist() -> None:
    assert set(EXAMPLES) == set(EVERY_COMMAND)


@pytest.mark.parametrize(
    "line", [EXAMPLE, *dict.fromkeys(line for lines in EXAMPLES.values() for line in lines)]
)
def test_an_example_has_options_and_arguments_that_exist(line: str) -> None:
    """Each is parsed as far as its own command; nothing is run."""
    line = line.rpartition(" | ")[2].removeprefix('eval "$(').removesuffix(')"')
    line = line.removeprefix("claude mcp add runcard -- ")
    words = shlex.split(line.partition(" && ")[2] or line.partition(" > ")[0])
    if words[0] == "echo":
        words = shlex.split(words[1].removeprefix('eval "$(').removesuffix(')"'))
    while "=" in words[0]:
        words.pop(0)
    assert words.pop(0) == "runcard"
    command: click.Command = root
    context = click.Context(root, info_name="runcard", **root.context_settings)
    while isinstance(command, click.Group) and words and not words[0].startswith("-"):
        _, inner, words = command.resolve_command(context, words)
        assert inner is not None
        context, command = click.Context(inner, parent=context, info_name=inner.name), inner
    if words or not isinstance(command, click.Group):
        command.parse_args(context, words)
    reset_verbosity()
