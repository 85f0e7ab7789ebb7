"""runcard amend"""

import os
import sys

import click

from runcard.cli.exit_codes import ExitCode
from runcard.cli.options import RECORD, TEXT, by_option, json_option
from runcard.cli.printing import complain, note_uncovered, say_done, say_json


def _kinds(_: click.Context, __: click.Parameter, prefix: str) -> list[str]:
    from runcard.operations.amendments.amend import KINDS  # noqa: PLC0415

    return [kind for kind in KINDS if kind.startswith(prefix)]


@click.command("amend")
@click.argument("record", metavar="RECORD", type=RECORD)
@click.argument("kind", metavar="note|tag|evaluation|approval", shell_complete=_kinds)
@click.argument("value", metavar="[VALUE]", required=False, type=TEXT)
@click.option("--comment", metavar="TEXT", type=TEXT, help="Reason for a tag, an evaluation or an approval.")
@click.option(
    "--about",
    multiple=True,
    metavar="PATH",
    help="File of the record that it is about. Default: the whole record. Repeatable.",
)
@click.option(
    "--accept",
    is_flag=True,
    help="Accept amendments that the ledger of the store does not know, such as those made in a copy.",
)
@by_option
@json_option
def command(
    record: str,
    kind: str,
    value: str | None,
    comment: str | None,
    about: tuple[str, ...],
    accept: bool,
    by: str | None,
    as_json: bool,
) -> int:
    """Add a note, a tag, an evaluation or an approval to the closed run or session RECORD. Its files do not change.

    RECORD is a path, an id, a prefix of an id, a name, or @latest (@latest~1 is the one before).
    VALUE is the text of a note, the name of a tag, NAME=VALUE of an evaluation, or, if you like, the name of who
    approves. `runcard show` prints amendments. An archived RECORD is restored, amended and archived again.

    Exit codes: 0 added, 1 not added, 2 added with warnings.
    """
    from runcard.operations.amendments.amend import amend  # noqa: PLC0415

    done = amend(record, kind, value, comment=comment, about=about, by=by, accept=accept)
    if as_json:
        say_json(done.to_dict())
    else:
        for path in done.finished:
            say_done(f"{os.path.join(done.path, path)}: finished an interrupted amendment")
        say_done(f"{done.path}: {done.remark.describe()}")
    sys.stdout.flush()
    for warning in done.warnings:
        complain("Warning", warning)
    note_uncovered(done.path)
    return ExitCode.WARNINGS if done.warnings else ExitCode.OK
