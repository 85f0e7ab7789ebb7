"""What collections left behind that were killed: the next one finishes it, or removes it."""

import os
from collections.abc import Iterator

from runcard.digests import sha256_bytes
from runcard.documents.kinds import TEAM
from runcard.documents.session.team import Team
from runcard.errors import RuncardError
from runcard.files import printable
from runcard.operations.checks.load import load
from runcard.operations.sessions.assembly import enter
from runcard.store import layout
from runcard.store.ledger import Ledger, entries, ledgers
from runcard.store.sessions.directory import Abandoned, abandoned, clear_mark, remove


def tidy(store: str) -> Iterator[str]:
    """Finish or remove what killed collections left in a store; what was done, in a sentence each."""
    with abandoned(store) as found:
        for one in found:
            try:
                yield _finished(store, one) if one.mark is not None else _removed(one)
            except RuncardError as error:  # another user's, for one: it is in nobody's way
                yield f"an interrupted collection left something behind: {error.message}"


def _removed(one: Abandoned) -> str:
    remove(one)
    return f"removed what an interrupted collection left behind: {printable(one.path)}"


def _finished(store: str, one: Abandoned) -> str:
    """Enter a session in the ledger whose collector was killed between its name and its entry."""
    document = load(os.path.join(one.path, layout.METADATA), kind=TEAM.name)
    digest = sha256_bytes(document.to_bytes()).hex
    with Ledger(store) as ledger:
        listed = {entry.sha256 for _, journal, _ in ledgers(store) for entry in entries(journal)}
        if digest not in listed and isinstance(document, Team):
            enter(ledger, one.name, document)
    clear_mark(str(one.mark))
    return f"finished an interrupted collection: {printable(one.path)}"
