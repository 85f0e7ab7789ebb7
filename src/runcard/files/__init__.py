"""Files on disk: safe opening, atomic writing, hostile paths and names, globs, locks, and a walk in stable order.

Names are `str`, decoded as UTF-8 with `surrogateescape` in every locale. Nothing here knows what a record is.
"""

from runcard.files.atomic import Sync, SyncAll, write_all, write_atomic
from runcard.files.locks import locked
from runcard.files.names import (
    JsonName,
    decode_name,
    encode_name,
    file_type,
    json_name,
    printable,
    shell_word,
)
from runcard.files.opening import (
    NotRegularFileError,
    open_directory,
    open_parent_below,
    open_regular,
    short_path,
    type_name,
)
from runcard.files.os_errors import failure
from runcard.files.path_table import PathTable
from runcard.files.paths import SAFE_ID, check_relative, is_safe_id, resolve_below
from runcard.files.reading import read_file, read_regular, read_stream, unreadable
from runcard.files.sync import fsync_directory, sync_filesystem, sync_tree
from runcard.files.walk import FileKind, OnError, WalkEntry, sizes, walk, walk_files

__all__ = [
    "SAFE_ID",
    "FileKind",
    "JsonName",
    "NotRegularFileError",
    "OnError",
    "PathTable",
    "Sync",
    "SyncAll",
    "WalkEntry",
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
    "open_parent_below",
    "open_regular",
    "printable",
    "read_file",
    "read_regular",
    "read_stream",
    "resolve_below",
    "shell_word",
    "short_path",
    "sizes",
    "sync_filesystem",
    "sync_tree",
    "type_name",
    "unreadable",
    "walk",
    "walk_files",
    "write_all",
    "write_atomic",
]
