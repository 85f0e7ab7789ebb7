"""The entry point. Importing it must stay cheap: the root help, the version and `runcard run` need no click."""

import gc
import os
import sys
from importlib import import_module

from runcard.cli.command_groups import COMMANDS, module_of, root_help

INTERRUPTED = 130
_HOOK_WORDS = 3  # hook TOOL EVENT


def main() -> int:
    """Run the command line; the exit code."""
    gc.set_threshold(50_000)  # modules stay loaded: collecting garbage among them takes an eighth of the time
    try:
        return _run(sys.argv[1:])
    except KeyboardInterrupt:  # here, because it can come while a command is being imported
        after_echo = "\n" if sys.stderr.isatty() else ""  # the terminal shows ^C
        sys.stderr.write(f"{after_echo}Error: interrupted\n")
        return INTERRUPTED
    finally:
        gc.freeze()  # the process ends: no need to collect garbage


def _run(arguments: list[str]) -> int:
    _open_streams()
    if "_RUNCARD_COMPLETE" not in os.environ:
        code = _without_command(arguments) if len(arguments) < 2 else None
        if code is None and arguments:
            code = _without_click(arguments)
        if code is not None:
            return code
    from runcard.cli.app import run  # noqa: PLC0415 - click

    return run(arguments)


def _without_command(arguments: list[str]) -> int | None:
    """The exit code of `runcard` alone, its help and its version; None for others, and where printing fails."""
    if not arguments:
        from runcard.cli.first_screen import print_first_screen  # noqa: PLC0415
        from runcard.cli.outcome import exit_code_of  # noqa: PLC0415

        return exit_code_of(print_first_screen)
    if arguments[0] in {"--help", "-h"}:
        return 0 if _printed(root_help()) else None
    if arguments[0] in {"--version", "-V"}:
        from runcard.version import __version__  # noqa: PLC0415

        return 0 if _printed(f"runcard {__version__}\n") else None
    return None


def _without_click(arguments: list[str]) -> int | None:
    """The exit code of a command that is declared without click; None for others, and for a wrong command line."""
    if arguments[0] == "run":
        from runcard.cli.runs.run_arguments import carry_out, parse  # noqa: PLC0415
        from runcard.cli.verbosity import reset_verbosity  # noqa: PLC0415

        reset_verbosity()
        options = parse(arguments[1:])
        return None if options is None else carry_out(**options)
    if arguments[0] == "hook" and len(arguments) == _HOOK_WORDS and arguments[1][:1] != "-":
        from runcard.agent_setup.hook_note import main as note_event  # noqa: PLC0415

        return note_event(arguments[1:])  # an agent waits for it
    if arguments[0] not in COMMANDS:
        return None
    from runcard.cli.declare import DeclaredCommand  # noqa: PLC0415

    command = import_module(module_of(arguments[0])).command
    values = command.parse(arguments[1:]) if isinstance(command, DeclaredCommand) else None
    if values is None:
        return None
    from runcard.cli.outcome import call, exit_code_of  # noqa: PLC0415

    return exit_code_of(lambda: call(command, values))


def _open_streams() -> None:
    """Discard what is written to a standard stream that the caller closed."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 - for good


def _printed(text: str) -> bool:
    """Print a text; false if that fails: the way through click then fails too, and prints the error."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except OSError:
        return False
    return True


if __name__ == "__main__":
    sys.exit(main())
