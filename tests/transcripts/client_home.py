"""The home of one user of a real coding agent: its sessions were made against the scripted upstream, which knows every call.

The reply to a call has counts of its own, which follow from its number. So a call in a session file can be recognized, and
whatever is counted twice, lost or changed is named by the session in which it was made.

A home is made once for all tests, in all their processes.
"""

import fcntl
import json
import os
import pickle
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import mkdtemp

import pytest
from install_tools import CLIENTS

from conftest import Cli
from meter.agents import TIMEOUT, Invocation, Outcome, run_agent
from meter.scripted_upstream import ScriptedUpstream, Step
from meter.vendor_replies import Json, SentCall
from runcard.transcripts.calls import CLASSES, Call
from runcard.transcripts.reading import read_files
from runcard.transcripts.sources import SOURCES, find_files

# Kinds of calls that are in no session file, as `NOT_WRITTEN` of the tools names them.
TITLES = "titles of sessions"
COMPACTION = "summaries of compacted conversations"
WEB_TOOLS = "searches and pages of its web tools"
HOOKS = "hooks that ask a model"
HELPERS = "other helper calls"
ROUTER = "calls of the model router"
NOT_SAVED = "sessions that it does not save"
ENDED_EARLY = "calls that ended before their usage was reported"

Condition = Callable[[Sequence[SentCall]], bool]


@dataclass
class ClientRun:
    """A run of the agent: a new session, or one that goes on."""

    name: str
    outcome: Outcome
    calls: list[SentCall]

    @property
    def billed(self) -> list[SentCall]:
        """The calls for which the upstream stated a usage, whole or in part."""
        return [call for call in self.calls if call.status in {101, 200}]

    @property
    def written(self) -> list[SentCall]:
        return [call for call in self.billed if call.label is None]


@dataclass
class ClientHome:
    """All runs of one tool in one home."""

    tool: str
    folder: Path
    runs: dict[str, ClientRun] = field(default_factory=dict)

    @property
    def calls(self) -> list[SentCall]:
        return [call for run in self.runs.values() for call in run.calls]

    @property
    def written(self) -> list[SentCall]:
        return [call for run in self.runs.values() for call in run.written]

    def __getitem__(self, name: str) -> ClientRun:
        return self.runs[name]


class ClientScript:
    """Runs an agent, with a plan for each run."""

    def __init__(self, home: ClientHome, upstream: ScriptedUpstream, *always: Step) -> None:
        self.home, self.upstream = home, upstream
        self._always = always  # steps of all runs

    def run(
        self, name: str, invocation: Invocation, *steps: Step, code: int = 0, cancel: Condition | None = None
    ) -> ClientRun:
        """Run the agent; with `cancel`, interrupt it when that is true of the calls that it made.

        The exit code of an agent that is interrupted depends on what it was doing.
        """
        number = len(self.upstream.calls)
        self.upstream.plan(*steps, *(Step(**vars(step)) for step in self._always))
        if cancel is None:
            outcome = run_agent(invocation)
        else:
            outcome = self._interrupted(invocation, lambda: cancel(self.upstream.calls[number:]))
        left = self.upstream.end_plan()
        assert not left, f"{name}: steps that no call took: {left}"
        assert cancel or outcome.code == code, (
            f"{name}: {outcome.code}: {outcome.out[-500:]}{outcome.err[-500:]}"
        )
        run = ClientRun(name, outcome, self.upstream.calls[number:])
        self.home.runs[name] = run
        return run

    def _interrupted(self, invocation: Invocation, condition: Callable[[], bool]) -> Outcome:
        """What Ctrl-C does: the agent and its children get the signal."""
        process = subprocess.Popen(
            invocation.command,
            env=invocation.env,
            cwd=invocation.cwd,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        try:
            self.upstream.wait_for(condition)
            time.sleep(0.3)  # until the agent has read what was sent
            os.killpg(process.pid, signal.SIGINT)
            out, err = process.communicate(timeout=TIMEOUT)
        finally:
            process.kill()
        return Outcome(process.returncode, out.decode(), err.decode())


def client_home(
    tool: str, factory: pytest.TempPathFactory, write_sessions: Callable[[ClientHome], None]
) -> ClientHome:
    """The home of a tool, made by the first process that asks for it."""
    base = factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    stored = shared / f"{tool}.pickle"
    with (shared / f"{tool}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not stored.exists():
            home = ClientHome(tool, Path(mkdtemp(prefix=f"{tool}-", dir=shared)))
            write_sessions(home)
            stored.write_bytes(pickle.dumps(home))
        home = pickle.loads(stored.read_bytes())  # noqa: S301 - written above
    assert isinstance(home, ClientHome)
    return home


def home_environment(home: ClientHome, patch: pytest.MonkeyPatch) -> None:
    """Let runcard look for sessions where the tool wrote them."""
    patch.setenv("HOME", str(home.folder / "home"))
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME", "XDG_DATA_HOME"):
        patch.delenv(name, raising=False)


def counted_tokens(cli: Cli, tool: str) -> dict[str, int]:
    """What `runcard costs` counts in the whole home."""
    outcome = cli("costs", "--source", tool, "--json", "--by", "session,agent,model")
    assert outcome.code in {0, 2}, outcome.err  # 2: something has no price
    report = json.loads(outcome.out)
    assert (report["unread"], report["unknown_types"], report["totals"]["at_least"]) == ([], {}, True)
    groups = [group["known_tokens"] | {"calls": group["calls"]} for group in report["groups"]]
    totals = report["totals"]["known_tokens"] | {"calls": report["totals"]["calls"]}
    assert {name: sum(group[name] for group in groups) for name in totals} == totals
    return {name: count for name, count in totals.items() if count}


def sent_tokens(calls: Iterable[SentCall]) -> dict[str, int]:
    """The same of calls on the wire. Their input includes what was cached."""
    sums: Counter[str] = Counter()
    for call in calls:
        tokens = call.tokens
        writes = sum(tokens.get(name, 0) for name in _WRITES)
        read = tokens.get("cache_read", 0)
        sums.update(calls=1, input=tokens["input"] - read - writes, output=tokens["output"])
        sums.update(cache_read=read, cache_write=writes, reasoning=tokens.get("reasoning", 0))
    return {name: count for name, count in sums.items() if count}


def without(counts: dict[str, int], *names: str) -> dict[str, int]:
    return {name: count for name, count in counts.items() if name not in names}


def ccusage_tokens(home: ClientHome) -> dict[str, int]:
    """What ccusage counts in the whole home."""
    program = CLIENTS / "bin" / "ccusage"
    env = {"HOME": str(home.folder / "home"), "PATH": os.environ["PATH"]}
    command = [str(program), home.tool.partition("-")[0], "daily", "--offline", "--json"]
    done = subprocess.run(command, env=env, capture_output=True, timeout=TIMEOUT, check=True)
    totals = json.loads(done.stdout)["totals"]
    names = {"input": "inputTokens", "output": "outputTokens", "cache_read": "cacheReadTokens"}
    names["cache_write"] = "cacheCreationTokens"
    return {name: totals[theirs] for name, theirs in names.items() if totals[theirs]}


@dataclass(frozen=True)
class ImportedHome:
    """The sessions of a home, imported into a store."""

    result: Json
    documents: dict[str, Json]  # of the team, by the id of the session

    def agents(self, session: str) -> dict[str, Json]:
        """The instances of a session, by id."""
        return {agent["instance_id"]: agent for agent in self.documents[session]["instances"]}

    def main(self, session: str) -> Json:
        return self.agents(session)["main"]

    @property
    def tokens(self) -> dict[str, int]:
        """The sum over all sessions. The input of a document includes what was cached."""
        sums: Counter[str] = Counter()
        for document in self.documents.values():
            for agent in document["instances"]:
                tokens = {name: count or 0 for name, count in (agent.get("tokens") or {}).items()}
                cached = tokens.get("cache_read", 0) + tokens.get("cache_write", 0)
                sums.update(tokens, calls=agent.get("calls") or 0)
                sums["input"] -= cached
        return {name: count for name, count in sums.items() if count}


_imported: dict[str, ImportedHome] = {}  # by tool, in this process


def import_home(cli: Cli, home: ClientHome, store: Path, patch: pytest.MonkeyPatch) -> ImportedHome:
    """Import all sessions of a home once, and check that the store is valid and intact."""
    if home.tool not in _imported:
        patch.chdir(home.folder / "work")
        _imported[home.tool] = _import(cli, home, store)
    return _imported[home.tool]


def _import(cli: Cli, home: ClientHome, store: Path) -> ImportedHome:
    outcome = cli("import", home.tool, "--artifacts", store, "--json")
    assert outcome.code in {0, 2}, outcome.err  # 2: something has no price
    result = json.loads(outcome.out)
    assert (result["unread"], result["unknown_types"]) == ([], {})
    paths = [Path(session["path"]) for session in result["sessions"]]
    for command in ("verify", "validate"):
        outcome = cli(command, *paths)
        assert outcome.code == 0, outcome.err + outcome.out
    documents = {path.name[20:]: json.loads((path / "metadata.json").read_bytes()) for path in paths}
    return ImportedHome(result, documents)


Facts = tuple[object, ...]


def differences(home: ClientHome, *, classes: Sequence[str] = CLASSES) -> dict[str, tuple[list[Facts], ...]]:
    """For each run whose calls in the files are not those on the wire: what is missing, and what is too much."""
    found: dict[object, list[Call]] = {}
    for call in stored_calls(home):
        found.setdefault(_number_in_file(call), []).append(call)
    result: dict[str, tuple[list[Facts], ...]] = {}
    for name, run in home.runs.items():
        sent = Counter(_sent_facts(call, classes) for call in run.written)
        own = [call for reply in run.billed for call in found.pop(_number_on_wire(reply), [])]
        stored = Counter(_stored_facts(call, classes) for call in own)
        if sent != stored:
            result[name] = (list((sent - stored).elements()), list((stored - sent).elements()))
    if found:
        result["no run"] = ([], [_stored_facts(call, classes) for calls in found.values() for call in calls])
    return result


def stored_calls(home: ClientHome) -> list[Call]:
    files, unread = find_files([home.tool], [])
    result = read_files(files)
    assert (unread, result.unread, result.unknown_types) == ([], [], Counter())
    return list(result.table)


def unwritten(home: ClientHome) -> set[str]:
    """The kinds of calls on the wire that are to be in no file."""
    return {call.label for call in home.calls if call.label is not None}


def kinds_of(tool: str) -> set[str]:
    return set(SOURCES[tool].NOT_WRITTEN)


def _number_on_wire(call: SentCall) -> object:
    return call.tokens.get("cache_read")


def _number_in_file(call: Call) -> object:
    return dict(zip(CLASSES, call.counts, strict=True))["cache_read"]


def _sent_facts(call: SentCall, classes: Iterable[str]) -> Facts:
    tokens = {**call.tokens, "cache_write": sum(call.tokens.get(name, 0) for name in _WRITES)}
    extra = call.extra
    return (
        call.model,
        call.token_source,
        extra.service_tier,
        extra.searches,
        *(tokens.get(name, 0) for name in classes),
    )


_WRITES = ("cache_write_5m", "cache_write_1h")


def _stored_facts(call: Call, classes: Iterable[str]) -> Facts:
    tokens = dict(zip(CLASSES, call.counts, strict=True))
    tokens["cache_write"] = sum(tokens[name] for name in _WRITES)
    kind = call.kind
    searches = dict(kind.server_tools).get("web_search", 0)
    return (kind.model, kind.source, kind.service_tier, searches, *(tokens[name] for name in classes))
