"""Write records as other tools read them: `runcard export --to in-toto|ro-crate|otlp|cyclonedx|citation`."""

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, BinaryIO, Final

from runcard.encoding import JsonObject
from runcard.errors import StoreError, UsageError
from runcard.files import failure, printable, write_atomic
from runcard.interop.citation import ANONYMOUS, bibtex_entry, citation_file
from runcard.interop.record_content import RecordContent
from runcard.interop.ro_crate import CrateFacts
from runcard.operations.export.read_content import read_content
from runcard.operations.export.write_crate import crate_document, write_crate
from runcard.settings import EXPORT_AUTHOR, EXPORT_LICENSE, read_settings
from runcard.store.find_record import open_record

if TYPE_CHECKING:
    from runcard.parallel.shard import ItemPlace

IN_TOTO, RO_CRATE, OTLP, CYCLONEDX, CITATION = "in-toto", "ro-crate", "otlp", "cyclonedx", "citation"
RECORD_FORMS: Final = (IN_TOTO, RO_CRATE, OTLP, CYCLONEDX, CITATION)

_CFF, _BIBTEX = "CITATION.cff", "CITATION.bib"
_MANY = frozenset({IN_TOTO, OTLP})  # formats with a line for each statement: one file holds many records

Target = str | BinaryIO | None


@dataclass(frozen=True)
class RecordExport:
    """Records that were written in a format of other tools."""

    form: str
    records: tuple[str, ...]  # their ids
    paths: tuple[str, ...] = ()  # what was written; none: to a stream
    warnings: list[str] = field(default_factory=list)

    def to_dict(self) -> JsonObject:
        return {
            "form": self.form,
            "records": list(self.records),
            "paths": [printable(path) for path in self.paths],
            "warnings": self.warnings,
        }


@dataclass(frozen=True)
class ExportFacts:
    """What formats need and records do not know; what is not given is taken from the settings."""

    license: str | None = None
    authors: tuple[str, ...] = ()

    def with_settings(self) -> "ExportFacts":
        settings = read_settings()
        author = settings[EXPORT_AUTHOR]
        return ExportFacts(
            self.license or settings[EXPORT_LICENSE],
            self.authors or ((author,) if author else ()),
        )


def export_records(
    records: Sequence[str | os.PathLike[str]], form: str, output: Target, facts: ExportFacts | None = None
) -> RecordExport:
    """Write records in a format; `output` is a new file, a stream, or for a crate a new folder (None: named after the record)."""
    facts = (facts or ExportFacts()).with_settings()
    _check_count(records, form, output)
    if form == RO_CRATE:
        return _export_crate(records[0], output, facts)
    is_folder = form == CITATION and isinstance(output, str) and os.path.isdir(output)
    if isinstance(output, str) and not is_folder:
        _check_new(output)
    if form in _MANY:
        ids, parts = _written_lines(records, form)
        return RecordExport(form, ids, write_export(b"".join(parts), output))
    contents = [read_content(open_record(record)) for record in records]
    ids = tuple(content.id for content in contents)
    if form == CITATION:
        return RecordExport(form, ids, *_write_citation(contents, output, facts))
    return RecordExport(form, ids, write_export(_WRITERS[form](contents[0]), output))


def _check_count(records: Sequence[str | os.PathLike[str]], form: str, output: Target) -> None:
    if not records:
        raise UsageError("no record was named", hint="name a record, such as @latest")
    is_bibtex = form == CITATION and isinstance(output, str) and output.endswith(".bib")
    if len(records) > 1 and form not in _MANY and not is_bibtex:
        hint = "pass -o FILE.bib for many" if form == CITATION else "export one record after the other"
        raise UsageError(f"{form} holds one record only", hint=hint)


def _check_new(path: str) -> None:
    if os.path.lexists(path):
        raise StoreError(f"{printable(path)} exists already", hint="choose another name")


def write_export(data: bytes, output: Target) -> tuple[str, ...]:
    """Write to a stream, or to a new file; returns the paths that were written."""
    if output is None:
        raise UsageError("no file was named", hint="pass one as `output`")
    if not isinstance(output, str):
        output.write(data)
        output.flush()
        return ()
    try:
        write_atomic(output, data, replace=False)
    except FileExistsError:
        _check_new(output)
        raise
    except OSError as error:
        raise failure(error, output, "write") from error
    return (output,)


def _export_crate(record: str | os.PathLike[str], output: Target, facts: ExportFacts) -> RecordExport:
    if facts.license is None:
        raise UsageError(
            "an RO-Crate must name a license, and the record has none",
            hint="pass --license, such as CC-BY-4.0 or a URL, or set export.license",
        )
    crate = CrateFacts(facts.license, datetime.now(UTC), facts.authors)
    source = open_record(record)
    if output is not None and not isinstance(output, str):
        content = read_content(source)
        return RecordExport(RO_CRATE, (content.id,), write_export(crate_document(content, crate), output))
    target = output or f"{source.name}-crate"
    _check_new(target)
    content = read_content(source)
    write_crate(source, content, crate, target)
    return RecordExport(RO_CRATE, (content.id,), (target,))


def _write_citation(
    contents: list[RecordContent], output: Target, facts: ExportFacts
) -> tuple[tuple[str, ...], list[str]]:
    """Write a citation: `CITATION.cff`, BibTeX for a name that ends in `.bib`, or both into a folder."""
    bibtex = "\n".join(bibtex_entry(content, facts.authors) for content in contents).encode()
    warnings = (
        [] if facts.authors else [f"the author is not known, and is written as {ANONYMOUS!r}: pass --author"]
    )
    if isinstance(output, str) and output.endswith(".bib"):
        return write_export(bibtex, output), warnings
    citation = citation_file(contents[0], facts.authors, facts.license)
    if not isinstance(output, str) or not os.path.isdir(output):
        return write_export(citation, output), warnings
    both = {os.path.join(output, _CFF): citation, os.path.join(output, _BIBTEX): bibtex}
    for path in both:
        _check_new(path)
    return tuple(path for file, data in both.items() for path in write_export(data, file)), warnings


def _lines(documents: Sequence[JsonObject]) -> bytes:
    """JSON Lines; in ASCII, so that no terminal acts on a character."""
    return "".join(json.dumps(document, separators=(",", ":")) + "\n" for document in documents).encode()


def _written_lines(
    records: Sequence[str | os.PathLike[str]], form: str
) -> tuple[tuple[str, ...], list[bytes]]:
    """The ids and the lines of records, which are read on all cores or on a cluster."""
    from runcard.parallel.forks import work_in_order  # noqa: PLC0415 - it loads pickle

    paths = [open_record(record).path for record in records]
    written = list(work_in_order(paths, partial(_lines_of, form=form), place=_place))
    return tuple(own for own, _ in written), [lines for _, lines in written]


def _place(path: str) -> "ItemPlace":
    """Where a record is, and about its size, for the workers of a cluster."""
    from runcard.operations.checks.measure import measure  # noqa: PLC0415 - only with a cluster
    from runcard.parallel.shard import ItemPlace  # noqa: PLC0415

    return ItemPlace(path, measure([path]))


def _lines_of(path: str, _: object, form: str) -> tuple[str, bytes]:
    content = read_content(open_record(path))
    return content.id, _WRITERS[form](content)


def _in_toto(content: RecordContent) -> bytes:
    from runcard.interop.in_toto import in_toto_statements  # noqa: PLC0415 - a format loads what it needs

    return _lines([*in_toto_statements(content)])


def _otlp(content: RecordContent) -> bytes:
    from runcard.interop.otlp_spans import otlp_traces  # noqa: PLC0415 - see above

    return _lines([otlp_traces(content)])


def _cyclonedx(content: RecordContent) -> bytes:
    from runcard.interop.cyclonedx_bom import cyclonedx_bom  # noqa: PLC0415 - see above

    return json.dumps(cyclonedx_bom(content), indent=2).encode() + b"\n"


_WRITERS: dict[str, Callable[[RecordContent], bytes]] = {
    IN_TOTO: _in_toto,
    OTLP: _otlp,
    CYCLONEDX: _cyclonedx,
}
