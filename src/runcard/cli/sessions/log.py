"""runcard log"""

import re
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, BinaryIO

import click

from runcard.cli.options import PATH

if TYPE_CHECKING:
    from runcard.encoding import Limits

_BLOCK = 1024 * 1024

# How a terminal is told to change colours: harmless to leave out, and a nuisance to read.
_COLOURS = re.compile(r"\x1b\[[0-9;:]*m")


@click.command("log", short_help="Print what an agent or a command printed.")
@click.argument("record", metavar="RECORD", type=PATH)
@click.argument("name", metavar="[NAME]", required=False)
def command(record: str, name: str | None) -> int:
    """Print the transcript of the agent called NAME (or with that id) in the session RECORD, or the output of a run.

    RECORD is a directory, or one that was archived, by its name, its id or its archive.

    On a terminal it is paged ($PAGER), and characters that a terminal would act on are shown instead; elsewhere it is
    printed byte by byte as it is stored.

    Exit codes: 0 printed, 1 there is none, 64 no such agent.
    """
    from runcard.settings import read_settings  # noqa: PLC0415

    with _opened(record, name, read_settings().limits) as file:
        if sys.stdout.isatty():
            click.echo_via_pager(_harmless(file))
        else:
            while block := file.read(_BLOCK):
                click.echo(block, nl=False)
    return 0


def _opened(record: str, name: str | None, limits: "Limits") -> BinaryIO:
    from runcard.errors import UsageError  # noqa: PLC0415
    from runcard.files import printable  # noqa: PLC0415
    from runcard.operations.checks.show import ShownRun, show_record  # noqa: PLC0415
    from runcard.operations.checks.show_session import open_output, open_transcript  # noqa: PLC0415

    shown = show_record(record, limits)
    if isinstance(shown, ShownRun):
        if name is not None:
            raise UsageError("a run has no instances", hint="leave out NAME, or name a session")
        return open_output(shown.record, shown.amendments)
    if name is None:
        some = ", ".join(printable(entry["name"]) for entry in shown.document["instances"][:10])
        raise UsageError("a session has a transcript of each agent", hint=f"name one of: {some}")
    return open_transcript(shown, name, limits)


def _harmless(file: BinaryIO) -> Iterator[str]:
    """The lines of a transcript as a terminal may have them."""
    from runcard.files import printable  # noqa: PLC0415

    end = ""  # of the line before; that of the last one comes from the pager
    for raw in file:
        text = raw.decode("utf-8", "surrogateescape").removesuffix("\n").removesuffix("\r")
        yield end + "\t".join(printable(part) for part in _COLOURS.sub("", text).split("\t"))
        end = "\n"
