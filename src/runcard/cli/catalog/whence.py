"""runcard whence"""

import os
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING

import click

from runcard.cli.exit_codes import ExitCode
from runcard.cli.options import PATH, json_option
from runcard.cli.printing import complain, say_json, say_note, say_text
from runcard.files import printable

if TYPE_CHECKING:
    from runcard.catalog.searching import FileMatch
    from runcard.operations.catalog.whence import Maker, Whence

_MOST_TO_VERIFY = 3  # records


@click.command("whence")
@click.argument("target", metavar="[FILE|DIGEST]", required=False, type=PATH)
@click.option("--commit", metavar="REV", help="Find the runs that were made with this commit of the code.")
@json_option
def command(target: str | None, commit: str | None, as_json: bool) -> int:
    """Find the run that made FILE, the files that it read, the runs that made those, and so on up to the first.

    Files are compared by their content only: FILE may have been renamed or copied since. If several runs made the same
    content, all are listed.

    whence does not verify the records: it believes their checksums. To verify one: runcard verify RECORD.

    Exit codes: 0 found, 1 no record made or read it, 2 the catalog could not be brought up to date.
    """
    from runcard.operations.catalog.whence import whence  # noqa: PLC0415

    found = whence(target, commit=commit)
    if as_json:
        say_json(found.to_dict())
    else:
        say_text("\n".join(_lines(found)))
        say_note(f"not verified; to verify: runcard verify {_to_verify(found)}")
    if found.warning is not None:
        complain("Warning", found.warning)
    return ExitCode.OK if found.warning is None else ExitCode.WARNINGS


def _to_verify(found: "Whence") -> str:
    """The records that are named first, for a shell."""
    from shlex import quote  # noqa: PLC0415

    matches = [*(maker.match for maker in found.made_by), *found.read_by]
    paths = dict.fromkeys(match.path for match in matches if match.stored_on in {None, os.uname().nodename})
    return (
        " ".join(
            [*map(quote, islice(paths, _MOST_TO_VERIFY)), *(["…"] if len(paths) > _MOST_TO_VERIFY else [])]
        )
        or "RECORD"
    )


def _lines(found: "Whence") -> Iterator[str]:
    for maker in found.made_by:
        yield from _maker_lines(maker, "made by " if found.digest else "", "")
    for match in found.read_by:
        yield printable(
            f"read by {match.id}  {match.started or ''}  {_place(match)}  as {match.file}".rstrip()
        )


def _place(match: "FileMatch") -> str:
    is_here = match.stored_on in {None, os.uname().nodename}
    return match.path if is_here else f"{match.path} on {match.stored_on}"


def _maker_lines(maker: "Maker", verb: str, indent: str) -> Iterator[str]:
    match = maker.match
    file = f"  as {match.file}" if match.file else ""
    yield printable(f"{indent}{verb}{match.id}  {match.started or ''}  {_place(match)}{file}".rstrip())
    for source in maker.inputs:
        yield printable(f"{indent}  from {source.path}")
        for above in source.made_by:
            verb = "made, by content, but later, by " if above.started_after(match) else "made by "
            yield from _maker_lines(above, verb, f"{indent}    ")
