"""Earlier collections of a session: whether the same content is in the store already."""

import contextlib
import os
from collections.abc import Iterator
from io import BytesIO

from runcard.checksums import listing_digest, read_file
from runcard.documents.session.content import COMPUTED, content_of
from runcard.documents.session.team import Team
from runcard.encoding import JsonObject, decode_json
from runcard.errors import RuncardError, StoreError
from runcard.files import printable
from runcard.operations.checks.verify import damage_of
from runcard.store import layout
from runcard.store.find_record import sessions_with_id
from runcard.store.record import Record


class SameContentError(StoreError):
    """The same content was collected before."""

    def __init__(self, record: Record, document: Team) -> None:
        self.path = os.path.abspath(record.path)
        self.document = document
        when = document.to_dict()["created_at"]
        super().__init__(
            f"{printable(document.session_id)} was collected before with the same content, at {when}: nothing was stored"
        )


class EarlierSessions:
    """The sessions of a store with the id of a new one; each is compared once."""

    def __init__(self, store: str, session_id: str, content: JsonObject, spec_digest: str) -> None:
        self._store, self._id, self._content = store, session_id, content
        self._spec_digest = spec_digest  # of the same SPEC, only the price table changes the costs
        self._compared: set[str] = set()

    def check(self) -> None:
        """Raise SameContentError if a session that was not compared yet has the same content."""
        for record in sessions_with_id(self._store, self._id):
            if record.path in self._compared:
                continue
            self._compared.add(record.path)
            if (document := self._same_document(record)) is not None:
                raise SameContentError(record, document)

    def _same_document(self, record: Record) -> Team | None:
        """The document of an undamaged session with the same content; None if it differs or cannot be read."""
        with contextlib.suppress(RuncardError, OSError, LookupError, TypeError):
            document = record.document()
            if (
                isinstance(document, Team)
                and self._is_same(record, document.to_dict())
                and damage_of(record.path) is None  # the record may list files that it does not have
            ):
                return document
        return None

    def _is_same(self, record: Record, team: JsonObject) -> bool:
        mine = self._content
        if len(team["instances"]) != len(mine["instances"]) or team["version"] != mine["version"]:
            return False
        files = _files_digest(record)
        if files != mine["files"]:
            return False
        theirs = content_of(team, self._instances(record), files)
        return theirs == mine or (
            theirs | {COMPUTED: mine[COMPUTED]} == mine and _spec_digest(record) == self._spec_digest
        )

    @staticmethod
    def _instances(record: Record) -> Iterator[JsonObject]:
        return (
            record.load(layout.instance_file(own, layout.METADATA)).to_dict() for own in record.instances()
        )


def _files_digest(record: Record) -> str:
    """The digest of the listing of all files of the instances."""
    with record.open_seekable(layout.CHECKSUMS) or BytesIO() as file:
        listing = read_file(file)
    files = (entry for entry in listing.hex_items() if layout.is_instance_content(entry[0]))
    return str(listing_digest(files))


def _spec_digest(record: Record) -> str:
    """The digest of the SPEC that a session was collected from, by the first event of its journal."""
    first = (record.read(layout.AUDIT) or b"").partition(b"\n")[0]
    return str(decode_json(first)["payload"]["spec"]["sha256"])
