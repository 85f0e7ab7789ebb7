"""What a record was made from, and what was made from it: other records, by the digests of files."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from runcard.catalog.rows import digest_bytes
from runcard.catalog.searching import FileMatch, files_with
from runcard.operations.catalog.open import open_catalog

_MOST_FILES = 200  # of a record that are looked up
_MOST_RECORDS = 30  # on each side


class RelatedRecord(NamedTuple):
    """Another record, and the files that join it with this one."""

    id: str
    path: str
    started: str | None
    files: tuple[str, ...]  # as this record calls them
    is_too_late: bool  # the maker started after the reader, which so had the same content from elsewhere


class Lineage(NamedTuple):
    """The records next to one."""

    made_inputs: list[RelatedRecord]
    read_outputs: list[RelatedRecord]
    is_cut: bool  # not all files were looked up, or there are more records


def lineage(path: str, started: str | None, inputs: Mapping[str, str], outputs: Mapping[str, str]) -> Lineage:
    """The records that made the inputs of a record, and those that read its outputs; both are digests by path.

    `started` is the time of the record itself, as the catalog has it.
    """
    with open_catalog() as database:

        def related(files: Mapping[str, str], *, is_input: bool) -> dict[str, tuple[FileMatch, list[str]]]:
            found: dict[str, tuple[FileMatch, list[str]]] = {}
            for name, digits in list(files.items())[:_MOST_FILES]:
                digest = digest_bytes(digits)
                for match in files_with(database, digest, is_input=is_input) if digest else ():
                    if match.path != path and (match.path in found or len(found) <= _MOST_RECORDS):
                        found.setdefault(match.path, (match, []))[1].append(name)
            return found

        before, after = related(inputs, is_input=False), related(outputs, is_input=True)
    is_cut = max(len(inputs), len(outputs)) > _MOST_FILES or max(len(before), len(after)) > _MOST_RECORDS
    return Lineage(
        _related(before, lambda other: _is_after(other, started)),
        _related(after, lambda other: _is_after(started, other)),
        is_cut,
    )


def _is_after(maker: str | None, reader: str | None) -> bool:
    return maker is not None and reader is not None and maker > reader


def _related(
    found: dict[str, tuple[FileMatch, list[str]]], is_too_late: Callable[[str | None], bool]
) -> list[RelatedRecord]:
    return [
        RelatedRecord(
            match.id, match.path, match.started, tuple(dict.fromkeys(files)), is_too_late(match.started)
        )
        for match, files in list(found.values())[:_MOST_RECORDS]
    ]
