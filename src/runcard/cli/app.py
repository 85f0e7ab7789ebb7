"""The root command, and the one place where errors become messages and exit codes."""

import os
import sys

import click

from runcard.cli.command_groups import ABOUT, COMMANDS, EXAMPLE, EXITS, GROUPS, module_of
from runcard.cli.exit_codes import ExitCode, code_for_error
from runcard.cli.lazy_group import LazyGroup
from runcard.cli.options import verbosity_options
from runcard.cli.printing import AS_JSON, complain, say_json
from runcard.cli.verbosity import reset_verbosity, show_traceback
from runcard.errors import RuncardError
from runcard.version import __version__

BROKEN_PIPE = 141


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
    params=list(verbosity_options()),
    help=ABOUT,
    epilog=f"\b\nExample:\n  {EXAMPLE}\n\n{EXITS}",
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, "-V", "--version", message="%(prog)s %(version)s")
def root() -> None: ...


def run(arguments: list[str]) -> int:
    """Run a command and return its exit code."""
    reset_verbosity()
    _refused_settings()  # forget those of an earlier command of this process
    code = _run(arguments)
    refused = _refused_settings()
    for message, hint in refused:
        complain("Warning", message, hint=hint)
    return ExitCode.WARNINGS if refused and code == ExitCode.OK else code


def _run(arguments: list[str]) -> int:
    try:
        for stream in (sys.stdout, sys.stderr):
            # A character that the encoding of the terminal lacks must not stop the work.
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
        code = _invoke(arguments)
        sys.stdout.flush()
    except click.UsageError as error:
        hint = f"see `{error.ctx.command_path} --help`" if error.ctx else None
        complain("Error", " ".join(error.format_message().split()), hint=hint)
        return ExitCode.USAGE
    except RuncardError as error:
        complain("Error", error.message, hint=error.hint, details=error.details)
        show_traceback(error)
        return code_for_error(error)
    except BrokenPipeError:  # the reader of our output is gone
        _drop_output()
        return BROKEN_PIPE
    except OSError as error:
        return _failed(error)
    return code


def _invoke(arguments: list[str]) -> int:
    """Let click parse and call, without its handling of errors."""
    if "_RUNCARD_COMPLETE" in os.environ:
        root.main(arguments, prog_name="runcard")
    try:
        with root.make_context("runcard", arguments) as context:
            return _call(context)
    except click.exceptions.Exit as exiting:
        return exiting.exit_code


def _call(context: click.Context) -> int:
    """The exit code of a command. With --json, its error is printed as JSON as well."""
    try:
        return int(root.invoke(context) or 0)
    except RuncardError as error:
        if context.meta.get(AS_JSON) and code_for_error(error) != ExitCode.USAGE:
            from runcard.files import printable  # noqa: PLC0415

            details = {"details": [*map(printable, error.details)]} if error.details else {}
            hint = error.hint and printable(error.hint)
            say_json({"error": printable(error.message), "hint": hint, **details})
        raise


def _refused_settings() -> list[tuple[str, str]]:
    """Values of settings that the command read and ignored, each with a hint."""
    if "runcard.settings.lookup" not in sys.modules:
        return []  # it read none
    from runcard.settings import take_unreported  # noqa: PLC0415

    return take_unreported()


def _failed(error: OSError) -> int:
    """Print an error of the operating system. If it names no file, it is about the output."""
    from runcard.files import failure  # noqa: PLC0415

    if error.filename is None:
        _drop_output()
        complain(
            "Error",
            f"cannot write the output: {error.strerror}",
            hint="write it to another place, and run the command again",
        )
        return ExitCode.FAILED
    problem = failure(error, os.fsdecode(error.filename), "use")
    complain("Error", problem.message, hint=problem.hint)
    show_traceback(error)
    return code_for_error(problem)


def _drop_output() -> None:
    """Discard what could not be written: Python would try again at exit, and print an error."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
