"""Runs that metered the sessions of an agent tool: their calls are joined with those of the transcripts.

The relay of `runcard run` sees every call; the tool does not write all of them to its files. A call that both have counts once,
with the counts of the wire; one that only a run has is added to the agent that made it. Differences are listed.
"""

import contextlib
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import BinaryIO, NamedTuple

from runcard.accounting import Tokens
from runcard.accounting.usage import Usage
from runcard.digests import sha256_bytes
from runcard.documents.chain import JournalStream
from runcard.documents.document import Document
from runcard.documents.run.events import MODEL_CALLED
from runcard.documents.run.generation import Generation
from runcard.encoding import JsonObject
from runcard.errors import RuncardError
from runcard.store import layout
from runcard.store.find_record import records_of
from runcard.store.record import Record
from runcard.store.stores_at_hand import stores_at_hand
from runcard.transcripts import claude_code, codex
from runcard.transcripts.calls import CLASSES, MAIN, Call, CallOrigin, CallTable, call_key, kind_and_counts
from runcard.transcripts.content import milliseconds

TOOLS = frozenset({claude_code.NAME, codex.NAME})  # those that name their session to the provider

_BLOCK = 1 << 20
_NAMES_SESSION = b'"client_session"'
_MOST_DIFFERENCES = 100  # of a run that are listed
_SOURCES = frozenset({"reported", "partial", "estimated", "given"})


@dataclass
class MeteredSession:
    """The runs that metered calls of a session."""

    runs: list[JsonObject] = field(default_factory=list)  # as the team document lists them
    is_whole: bool = False  # one of them has all calls
    calls: set[bytes] = field(default_factory=set)  # the keys of those that were metered

    @property
    def run_ids(self) -> frozenset[str]:
        return frozenset(run["run_id"] for run in self.runs)

    @property
    def relations(self) -> list[JsonObject]:
        return [{"type": "run", "id": run["run_id"], "sha256": run["sha256"]} for run in self.runs]


class _MeteredCall(NamedTuple):
    """A call as the journal of a run has it."""

    session: str
    id: str
    key: bytes
    call: Call


def join_metered_runs(
    table: CallTable, tool: str, sessions: Collection[str], stores: Collection[str] | None = None
) -> dict[str, MeteredSession]:
    """Join the calls of a table with those of the runs at hand; what was found, by session. Changes the table."""
    if tool not in TOOLS or not sessions:
        return {}
    join: _RunJoin | None = None
    for store in stores_at_hand() if stores is None else stores:
        for record in records_of(store):
            with contextlib.suppress(RuncardError, OSError):
                document = record.document()
                calls = [*_metered_calls(record, tool, sessions)] if isinstance(document, Generation) else []
                if calls:
                    join = join or _RunJoin(table)
                    join.add_run(document, calls)
    return {} if join is None else join.sessions


class _RunJoin:
    """Joins one run after the other with a table."""

    def __init__(self, table: CallTable) -> None:
        self._table, self._keys = table, table.keys_by_id()
        self._in_transcripts = Counter(call.origin.session for call in table)
        self._added: set[bytes] = set()
        self._runs: set[str] = set()  # copies of a run have its id
        self.sessions: dict[str, MeteredSession] = {}

    def add_run(self, document: Document, calls: list[_MeteredCall]) -> None:
        data = document.to_dict()
        run_id = data["generation"]["run_id"]
        if run_id in self._runs:
            return
        self._runs.add(run_id)
        digest, is_complete = sha256_bytes(document.to_bytes()).hex, _is_complete(data)
        for session in dict.fromkeys(call.session for call in calls):
            own = [call for call in calls if call.session == session]
            found = self.sessions.setdefault(session, MeteredSession())
            entry = {"run_id": run_id, "sha256": digest, **self._join(session, own, found.calls)}
            found.runs.append(entry)
            found.is_whole |= is_complete and entry["only_in_transcript"] == 0

    def _join(self, session: str, calls: list[_MeteredCall], metered_calls: set[bytes]) -> JsonObject:
        both: set[bytes] = set()
        only = 0
        differing: list[JsonObject] = []
        for metered in calls:
            key = metered.key if metered.key in self._table else self._keys.get(metered.key[:8])
            if key is not None and key not in self._added:
                both.add(key)
                metered_calls.add(key)
                differing += self._take(key, metered)
                continue
            only += 1
            self._added.add(metered.key)
            metered_calls.add(metered.key)
            self._table.add(metered.key, metered.call)
        known = sum(self._table.call(key).origin.session == session for key in both)
        return {
            "calls_in_both": len(both),
            "only_metered": only,
            "only_in_transcript": max(0, self._in_transcripts[session] - known),
            "differing": differing[:_MOST_DIFFERENCES],
        }

    def _take(self, key: bytes, metered: _MeteredCall) -> Iterator[JsonObject]:
        """Use the counts of the wire; yields those that differ."""
        old, new = self._table.call(key), metered.call
        counts = list(old.counts)
        for bit, name in enumerate(CLASSES):
            if not new.kind.known >> bit & 1:
                continue
            is_known = old.kind.known >> bit & 1
            if counts[bit] != new.counts[bit] or (not is_known and new.counts[bit]):
                before = counts[bit] if is_known else None
                yield {"id": metered.id, "field": name, "metered": new.counts[bit], "in_transcript": before}
            counts[bit] = new.counts[bit]
        kind = old.kind._replace(
            source=new.kind.source or old.kind.source,
            service_tier=new.kind.service_tier or old.kind.service_tier,
            known=old.kind.known | new.kind.known,
        )
        first, second, third, fourth, fifth, sixth = counts
        self._table.put(key, old._replace(kind=kind, counts=(first, second, third, fourth, fifth, sixth)))


def _is_complete(document: JsonObject) -> bool:
    """Whether the run ended by itself, and all of its calls were seen."""
    usage = document.get("token_usage") or {}
    return document["generation"].get("status") in {"completed", "failed"} and not usage.get("incomplete")


def _metered_calls(record: Record, tool: str, sessions: Collection[str]) -> Iterator[_MeteredCall]:
    """The calls in the journal of a run that name one of these sessions."""
    if not _names_a_session(record):
        return
    for line in JournalStream(lambda: _blocks(record)).lines:
        payload = line.get("payload")
        if line.get("event") != MODEL_CALLED or not isinstance(payload, dict):
            continue
        if payload.get("observer") != "meter" or payload.get("client_session") not in sessions:
            continue
        if (call := _metered_call(payload, tool, milliseconds(line.get("timestamp")))) is not None:
            yield call


def _metered_call(payload: JsonObject, tool: str, time: int) -> _MeteredCall | None:
    """A call with its counts; None for one that failed, or has no id to join it by."""
    session, response, request = (
        payload.get(name) for name in ("client_session", "response_id", "request_id")
    )
    own = response or request
    tokens = payload.get("tokens")
    if not isinstance(own, str) or not isinstance(session, str) or not isinstance(tokens, dict) or not tokens:
        return None
    part = payload.get("part")
    if tool == codex.NAME:
        key = call_key(own, f"{tool}:{session}")
    else:
        key = call_key(f"{own}#{part}" if part else own, request if isinstance(request, str) else None)
    agent = payload.get("agent")
    agent = MAIN if not isinstance(agent, str) or agent == session else agent
    source, tier = payload.get("token_source"), payload.get("service_tier")
    usage = Usage(
        Tokens.from_dict(
            {name: count for name, count in tokens.items() if type(count) is int and count >= 0}
        ),
        service_tier=tier if isinstance(tier, str) and tier != "standard" else None,
        server_tools=_tools(payload.get("server_tools")),
    )
    model, provider = payload.get("model"), payload.get("provider")
    kind, counts = kind_and_counts(
        usage,
        source=source if source in _SOURCES else None,
        model=model if isinstance(model, str) else None,
        provider=provider if isinstance(provider, str) else None,
    )
    origin = CallOrigin(tool, session, agent, None, None, agent_id=agent)
    return _MeteredCall(session, own, key, Call(time, origin, kind, counts))


def _tools(value: object) -> dict[str, int]:
    uses = value.items() if isinstance(value, dict) else ()
    return {str(name): count for name, count in uses if type(count) is int and count >= 0}


def _names_a_session(record: Record) -> bool:
    before = b""
    for block in _blocks(record):
        if _NAMES_SESSION in before + block:
            return True
        before = block[-len(_NAMES_SESSION) :]
    return False


def _blocks(record: Record) -> Iterator[bytes]:
    file: BinaryIO | None = record.open(layout.JOURNAL)
    if file is not None:
        with file:
            while block := file.read(_BLOCK):
                yield block
