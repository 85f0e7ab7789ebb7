"""Random histories of calls: who recorded them, in runs in runs, sessions, imports, copies, archives, on two hosts; and what they really were.

At the level of journals and documents: what a recorder or an import would have written is put into a catalog as it is.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from random import Random

from runcard.catalog.database import CatalogDatabase
from runcard.catalog.filling import FoundRecord, table_rows
from runcard.catalog.rows import RUN, SESSION, RecordRows
from runcard.catalog.run_rows import run_rows
from runcard.catalog.session_rows import session_rows
from runcard.digests import sha256_bytes, short_digest
from runcard.documents.run.call_totals import RunCalls, distinct_calls
from runcard.documents.times import format_time_ms
from runcard.encoding import JsonObject

START = 1_793_450_000_000  # shortly before the end of October
HOUR = 3_600_000
MODELS = {
    "claude-sonnet-4-5": 3,
    "claude-haiku-4-5": 1,
    "gpt-5": 2,
}  # dollars for a million tokens of any kind
CLASSES = ("input", "output", "cache_read", "cache_write_5m", "cache_write_1h", "reasoning")


def moment(milliseconds: int) -> str:
    return format_time_ms(datetime.fromtimestamp(milliseconds / 1000, UTC))


@dataclass(frozen=True)
class UpstreamCall:
    """A call as the upstream answered it."""

    number: int
    model: str
    time: int
    tokens: dict[str, int]
    session: str | None = None

    @property
    def response(self) -> str:
        return f"msg_{self.number:06}"

    @property
    def cost(self) -> float:
        return cost_of(self.model, self.tokens)


def cost_of(model: str, tokens: JsonObject) -> float:
    return float(round((tokens["input"] + tokens["output"]) * MODELS[model] / 1e6, 10))


@dataclass
class HistoryRun:
    """A run, what its journal has, and whether it is open."""

    id: str
    parent: str | None
    started: int
    host: str
    is_metered: bool
    is_open: bool = False
    events: list[JsonObject] = field(default_factory=list)
    ended: int = 0
    experiment: str | None = None
    calls: set[int] = field(default_factory=set)  # numbers of those that it has

    def rows(self) -> RecordRows:
        calls = RunCalls()
        for event in self.events:
            calls.add(event)
        again = calls.read_again()
        if again is not None:
            for event in self.events:
                again.add(event)
        sections = (again or calls).sections({}, {})
        generation = {
            "run_id": self.id,
            "status": "running" if self.is_open else "completed",
            "timestamp_start": moment(self.started),
            "timestamp_end": None if self.is_open else moment(self.ended),
            "process": {"host": self.host},
            "experiment_name": self.experiment,
            "experiment_id": self.experiment and f"exp-{self.experiment}",
        }
        document = {
            "generation": generation,
            "configuration": {"seed": len(self.events)},
            "costs": sections.costs,
            "token_usage": sections.token_usage,
            "performance": sections.performance,
            "relations": [{"type": "parent", "id": self.parent}] if self.parent else [],
        }
        rows = run_rows(document, (), distinct_calls(self.events), is_open=self.is_open)
        rows.record |= {"kind": RUN, "record_id": self.id, "is_open": int(self.is_open)}
        rows.record["sha256"] = sha256_bytes(json.dumps(document, sort_keys=True).encode()).hex
        return rows


@dataclass
class HistorySession:
    """A session of an agent tool; its transcript lacks some calls, and has some with wrong counts."""

    id: str
    started: int
    transcript: dict[int, JsonObject] = field(default_factory=dict)  # counts by number of the call
    agents: dict[int, str] = field(default_factory=dict)


class History:
    """Makes a history step by step, in a catalog."""

    def __init__(self, database: CatalogDatabase, seed: int) -> None:
        self.random, self._database = Random(seed), database  # noqa: S311
        self.now = START + self.random.randrange(48) * HOUR
        self.calls: list[UpstreamCall] = []
        self.runs: list[HistoryRun] = []
        self.sessions: list[HistorySession] = []
        self.reported: dict[int, JsonObject] = {}  # the best counts that a record has of a call
        self.in_sessions: dict[int, str] = {}  # the session that an imported call is of
        self._words: dict[int, int] = {}
        self._places: dict[str, RecordRows] = {}
        self._stores: dict[str, int] = {}  # of records that are not on the first host
        self._archived: set[str] = set()
        self.has_transcripts = False

    def play(self, steps: int) -> Iterator[None]:
        """Take random steps; yields where the sums are to be compared."""
        choices = [
            self._start_run,
            self._call,
            self._call,
            self._call,
            self._session_call,
            self._session_call,
        ]
        choices += [self._import_session, self._end_run, self._copy, self._remove_copy]
        choices += [self._archive_or_restore, self._rebuild_host]
        for number in range(steps):
            self.now += self.random.choice([50, 2_000, 2_000, HOUR, 30 * HOUR])
            self.random.choice(choices)()
            if number % 5 == 4:
                self.store_all()
                yield
        for run in self.runs:
            self._close(run)
        self.store_all()
        yield

    def _start_run(self) -> None:
        parents = [run for run in self.runs if run.is_open]
        parent = self.random.choice([None, *parents])
        run = HistoryRun(
            f"run-{len(self.runs)}",
            parent.id if parent else None,
            self.now,
            self.random.choice("ab"),
            self.random.random() < 0.6,
            True,
            experiment=self.random.choice([None, "x", "y"]),
        )
        self.runs.append(run)
        self._stores[run.id] = "ab".index(run.host) + 1

    def _ancestors(self, run: HistoryRun | None) -> list[HistoryRun]:
        found = []
        while run is not None:
            found.append(run)
            parent = run.parent
            run = next((one for one in self.runs if one.id == parent), None)
        return found

    def _new_call(self, session: str | None) -> UpstreamCall:
        tokens = {name: self.random.randrange(1, 500) for name in CLASSES}
        tokens["input"] += sum(tokens[name] for name in ("cache_read", "cache_write_5m", "cache_write_1h"))
        call = UpstreamCall(len(self.calls), self.random.choice(list(MODELS)), self.now, tokens, session)
        self.calls.append(call)
        return call

    def _call(self) -> None:
        """A program calls a model: relays of the runs around it see it, and its own run if it is watched."""
        run = self.random.choice([run for run in self.runs if run.is_open] or [None])
        if run is None:
            return
        call, seen = self._new_call(None), False
        for one in self._ancestors(run):
            if one.is_metered:
                self._report(one, call, "meter")
                seen = True
        if not seen or self.random.random() < 0.6:
            is_nameless = (
                seen and self.random.random() < 0.3 and run.parent is not None and not run.is_metered
            )
            self._report(run, call, None if is_nameless else "watch", is_nameless=is_nameless)

    def _report(
        self, run: HistoryRun, call: UpstreamCall, observer: str | None, *, is_nameless: bool = False
    ) -> None:
        lag = self.random.randrange(300) if observer != "meter" else 0
        event: JsonObject = {
            "timestamp": moment(call.time + lag),
            "model": call.model,
            "tokens": dict(call.tokens),
            "token_source": "given" if is_nameless else "reported",
            "cost_usd": call.cost,
            "cost_source": "priced",
            "latency_seconds": 1.0,
        }
        if not is_nameless:
            event |= {
                "response_id": call.response,
                "observer": observer,
                "api": "messages",
                "provider": "anthropic",
            }
            event["request_id"] = f"req_{call.number}"
        if call.session is not None and observer == "meter":
            event["client_session"] = call.session
        run.events.append(event)
        run.calls.add(call.number)
        run.ended = max(run.ended, self.now + 500)
        self._know(call, call.tokens, 2)

    def _know(self, call: UpstreamCall, tokens: JsonObject, word: int) -> None:
        if word >= self._words.get(call.number, -1):
            self._words[call.number], self.reported[call.number] = word, tokens

    def _session_call(self) -> None:
        """An agent calls a model, alone or in a run; some calls are not in its transcript, and some with a placeholder."""
        if not self.sessions or self.random.random() < 0.2:
            self.sessions.append(HistorySession(f"session-{len(self.sessions)}", self.now))
        session = self.random.choice(self.sessions)
        run = self.random.choice([None, *(run for run in self.runs if run.is_open)])
        call = self._new_call(session.id)
        session.agents[call.number] = self.random.choice(["main", "Explore"])
        is_metered = False
        for one in self._ancestors(run):
            if one.is_metered:
                is_metered = True
                self._report(one, call, "meter")
        if self.random.random() < 0.85:
            wrong = is_metered and self.random.random() < 0.2
            session.transcript[call.number] = call.tokens | ({"output": 1} if wrong else {})

    def _import_session(self) -> None:
        """Import a session, here or on a machine that has no runs."""
        if not (sessions := [one for one in self.sessions if one.transcript]):
            return
        session = self.random.choice(sessions)
        knows_runs = self.random.random() < 0.6
        listed: dict[int, tuple[JsonObject, bool]] = {
            n: (counts, False) for n, counts in session.transcript.items()
        }
        if knows_runs:
            for call in self.calls:
                is_metered = any(
                    event.get("client_session") == session.id and event["response_id"] == call.response
                    for run in self.runs
                    for event in run.events
                )
                if is_metered:
                    listed[call.number] = call.tokens, True
        rows = self._session_rows(session, listed)
        name = f"{session.id}-{'here' if knows_runs else 'there'}"
        before = self._places.get(name)
        if before is not None and before.record["calls"] > rows.record["calls"]:
            return
        self._places[name], self.has_transcripts = rows, True
        self._stores[name] = 1 if knows_runs else 2
        for number, (counts, is_metered) in listed.items():
            self._know(self.calls[number], counts, 1 if is_metered else 0)
            self.in_sessions[number] = session.id

    def _session_rows(
        self, session: HistorySession, listed: dict[int, tuple[JsonObject, bool]]
    ) -> RecordRows:
        calls = [
            self._listed(session, number, each[0], is_metered=each[1]) for number, each in listed.items()
        ]
        instances: list[JsonObject] = []
        for agent in sorted({session.agents[number] for number in listed}):
            own = [call for call in calls if call["instance_id"] == agent]
            sums = {name: sum(call["tokens"][name] for call in own) for name in CLASSES}
            written = sums.pop("cache_write_5m") + sums.pop("cache_write_1h")
            cost = round(sum(float(call["cost_usd"]) for call in own), 10)
            facts = {
                "instance_id": agent,
                "name": agent,
                "role": "general",
                "created_at": moment(session.started),
            }
            instances.append(
                facts
                | {
                    "calls": len(own),
                    "tokens": sums | {"cache_write": written},
                    "cost": cost,
                    "token_source": "reported",
                }
            )
        times = [self.calls[number].time for number in listed]
        document = {
            "team_session_id": session.id,
            "instances": instances,
            "execution_summary": {
                "execution_start": moment(min(times)),
                "execution_end": moment(max(times)),
                "total_cost": round(sum(one["cost"] for one in instances), 10),
            },
            "origin_session": {"tool": "claude-code", "id": session.id, "folder": "/work"},
            "usage_incomplete": {"calls": None},
        }
        rows = session_rows(document, (), calls)
        rows.record |= {"kind": SESSION, "record_id": session.id, "is_open": 0}
        rows.record["sha256"] = sha256_bytes(json.dumps(document).encode()).hex
        return rows

    def _listed(
        self, session: HistorySession, number: int, tokens: JsonObject, *, is_metered: bool
    ) -> JsonObject:
        call = self.calls[number]
        return {
            "timestamp": moment(call.time + (0 if is_metered else 700)),
            "instance_id": session.agents[number],
            "model": call.model,
            "response": short_digest(call.response).hex(),
            "request": short_digest(f"req_{number}").hex(),
            "tokens": dict(tokens),
            "token_source": "reported",
            "cost_usd": cost_of(call.model, tokens),
            "observer": "meter" if is_metered else "transcript",
        }

    def _end_run(self) -> None:
        if opened := [run for run in self.runs if run.is_open]:
            self._close(self.random.choice(opened))

    def _close(self, run: HistoryRun) -> None:
        for child in self.runs:
            if child.parent == run.id and child.is_open:
                self._close(child)
        if run.is_open:
            run.is_open, run.ended = False, max(run.ended, self.now)

    def _copy(self) -> None:
        if self._places:
            name = self.random.choice(sorted(self._places))
            self._places[f"copy-of-{name}"] = self._places[name]
            self._stores[f"copy-of-{name}"] = self.random.choice([1, 2])

    def _remove_copy(self) -> None:
        if copies := [
            name for name in self._places if name.startswith("copy-of-") and name.count("copy") == 1
        ]:
            self._places.pop(self.random.choice(copies))

    def _archive_or_restore(self) -> None:
        """A record moves into an archive, or out of it; a question in between finds neither."""
        opened = {run.id for run in self.runs if run.is_open}
        if names := sorted(self._places.keys() - opened):
            name = self.random.choice(names)
            self._archived ^= {name}
            self._database.remove(self._stores[name], [name])
            if self.random.random() < 0.5:
                self._database.settle()

    def _rebuild_host(self) -> None:
        """Nothing of a host is left, and is put again."""
        store = self.random.choice([1, 2])
        self._database.remove(store, self._known(store))

    def _known(self, store: int) -> list[str]:
        return [name for (name,) in self._database.rows("SELECT name FROM records WHERE store = ?", (store,))]

    def store_all(self) -> None:
        """Bring the catalog up to date, as commands do: records that changed are put again, others are removed."""
        for run in self.runs:
            self._places[run.id] = run.rows()
        for store in self.random.sample([1, 2], 2):
            self._store_host(store)
        self._database.settle()

    def _store_host(self, store: int) -> None:
        own = [name for name in self._places if self._stores[name] == store]
        known = set(self._known(store))
        self._database.remove(store, sorted(known.difference(own)))
        runs = {run.id for run in self.runs}
        names = [
            name
            for name in own
            if name not in known or name in runs or name.startswith("session") or self.random.random() < 0.7
        ]
        self.random.shuffle(names)
        places = [self._place(name) for name in names]
        for start in range(0, len(places), 3):
            some = places[start : start + 3]
            first = self._database.take_numbers(len(some))
            self._database.put(store, table_rows(store, first, some, lambda place: self._places[place.name]))
            if self.random.random() < 0.3:
                self._database.settle()

    def _place(self, name: str) -> FoundRecord:
        is_archived = name in self._archived
        path = f"/outputs/archive/2026-10/{name}.tar.gz" if is_archived else f"/outputs/{name}"
        return FoundRecord(name, path, str(self.now), is_archived)
