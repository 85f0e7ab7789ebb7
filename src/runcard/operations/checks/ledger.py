"""The history of a store, by its ledgers."""

import os
from dataclasses import dataclass
from itertools import accumulate
from operator import itemgetter

from runcard.encoding import JsonObject
from runcard.errors import StoreError
from runcard.files import printable
from runcard.store.ledger import LedgerReading, ledger_paths


@dataclass(frozen=True, slots=True)
class HostLedger:
    """One host's ledger."""

    path: str
    entries: tuple[JsonObject, ...]
    troubles: tuple[str, ...]  # one sentence for each problem

    def to_dict(self) -> JsonObject:
        return {
            "path": printable(self.path),
            "intact": not self.troubles,
            "troubles": list(self.troubles),
            "entries": list(self.entries),
        }


def history(store: str | os.PathLike[str]) -> tuple[HostLedger, ...]:
    """The ledgers of a store, one for each host that wrote there; raises StoreError where there is none."""
    path = os.fspath(store)
    if not os.path.isdir(path):
        reason = "is not a directory" if os.path.lexists(path) else "does not exist"
        raise StoreError(f"{printable(path)} {reason}", hint="name the directory of a store")
    host_ledgers = tuple(map(_host_ledger, ledger_paths(path)))
    if not host_ledgers:
        raise StoreError(
            f"{printable(path)} has no ledger", hint="it begins with the first record that is closed"
        )
    return host_ledgers


def in_order(host_ledgers: tuple[HostLedger, ...]) -> list[JsonObject]:
    """The entries of all hosts in the order of time; those of one host stay in their own order, even if its clock jumped."""
    timed: list[tuple[str, JsonObject]] = []
    for ledger in host_ledgers:
        times = accumulate((str(entry["timestamp"] or "") for entry in ledger.entries), max)
        timed += zip(times, ledger.entries, strict=True)
    return [entry for _, entry in sorted(timed, key=itemgetter(0))]


def _host_ledger(path: str) -> HostLedger:
    ledger = LedgerReading(path)
    entries = tuple(map(_entry, ledger))
    troubles = [f"line {fault.number}: {fault.reason}" for fault in ledger.faults]
    troubles += ["the last line is torn: an entry was not finished"] if ledger.is_torn else []
    return HostLedger(path, entries, tuple(troubles))


def _entry(line: JsonObject) -> JsonObject:
    """The fields of an entry, and its position in the chain."""
    payload = line.get("payload")
    fields = payload if isinstance(payload, dict) else {}
    position = {key: line.get(key) for key in ("seq", "timestamp", "event", "hash")}
    return {**position, **{key: value for key, value in fields.items() if key not in position}}
