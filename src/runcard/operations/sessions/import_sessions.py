"""`runcard import`: store the sessions of an agent tool, each as a session like any other.

Calls are counted as `runcard costs` counts them: over all files that were found, each call once. So the sum over all imported
sessions is what `costs` says of the same files. What the agents said and did is read in a second pass, session by session.

Each session is assembled in a directory of its own and gets its final name when it is complete. The files of the tool are not
changed. A session that cannot be stored does not stop the others, unless the store can take no more.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import NamedTuple

from runcard import settings as known
from runcard.accounting import Prices
from runcard.documents.exact_sums import exact_sum, plain_number
from runcard.documents.kinds import TEAM
from runcard.encoding import JsonObject
from runcard.errors import MachineError, RuncardError, StoreError, UsageError
from runcard.files import json_name, printable
from runcard.observe.clock import Clock
from runcard.operations.sessions.call_lists import CallLists
from runcard.operations.sessions.collect import check_allowed, check_quota
from runcard.operations.sessions.costs import masked_names
from runcard.operations.sessions.metered_sessions import join_metered_runs
from runcard.operations.sessions.session_calls import calls_by_session
from runcard.operations.sessions.session_import import (
    FoundSession,
    ImportedSession,
    RecordedBy,
    SessionImporter,
    SkippedSession,
)
from runcard.operations.sessions.session_reading import files_for_session, limited
from runcard.operations.sessions.transcript_sources import exports_before, states_before
from runcard.settings import read_settings
from runcard.settings.apply import configured_prices, use_masking_settings
from runcard.store import directory_names, layout
from runcard.store.archives.replace_directory import finish_removals
from runcard.store.known_stores import known_stores
from runcard.store.session_index import SessionIndex
from runcard.store.sessions.collect_options import CollectOptions
from runcard.store.sessions.recovery import recover_sessions
from runcard.transcripts.activity import SessionFiles
from runcard.transcripts.content import UnreadPart
from runcard.transcripts.reading import read_files
from runcard.transcripts.sources import SESSION_TOOLS, TEAM_TOOLS, NoSessionsError, find_files

_SETTINGS_USED = tuple(setting for setting in known.ALL if setting is not known.OUTPUTS)
TOOLS = tuple(SESSION_TOOLS)
_TYPES_OF_ONE_TOOL = {
    "session_meta": "codex",
    "turn_context": "codex",
    "assistant": "claude-code",
    "gemini": "gemini",
}


@dataclass
class ImportReport:
    """What became of all sessions that were found and wanted."""

    sessions: list[ImportedSession] = field(default_factory=list)
    empty: int = 0  # sessions without a call and without a step of an agent
    unread: list[UnreadPart] = field(default_factory=list)
    unknown_types: dict[str, int] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)  # other warnings
    elsewhere: list[tuple[str, str]] = field(default_factory=list)  # new sessions that other stores have, too
    _unread_places: set[tuple[str, int | str]] = field(default_factory=set)

    def add_unread(self, parts: Iterable[UnreadPart]) -> None:
        """Add places that could not be read; each is named once, although files are read several times."""
        for part in parts:
            place = (part.path, part.reason if part.line is None else part.line)
            if place not in self._unread_places:
                self._unread_places.add(place)
                self.unread.append(part)

    @property
    def other_tool(self) -> str | None:
        """The tool whose files these seem to be, where nothing was found in them."""
        if any(session.is_stored for session in self.sessions) or not self.empty:
            return None
        return next(filter(None, map(_TYPES_OF_ONE_TOOL.get, self.unknown_types)), None)

    @property
    def known_cost(self) -> float:
        """What is known of the cost of the sessions that were stored, in dollars."""
        documents = [each.document.to_dict() for each in self.sessions if each.is_stored and each.document]
        return plain_number(
            exact_sum(document["execution_summary"].get("known_cost", 0) for document in documents)
        )

    def to_dict(self) -> JsonObject:
        return {
            "sessions": [session.to_dict() for session in self.sessions],
            "empty": self.empty,
            "unread": [
                {"path": json_name(path).text, "line": line, "reason": reason}
                for path, line, reason in self.unread
            ],
            "unknown_types": self.unknown_types,
            "elsewhere": [
                {"session": session, "path": json_name(path).text} for session, path in self.elsewhere
            ],
        }


class ImportProgress(NamedTuple):
    """How far an import is: first all files are read, then one session after the other is stored."""

    bytes: int
    total_bytes: int
    sessions: int
    total_sessions: int | None  # None: not known yet


Progress = Callable[[ImportProgress], object]


def import_sessions(  # noqa: PLR0913 - one for each option of the command
    tool: str,
    paths: Sequence[str | os.PathLike[str]] = (),
    *,
    session: str | None = None,
    since: datetime | None = None,
    everywhere: bool = False,
    workspaces: bool = False,
    artifacts: str | os.PathLike[str] | None = None,
    schema: str = TEAM.latest,
    keep_secrets: bool = False,
    again: bool = False,
    prices: Prices | None = None,
    progress: Progress | None = None,
    recorded_by: RecordedBy = "import",
) -> ImportReport:
    """Import the sessions of a tool: those in `paths`, or those in its own folders.

    Without `paths`, only sessions that were started in the current directory or below are imported, unless `everywhere` is
    true or a `session` is named, by its id or a unique prefix. `since` leaves out sessions whose work ended before. With
    `workspaces`, the folder of each session is copied as it is now. `recorded_by` says who asks for the import. Raises StoreError where there is nothing to import.
    """
    if tool not in TOOLS:
        raise UsageError(f"{tool!r} is not a known tool", hint=f"use {', '.join(TOOLS)}")
    settings = read_settings({known.ARTIFACTS_DIR: None if artifacts is None else os.fspath(artifacts)})
    check_allowed(settings, schema)
    use_masking_settings(settings)
    options = CollectOptions(settings, schema, keep_secrets=keep_secrets, skip=_session_stores())
    check_quota(options.store, settings[known.ARTIFACTS_MAX_SIZE_GB])
    report = ImportReport()
    sessions = _find(tool, [os.fspath(path) for path in paths], session, report, prices, progress)
    if paths or everywhere or session is not None or tool in TEAM_TOOLS:
        wanted = sessions if session is None else _named(tool, sessions, session)
    else:
        wanted = _started_here(sessions, SESSION_TOOLS[tool].TITLE)
    start = None if since is None else round(since.timestamp() * 1000)
    if start is not None:
        wanted = [each for each in wanted if each.ended >= start or each.files.modified >= start]
    report.remarks += [f"{message}; {hint}" for message, hint in settings.warnings(*_SETTINGS_USED)]
    if not wanted:
        return report
    report.remarks += recover_sessions(options.store, Clock().timestamp)
    finish_removals(options.store)  # of an import that was killed
    with SessionIndex(options.store) as index:
        importer = SessionImporter(
            SESSION_TOOLS[tool],
            options,
            index,
            report.add_unread,
            since=start,
            workspaces=workspaces,
            again=again,
            recorded_by=recorded_by,
        )
        _store(importer, wanted, sum(each.size for each in sessions), report, progress)
    report.elsewhere += _stored_elsewhere(report.sessions, options.store)
    return report


def _session_stores() -> list[str]:
    """The stores that hold sessions: a workspace is copied without those in it."""
    return [
        store
        for store in known_stores()
        if any(directory_names.session_id_in(name) for name in layout.possible_records(store))
    ]


def _stored_elsewhere(sessions: Sequence[ImportedSession], store: str) -> Iterator[tuple[str, str]]:
    """The new sessions that another store of this user has as well, with the path there."""
    new = {each.session for each in sessions if each.action == "imported"}
    for other in known_stores() if new else ():
        if other == os.path.realpath(store) or not os.path.isdir(other):
            continue
        for name in layout.possible_records(other):
            own = directory_names.session_id_in(name)
            if own is not None and own in new:
                yield own, os.path.join(other, name)


def _store(
    importer: SessionImporter,
    sessions: Sequence[FoundSession],
    done: int,
    report: ImportReport,
    progress: Progress | None,
) -> None:
    """Store these sessions; `done` is how many bytes were read before."""
    total = done + sum(2 * each.size for each in sessions)

    def advance(number: int, before: int, more: int) -> None:
        if progress is not None:
            progress(ImportProgress(before + more, total, number, len(sessions)))

    for number, each in enumerate(sessions):
        try:
            stored = importer.store(each, partial(advance, number, done))
        except RuncardError as error:
            files = each.files
            reason = f"{error.message}; {error.hint}" if error.hint else error.message
            report.sessions.append(ImportedSession(files.session, files.tool, "failed", error=reason))
            if isinstance(error, MachineError):  # the store can take no more
                return
        else:
            report.sessions += [stored] if isinstance(stored, ImportedSession) else []
            report.empty += stored is SkippedSession.EMPTY
        done += 2 * each.size
        advance(number + 1, done, 0)


def _find(
    tool: str,
    paths: Sequence[str],
    session: str | None,
    report: ImportReport,
    prices: Prices | None,
    progress: Progress | None,
) -> list[FoundSession]:
    """All sessions of a tool, with the calls of each; with the id of a session, at least that one."""
    files, left_out = find_files([tool], paths)
    if session is not None and tool not in TEAM_TOOLS:
        files = files_for_session(tool, files, session)
    total = sum(file.size for file in files if not file.start)
    groups, not_grouped = SESSION_TOOLS[tool].sessions([file for file in files if not file.start])

    def advance(_: int, done: int) -> None:
        if progress is not None:
            progress(ImportProgress(done, 3 * total, 0, None))

    states = states_before(file for file in files if not file.start)
    export = getattr(SESSION_TOOLS[tool], "export", None)
    exported = [each for each in groups if each.session == session] or groups
    exports = {} if export is None else exports_before(exported, export)
    read = read_files([limited(file) for file in files], advance)
    if tool in TEAM_TOOLS:  # the calls are in the files of other tools
        read = TEAM_TOOLS[tool].agent_calls(groups)
    report.add_unread([*left_out, *not_grouped, *read.unread])
    report.unknown_types = masked_names(read.unknown_types)
    metered = join_metered_runs(read.table, tool, {each.session for each in groups})
    prices = prices or configured_prices()
    calls, lists = calls_by_session(read.table, prices), CallLists(read.table, prices)
    sizes = {file.path: file.size for file in files}
    sessions = [
        FoundSession(
            each,
            calls.pop(each.session, {}),
            sum(sizes.get(path, 0) for path in each.paths),
            states,
            exports.get(each.session),
            metered.get(each.session),
            lists,
        )
        for each in groups
    ]
    for own, agents in calls.items():  # calls in files of other sessions: their own files are gone
        ended = max((agent.ended for agent in agents.values()), default=0)
        sessions.append(
            FoundSession(
                SessionFiles(tool, own or "no session", (), ended),
                agents,
                0,
                states,
                lists=lists if own else None,
            )
        )
    return sorted(sessions, key=lambda each: each.ended)


def _named(tool: str, sessions: Sequence[FoundSession], name: str) -> list[FoundSession]:
    """The session with this id, or the only one whose id begins with it."""
    exact = [each for each in sessions if each.files.session == name]
    found = exact or [each for each in sessions if each.files.session.startswith(name)]
    if len(found) == 1:
        return found
    if not found:
        hint = f"list them: runcard costs --source {tool} --by session"
        raise NoSessionsError(f"no session {printable(name)} found", hint=hint)
    error = StoreError(
        f"{len(found)} sessions begin with {printable(name)}", hint="use a longer prefix of the id"
    )
    error.details = tuple(printable(each.files.session) for each in found[:10])
    raise error


def _started_here(sessions: Sequence[FoundSession], title: str) -> list[FoundSession]:
    """The sessions that were started in the current directory or below."""
    here = {os.getcwd(), os.path.realpath(os.environ.get("PWD") or os.curdir)}
    wanted = [each for each in sessions if each.folder is not None and _is_in(each.folder, here)]
    if not wanted:
        raise StoreError(
            f"no session of {title} was started in this directory; {len(sessions):,} elsewhere",
            hint="pass --all to import them, or run this in the directory of a project",
        )
    return wanted


def _is_in(folder: str, directories: set[str]) -> bool:
    try:
        paths = {folder, os.path.realpath(folder)}
    except ValueError:  # it has a NUL
        return False
    return any(
        path == directory or path.startswith(f"{directory.rstrip('/')}/")
        for path in paths
        for directory in directories
    )
