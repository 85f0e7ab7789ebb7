"""runcard amend"""

import sys

import click

from runcard.cli.options import PATH, TEXT, by_option, json_option


def _kinds(_: click.Context, __: click.Parameter, begun: str) -> list[str]:
    from runcard.operations.amendments.amend import KINDS  # noqa: PLC0415

    return [kind for kind in KINDS if kind.startswith(begun)]


@click.command("amend", short_help="Add a note, a tag, a score or an approval to a record.")
@click.argument("record", metavar="RECORD", type=PATH)
@click.argument("kind", metavar="note|tag|evaluation|approval", shell_complete=_kinds)
@click.argument("value", metavar="[VALUE]", required=False, type=TEXT)
@click.option("--comment", metavar="TEXT", type=TEXT, help="Why, of a tag, an evaluation or an approval.")
@click.option(
    "--about",
    multiple=True,
    metavar="PATH",
    help="The file of the record that it is about; all of them unless given. Can be repeated.",
)
@by_option
@json_option
def command(
    record: str,
    kind: str,
    value: str | None,
    comment: str | None,
    about: tuple[str, ...],
    by: str | None,
    as_json: bool,
) -> int:
    """Add a remark to the closed run or session RECORD. No file of it changes.

    A note has a text, a tag a name, an evaluation NAME=VALUE (a number where it is one), an approval perhaps the name of
    whoever approves. Each names the digest of what it is about. `runcard show` shows them. RECORD may be archived: it is
    restored, amended and archived again.

    Exit codes: 0 added, 1 not added, 2 added and something is to be known.
    """
    from runcard.cli.printing import complain, say, say_json  # noqa: PLC0415
    from runcard.errors import ExitCode  # noqa: PLC0415
    from runcard.operations.amendments.amend import amend  # noqa: PLC0415

    done = amend(record, kind, value, comment=comment, about=about, by=by)
    if as_json:
        say_json(done.to_dict())
    else:
        for path in done.finished:
            say(f"{path}: finished, as an earlier amendment says")
        say(f"{record}: {done.remark.told()}")
    sys.stdout.flush()
    for warning in done.warnings:
        complain("Warning", warning)
    return ExitCode.WARNINGS if done.warnings else ExitCode.OK
