"""The entry point, and the commands by name. Importing it must stay cheap."""

import gc
import os
import sys

COMMANDS = {
    "amend": "Add a note, a tag, a score or an approval to a record.",
    "archive": "Pack old records into archives.",
    "close": "Close runs whose process is gone.",
    "collect": "Collect what a team of agents did into a session.",
    "completion": "Print the script that completes commands in your shell.",
    "config": "Show every setting and where it comes from.",
    "demo": "A guided first run, without network and keys.",
    "experiment": "Make experiments, and see what came of them.",
    "export": "Pack a run for others.",
    "extract": "Take files out of an archive.",
    "import-bundle": "Open a bundle that somebody packed.",
    "ledger": "Show the history of a store.",
    "log": "Print what an agent or a command printed.",
    "migrate": "Bring documents to another version of their format.",
    "plan": "Read and check test plans, and the Ruby they are about.",
    "prune": "Delete old records and archives, and say so in the ledger.",
    "redact": "Take something out of a closed record, in the open.",
    "rerun": "Run a recorded command again and compare.",
    "restore": "Put an archived record back.",
    "run": "Run a command and record it.",
    "schema": "Print a published JSON Schema.",
    "show": "Show a run or a session on one screen.",
    "validate": "Check documents: their schema, then their rules.",
    "verify": "Check that records are what they were when closed.",
}

# The folder of this package that each command lies in; one that is not listed lies in the package itself.
FOLDERS = {
    "amend": "amendments",
    "archive": "archives",
    "close": "runs",
    "collect": "sessions",
    "config": "checks",
    "experiment": "experiments",
    "export": "runs",
    "extract": "archives",
    "import-bundle": "runs",
    "ledger": "checks",
    "log": "sessions",
    "migrate": "amendments",
    "plan": "plans",
    "prune": "archives",
    "redact": "amendments",
    "rerun": "runs",
    "restore": "archives",
    "run": "runs",
    "schema": "checks",
    "show": "checks",
    "validate": "checks",
    "verify": "checks",
}
GROUPS = {"experiment", "plan"}  # their commands are the package of that folder

ABOUT = "Every AI run leaves a record that you can trust."

INTERRUPTED = 130

EXITS = "Exit codes: 0 good, 1 error or failed check, 2 warnings, 64 wrong usage."


def module_of(command: str) -> str:
    """The module that has a command."""
    folder, name = FOLDERS.get(command), command.replace("-", "_")
    if command in GROUPS:
        return f"runcard.cli.{folder}"
    return f"runcard.cli.{folder}.{name}" if folder else f"runcard.cli.{name}"


def root_help() -> str:
    """What `runcard --help` prints, without click; a test holds it to what click would print."""
    width = max(len(name) for name in COMMANDS)
    listed = "\n".join(f"  {name:<{width}}  {about}" for name, about in COMMANDS.items())
    return (
        f"Usage: runcard [OPTIONS] COMMAND [ARGS]...\n\n  {ABOUT}\n\n"
        "Options:\n  --version   Show the version and exit.\n  -h, --help  Show this message and exit.\n\n"
        f"Commands:\n{listed}\n\n  {EXITS}\n"
    )


def main() -> int:
    """Do what the command line says; the exit code."""
    gc.set_threshold(
        50_000
    )  # what is loaded at the start stays: looking for garbage in it takes an eighth of the time
    try:
        return _run(sys.argv[1:])
    except KeyboardInterrupt:  # here, since it can come while a command is still being imported
        after_echo = "\n" if sys.stderr.isatty() else ""  # the terminal shows ^C
        sys.stderr.write(f"{after_echo}Error: interrupted\n")
        return INTERRUPTED
    finally:
        gc.freeze()  # the process ends: nothing is worth looking for garbage in any more


def _run(arguments: list[str]) -> int:
    _open_streams()
    if "_RUNCARD_COMPLETE" not in os.environ:
        if not arguments or arguments in (["--help"], ["-h"]):
            arguments = ["--help"]
            if _printed(root_help()):
                return 0
        elif arguments == ["--version"]:
            from runcard.version import __version__  # noqa: PLC0415

            if _printed(f"runcard {__version__}\n"):
                return 0
        elif arguments[0] == "run":
            from runcard.cli.runs.run_arguments import carry_out, parse  # noqa: PLC0415

            if (options := parse(arguments[1:])) is not None:
                return carry_out(**options)
    from runcard.cli.app import run  # noqa: PLC0415 - click

    return run(arguments)


def _open_streams() -> None:
    """Where the caller closed a standard stream, what is written to it is thrown away."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 - for good


def _printed(text: str) -> bool:
    """Print a text; false when that fails: the long way through click fails as well, and says why."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except OSError:
        return False
    return True
