"""Session files of agent tools that were written during a run are a witness: a call in them that the meter has not seen is missing.

A session file is a lower bound: it lacks some calls. So it never adds to what a run used; it only shows that something is missing.

Which sessions are those of the run? Those that calls named on the wire; and those that began during the run, in its folder, below
it, or where a process of the run was that is such a tool. Sessions that somebody else has at the same time are in other folders.
"""

import contextlib
import hashlib
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from runcard.errors import RuncardError
from runcard.operations.runs.witness import metered_calls
from runcard.store import layout
from runcard.store.known_stores import known_stores
from runcard.store.stores_at_hand import stores_at_hand
from runcard.transcripts import claude_code, codex
from runcard.transcripts.calls import Call, call_key
from runcard.transcripts.content import TranscriptFile
from runcard.transcripts.reading import read_files
from runcard.transcripts.sources import SOURCES, own_files

_ID = 8  # bytes of a key that stand for the id of a call
_SLACK = 1.0  # seconds by which the time of a file may be too early
_COUNTED = ("input", "output")


class RunTraces(NamedTuple):
    """What is known of a run, to find its sessions."""

    run: str  # its directory in the store
    started: float  # seconds since 1970
    directory: str
    others: frozenset[str]  # folders in which processes of the run were that are agent tools
    sessions: frozenset[str]  # that calls named
    environment: Mapping[str, str]


def unmetered_calls(traces: RunTraces, metered: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """How many calls the meter has not seen, by the title of the tool. `metered` are the calls that it has seen."""
    calls = list(metered)
    missing = _unmetered(traces, calls)
    if missing and (others := list(_calls_of_other_runs(traces))):
        missing = _unmetered(traces, [*calls, *others])
    return missing


def _unmetered(traces: RunTraces, calls: list[Mapping[str, Any]]) -> dict[str, int]:
    missing = {}
    for name, tool in SOURCES.items():
        with contextlib.suppress(RuncardError, OSError):  # files that cannot be read are no witness
            written = list(_written_since(name, traces))
            if written and (count := _unmetered_of(name, written, traces, calls)):
                missing[tool.TITLE] = count
    return missing


def _calls_of_other_runs(traces: RunTraces) -> Iterator[Mapping[str, Any]]:
    """The calls that runs at the same time have metered: those inside this one, and others in the same folder."""
    stores = {
        os.path.realpath(store) for store in (os.path.dirname(traces.run), *known_stores(), *stores_at_hand())
    }
    for store in stores:
        for name in layout.possible_records(store):
            path = os.path.join(store, name, layout.JOURNAL)
            if name != os.path.basename(traces.run) and _modified(path) >= traces.started - _SLACK:
                with contextlib.suppress(OSError):
                    yield from (call for call in metered_calls(path) if _metered_counts(call) is not None)


def _written_since(tool: str, traces: RunTraces) -> Iterator[TranscriptFile]:
    files, _ = own_files(tool, traces.environment)
    for file in files:
        paths = (file.path, f"{file.path}-wal")  # what a database has, too
        if max(map(_modified, paths)) >= traces.started - _SLACK:
            yield file


def _modified(path: str) -> float:
    try:
        return os.stat(path).st_mtime
    except OSError:
        return 0.0


def _unmetered_of(
    tool: str, files: list[TranscriptFile], traces: RunTraces, metered: list[Mapping[str, Any]]
) -> int:
    table = read_files(files).table
    calls = {key: table.call(key) for key in table.keys_by_id().values()}
    own = _own_sessions(calls.values(), traces)
    ids = {part for call in metered for part in _id_parts(call)}
    unknown = [
        call
        for key, call in calls.items()
        if call.origin.session in own and _is_since(call, traces.started) and key[:_ID] not in ids
    ]
    # Claude Code writes the id of each reply; where a file has none, calls are compared by their counts.
    return len(unknown) if tool == claude_code.NAME else _without_equals(unknown, metered)


def _own_sessions(calls: Iterable[Call], traces: RunTraces) -> set[str | None]:
    """The sessions that are those of the run."""
    first: dict[str | None, int] = {}
    folders: dict[str | None, str | None] = {}
    for call in calls:
        session = call.origin.session
        first[session] = min(call.time, first.get(session, call.time))
        folders.setdefault(session, call.origin.project)
    return {
        session
        for session, time in first.items()
        if session in traces.sessions
        or (time >= traces.started * 1000 and _is_own_folder(folders[session], traces))
    }


def _is_own_folder(folder: str | None, traces: RunTraces) -> bool:
    if folder is None:
        return False
    places = {traces.directory, *traces.others}
    if folder in {hashlib.sha256(os.fsencode(place)).hexdigest() for place in places}:  # of Gemini CLI
        return True
    real = os.path.realpath(folder)
    inside = os.path.join(os.path.realpath(traces.directory), "")
    return os.path.join(real, "").startswith(inside) or real in set(map(os.path.realpath, places))


def _is_since(call: Call, started: float) -> bool:
    return call.time >= started * 1000


def _id_parts(call: Mapping[str, Any]) -> Iterator[bytes]:
    """What a table has in place of the id of a call, as far as the reply has one."""
    response, request = call.get("response_id"), call.get("request_id")
    for some_id in (response, request, f"{codex.NAME}:{call.get('client_session')}:{response}"):
        if some_id is not None:
            yield call_key(str(some_id))[:_ID]


def _without_equals(calls: list[Call], metered: list[Mapping[str, Any]]) -> int:
    """How many calls are left when each of those that were metered stands for one with the same counts.

    One whose counts are not known stands for any.
    """
    counts: Counter[tuple[int, ...] | None] = Counter(map(_metered_counts, metered))
    left = 0
    for call in calls:
        same = _counts(call)
        if counts[same]:
            counts[same] -= 1
        else:
            left += 1
    return max(0, left - counts[None])


def _counts(call: Call) -> tuple[int, ...]:
    tokens = call.usage.tokens
    return tuple(getattr(tokens, name) or 0 for name in _COUNTED)


def _metered_counts(call: Mapping[str, Any]) -> tuple[int, ...] | None:
    tokens = call.get("tokens") or {}
    values = [value for name in _COUNTED if isinstance(value := tokens.get(name), int)]
    return tuple(values) if len(values) == len(_COUNTED) else None
