"""The root command, for click."""

import os

import click

from runcard.cli.command_groups import ABOUT, COMMANDS, EXAMPLE, EXITS, GROUPS, SYNONYMS, module_of
from runcard.cli.exit_codes import ExitCode
from runcard.cli.lazy_group import LazyGroup
from runcard.cli.options import verbosity_options
from runcard.cli.outcome import call_function, exit_code_of
from runcard.cli.printing import AS_JSON, complain
from runcard.version import __version__


class _Root(LazyGroup):
    """All commands, listed by group."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        width = max(map(len, COMMANDS))
        for title, commands in GROUPS.items():
            with formatter.section(title):
                formatter.write_dl([(f"{name:<{width}}", about) for name, (_, about) in commands.items()])


@click.group(
    name="runcard",
    cls=_Root,
    module_of=module_of,
    table=COMMANDS,
    synonyms=SYNONYMS,
    params=list(verbosity_options()),
    help=ABOUT,
    epilog=f"\b\nExample:\n  {EXAMPLE}\n\n{EXITS}",
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, "-V", "--version", message="%(prog)s %(version)s")
def root() -> None: ...


def run(arguments: list[str]) -> int:
    """Run a command and return its exit code."""
    return exit_code_of(lambda: _invoke(arguments))


def _with_similar_option(error: click.NoSuchOption) -> click.NoSuchOption:
    """The error with the one option that is probably meant: click compares the dashes as well, so that all are similar."""
    from difflib import get_close_matches  # noqa: PLC0415 - only for a wrong option

    names = {name.lstrip("-"): name for name in error.possibilities or ()}
    near = get_close_matches(error.option_name.lstrip("-"), names, 1)
    return click.NoSuchOption(error.option_name, possibilities=[names[name] for name in near])


def _invoke(arguments: list[str]) -> int:
    """Let click parse and call, without its handling of errors."""
    if "_RUNCARD_COMPLETE" in os.environ:
        root.main(arguments, prog_name="runcard")
    try:
        with root.make_context("runcard", arguments) as context:
            return call_function(lambda: root.invoke(context), lambda: context.meta.get(AS_JSON, False))
    except click.exceptions.Exit as exiting:
        return exiting.exit_code
    except click.UsageError as error:
        hint = f"see `{error.ctx.command_path} --help`" if error.ctx else None
        problem = _with_similar_option(error) if isinstance(error, click.NoSuchOption) else error
        complain("Error", " ".join(problem.format_message().split()), hint=hint)
        return ExitCode.USAGE
