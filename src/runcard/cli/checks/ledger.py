"""runcard ledger"""

import os
import sys

import click

from runcard.cli.exit_codes import ExitCode
from runcard.cli.options import PATH, json_option
from runcard.cli.printing import complain, complain_of_settings, say, say_json
from runcard.encoding import JsonObject
from runcard.errors import StoreError


@click.command("ledger")
@click.argument("store", metavar="[STORE]", required=False, type=PATH)
@json_option
def command(store: str | None, as_json: bool) -> int:
    """Print what happened to the records of STORE, oldest first: closed, amended, redacted, migrated, imported again, deleted.

    STORE is a folder of runs or sessions; by default the setting `outputs`. To compare the records with the ledger, use
    `runcard verify STORE`.

    Exit codes: 0 printed, 1 no ledger, 2 a ledger is damaged.
    """
    from runcard.files import printable, shell_word  # noqa: PLC0415
    from runcard.operations.checks.ledger import history, in_order  # noqa: PLC0415
    from runcard.settings import ARTIFACTS_DIR, OUTPUTS, read_settings  # noqa: PLC0415

    settings = read_settings()
    name = store if store is not None else settings[OUTPUTS]
    other = settings[ARTIFACTS_DIR]
    if store is None and not os.path.lexists(name) and os.path.isdir(other):
        raise StoreError(f"{printable(name)} does not exist", hint=f"try: runcard ledger {shell_word(other)}")
    books = history(name)
    if as_json:
        say_json({"store": name, "ledgers": [book.to_dict() for book in books]})
    else:
        for entry in in_order(books):
            say(_line(entry))
    sys.stdout.flush()
    troubles = [f"{book.path}: {trouble}" for book in books for trouble in book.troubles]
    for trouble in troubles:
        complain("Warning", trouble)
    code = ExitCode.WARNINGS if troubles else ExitCode.OK
    return code if store is not None else complain_of_settings(settings, code)


def _line(entry: JsonObject) -> str:
    """One entry: time, event, record, what it replaces, and the author and the reason, if given."""
    event = str(entry["event"]).removeprefix("record.")
    record = f"{entry.get('kind', 'record')} {entry.get('path', '(withheld)')}"
    record_id = f" ({entry['id']})" if entry.get("id") else ""
    replaced = entry.get("replaces")
    replaces = f" replaces {replaced.get('path', '')}" if isinstance(replaced, dict) else ""
    by = f" by {entry['who']}" if entry.get("who") else ""
    why = f" because {entry['why']}" if entry.get("why") else ""
    return f"{entry['timestamp'] or '':<24}  {event:<10}  {record}{record_id}{replaces}{by}{why}"
