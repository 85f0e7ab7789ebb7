"""Copy an agent's workspace and transcript into a session.

    copied = copy_workspace(source, target, rules=CopyRules(...), progress=...)
    log = copy_log(source, target, rules=CopyRules(...))

`target` must not exist; it is created, also when the source is missing. `CopiedWorkspace` has a `CopiedFile` for each file
(path, size and SHA-256 of the stored bytes, and that of the source if something was masked), the symbolic links that were
copied, an `Omission` for each path that was not stored or changed while it was read, the number of excluded paths by
pattern, and what was masked where. `CopiedLog` has the same for one transcript, and its lines. Paths are relative and
`str`, as in `runcard.files`. Nothing is durable until the caller calls `sync_filesystem`, once for everything.

`workspace` copies a workspace: `source_walk` walks it, `selection` decides by the user's patterns and the
`default_excludes` which files are copied, `small_files` and `large_files` copy them on all cores.

Each byte is read once and hashed on its way. An error with the source is an omission, and the work continues; an error
with the target (a full disk) raises MachineError. A malformed pattern raises UsageError before anything is copied.

Invariants: nothing in the source is opened for writing, no symbolic link in it is followed, only regular files and
directories are opened, and a file that is truncated, grows, vanishes or is replaced meanwhile does no harm.
"""

from runcard.files.globs import check_patterns
from runcard.store.sessions.copying.copy_rules import MAX_FILE_SIZE, MAX_SIZE, CopyRules
from runcard.store.sessions.copying.results import CopiedFile, CopiedLog, CopiedWorkspace, Omission, Redaction
from runcard.store.sessions.copying.selection import is_credential
from runcard.store.sessions.copying.transcript import copy_blocks, copy_log
from runcard.store.sessions.copying.workspace import copy_workspace

__all__ = [
    "MAX_FILE_SIZE",
    "MAX_SIZE",
    "CopiedFile",
    "CopiedLog",
    "CopiedWorkspace",
    "CopyRules",
    "Omission",
    "Redaction",
    "check_patterns",
    "copy_blocks",
    "copy_log",
    "copy_workspace",
    "is_credential",
]
