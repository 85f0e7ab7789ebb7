"""Whether what was imported of a session is still there: its records, one on each line, compared by their digests.

An import has a copy of them with secrets masked, so a line of now counts as it is and masked. A record that its tool has
finished since, or added to, is the same record: texts are longer and counts are others, but nothing that was said is gone.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from hashlib import blake2b
from typing import Any

from runcard.masking import mask_text

_UNFINISHED = frozenset({"pending", "running"})
_FACTS = frozenset(
    {"session", "instance"}
)  # records of what changes all the time: the title, the last activity

Lines = Callable[[], Iterable[bytes]]


def has_all(stored: Lines, now: Lines) -> bool:
    """Whether each record of a copy is among those of now, or is there with more in it."""
    missing = {_digest(line) for line in stored()}
    for line in now():
        own = _digest(line)
        missing -= {own if own in missing else _digest(_masked(line))} if missing else set()
    earlier: dict[str, Any] = {}
    for line in stored() if missing else ():
        if _digest(line) in missing:
            record = _parsed(line)
            if (key := _key(record)) is None:
                return False
            earlier[key] = record
    for line in now() if earlier else ():
        record = _parsed(line)
        before = earlier.pop(_key(record) or "", None)
        if before is not None and not any(
            _is_continued(before, each) for each in (record, _parsed(_masked(line)))
        ):
            return False
    return not earlier


class CopiedRecords:
    """The records that an import has copies of; where they have ids of their own, they are compared by these."""

    def __init__(self, session_id: str, lines: Iterable[bytes]) -> None:
        self._session_id = session_id
        self._ids: set[str] = set()
        self._digests: set[bytes] = set()
        for line in lines:
            self._digests.add(_digest(line))
            if (uuid := _uuid(_parsed(line))) is not None:
                self._ids.add(uuid)

    def have(self, line: bytes) -> bool:
        """Whether a line says nothing new about the session."""
        if self._ids:
            record = _parsed(line)
            uuid = _uuid(record)
            return uuid is None or uuid in self._ids or record.get("sessionId") != self._session_id
        return not line.strip() or not self._digests.isdisjoint({_digest(line), _digest(_masked(line))})


def lines_of(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """The lines of a file that is read in blocks."""
    parts: list[bytes] = []
    for block in blocks:
        *whole, rest = block.split(b"\n")
        for line in whole:
            yield b"".join([*parts, line])
            parts = []
        parts.append(rest)
    if last := b"".join(parts):
        yield last


def _digest(line: bytes) -> bytes:
    return blake2b(line.rstrip(b"\r\n"), digest_size=16).digest()


def _masked(line: bytes) -> bytes:
    text = line.decode("utf-8", "surrogateescape")
    return mask_text(text).value.encode("utf-8", "surrogateescape")


def _parsed(line: bytes) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return record if isinstance(record, dict) else {}


def _uuid(record: dict[str, Any]) -> str | None:
    uuid = record.get("uuid")
    return uuid if isinstance(uuid, str) else None


def _key(record: dict[str, Any]) -> str | None:
    """The table and the id of a record that a tool changes; None for one that it only adds."""
    table, name = record.get("table", record.get("kind")), record.get("id")
    return f"{table} {name}" if isinstance(table, str) and isinstance(name, str) else None


def _is_continued(earlier: dict[str, Any], record: dict[str, Any]) -> bool:
    try:
        return record.get("table", record.get("kind")) in _FACTS or _has(record, earlier)
    except RecursionError:
        return False  # nested too deeply to tell


def _has(value: object, earlier: object) -> bool:
    """Whether a value has all that an earlier one had."""
    match earlier:
        case {"status": str(status)} if status in _UNFINISHED:
            return isinstance(value, dict)
        case dict():
            return isinstance(value, dict) and all(
                name in value and _has(value[name], earlier[name]) for name in earlier
            )
        case list():
            return isinstance(value, list) and len(value) >= len(earlier) and all(map(_has, value, earlier))
        case str():
            return isinstance(value, str) and value.startswith(earlier)
        case None:
            return True
    return isinstance(value, int | float)
