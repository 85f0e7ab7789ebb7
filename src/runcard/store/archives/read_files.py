"""Reading some files out of an archive without the rest of it."""

import contextlib
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import NamedTuple

from runcard.files import FileKind, check_relative, decode_name, encode_name
from runcard.store.archives.archived_documents import ArchivedDocuments
from runcard.store.archives.gzip_members import read_blocks
from runcard.store.archives.limits import LONGEST_PATH
from runcard.store.archives.member_index import MemberOffsets
from runcard.store.archives.scan import KINDS
from runcard.store.archives.source import ArchiveSource
from runcard.store.archives.tar import TarMember
from runcard.store.archives.tar_stream import Gap, LostError, TarStream


class ArchivedFile(NamedTuple):
    """A file, folder or link in an archive; `data` gives the bytes of a file, until the next one is read."""

    path: str
    kind: FileKind
    member: TarMember
    data: Callable[[], Iterator[memoryview]]


def archived_files(
    source: ArchiveSource,
    places: MemberOffsets,
    path_in_archive: str,
    *,
    last: int | None = None,
    ahead: int = 1,
) -> Iterator[ArchivedFile]:
    """The files of an open archive at a path: a file, or a folder with everything below it; all files for an empty path.

    Raises LostError if one is damaged. The rest of the archive is not read, and nothing after the member at `last`. `ahead`
    members are read before they are needed.
    """
    raw = encode_name(path_in_archive)
    below = raw and raw + b"/"
    behind = raw and raw + b"0"  # the first name after all that begin with the folder's and a slash
    offset = places.before(path_in_archive)
    stream = TarStream(read_blocks(source, offset, last=last, ahead=ahead), skip_to_first=offset > 0)
    for member in stream:
        if isinstance(member, Gap):
            raise LostError
        path = member.path.rstrip(b"/").partition(b"/")[2]
        if behind and path >= behind and places.are_known:
            return
        if path != raw and not path.startswith(below):
            continue
        kind, name = KINDS.get(member.kind), decode_name(path)
        if kind is not None and len(path) <= LONGEST_PATH and check_relative(name) is None:
            yield ArchivedFile(name, kind, member, lambda size=member.size: stream.data(size))  # type: ignore[misc]


def read_archived(files: Iterator[ArchivedFile], name: str) -> ArchivedDocuments:
    """A file of the record among some of an archive; no file when it is not there, or damaged."""
    documents = ArchivedDocuments()
    with contextlib.suppress(LostError), closing(files):  # type: ignore[type-var]
        for file in files:
            if file.path == name and file.kind is FileKind.FILE:
                documents.add(name, file.member.size, file.data())
                break
    return documents
