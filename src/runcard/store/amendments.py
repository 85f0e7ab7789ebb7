"""Reading amendments: the only way in which a closed record changes.

`amendments.jsonl` is a chain that begins with the digest of the metadata document as it was sealed. An entry that changes
a file names its path, its old and new digest, and who did it, when and why; without a new digest the file was taken out.
"""

import os
from dataclasses import dataclass, field
from typing import Any

from runcard.documents.chain import Checked, Journal, check, parse
from runcard.store import layout
from runcard.store.journal import read_journal


@dataclass(frozen=True, slots=True)
class Change:
    """What an amendment did to a file."""

    kind: str  # redaction, migration, …
    path: str
    old: str
    new: str | None
    who: str
    why: str

    def __str__(self) -> str:
        return f"{'withheld' if self.new is None else 'amended'} by {self.who} because {self.why}"

    def to_dict(self) -> dict[str, Any]:
        return {"kind": self.kind, "path": self.path, "who": self.who, "why": self.why}


@dataclass(frozen=True, slots=True)
class Amendments:
    """What was amended in a record."""

    journal: Journal | None = None
    changes: tuple[Change, ...] = ()
    by_path: dict[str, list[Change]] = field(default_factory=dict)

    @property
    def told(self) -> list[str]:
        """A sentence for each change."""
        return [f"{change.path}: {change}" for change in self.changes]

    def accepted(self, path: str, sealed: str) -> tuple[str | None, list[Change]]:
        """The digest a file must have now, given the one it was sealed with, and the changes that lead there."""
        digest: str | None = sealed
        taken = []
        for change in self.by_path.get(path, ()):
            if change.old == digest:
                digest = change.new
                taken.append(change)
        return digest, taken

    def sealed(self, path: str, current: str) -> str:
        """The digest a file was sealed with, given the one it has now."""
        digest = current
        for change in reversed(self.by_path.get(path, [])):
            if change.new == digest:
                digest = change.old
        return digest

    def check(self, sealed_metadata: str) -> Checked | None:
        """What the chain says, when it begins with the sealed metadata document."""
        return None if self.journal is None else check(self.journal, "", first=sealed_metadata)


def read_amendments(record: str) -> Amendments:
    """The amendments of a record; none for a record that was never amended."""
    path = os.path.join(record, layout.AMENDMENTS)
    return _amendments(read_journal(path)) if os.path.lexists(path) else Amendments()


def parse_amendments(data: bytes | None) -> Amendments:
    """The amendments in the bytes of a record's `amendments.jsonl`, if it has one."""
    return Amendments() if data is None else _amendments(parse(data))


def _amendments(journal: Journal) -> Amendments:
    changes = tuple(change for entry in journal.entries if (change := _change(entry.line)) is not None)
    by_path: dict[str, list[Change]] = {}
    for change in changes:
        by_path.setdefault(change.path, []).append(change)
    return Amendments(journal, changes, by_path)


def _change(line: dict[str, Any]) -> Change | None:
    """A change of a file; None for a remark that changes none."""
    payload = line.get("payload")
    if not isinstance(payload, dict):
        return None
    path, old, new = (payload.get(key) for key in ("path", "old_sha256", "new_sha256"))
    if not isinstance(path, str) or not isinstance(old, str) or not isinstance(new, str | None):
        return None
    who, why = (str(payload.get(key) or "unknown") for key in ("who", "why"))
    return Change(str(line.get("event")), path, old, new, who, why)
