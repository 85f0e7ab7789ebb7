"""What all documents have in common: they are born valid, keep every field, and write back the bytes they were read from.

A document is a value. Its bytes are the truth; `to_dict` reads them anew, so nobody can change a document from outside.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, ClassVar, Self

from runcard.documents import schema
from runcard.documents.findings import Finding, InvalidDocument, Report, bounded
from runcard.documents.kinds import DocumentKind
from runcard.documents.versions import check_version
from runcard.encoding import JsonObject, decode_json, encode_json
from runcard.encoding.json.edit import edit_json
from runcard.encoding.limits import DEFAULT, NONE, Limits
from runcard.errors import DocumentError


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A document that satisfies its schema and rules."""

    kind: ClassVar[DocumentKind]
    cost_path: ClassVar[tuple[str, ...]] = ()  # the keys that lead to the total cost

    source: bytes = field(repr=False)  # as it was read, or as it will be written
    version: str | None  # as the source states it
    warnings: tuple[Finding, ...] = ()
    upgraded: bool = False  # whether the data were brought to a newer version than the source has
    _data: JsonObject = field(repr=False)

    @staticmethod
    def rules(_: JsonObject) -> Iterator[Finding]:
        """What the schema cannot say."""
        yield from ()

    @classmethod
    def judge(cls, data: JsonObject) -> Report:
        """Everything that is wrong with this data as a document of this kind."""
        version = check_version(cls.kind, data)
        if version.schema is None:
            return Report(version.findings, cls.kind.name, version.stated)
        if version.findings:
            data = {**data, cls.kind.version_key: version.schema}
        findings, sound = schema.check(cls.kind, version.schema, data)
        found = (*version.findings, *findings, *bounded(cls.rules(sound)))
        return Report(found, cls.kind.name, version.stated)

    @classmethod
    def from_dict(cls, data: JsonObject) -> Self:
        """A new document; raises InvalidDocument with all findings when the data are not valid."""
        source = cls.encode(data)
        return cls._born(source, cls.decode(source))

    @staticmethod
    def decode(source: bytes, limits: Limits = DEFAULT) -> Any:  # noqa: ANN401
        """The data that a text of this kind says; raises EncodingError."""
        return decode_json(source, limits)

    @staticmethod
    def encode(data: JsonObject) -> bytes:
        return encode_json(data)

    @staticmethod
    def edit(source: bytes, old: JsonObject, new: JsonObject) -> bytes:
        """The text `source`, which says `old`, changed to say `new`, and nowhere else."""
        return edit_json(source, old, new)

    @classmethod
    def _born(cls, source: bytes, data: JsonObject) -> Self:
        """What is judged is what was written, so that nothing but plain data is ever looked at."""
        report = cls.judge(data)
        if not report.valid:
            raise InvalidDocument(report, f"the {cls.kind.name} document")
        return cls(source=source, version=report.version, warnings=report.findings, _data=data)

    @property
    def total_cost(self) -> Decimal | None:
        """The total cost in dollars: 0 for free, None for unknown or for a kind of document without costs."""
        value: Any = self._data if self.cost_path else None
        for key in self.cost_path:
            value = (value or {}).get(key)
        return None if value is None else Decimal(str(value))

    def to_dict(self) -> JsonObject:
        """The data, the caller's own to change."""
        data: JsonObject = self.decode(self.encode(self._data) if self.upgraded else self.source, NONE)
        return data

    def to_bytes(self) -> bytes:
        """The bytes that were read; the same bytes as long as nothing was changed."""
        return self.source

    def changed(self, data: JsonObject) -> Self:
        """This document with other data: its text changes only where the data differ."""
        if self.upgraded or any(found.rule == "version.newer-minor" for found in self.warnings):
            raise DocumentError(
                f"a {self.kind.name} document of version {self.version} is not rewritten",
                hint="`runcard migrate` brings older documents up to date; newer ones need a newer runcard",
            )
        source = self.edit(self.source, self._data, data)
        return self._born(source, self.decode(source, NONE))
