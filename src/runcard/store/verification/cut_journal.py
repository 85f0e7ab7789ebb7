"""The findings about a journal whose end was cut off, for people: what follows from that is not told once more.

Each line of the document that the journal cannot confirm any more, and the digest of the file, are findings for programs.
"""

from collections.abc import Sequence

from runcard.documents.findings import Finding
from runcard.store import layout
from runcard.store.verification.journal_scan import TORN

_JOURNALS = {layout.JOURNAL, layout.AUDIT}
_MORE = "more differences"


def merge_cut_journal(findings: Sequence[Finding]) -> list[Finding]:
    """The findings about a record; those that follow from a cut journal are counted in the one about it."""
    tails = [finding for finding in findings if finding.kind == "tail" and finding.path in _JOURNALS]
    if not tails:
        return list(findings)
    lost = sum(map(_is_difference, findings))
    values = "1 value" if lost == 1 else f"{lost:,} values"
    if any(finding.message.endswith(_MORE) for finding in findings):
        values = "most values"
    more = f"; {values} of the document cannot be confirmed without what is missing" if lost else ""
    last = tails[-1]
    kept = (finding for finding in findings if not _follows(finding, last.path or ""))
    return [each._replace(message=last.message + more) if each is last else each for each in kept]


def _follows(finding: Finding, journal: str) -> bool:
    if _is_difference(finding):
        return True
    return finding.path == journal and (finding.kind == "changed" or finding.message == TORN)


def _is_difference(finding: Finding) -> bool:
    """Whether a document does not say what its journal says."""
    is_about_journal = "the journal says" in finding.message or finding.message.endswith(_MORE)
    return finding.kind == "document" and is_about_journal
