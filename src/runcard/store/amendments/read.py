"""Reading amendments: the only way in which a closed record changes.

`amendments.jsonl` is a chain that begins with the digest of the metadata document as it was sealed. An entry that changes
a file names its path, its old and new digest, and who did it, when and why; without a new digest the file was taken out.
An entry that changes none is a remark.
"""

import os
import re
from dataclasses import dataclass, field
from typing import TypeGuard

from runcard.documents.chain import ChainCheck, Journal, check, parse
from runcard.encoding import JsonObject
from runcard.store import layout
from runcard.store.journal import read_journal

REDACTION, MIGRATION = "redaction", "migration"
NOTE, TAG, EVALUATION, APPROVAL = "note", "tag", "evaluation", "approval"


@dataclass(frozen=True, slots=True)
class Change:
    """What an amendment did to a file."""

    kind: str  # redaction, migration, …
    path: str
    old: str
    new: str | None
    who: str
    why: str
    said: JsonObject = field(default_factory=dict)  # all of the entry

    def __str__(self) -> str:
        return self.by("withheld" if self.new is None else "amended")

    def by(self, verb: str) -> str:
        return f"{verb} by {self.who} because {self.why}"

    @property
    def events(self) -> list[str]:
        """The events whose payload it took out."""
        events = self.said.get("events")
        return [event for event in events if isinstance(event, str)] if isinstance(events, list) else []

    def told(self) -> str:
        return f"{self.path}: {self}"

    def to_dict(self) -> JsonObject:
        return {"kind": self.kind, **self.said}


@dataclass(frozen=True, slots=True)
class Remark:
    """An amendment that changes no file: a note, a tag, an evaluation, an approval."""

    kind: str
    said: JsonObject

    def told(self) -> str:
        who, why = self.said.get("who") or "unknown", self.said.get("why")
        if self.kind == NOTE:
            return f"note by {who}: {self.said.get('text')}"
        if self.kind == APPROVAL:
            approver = self.said.get("approved_by") or who
            said = f"approved by {approver}" + ("" if approver == who else f", entered by {who}")
        elif self.kind == EVALUATION:
            said = f"evaluation {self.said.get('name')} = {self.said.get('value')} by {who}"
        else:
            said = f"{self.kind} {self.said.get('tag', '')}".rstrip() + f" by {who}"
        return f"{said}: {why}" if why else said

    def to_dict(self) -> JsonObject:
        return {"kind": self.kind, **self.said}


@dataclass(frozen=True, slots=True)
class Amendments:
    """What was amended in a record."""

    journal: Journal | None = None
    entries: tuple[Change | Remark, ...] = ()
    by_path: dict[str, list[Change]] = field(default_factory=dict)

    @property
    def changes(self) -> tuple[Change, ...]:
        return tuple(entry for entry in self.entries if isinstance(entry, Change))

    @property
    def told(self) -> list[str]:
        """A sentence for each entry."""
        return [entry.told() for entry in self.entries]

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

    def check(self, sealed_metadata: str) -> ChainCheck | None:
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
    found = tuple(said for entry in journal.entries if (said := _entry(entry.line)) is not None)
    by_path: dict[str, list[Change]] = {}
    for one in found:
        if isinstance(one, Change):
            by_path.setdefault(one.path, []).append(one)
    return Amendments(journal, found, by_path)


def _is_digest(said: object) -> TypeGuard[str]:
    """Whether this is a digest: the bytes of before are looked for under that name."""
    return isinstance(said, str) and re.fullmatch("[0-9a-f]{64}", said) is not None


def _entry(line: JsonObject) -> Change | Remark | None:
    """What a line says; None for one that says nothing that is understood."""
    kind, payload = str(line.get("event")), line.get("payload")
    if not isinstance(payload, dict):
        return None
    path, old, new = (payload.get(key) for key in ("path", "old_sha256", "new_sha256"))
    if isinstance(path, str) and _is_digest(old) and (new is None or _is_digest(new)):
        who, why = (str(payload.get(key) or "unknown") for key in ("who", "why"))
        return Change(kind, path, old, new, who, why, payload)
    return Remark(kind, payload) if kind in {NOTE, TAG, EVALUATION, APPROVAL} else None
