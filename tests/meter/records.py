"""Comparing the record of a metered run with what the scripted upstream sent: calls, models and tokens by class, exactly."""

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from meter.scripted_upstream import ScriptedUpstream
from meter.vendor_replies import Json, SentCall

RUNCARD = (sys.executable, "-m", "runcard")
TIMEOUT = 120  # seconds; a command that takes longer hangs
_SUMS = ("input", "output", "cache_read", "reasoning")
_RELIABILITY = ("reported", "partial", None)  # the weakest last


@dataclass(frozen=True)
class MeteredRun:
    """A command that was run by `runcard run`, and its record."""

    code: int
    out: str
    err: str
    path: Path

    @property
    def document(self) -> Json:
        return dict(json.loads((self.path / "metadata.json").read_bytes()))

    @property
    def events(self) -> list[Json]:
        return [json.loads(line) for line in (self.path / "experiment.jsonl").read_bytes().splitlines()]

    @property
    def metered(self) -> list[Json]:
        """The calls that the meter saw, without those that others reported."""
        return [call for call in self.calls if call.get("observer") == "meter"]

    @property
    def calls(self) -> list[Json]:
        return [event["payload"] for event in self.events if event["event"] == "model.called"]


def run_metered(
    command: Sequence[str], env: Mapping[str, str], cwd: Path, *, options: Sequence[str] = ()
) -> MeteredRun:
    """Run a command with `runcard run`; its record is in the store of its environment."""
    return finish_run([*RUNCARD, "run", *options, "--", *command], env, cwd)


def finish_run(command: Sequence[str], env: Mapping[str, str], cwd: Path) -> MeteredRun:
    """Run a command that leaves one record."""
    store = Path(env["RUNCARD_OUTPUTS"])
    before = set(_records(store))
    done = subprocess.run(
        command,
        env=env,
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=TIMEOUT,
        check=False,
    )
    out, err = done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")
    (record,) = set(_records(store)) - before
    return MeteredRun(done.returncode, out, err, record)


def _records(store: Path) -> Iterable[Path]:
    return (path.parent for path in store.glob("*/metadata.json") if not path.parent.is_symlink())


def assert_equals(
    run: MeteredRun, upstream: ScriptedUpstream, calls: Sequence[SentCall] | None = None
) -> None:
    """The record has the calls that the upstream answered, each once, with its model and its tokens."""
    sent = upstream.calls if calls is None else list(calls)
    assert sorted(map(_call_facts, run.metered)) == sorted(map(_sent_facts, sent))
    answered = [call for call in sent if _is_answered(call)]
    document = run.document
    assert _totals(document) == _sent_totals(answered)
    _check_cost(document["costs"], run.metered)
    models = document["token_usage"]["breakdown_by_model"]
    assert {row["model"]: (row["calls"], row["input"], row["output"]) for row in models} == _by_model(
        answered
    )


def _check_cost(costs: Json, calls: Sequence[Json]) -> None:
    """The cost of calls whose counts are not final is never stated as a whole."""
    if costs["token_source"] in {"partial", None}:
        assert costs["total_cost_usd"] is None
    elif costs["total_cost_usd"] is not None:
        known = [float(call["cost_usd"]) for call in calls if call.get("cost_usd") is not None]
        assert costs["total_cost_usd"] == pytest.approx(sum(known))


def _is_answered(call: SentCall) -> bool:
    return call.status in {101, 200}


def _call_facts(call: Json) -> str:
    facts = {
        "api": call.get("api"),
        "requested_model": call.get("requested_model"),
        "model": call.get("model"),
        "response_id": call.get("response_id"),
        "request_id": call.get("request_id"),
        "status": call.get("status") or 0,
        "streamed": bool(call.get("streamed")),
        "tokens": call.get("tokens") or {},
        "token_source": call.get("token_source"),
    }
    return json.dumps(facts, sort_keys=True)


def _sent_facts(call: SentCall) -> str:
    facts = {
        "api": call.api,
        "requested_model": call.requested_model,
        "model": call.model or call.requested_model,
        "response_id": call.response_id,
        "request_id": call.request_id if call.status else None,
        "status": call.status,
        "streamed": call.streamed,
        "tokens": call.tokens,
        "token_source": call.token_source,
    }
    return json.dumps(facts, sort_keys=True)


def _totals(document: Json) -> Json:
    costs, times = document["costs"], document.get("performance") or {}
    sums = {name: costs[f"{name}_tokens"] for name in (*_SUMS, "cache_write")}
    return {"calls": times.get("calls", 0), **sums, "token_source": costs["token_source"]}


def _sent_totals(calls: Sequence[SentCall]) -> Json:
    sums = {name: _sum(call.tokens.get(name) for call in calls) for name in _SUMS}
    writes = [_sum(call.tokens.get(name) for call in calls) for name in ("cache_write_5m", "cache_write_1h")]
    sources = sorted((call.token_source for call in calls), key=_RELIABILITY.index)
    return {
        "calls": len(calls),
        **sums,
        "cache_write": _sum(writes),
        "token_source": sources[-1] if sources else None,
    }


def _sum(counts: Iterable[int | None]) -> int | None:
    known = list(counts)
    return None if None in known or not known else sum(count or 0 for count in known)


def _by_model(calls: Sequence[SentCall]) -> dict[Any, Any]:
    numbers = Counter(call.model for call in calls)
    return {
        model: (
            count,
            *(
                _sum(call.tokens.get(name) for call in calls if call.model == model)
                for name in ("input", "output")
            ),
        )
        for model, count in numbers.items()
    }
