"""runcard log"""

import re
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, BinaryIO

import click

from runcard.cli.options import RECORD
from runcard.errors import UsageError

if TYPE_CHECKING:
    from runcard.encoding import Limits

_BLOCK = 1024 * 1024

# Escape sequences that change colours: left out on a terminal.
_COLOURS = re.compile(r"\x1b\[[0-9;:]*m")


@click.command("log")
@click.argument("record", metavar="RECORD", type=RECORD)
@click.argument("name", metavar="[NAME]", required=False)
@click.option("--instance", metavar="NAME", help="The same as the argument NAME, as in `show`.")
def command(record: str, name: str | None, instance: str | None) -> int:
    """Print the output of the run RECORD, or the transcript of the agent NAME of the session RECORD.

    RECORD is a path, an id, a prefix of an id, a name, or @latest (@latest~1 is the one before); archived or not. NAME
    may also be the id of the agent, and is not needed if the session has only one.

    On a terminal the output is paged ($PAGER) and control characters are escaped. Elsewhere it is printed unchanged.

    Exit codes: 0 printed, 1 no output stored, 64 no such agent.
    """
    from runcard.settings import read_settings  # noqa: PLC0415

    if name is not None and instance is not None:
        raise UsageError("two agents are named", hint="leave out --instance")
    with _open(record, instance if name is None else name, read_settings().limits) as file:
        if sys.stdout.isatty():
            click.echo_via_pager(_printable_lines(file))
        else:
            while block := file.read(_BLOCK):
                click.echo(block, nl=False)
    return 0


def _open(record: str, name: str | None, limits: "Limits") -> BinaryIO:
    from runcard.files import printable  # noqa: PLC0415
    from runcard.operations.checks.show import ShownRun, show_record  # noqa: PLC0415
    from runcard.operations.checks.show_session import open_output, open_transcript  # noqa: PLC0415

    shown = show_record(record, limits)
    if isinstance(shown, ShownRun):
        if name is not None:
            raise UsageError("a run has no agents", hint="leave out NAME, or name a session")
        return open_output(shown.record, shown.amendments)
    instances = shown.document["instances"]
    if name is None and len(instances) == 1:
        name = instances[0]["instance_id"]
    if name is None:
        some = ", ".join(printable(entry["name"]) for entry in instances[:10])
        raise UsageError("a session has one transcript per agent", hint=f"name one of: {some}")
    return open_transcript(shown, name, limits)


def _printable_lines(file: BinaryIO) -> Iterator[str]:
    """The lines of a transcript with control characters escaped."""
    from runcard.files import printable  # noqa: PLC0415

    end = ""  # of the line before; that of the last one comes from the pager
    for raw in file:
        text = raw.decode("utf-8", "surrogateescape").removesuffix("\n").removesuffix("\r")
        yield end + "\t".join(printable(part) for part in _COLOURS.sub("", text).split("\t"))
        end = "\n"
