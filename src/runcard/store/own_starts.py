"""Is an open record the user's own? Its start has a code that only this user can make.

A cloned repository, or another user of a shared folder, can put an open run or session where `runcard close` finds it. So the
first line of a journal has a message authentication code with the key of `ownership`: of the store's real path, the record's
id, its start document, and the number of the file (inode) that the line is in. That number changes when the file is copied, by
git for example: a code that somebody copied from an open record, or from the journal of a closed one, is worth nothing.

The same key says which files of the user an agent of an open session may name: `agent_paths_mac`.

Invariant: `is_own_start` is true only for a record with the start that this user gave it, in the file in which it began.
"""

import os
from typing import NamedTuple

from runcard.digests import sha256_bytes
from runcard.documents.chain import parse_line
from runcard.encoding import JsonObject, canonical_json
from runcard.errors import RuncardError
from runcard.files import open_regular
from runcard.store.ownership import is_own_part, own_part_mac

MAC = "mac"  # the field with the code: of the first line of a journal, and of the payload of an agent's start

_LONGEST = 4 << 20  # bytes of the first line


class RecordStart(NamedTuple):
    """What an open record began with."""

    store: str
    record_id: str
    document: JsonObject

    @property
    def digest(self) -> str:
        return sha256_bytes(canonical_json(self.document)).hex


def start_mac(start: RecordStart, inode: int) -> str | None:
    """The code for a record that starts now, with its journal in the file of this number; None where there can be none."""
    return own_part_mac(os.path.realpath(start.store), f"start of {start.record_id} in {inode}", start.digest)


def is_own_start(start: RecordStart, journal: str | None) -> bool:
    """Whether this user started the record, by the first line of its journal."""
    if journal is None:
        return False
    try:
        descriptor = open_regular(journal)
        try:
            inode = os.fstat(descriptor).st_ino
            line = parse_line(os.pread(descriptor, _LONGEST, 0).partition(b"\n")[0])
        finally:
            os.close(descriptor)
        what, mac = f"start of {start.record_id} in {inode}", (line or {}).get(MAC)
        return is_own_part(os.path.realpath(start.store), what, start.digest, mac)
    except (RuncardError, OSError):
        return False


class AgentPaths(NamedTuple):
    """The files of the user that an agent of a session names."""

    agent_id: str
    workspace: str | None
    output: str | None

    @property
    def is_any(self) -> bool:
        """Whether it names one at all."""
        return self.workspace is not None or self.output is not None


def agent_paths_mac(start: RecordStart, paths: AgentPaths) -> str | None:
    """The code for the files that this user names for an agent; None where there can be none."""
    return own_part_mac(os.path.realpath(start.store), f"agent of {start.digest}", _digest(paths))


def are_own_paths(start: RecordStart, paths: AgentPaths, mac: object) -> bool:
    """Whether this user named these files for this agent of this session."""
    return is_own_part(os.path.realpath(start.store), f"agent of {start.digest}", _digest(paths), mac)


def _digest(paths: AgentPaths) -> str:
    return sha256_bytes(canonical_json(list(paths))).hex
