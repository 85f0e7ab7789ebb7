"""Long journals: closing and verifying a run with many events takes the same time for each event, and little memory.

The run is that of a program that died; its journal is written as the recorder writes it. `runcard close` and `runcard verify`
are whole commands.
"""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from bench.measuring import RUNCARD, BenchError, Cost, cost, environment, scratch
from bench.table import Row, Target, Times, at_most
from runcard.documents import chain

_DIES = """
import os, sys, runcard
run = runcard.start(sys.argv[1], strict=True)
print(run.path, flush=True)
os._exit(9)
"""


def measure(*, quick: bool = False) -> Iterator[Row]:
    few, many = (2_000, 20_000) if quick else (100_000, 1_000_000)
    small, large = costs(few), costs(many)
    for step in ("close", "verify"):
        each = [
            Times.once(made[step].seconds / number * 1e6) for made, number in ((large, many), (small, few))
        ]
        work = f"runcard {step}, a run with {many:,} events, each event"
        yield Row(work, each[0], f"with {few:,} events", each[1], "µs", at_most(1.5))
        peaks = [Times.once(made[step].megabytes) for made in (large, small)]
        target = Target("<=", 100, "MB")
        yield Row(
            f"memory of runcard {step}, {many:,} events", peaks[0], f"with {few:,}", peaks[1], "MB", target
        )


def costs(events: int) -> dict[str, Cost]:
    with scratch() as folder:
        run = dead_run(folder / "outputs", events)
        closing = cost([RUNCARD, "close", run], accepted=(0, 2))
        if not (run / "SHA256SUMS").exists():
            raise BenchError("the run was not closed")
        return {"close": closing, "verify": cost([RUNCARD, "verify", run], accepted=(0, 2))}


def dead_run(store: Path, events: int) -> Path:
    words = [sys.executable, "-c", _DIES, str(store)]
    done = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=False, env=environment())
    path = Path(done.stdout.strip())
    journal = path / "experiment.jsonl"
    last = chain.parse(journal.read_bytes()).entries[-1].line
    seq, head = last["seq"], last["hash"]
    same = {key: last[key] for key in ("experiment_id", "run_id", "writer")}
    with journal.open("ab") as file:
        for number in range(events):
            line = chain.write_line(
                {**fields(number), **same, "seq": seq + number + 1}, payload(number), f"{number:032x}", head
            )
            head = line.hash
            file.write(line.raw)
    return path


def fields(number: int) -> dict[str, object]:
    hour, minute, second = number // 3_600_000, number // 60_000 % 60, number // 1000 % 60
    timestamp = f"2026-11-16T{10 + hour:02}:{minute:02}:{second:02}.{number % 1000:03}Z"
    return {"timestamp": timestamp, "level": "info", "event": "model.called", "elapsed": number / 1000}


def payload(number: int) -> dict[str, object]:
    return {
        "step": f"step {number % 5}",
        "model": "gpt-5",
        "provider": "openai",
        "response_id": f"chatcmpl-{number:012}",
        "tokens": {"input": number % 1000, "output": number % 77},
        "token_source": "reported",
        "cost_usd": number % 1000 / 1e5,
        "cost_source": "given",
        "latency_seconds": number % 977 / 100,
    }
