"""The archive index: which records an archive holds, and in which file each lies."""

from collections.abc import Iterator

from runcard.documents.document import Document
from runcard.documents.findings import Finding
from runcard.documents.kinds import ARCHIVE_INDEX
from runcard.documents.session.manifest import indexed
from runcard.encoding import JsonObject


class ArchiveIndex(Document):
    """What an archive holds."""

    __slots__ = ()
    kind = ARCHIVE_INDEX

    @staticmethod
    def rules(document: JsonObject) -> Iterator[Finding]:
        for field, id_field in (("archived_sessions", "team_session_id"), ("archived_runs", "run_id")):
            entries = [entry or {} for entry in document.get(field) or ()]
            yield from indexed(entries, f"/{field}", id_field, "archive_file")
