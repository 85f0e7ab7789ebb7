"""Reading amendments: the only way in which a closed record changes.

`amendments.jsonl` is a chain that begins with the digest of the metadata document as it was sealed. An entry that changes
a file names its path, its old and new digest, and who did it, when and why; without a new digest the file was removed.
An entry that changes none is a remark.
"""

import os
import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple, TypeGuard

from runcard.documents.chain import ChainCheck, ChainFault, Head, Journal, check, heads, parse
from runcard.encoding import JsonObject
from runcard.store import layout

REDACTION, MIGRATION = "redaction", "migration"
NOTE, TAG, EVALUATION, APPROVAL = "note", "tag", "evaluation", "approval"


class FileChange(NamedTuple):
    """An amendment that changed or removed a file."""

    kind: str  # redaction, migration, …
    path: str
    old: str
    new: str | None
    who: str
    why: str
    payload: JsonObject  # of the entry
    line: str  # the hash of its line

    def __str__(self) -> str:
        return self.by("withheld" if self.new is None else "amended")

    def by(self, verb: str) -> str:
        """Who did it and why, as the amendment says: a name in it is no proof."""
        return f"{verb} by '{self.who}' because {self.why}, says the amendment"

    @property
    def events(self) -> list[str]:
        """The events whose payload it took out."""
        events = self.payload.get("events")
        return [event for event in events if isinstance(event, str)] if isinstance(events, list) else []

    def describe(self) -> str:
        return f"{self.path}: {self}"

    def to_dict(self) -> JsonObject:
        return {"kind": self.kind, **self.payload}


class Remark(NamedTuple):
    """An amendment that changes no file: a note, a tag, an evaluation, an approval."""

    kind: str
    payload: JsonObject

    def describe(self) -> str:
        who, why = self.payload.get("who") or "unknown", self.payload.get("why")
        files = self._files()
        on = f" on {files}" if files else ""
        if self.kind == NOTE:
            return f"note{on} by {who}: {self.payload.get('text')}"
        if self.kind == APPROVAL:
            approver = self.payload.get("approved_by") or who
            text = f"{files} approved by {approver}".lstrip() + (
                "" if approver == who else f", entered by {who}"
            )
        elif self.kind == EVALUATION:
            text = f"evaluation {self.payload.get('name')} = {self.payload.get('value')}{on} by {who}"
        else:
            text = f"{self.kind} {self.payload.get('tag', '')}".rstrip() + f"{on} by {who}"
        return f"{text}: {why}" if why else text

    def _files(self) -> str:
        """The files that it is about; empty for the whole record."""
        about = self.payload.get("about")
        parts = [part for part in about if isinstance(part, dict)] if isinstance(about, list) else []
        paths = [path for part in parts if isinstance(path := part.get("path"), str)]
        return ", ".join(path for path in paths if path != layout.CHECKSUMS)

    def to_dict(self) -> JsonObject:
        return {"kind": self.kind, **self.payload}


class Amendments(NamedTuple):
    """The amendments of a record."""

    journal: Journal | None = None
    entries: tuple[FileChange | Remark, ...] = ()
    by_path: Mapping[str, list[FileChange]] = MappingProxyType({})

    @property
    def changes(self) -> tuple[FileChange, ...]:
        return tuple(entry for entry in self.entries if isinstance(entry, FileChange))

    @property
    def migrated(self) -> set[str]:
        """The digests of the documents that migrations replaced."""
        return {change.old for change in self.changes if change.kind == MIGRATION}

    @property
    def end(self) -> Head | None:
        """Where they end: they are one chain. None without any."""
        lines = self.journal.entries if self.journal else ()
        return heads(entry.line for entry in lines)[-1] if lines else None

    @property
    def descriptions(self) -> list[str]:
        """A sentence for each entry."""
        return [entry.describe() for entry in self.entries]

    def accepted(self, path: str, sealed: str) -> tuple[str | None, list[FileChange]]:
        """The digest a file must have now, given the one it was sealed with, and the changes that lead there."""
        digest: str | None = sealed
        applied = []
        for change in self.by_path.get(path, ()):
            if change.old == digest:
                digest = change.new
                applied.append(change)
        return digest, applied

    def sealed(self, path: str, current: str) -> str:
        """The digest a file was sealed with, given the one it has now."""
        digest = current
        for change in reversed(self.by_path.get(path, [])):
            if change.new == digest:
                digest = change.old
        return digest

    def check(self, sealed_metadata: str) -> ChainCheck | None:
        """Check the chain, which begins with the digest of the sealed metadata document: the only one, so of one writer."""
        if self.journal is None:
            return None
        checked = check(self.journal, "", first=sealed_metadata)
        return checked._replace(faults=(*checked.faults, *_other_writers(self.journal)))


def read_amendments(record: str) -> Amendments:
    """The amendments of a record; none for a record that was never amended."""
    from runcard.store.journal import read_journal  # noqa: PLC0415 - it also writes journals, and is long to load

    path = os.path.join(record, layout.AMENDMENTS)
    return _amendments(read_journal(path)) if os.path.lexists(path) else Amendments()


def parse_amendments(data: bytes | None) -> Amendments:
    """The amendments in the bytes of a record's `amendments.jsonl`, if it has one."""
    return Amendments() if data is None else _amendments(parse(data))


def _amendments(journal: Journal) -> Amendments:
    entries = tuple(amendment for line in journal.entries if (amendment := _entry(line.line)) is not None)
    by_path: dict[str, list[FileChange]] = {}
    for entry in entries:
        if isinstance(entry, FileChange):
            by_path.setdefault(entry.path, []).append(entry)
    return Amendments(journal, entries, by_path)


def _other_writers(journal: Journal) -> Iterator[ChainFault]:
    """The first line of a second writer: each has a chain of its own, which could be taken out or put before another."""
    first = journal.entries[0].line["writer"] if journal.entries else ""
    for number, _, line, _ in journal.entries:
        if line["writer"] != first:
            yield ChainFault(number, line["writer"], line["seq"], "amendments of several writers")
            return


def changes_record(line: JsonObject) -> bool:
    """Whether a line of `amendments.jsonl` changes the record. A remark only adds to it; a line of unknown kind may change it."""
    return not isinstance(_entry(line), Remark)


def describe_line(line: JsonObject) -> str:
    """A line of `amendments.jsonl` in words."""
    entry = _entry(line)
    return "an amendment of unknown kind" if entry is None else entry.describe()


def _is_digest(value: object) -> TypeGuard[str]:
    """Whether this is a digest: the bytes of before are looked for under that name."""
    return isinstance(value, str) and re.fullmatch("[0-9a-f]{64}", value) is not None


def _entry(line: JsonObject) -> FileChange | Remark | None:
    """The amendment in a line; None for an unknown one."""
    kind, payload = str(line.get("event")), line.get("payload")
    if not isinstance(payload, dict):
        return None
    path, old, new = (payload.get(key) for key in ("path", "old_sha256", "new_sha256"))
    if isinstance(path, str) and _is_digest(old) and (new is None or _is_digest(new)):
        who, why = (str(payload.get(key) or "unknown") for key in ("who", "why"))
        return FileChange(kind, path, old, new, who, why, payload, str(line.get("hash")))
    return Remark(kind, payload) if kind in {NOTE, TAG, EVALUATION, APPROVAL} else None
