"""The history of a store, by its ledgers."""

import os
from dataclasses import dataclass
from itertools import accumulate
from operator import itemgetter

from runcard.documents.chain import ChainCheck, Journal
from runcard.encoding import JsonObject
from runcard.errors import StoreError
from runcard.files import printable
from runcard.store.ledger import ledgers


@dataclass(frozen=True, slots=True)
class Book:
    """One host's ledger."""

    path: str
    entries: tuple[JsonObject, ...]
    troubles: tuple[str, ...]  # what is wrong with it, in a sentence each

    def to_dict(self) -> JsonObject:
        return {
            "path": printable(self.path),
            "intact": not self.troubles,
            "troubles": list(self.troubles),
            "entries": list(self.entries),
        }


def history(store: str | os.PathLike[str]) -> tuple[Book, ...]:
    """The ledgers of a store, one for each host that wrote there; raises StoreError where there is none."""
    path = os.fspath(store)
    if not os.path.isdir(path):
        reason = "is not a directory" if os.path.lexists(path) else "does not exist"
        raise StoreError(f"{printable(path)} {reason}", hint="name the directory of a store")
    books = tuple(_book(name, journal, checked) for name, journal, checked in ledgers(path))
    if not books:
        raise StoreError(
            f"{printable(path)} has no ledger", hint="it begins with the first record that is closed"
        )
    return books


def in_order(books: tuple[Book, ...]) -> list[JsonObject]:
    """The entries of all hosts in the order of time; those of one stay in their own, whatever its clock said."""
    timed: list[tuple[str, JsonObject]] = []
    for book in books:
        times = accumulate((str(entry["timestamp"] or "") for entry in book.entries), max)
        timed += zip(times, book.entries, strict=True)
    return [entry for _, entry in sorted(timed, key=itemgetter(0))]


def _book(path: str, journal: Journal, checked: ChainCheck) -> Book:
    troubles = [f"line {fault.number}: {fault.reason}" for fault in checked.faults]
    troubles += ["the last line is torn: an entry was not finished"] if journal.torn else []
    return Book(path, tuple(_entry(entry.line) for entry in journal.entries), tuple(troubles))


def _entry(line: JsonObject) -> JsonObject:
    """What an entry says, and its place in the chain."""
    payload = line.get("payload")
    fields = payload if isinstance(payload, dict) else {}
    position = {key: line.get(key) for key in ("seq", "timestamp", "event", "hash")}
    return {**position, **{key: value for key, value in fields.items() if key not in position}}
