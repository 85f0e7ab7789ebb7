"""Find words in transcripts: `runcard ls --text WORDS --transcripts`."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import BinaryIO

from runcard.catalog.columns import INSTANCES, RECORDS, Column, Columns
from runcard.catalog.searching import Filters, agent_names, list_table, unreachable_stores
from runcard.catalog.transcript_index import (
    Candidates,
    PartPlace,
    WithProgress,
    candidates,
    file_version,
    open_record_at,
    path_of,
    transcripts_of,
    update_index,
)
from runcard.catalog.transcript_text import FoundLine, TranscriptPart, WordsToFind, parts_at, parts_of
from runcard.encoding import JsonObject
from runcard.errors import RuncardError, UsageError
from runcard.operations.catalog.open import open_catalog
from runcard.store import layout

_OF_A_HIT = {
    "agent": Column("agent", "", "text"),  # the name of the instance, or else its id
    "agent_id": Column("agent_id", "", "text"),
    "file": Column("file", "", "text"),
    "line": Column("line", "", "number"),
    "text": Column("text", "", "text"),
}
_ALWAYS = {RECORDS: ("id", "kind", "path"), INSTANCES: ("session", "id", "path")}
_DEFAULT = {RECORDS: ("id", "agent", "line", "text"), INSTANCES: ("session", "agent", "line", "text")}
_KINDS = {"runs": "run", "sessions": "session"}


@dataclass
class TranscriptHits:
    """The lines that were found, with the columns that were asked for."""

    columns: list[Column]
    rows: list[JsonObject] = field(default_factory=list)
    matches: list[int] = field(default_factory=list)  # where in the text of a row the first word begins
    has_more: bool = False  # whether the limit left out some
    unreachable: tuple[str, ...] = ()  # stores that could not be looked at
    unread: list[tuple[str, str]] = field(default_factory=list)  # records that could not be read, and why
    warning: str | None = None  # why the catalog is not up to date

    def to_dict(self) -> JsonObject:
        return {
            "hits": self.rows,
            "has_more": self.has_more,
            "unreachable_stores": list(self.unreachable),
            "unread": [{"path": path, "message": message} for path, message in self.unread],
        }


def search_transcripts(  # noqa: PLR0913 - as the options of the command
    text: str,
    what: str = "records",
    filters: Filters | None = None,
    *,
    columns: Sequence[str] | None = None,
    sort: Sequence[str] = ("-started",),
    limit: int | None = None,
    with_progress: WithProgress = iter,
    catalog: str | None = None,
    stores: list[str] | None = None,
) -> TranscriptHits:
    """The lines with all words of a text, in the transcripts of records or instances that pass the filters."""
    words, table = WordsToFind(text), INSTANCES if what == INSTANCES else RECORDS
    if what not in {"records", *_KINDS, INSTANCES}:
        raise UsageError(f"{what} have no transcripts", hint="search in runs, sessions or instances")
    wanted = tuple(columns) if columns is not None else _DEFAULT[table]
    names = [name for name in dict.fromkeys((*_ALWAYS[table], *wanted)) if name not in _OF_A_HIT]
    for name in (*names, *sort):  # before anything is read
        Columns(table).find(name.removeprefix("-"))
    asked = filters or Filters()
    asked = replace(asked, kind=_KINDS.get(what, asked.kind), text=None)
    with open_catalog(stores, catalog) as database:
        if database.warning is None:  # it can be written
            update_index(database, with_progress)
        places = candidates(database, words)
        found = list_table(database, table, replace(asked, records=places.records), names, sort)
        known = _OF_A_HIT | {column.name: column for column in found.columns}
        hits = TranscriptHits([known[name] for name in wanted])
        hits.unreachable, hits.warning = tuple(unreachable_stores(database)), database.warning
        agents = agent_names(database, places.records)
    rows = (dict(zip(names, row, strict=True)) for row in found.rows)
    _find(hits, rows, places, words, limit, agents)
    return hits


def _find(
    hits: TranscriptHits,
    rows: Iterable[JsonObject],
    places: Candidates,
    words: WordsToFind,
    limit: int | None,
    names: Mapping[tuple[str, str | None], str],
) -> None:
    for row in rows:
        only = layout.instance_file(row["id"], layout.OUTPUT) if "session" in row else None
        try:
            for file, line in _lines(row["path"], places, words, only):
                if len(hits.rows) == limit:
                    hits.has_more = True
                    return
                agent = _agent(file)
                name = names.get((row["path"], agent)) or agent
                own = {"agent": name, "agent_id": agent, "file": file, "line": line.number, "text": line.text}
                hits.rows.append(row | own)
                hits.matches.append(line.match)
        except (RuncardError, OSError) as error:
            if os.path.lexists(path_of(row["path"])):  # it did not vanish meanwhile
                hits.unread.append((row["path"], str(getattr(error, "message", error))))


def _agent(file: str) -> str | None:
    parts = file.split("/")
    return parts[1] if len(parts) > 1 else None


def _lines(
    path: str, places: Candidates, words: WordsToFind, only: str | None
) -> Iterator[tuple[str, FoundLine]]:
    """The lines of a record with all words, by the paths of its transcripts."""
    record, is_unread, parts = open_record_at(path), path in places.unread, places.parts.get(path, {})
    wanted = None if is_unread else list(parts)
    if only is not None:
        wanted = [only] if wanted is None or only in wanted else []
    for file_path, file in transcripts_of(record, wanted):
        some = parts_of(file) if is_unread else _parts_at(file, parts[file_path])
        for part in some:
            for line in words.lines(part):
                yield file_path, line


def _parts_at(file: BinaryIO, places: Sequence[PartPlace]) -> Iterator[TranscriptPart]:
    """These parts of a transcript; all of one that has changed since they were noted."""
    if places[0].version != file_version(file):
        return parts_of(file)
    return parts_at(file, [(place.start, place.line) for place in places])
