"""What all documents have in common: they are valid, keep every field, and write back the bytes they were read from.

A document is a value. `to_dict` parses its bytes again, so a caller cannot change the document itself.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar, Never, Self

from runcard.documents import schema
from runcard.documents.findings import Finding, InvalidDocument, Report, limit_findings
from runcard.documents.kinds import DocumentKind
from runcard.documents.versions import check_version
from runcard.encoding import JsonObject, decode_json, encode_json
from runcard.encoding.limits import DEFAULT, NONE, Limits
from runcard.errors import DocumentError

if TYPE_CHECKING:
    from decimal import Decimal

DocumentState = tuple[bytes, str | None, tuple[Finding, ...], bool, JsonObject]


class Document:
    """A document that satisfies its schema and rules. Its attributes cannot be set."""

    __slots__ = ("_data", "source", "upgraded", "version", "warnings")

    kind: ClassVar[DocumentKind]
    cost_path: ClassVar[tuple[str, ...]] = ()  # the keys that lead to the total cost

    source: bytes  # as it was read, or as it will be written
    version: str | None  # as the source states it
    warnings: tuple[Finding, ...]
    upgraded: bool  # whether the data is in a newer version than the source
    _data: JsonObject

    def __init__(
        self,
        *,
        source: bytes,
        version: str | None,
        warnings: tuple[Finding, ...] = (),
        upgraded: bool = False,
        _data: JsonObject,
    ) -> None:
        self.__setstate__((source, version, warnings, upgraded, _data))

    def __getstate__(self) -> DocumentState:
        return self.source, self.version, self.warnings, self.upgraded, self._data

    def __setstate__(self, state: DocumentState) -> None:
        for name, value in zip(("source", "version", "warnings", "upgraded", "_data"), state, strict=True):
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, _: object) -> Never:
        raise AttributeError(f"a document cannot be changed: {name}")

    def __delattr__(self, name: str) -> Never:
        raise AttributeError(f"a document cannot be changed: {name}")

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return self.__getstate__() == other.__getstate__()

    def __hash__(self) -> int:
        return hash((type(self), self.source))

    def __repr__(self) -> str:
        facts = f"version={self.version!r}, warnings={self.warnings!r}, upgraded={self.upgraded!r}"
        return f"{type(self).__qualname__}({facts})"

    @staticmethod
    def rules(_: JsonObject) -> Iterator[Finding]:
        """The rules beyond the schema."""
        yield from ()

    @classmethod
    def check(cls, data: JsonObject) -> Report:
        """All findings about this data as a document of this kind."""
        version = check_version(cls.kind, data)
        if version.used is None:
            return Report(version.findings, cls.kind.name, version.stated)
        if version.findings:
            data = {**data, version.key: version.used}
        schema_findings, valid_data = schema.check(cls.kind, version.used, data)
        findings = (*version.findings, *schema_findings, *limit_findings(cls.rules(valid_data)))
        return Report(findings, cls.kind.name, version.stated)

    @classmethod
    def from_dict(cls, data: JsonObject) -> Self:
        """A new document; raises InvalidDocument with all findings if the data is not valid."""
        source = cls.encode(data)
        return cls._validated(source, cls.decode(source))

    @staticmethod
    def decode(source: bytes, limits: Limits = DEFAULT) -> Any:  # noqa: ANN401
        """Parse the text of a document of this kind; raises EncodingError."""
        return decode_json(source, limits)

    @staticmethod
    def encode(data: JsonObject) -> bytes:
        return encode_json(data)

    @staticmethod
    def edit(source: bytes, old: JsonObject, new: JsonObject) -> bytes:
        """Change the text `source` from the data `old` to `new`, only where they differ."""
        from runcard.encoding.json.edit import edit_json  # noqa: PLC0415 - few commands rewrite documents

        return edit_json(source, old, new)

    @classmethod
    def _validated(cls, source: bytes, data: JsonObject) -> Self:
        """Check the parsed source, not the caller's objects, so that only plain data is checked."""
        report = cls.check(data)
        if not report.valid:
            raise InvalidDocument(report, f"the {cls.kind.name} document")
        return cls(source=source, version=report.version, warnings=report.findings, _data=data)

    @property
    def total_cost(self) -> "Decimal | None":
        """The total cost in dollars: 0 for free, None for unknown or for a kind of document without costs."""
        value: Any = self._data if self.cost_path else None
        for key in self.cost_path:
            value = (value or {}).get(key)
        if value is None:
            return None
        from decimal import Decimal  # noqa: PLC0415 - few commands need costs

        return Decimal(str(value))

    def to_dict(self) -> JsonObject:
        """A copy of the data."""
        data: JsonObject = self.decode(self.encode(self._data) if self.upgraded else self.source, NONE)
        return data

    def to_bytes(self) -> bytes:
        """The bytes that were read, unchanged."""
        return self.source

    def changed(self, data: JsonObject) -> Self:
        """This document with other data; its text changes only where the data differs."""
        if self.upgraded or any(found.rule == "version.newer-minor" for found in self.warnings):
            raise DocumentError(
                f"a {self.kind.name} document of version {self.version} is not rewritten",
                hint="run `runcard migrate` for an older document; install a newer runcard for a newer one",
            )
        source = self.edit(self.source, self._data, data)
        return self._validated(source, self.decode(source, NONE))
