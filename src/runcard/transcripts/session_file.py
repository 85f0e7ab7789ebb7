"""Opening a session file, packed or not, and noting why one cannot be read."""

import os
from collections.abc import Iterator
from contextlib import closing
from typing import Any, BinaryIO

from runcard.files import NotRegularFileError, open_regular, read_stream
from runcard.transcripts.content import UnreadPart, decode_record
from runcard.transcripts.line_reader import open_lines, read_lines
from runcard.transcripts.zstd_file import UnpackError, unpacked

ZSTD = ".zst"
_LARGEST_DOCUMENT = 64 << 20  # bytes of a file with one object
_BOM = b"\xef\xbb\xbf"


def file_lines(
    path: str, unread: list[UnreadPart], end: int | None = None
) -> Iterator[tuple[int, bytes, bool]]:
    """The lines of a file, as `read_lines` has them; where it cannot be read further, the reason goes to `unread`."""
    try:
        with open_lines(open_regular(path, follow=True)) as raw:
            if path.endswith(ZSTD):
                with closing(unpacked(raw)) as file:
                    yield from read_lines(file)
            else:
                yield from read_lines(raw, 0, os.fstat(raw.fileno()).st_size if end is None else end)
    except (OSError, UnpackError) as error:
        unread.append(UnreadPart(path, None, failure_reason(error)))


def read_document(path: str, unread: list[UnreadPart]) -> dict[str, Any]:
    """The one object in a file; empty where it cannot be read, and the reason goes to `unread`."""
    try:
        with open_lines(open_regular(path, follow=True)) as file:
            return decode_document(file)
    except OSError as error:
        unread.append(UnreadPart(path, None, failure_reason(error)))
    except ValueError as error:
        unread.append(UnreadPart(path, None, str(error)))
    return {}


def decode_document(file: BinaryIO) -> dict[str, Any]:
    """The one object in an open file; raises ValueError with the reason for anything else."""
    data = read_stream(file, _LARGEST_DOCUMENT)
    if len(data) > _LARGEST_DOCUMENT:
        raise ValueError("the file is too large")
    return decode_record(data.removeprefix(_BOM))


def failure_reason(error: OSError | UnpackError) -> str:
    """Why a file cannot be read, in a few words."""
    if isinstance(error, NotRegularFileError):
        return error.strerror or "not a regular file"
    if isinstance(error, OSError) and error.errno:
        return os.strerror(error.errno)
    return str(error)
