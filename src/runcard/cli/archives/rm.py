"""runcard rm"""

import click

from runcard.cli.exit_codes import ExitCode
from runcard.cli.options import RECORD, TEXT, json_option, yes_option
from runcard.cli.printing import say_done, say_json


@click.command("rm")
@click.argument("record", metavar="RECORD", type=RECORD)
@click.option("--reason", metavar="TEXT", type=TEXT, help="Why it is deleted, for the ledger.")
@click.option("--force", is_flag=True, help="Delete it even if it fails verification.")
@yes_option
@json_option
def command(record: str, reason: str | None, force: bool, yes: bool, as_json: bool) -> int:
    """Permanently delete one record: its directory, and its archive if it has one.

    RECORD is a path, an id, a prefix of an id, a name, or @latest (@latest~1 is the one before). The ledger of the store keeps an entry
    that it was deleted. A record that is open, or that fails verification, is kept. If a deletion was interrupted, the same command
    finishes it. To delete many, see `runcard prune`.

    Exit codes: 0 deleted, 1 not deleted, 64 confirmation needed: pass --yes.
    """
    from runcard.cli.confirm import is_agreed  # noqa: PLC0415
    from runcard.errors import StoreError  # noqa: PLC0415
    from runcard.files import printable  # noqa: PLC0415
    from runcard.operations.archives.rm import delete_record, finish_deletion, record_copies  # noqa: PLC0415
    from runcard.views.formats import byte_size  # noqa: PLC0415

    try:
        copies = record_copies(record)
    except StoreError:
        rest = finish_deletion(record)
        if not rest:
            raise
        if as_json:
            say_json({"id": None, "deleted": [each.to_dict() for each in rest]})
        for each in () if as_json else rest:
            say_done(f"deleted {printable(each.path)}, the rest of a deletion that was interrupted")
        return ExitCode.OK
    lines = [f"{printable(copy.path)}: {byte_size(copy.bytes)}" for copy in copies]
    if not yes and not is_agreed(f"Delete {copies[0].id}?", otherwise="nothing was deleted", about=lines):
        return ExitCode.FAILED
    delete_record(copies, force=force, why=reason)
    if as_json:
        say_json({"id": copies[0].id, "deleted": [copy.to_dict() for copy in copies]})
    else:
        for copy in copies:
            say_done(f"deleted {printable(copy.path)}")
    return ExitCode.OK
