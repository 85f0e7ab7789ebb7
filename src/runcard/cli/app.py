"""The group of commands, each loaded when it is called, and the one place where errors become messages and exit codes."""

import os
import sys
from importlib import import_module

import click

from runcard import __version__
from runcard.cli.main import ABOUT, COMMANDS, EXITS
from runcard.cli.printing import complain, print_hint
from runcard.errors import ExitCode, RuncardError, UsageError

INTERRUPTED = 130
BROKEN_PIPE = 141


class _Commands(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(f"runcard.cli.{cmd_name}").command
        return command


@click.group(
    cls=_Commands, help=ABOUT, epilog=EXITS, context_settings={"help_option_names": ["-h", "--help"]}
)
@click.version_option(__version__, message="%(prog)s %(version)s")
def root() -> None: ...


def run(arguments: list[str]) -> int:
    """Run a command and return its exit code."""
    for stream in (sys.stdout, sys.stderr):
        # A name that the terminal's encoding lacks must not stop the work.
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    try:
        code = root.main(arguments, prog_name="runcard", standalone_mode=False)
        sys.stdout.flush()
        return int(code or 0)
    except click.UsageError as error:
        return _usage(error.format_message(), error.ctx)
    except click.ClickException as error:
        complain("Error", error.format_message())
        return ExitCode.FAILED
    except UsageError as error:
        complain("Error", error.message, hint=error.hint)
        return ExitCode.USAGE
    except RuncardError as error:
        complain("Error", error.message, hint=error.hint)
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        complain("Error", "interrupted")
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output has left. Python would complain once more when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE


def _usage(message: str, context: click.Context | None) -> int:
    complain("Error", message)
    if context is not None:
        print_hint(f"see `{context.command_path} --help`")
    return ExitCode.USAGE
