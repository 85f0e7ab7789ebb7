"""What all documents have in common: they are born valid, keep every field, and write back the bytes they were read from.

A document is a value. Its bytes are the truth; `to_dict` reads them anew, so nobody can change a document from outside.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

from runcard.documents import schema
from runcard.documents.findings import Finding, InvalidDocument, Report
from runcard.documents.kinds import Kind
from runcard.documents.versions import settle
from runcard.encoding import decode_json, edit_json, encode_json
from runcard.encoding.limits import NONE
from runcard.errors import DocumentError


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A document that satisfies its schema and rules."""

    kind: ClassVar[Kind]

    source: bytes = field(repr=False)  # as it was read, or as it will be written
    version: str | None  # as the source states it
    warnings: tuple[Finding, ...] = ()
    upgraded: bool = False  # whether the data were brought to a newer version than the source has
    _data: dict[str, Any] = field(repr=False)

    @staticmethod
    def rules(_: dict[str, Any]) -> Iterator[Finding]:
        """What the schema cannot say."""
        yield from ()

    @classmethod
    def judge(cls, data: dict[str, Any]) -> Report:
        """Everything that is wrong with this data as a document of this kind."""
        settled = settle(cls.kind, data)
        if settled.schema is None:
            return Report(settled.findings, cls.kind.name, settled.stated)
        if settled.findings:
            data = {**data, cls.kind.version_key: settled.schema}
        findings, sound = schema.check(cls.kind, settled.schema, data)
        return Report((*settled.findings, *findings, *cls.rules(sound)), cls.kind.name, settled.stated)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """A new document; raises InvalidDocument with all findings when the data are not valid."""
        source = encode_json(data)
        return cls._born(source, decode_json(source))

    @classmethod
    def _born(cls, source: bytes, data: dict[str, Any]) -> Self:
        """What is judged is what was written, so that nothing but plain data is ever looked at."""
        report = cls.judge(data)
        if not report.valid:
            raise InvalidDocument(report, f"the {cls.kind.name} document")
        return cls(source=source, version=report.version, warnings=report.findings, _data=data)

    def to_dict(self) -> dict[str, Any]:
        """The data, the caller's own to change."""
        data: dict[str, Any] = decode_json(encode_json(self._data) if self.upgraded else self.source, NONE)
        return data

    def to_bytes(self) -> bytes:
        """The bytes that were read; the same bytes as long as nothing was changed."""
        return self.source

    def changed(self, data: dict[str, Any]) -> Self:
        """This document with other data: its text changes only where the data differ."""
        if self.upgraded or self.version not in {*self.kind.versions, None}:
            raise DocumentError(
                f"a {self.kind.name} document of version {self.version} is not rewritten",
                hint="`runcard migrate` brings older documents up to date; newer ones need a newer runcard",
            )
        source = edit_json(self.source, self._data, data)
        return self._born(source, decode_json(source, NONE))
