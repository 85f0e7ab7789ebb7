"""The entry point, and the commands by name. Importing it must stay cheap."""

import os
import sys

COMMANDS = {
    "completion": "Print the script that completes commands in your shell.",
    "migrate": "Bring documents to another version of their format.",
    "schema": "Print a published JSON Schema.",
    "validate": "Check documents: their schema, then their rules.",
}

ABOUT = "Every AI run leaves a record that you can trust."

EXITS = "Exit codes: 0 good, 1 error or failed check, 2 good with warnings, 64 wrong usage."


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
    arguments = sys.argv[1:]
    if "_RUNCARD_COMPLETE" not in os.environ:
        if not arguments or arguments in (["--help"], ["-h"]):
            sys.stdout.write(root_help())
            return 0
        if arguments == ["--version"]:
            from runcard import __version__  # noqa: PLC0415

            sys.stdout.write(f"runcard {__version__}\n")
            return 0
    from runcard.cli.app import run  # noqa: PLC0415 - click

    return run(arguments)
