"""`summary.md` of a session that is being assembled: its figures, and the titles of its notable files."""

import os
from collections.abc import Iterable

from runcard.encoding import JsonObject
from runcard.files import open_regular
from runcard.masking import mask_text
from runcard.store import layout
from runcard.store.sessions.copying import is_credential
from runcard.store.sessions.directory import SessionDirectory
from runcard.store.sessions.instance_copies import InstanceCopier
from runcard.version import __version__
from runcard.views.file_titles import HEAD_BYTES, title_of
from runcard.views.session_summary import NotableFile, SummaryFigures, notable_files, summary

PRODUCER = {"name": "runcard", "version": __version__}
_MOST_ROUNDS = 5  # until the stated size includes the page as it is


def summary_page(
    team: JsonObject, directory: SessionDirectory, copier: InstanceCopier, others: int, *, masks: bool
) -> bytes:
    """The page; `others` is the size of all other files of the session. It states the size of all, its own included."""
    notable = {own: _notable_files(directory, own, files, masks=masks) for own, files in copier.workspaces()}
    page = b""
    for _ in range(_MOST_ROUNDS):
        figures = SummaryFigures(
            directory.final,
            others + len(page),
            copier.workspace_count,
            copier.transcript_lines,
            notable,
        )
        last, page = page, summary(team, figures, PRODUCER).encode()
        if len(last) == len(page):
            break
    return page


def _notable_files(
    directory: SessionDirectory, instance_id: str, files: Iterable[tuple[str, int]], *, masks: bool
) -> list[NotableFile]:
    """The notable files of an instance, with their titles."""
    folder = os.path.join(directory.path, layout.instance_file(instance_id, layout.WORKSPACE))
    return [file._replace(title=_title(folder, file.path, masks=masks)) for file in notable_files(files)]


def _title(folder: str, path: str, *, masks: bool) -> str | None:
    """The title of a stored file, with secrets masked; none of a file that is named like a credential."""
    if is_credential(path):
        return None
    try:
        with open(open_regular(os.path.join(folder, path)), "rb") as file:
            title = title_of(path, file.read(HEAD_BYTES))
    except OSError:
        return None
    return mask_text(title).value if masks and title is not None else title
