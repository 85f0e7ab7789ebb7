"""Copying an agent's workspace and transcript into a session: what is copied, and what is not, and why.

    copied = copy_workspace(source, target, rules=CopyRules(...), progress=...)
    log = copy_log(source, target, rules=CopyRules(...))

`target` must not exist; it is made, also when the source is missing. `Copied` has a `CopiedFile` for each file (path,
size and SHA-256 of the stored bytes, and that of the source where something was masked), the symbolic links that were
kept, an `Omission` for each path that was not stored or that changed while it was read, what was left out by which
pattern, and what was masked where. `CopiedLog` has the same for one transcript, and its lines. Paths are relative and
`str`, as `runcard.files` has them. Nothing is durable until the caller says `sync_filesystem`, once for all.

Each byte is read once and hashed on its way. Whatever is wrong with the source is an omission and the work goes on;
what is wrong with the target (a full disk) raises MachineError. A wrong pattern raises UsageError before anything else.

Invariants: nothing in the source is opened for writing, no symbolic link in it is followed, nothing but regular files
and directories is opened, and a file that is cut, grows, vanishes or is swapped meanwhile harms nobody.
"""

from runcard.files.globs import check_patterns
from runcard.store.sessions.copying.options import MAX_FILE_SIZE, MAX_SIZE, CopyRules
from runcard.store.sessions.copying.progress import Amount, Progress
from runcard.store.sessions.copying.results import Copied, CopiedFile, CopiedLog, Omission, Redaction
from runcard.store.sessions.copying.transcript import copy_log
from runcard.store.sessions.copying.workspace import copy_workspace

__all__ = [
    "MAX_FILE_SIZE",
    "MAX_SIZE",
    "Amount",
    "Copied",
    "CopiedFile",
    "CopiedLog",
    "CopyRules",
    "Omission",
    "Progress",
    "Redaction",
    "check_patterns",
    "copy_log",
    "copy_workspace",
]
