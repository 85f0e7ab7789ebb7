"""The archive index: which records are archived, and in which file each is stored."""

from collections.abc import Iterator

from runcard.documents.document import Document
from runcard.documents.findings import Finding
from runcard.documents.kinds import ARCHIVE_INDEX
from runcard.documents.session.manifest import index_rules
from runcard.encoding import JsonObject


class ArchiveIndex(Document):
    """The index of an archive directory."""

    __slots__ = ()
    kind = ARCHIVE_INDEX

    @staticmethod
    def rules(document: JsonObject) -> Iterator[Finding]:
        for field, id_field in (("archived_sessions", "team_session_id"), ("archived_runs", "run_id")):
            entries = [entry or {} for entry in document.get(field) or ()]
            yield from index_rules(entries, f"/{field}", id_field, "archive_file")
