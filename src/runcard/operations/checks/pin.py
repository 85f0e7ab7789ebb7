"""Remembering where ledgers ended, for `runcard verify --pin FILE`.

A user who can write to a store can shorten or rewrite its ledger. Regular checks with a pin file in another place detect
that: a ledger only grows, so the last entry of the previous check must still be at its position. The hash of an entry
covers all entries before it.

Invariant: a pin is only ever moved forward. When a ledger was shortened or rewritten, the file stays as it is.
"""

import os
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from runcard.documents.findings import COMPLETE, ERROR, INTACT, Finding, ledger_finding
from runcard.encoding import JsonObject, decode_json, encode_json
from runcard.errors import EncodingError, RuncardError, StoreError
from runcard.files import NotRegularFileError, failure, json_name, open_regular, printable, write_atomic
from runcard.files.reading import read_stream
from runcard.operations.checks.verify_result import Verified
from runcard.store import layout
from runcard.store.ledger_index import IndexedLedger, LedgerIndex
from runcard.store.locks import lock_folder
from runcard.store.verification import Verdict

_VERSION, _MAJOR = "1.0.0", "1."
_LARGEST = 16 << 20  # bytes of a pin file


class LedgerEnd(NamedTuple):
    """The end of a ledger when it was last checked."""

    entries: int
    head: str


Pins = dict[str, dict[str, LedgerEnd]]  # by the path of the store, then by the name of the ledger


class PinCheck(NamedTuple):
    """The result of comparing ledgers with a pin file."""

    file: str
    results: tuple[Verified, ...]  # one for each store with findings
    ledgers: int  # that are pinned now, of the stores that were looked at
    new: int  # of these, the ones that were not pinned before: there was nothing to compare them with
    is_updated: bool

    def to_dict(self) -> JsonObject:
        counts = {"ledgers": self.ledgers, "new": self.new}
        return {"file": printable(self.file), **counts, "updated": self.is_updated}

    def __str__(self) -> str:
        """How many ledgers were pinned and compared."""
        compared, total = self.ledgers - self.new, f"{self.ledgers} ledger{'' if self.ledgers == 1 else 's'}"
        if not compared:
            return f"{printable(self.file)}: pinned {total} for the first time, nothing to compare yet"
        first_time = f", {self.new} pinned for the first time" if self.new else ""
        return f"{printable(self.file)}: {compared} of {total} compared with the last check{first_time}"


def read_pins(file: str) -> Pins:
    """The pins in a file; none if it does not exist yet. Raises StoreError for another file."""
    try:
        descriptor = open_regular(file, follow=True)
    except FileNotFoundError:
        if not os.path.isdir(folder := os.path.dirname(os.path.abspath(file))):
            raise StoreError(
                f"cannot pin to {printable(file)}: {printable(folder)} does not exist",
                hint="create this folder, or name another file",
            ) from None
        return {}
    except NotRegularFileError as error:
        message = f"{printable(file)} is a {error.type}, not a regular file"
        raise StoreError(message, hint="name a file for the pins") from error
    except OSError as error:
        raise failure(error, file, "read") from error
    with open(descriptor, "rb", buffering=0) as opened:
        data = read_stream(opened, _LARGEST)
    try:
        return _pins(decode_json(data))
    except (EncodingError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise StoreError(
            f"{printable(file)} is not a pin file, or is damaged",
            hint="put a copy back; or delete it, and the next check pins the ledgers anew",
        ) from error


def _pins(data: Any) -> Pins:  # noqa: ANN401 - whatever stands in the file
    if not data["version"].startswith(_MAJOR):
        raise ValueError("another version")
    pins = {
        store: {name: LedgerEnd(end["entries"], end["head"]) for name, end in ends.items()}
        for store, ends in data["stores"].items()
    }
    all_ends = [end for ends in pins.values() for end in ends.values()]
    if not all(type(end.entries) is int and end.entries > 0 and type(end.head) is str for end in all_ends):
        raise ValueError("not a position in a ledger")
    return pins


def check_pins(file: str, paths: Iterable[str], verified_stores: Iterable[str]) -> PinCheck:
    """Compare the ledgers of verified stores with the pin file, and move the pins forward.

    `paths` are those that the user named: a pinned store below them must still be there.
    """
    path_by_real_path = {os.path.realpath(path): path for path in paths}
    real_paths = list(path_by_real_path)
    stores = set(map(os.path.realpath, verified_stores))
    stores |= {path for path in real_paths if layout.ledger_paths(path)}
    with lock_folder(os.path.dirname(os.path.abspath(file))):
        pins = read_pins(file)
        key_by_store = {store: json_name(store).text for store in stores}
        key_by_store |= {
            store: store
            for store in pins
            if store not in key_by_store.values() and _is_below(store, real_paths)
        }
        store_by_key = {
            key: _PinnedStore(path_by_real_path.get(store, store), pins.get(key))
            for store, key in key_by_store.items()
        }
        results_with_findings = tuple(
            store.result for store in store_by_key.values() if store.result.verdict.findings
        )
        can_move = all(store.is_sound for store in store_by_key.values())
        moved = pins | {key: store.ends for key, store in store_by_key.items() if store.ends}
        if can_move and moved != pins:
            _write(file, moved)
    pinned = {(key, name) for key in store_by_key for name in moved.get(key, ())}
    new = sum(name not in pins.get(key, ()) for key, name in pinned)
    return PinCheck(file, results_with_findings, len(pinned), new, can_move)


def _is_below(store: str, folders: list[str]) -> bool:
    return any(store == path or store.startswith(path.rstrip("/") + "/") for path in folders)


class _PinnedStore:
    """The ledgers of a store as they are now, compared with their pins."""

    def __init__(self, store: str, pins: dict[str, LedgerEnd] | None) -> None:
        self.ends: dict[str, LedgerEnd] = {}
        self.is_sound = True
        findings = []
        try:
            with LedgerIndex(store) as index:
                findings = [*self._compared(index, pins or {}), *_new(index, pins)]
        except RuncardError as error:
            findings.append(_failed(layout.own_folder(store), error.message, COMPLETE))
        self.is_sound &= all(finding.severity is not ERROR for finding in findings)
        self.result = Verified(store, Verdict(tuple(findings), records=0), store)

    def _compared(self, index: LedgerIndex, pins: dict[str, LedgerEnd]) -> Iterator[Finding]:
        ledger_by_name = {ledger.name: ledger for ledger in index.ledgers}
        for name, pin in sorted(pins.items()):
            if name not in ledger_by_name:
                yield _failed(
                    name, "the ledger is missing: it was here at the last check", COMPLETE, pin.head
                )
            else:
                yield from _shortened(index, ledger_by_name[name], pin)
        for name, ledger in ledger_by_name.items():
            self.is_sound &= not ledger.faults  # which `verify` reports
            if ledger.end is not None:
                self.ends[name] = LedgerEnd(ledger.end.count, ledger.end.head)


def _shortened(index: LedgerIndex, ledger: IndexedLedger, pin: LedgerEnd) -> Iterator[Finding]:
    count = index.count(ledger)
    if count < pin.entries:
        message = (
            f"the ledger was shortened: it had {pin.entries:,} entries at the last check, and has {count:,}"
        )
        yield _failed(ledger.name, message, COMPLETE, pin.head)
    elif (found := index.hash_at(ledger, pin.entries)) != pin.head:
        message = f"the ledger was rewritten: entry {pin.entries:,} is not the one of the last check"
        yield _failed(ledger.name, message, INTACT, pin.head, found)


def _new(index: LedgerIndex, pins: dict[str, LedgerEnd] | None) -> Iterator[Finding]:
    """A ledger that is new: another host writes here, or it was put there."""
    for ledger in index.ledgers:
        if pins is not None and ledger.name not in pins:
            message = "the ledger was not here at the last check"
            yield ledger_finding(printable(ledger.name), ledger.name, message)


def _failed(
    name: str, message: str, breaks: str, expected: str | None = None, found: str | None = None
) -> Finding:
    return ledger_finding(printable(name), name, message, breaks=breaks, expected=expected, found=found)


def _write(file: str, pins: Pins) -> None:
    stores = {
        store: {name: end._asdict() for name, end in sorted(ends.items())}
        for store, ends in sorted(pins.items())
    }
    try:
        write_atomic(file, encode_json({"version": _VERSION, "stores": stores}))
    except OSError as error:
        raise failure(error, file, "write") from error
