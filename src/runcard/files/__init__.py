"""Files on disk: atomic writing, hostile paths and names, locks, and a walk in stable order.

Names are `str` whose bytes are UTF-8 with `surrogateescape`, in every locale. Nothing here knows what a record is.
"""

from runcard.files.atomic import Sync, fsync_directory, sync_filesystem, write_all, write_atomic
from runcard.files.descent import beneath
from runcard.files.locks import locked
from runcard.files.long_paths import reach
from runcard.files.names import JsonName, decode_name, encode_name, file_type, json_name, printable
from runcard.files.opening import NotRegularFileError, open_directory, open_regular, type_name
from runcard.files.os_errors import failure
from runcard.files.paths import SAFE_ID, check_relative, is_safe_id, resolve_below
from runcard.files.reading import read_file, read_regular, read_stream, unreadable
from runcard.files.walk import Entry, Kind, OnError, sizes, walk, walk_files

__all__ = [
    "SAFE_ID",
    "Entry",
    "JsonName",
    "Kind",
    "NotRegularFileError",
    "OnError",
    "Sync",
    "beneath",
    "check_relative",
    "decode_name",
    "encode_name",
    "failure",
    "file_type",
    "fsync_directory",
    "is_safe_id",
    "json_name",
    "locked",
    "open_directory",
    "open_regular",
    "printable",
    "reach",
    "read_file",
    "read_regular",
    "read_stream",
    "resolve_below",
    "sizes",
    "sync_filesystem",
    "type_name",
    "unreadable",
    "walk",
    "walk_files",
    "write_all",
    "write_atomic",
]
