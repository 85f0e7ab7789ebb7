"""The agents of Madrox are Claude Code and Codex, which keep their own session files: found by the workspace of an instance.

A workspace that several instances have does not say which of them made a call. One that is not an instance's own, such as
the folder of a project, may have sessions of the user too: only calls in the time of the instance count.
"""

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

from runcard.files import open_regular
from runcard.transcripts import claude_code, codex
from runcard.transcripts.activity import SessionFiles
from runcard.transcripts.calls import CallOrigin, CallTable
from runcard.transcripts.content import TranscriptFile
from runcard.transcripts.madrox.instances import TeamInstance
from runcard.transcripts.reading import TranscriptCalls, read_files
from runcard.transcripts.sources import below

if TYPE_CHECKING:
    from runcard.transcripts.content import UnreadPart

NAME = "madrox"
_NOT_A_LETTER = re.compile(r"[^a-zA-Z0-9]")
_MARKER = ".madrox_instance_id"
_MOST_DAYS = 400  # of an instance in which sessions of Codex are looked for
_DAY = timedelta(days=1)


class InstanceSession(NamedTuple):
    """A session of another tool that belongs to an instance."""

    files: SessionFiles
    team: str  # the session of Madrox
    instance: TeamInstance | None  # None: several instances have this workspace
    between: tuple[int, int] | None  # the time of the instance, where the workspace is not its own

    def has(self, time: int) -> bool:
        """Whether a call at that time may be one of the instance."""
        return self.between is None or self.between[0] <= time <= self.between[1]


def agent_sessions(instances: Iterable[TeamInstance], environ: Mapping[str, str]) -> list[InstanceSession]:
    """The sessions of the agents of these instances."""
    by_workspace: dict[str, list[TeamInstance]] = {}
    for instance in instances:
        if instance.workspace and os.path.isabs(instance.workspace) and "\0" not in instance.workspace:
            by_workspace.setdefault(os.path.realpath(instance.workspace), []).append(instance)
    found = []
    for workspace, owners in by_workspace.items():
        for session in (
            *_claude_sessions(workspace, owners, environ),
            *_codex_sessions(workspace, owners, environ),
        ):
            only = owners[0] if len(owners) == 1 else None
            is_own = only is not None and _is_own(workspace, only)
            found.append(InstanceSession(session, owners[0].session, only, None if is_own else _time(owners)))
    return found


def _is_own(workspace: str, instance: TeamInstance) -> bool:
    """Whether a workspace was made for an instance."""
    if os.path.basename(workspace) == instance.id:
        return True
    try:
        with open(open_regular(os.path.join(workspace, _MARKER)), "rb") as file:
            return file.read(200).decode("utf-8", "replace").strip() == instance.id
    except OSError:
        return False


def _time(owners: list[TeamInstance]) -> tuple[int, int]:
    """From the start of the first to the end of the last; nothing where a start is not known."""
    if any(owner.created < 0 for owner in owners):
        return 1, 0
    ends = [1 << 62 if owner.status == "running" or owner.end < 0 else owner.end for owner in owners]
    return min(owner.created for owner in owners), max(ends)


def _may_run(harness: str, owners: list[TeamInstance]) -> bool:
    return any(owner.harness in {harness, None} for owner in owners)


def _claude_sessions(
    workspace: str, owners: list[TeamInstance], environ: Mapping[str, str]
) -> Iterator[SessionFiles]:
    if not _may_run("claude", owners):
        return
    paths = {workspace, *(owner.workspace for owner in owners if owner.workspace)}
    names = {_NOT_A_LETTER.sub("-", path.rstrip("/")) for path in paths}
    for projects in claude_code.folders(environ):
        for name in sorted(names):
            yield from _sessions_in(claude_code.NAME, [os.path.join(projects, name)], workspace)


def _codex_sessions(
    workspace: str, owners: list[TeamInstance], environ: Mapping[str, str]
) -> Iterator[SessionFiles]:
    if not _may_run("codex", owners):
        return
    for folder in codex.folders(environ):
        days = [os.path.join(folder, f"{day:%Y/%m/%d}") for day in _days(owners)]
        has_days = os.path.basename(folder) == "sessions" and days
        yield from _sessions_in(codex.NAME, days if has_days else [folder], workspace)


def _days(owners: list[TeamInstance]) -> list[date]:
    """The days in whose folders Codex may have put a session, in any time zone; none: look everywhere."""
    start = min(owner.created for owner in owners)
    end = max(owner.end for owner in owners)
    if start < 0 or any(owner.status == "running" for owner in owners):
        return []
    try:
        first, last = (datetime.fromtimestamp(time / 1000, UTC).date() for time in (start, max(start, end)))
    except (OverflowError, ValueError, OSError):
        return []
    count = (last - first).days + 3
    return [first + _DAY * (number - 1) for number in range(count)] if count <= _MOST_DAYS else []


def _sessions_in(tool: str, folders: list[str], workspace: str) -> Iterator[SessionFiles]:
    ignored: list[UnreadPart] = []
    files = [file for folder in folders for file in below(tool, folder, ignored)]
    module = claude_code if tool == claude_code.NAME else codex
    sessions, _ = module.sessions(files)
    for session in sessions:
        if session.folder is not None and os.path.realpath(session.folder) == workspace:
            yield session


def agent_calls(sessions: Iterable[InstanceSession]) -> TranscriptCalls:
    """The calls in the sessions of agents, as those of their instances; each call once."""
    owners: dict[tuple[str, str], list[InstanceSession]] = {}
    files: dict[str, TranscriptFile] = {}
    for session in sessions:
        owners.setdefault((session.files.tool, session.files.session), []).append(session)
        for path in session.files.paths:
            if os.path.isfile(path):
                files[path] = TranscriptFile(session.files.tool, path, os.path.getsize(path))
    read = read_files(list(files.values()))
    read.table = _of_instances(read.table, owners)
    return read


def _of_instances(table: CallTable, owners: Mapping[tuple[str, str], list[InstanceSession]]) -> CallTable:
    def origin(old: CallOrigin, time: int) -> CallOrigin | None:
        known = owners.get(
            (old.tool, old.session or ""), ()
        )  # none: a copy from a session that is no agent's
        fitting = [each for each in known if each.has(time)]
        if not fitting:
            return None
        only = fitting[0].instance if len(fitting) == 1 else None
        name, own = (None, None) if only is None else (only.name or only.id, only.id)
        return CallOrigin(NAME, fitting[0].team, name, old.project, old.branch, agent_id=own)

    return table.with_origins(origin)
