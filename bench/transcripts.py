"""Adding up the calls in session files, compared with ccusage, on synthetic sessions of Claude Code.

A call has one to three lines, some with a placeholder for the output; tool results are most of the bytes. Both programs must
count the same tokens. ccusage comes from npm, where that is installed.
"""

import json
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from random import Random
from time import process_time
from typing import Any

from bench import peers
from bench.measuring import RUNCARD, BenchError, call, command, cost, environment, race, scratch
from bench.table import Row, Target, Times, faster
from runcard.files import open_regular
from runcard.transcripts import claude_code
from runcard.transcripts.line_reader import open_lines

MEGABYTE = 1_000_000
CCUSAGE = "ccusage@20.0.24"
MODELS = ("claude-opus-4-5-20251101", "claude-sonnet-4-5-20250929", "claude-haiku-4-5-20251001")


def measure(*, quick: bool = False) -> Iterator[Row]:
    megabytes = 50 if quick else 500
    with scratch() as folder:
        sessions = write_sessions(folder / "home", megabytes, 2)
        yield _against_ccusage(folder / "home", megabytes, 3 if quick else 7)
        yield _on_one_core("sessions", sessions[: 10 if quick else 100])
        shutil.rmtree(folder / "home")
        yield _on_one_core(
            "sessions of nothing but calls", write_dense_sessions(folder / "dense", 5 if quick else 20)
        )
        shutil.rmtree(folder / "dense")
        large = 200 if quick else 1000
        write_sessions(folder / "large", large, large)
        peak = cost([RUNCARD, "costs", "--source", "claude-code", folder / "large"]).megabytes
        work = f"add up the calls in one file of {large:,} MB: peak memory"
        yield Row(work, Times.once(peak), "", None, "MB", Target("<=", 200, "MB"))


def _against_ccusage(home: Path, megabytes: int, rounds: int) -> Row:
    ours = (RUNCARD, "costs", "--source", "claude-code", "--json", home)
    runners = {"ours": command(*ours)}
    program = ccusage()
    theirs = ("env", f"CLAUDE_CONFIG_DIR={home}", program, "claude", "daily", "--offline", "--json")
    if program:
        _compare(ours, theirs)
        runners["peer"] = command(*theirs)
    times = race(runners, rounds)
    label = CCUSAGE.replace("@", " ") if program else "ccusage is not measured: npm cannot install it"
    work = f"add up the calls in {megabytes} MB of sessions"
    return Row(work, times["ours"], label, times.get("peer"), "s", faster(1))


def _compare(ours: tuple[str | Path, ...], theirs: tuple[str | Path, ...]) -> None:
    """Both must have counted the same."""
    tokens = _json(ours)["totals"]["tokens"]
    other = _json(theirs)["totals"]
    names = ("inputTokens", "outputTokens", "cacheReadTokens", "cacheCreationTokens")
    if [tokens[name] for name in ("input", "output", "cache_read", "cache_write")] != [
        other[name] for name in names
    ]:
        raise BenchError(f"the counts differ: {tokens} and {other}")


def _json(words: tuple[str | Path, ...]) -> Any:  # noqa: ANN401
    done = subprocess.run([*words], env=environment(), check=True, stdout=subprocess.PIPE)
    return json.loads(done.stdout)


def _on_one_core(what: str, sessions: list[Path]) -> Row:
    size = sum(path.stat().st_size for path in sessions) / MEGABYTE

    def milliseconds() -> float:
        began = process_time()
        for path in sessions:
            with open_lines(open_regular(path)) as file:
                claude_code.read(str(path), file)
        return (process_time() - began) * 1000 / size

    times = Times.of(milliseconds() for _ in range(5))
    return Row(f"read 1 MB of {what}, on one core", times, "", None, "ms CPU", Target("<=", 10, "ms CPU"))


@cache
def ccusage() -> str:
    """The program, installed on first use; empty where that is not possible."""
    folder = peers.FOLDER / "node"
    program = folder / "node_modules" / ".bin" / "ccusage"
    if not program.exists():
        if shutil.which("npm") is None:
            return ""
        try:
            call(["npm", "install", "--silent", "--prefix", folder, CCUSAGE])
        except BenchError:
            return ""
    return str(program)


def write_sessions(home: Path, megabytes: int, each: int) -> list[Path]:
    """Sessions of so many megabytes together, and each."""
    random = Random(1)  # noqa: S311
    texts = [" ".join(random.choices(_WORDS, k=random.randint(20, 600))) for _ in range(400)]
    paths = []
    for number in range(megabytes // each):
        path = home / "projects" / f"-home-u-p{number % 10}" / f"session-{number}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as file:
            while file.tell() < each * MEGABYTE:
                file.writelines(_turn(random, texts, number))
        paths.append(path)
    return paths


def write_dense_sessions(home: Path, count: int) -> list[Path]:
    """Sessions of 2 MB with short answers, and no results of tools."""
    random = Random(2)  # noqa: S311
    paths = [home / "projects" / "-home-u-p" / f"session-{number}.jsonl" for number in range(count)]
    paths[0].parent.mkdir(parents=True)
    for number, path in enumerate(paths):
        with path.open("wb") as file:
            while file.tell() < 2 * MEGABYTE:
                *answers, _ = _turn(random, ["ok", "done", "reading"], number)
                file.writelines(answers)
    return paths


_WORDS = (
    "import",
    "the",
    "def",
    "return",
    '"x"',
    "value\n",
    "è→",
    "self.path",
    "=",
    "agent",
    "0.25",
    "else:\n",
)


def _turn(random: Random, texts: list[str], number: int) -> Iterator[bytes]:
    """The lines of a call, and of a tool's result."""
    common = {"cwd": f"/home/u/p{number % 10}", "sessionId": f"session-{number}", "gitBranch": "main"}
    time = f"2026-{random.randint(1, 10):02}-{random.randint(1, 28):02}T10:{random.randint(10, 59)}:00.000Z"
    ids = {"id": f"msg_{random.getrandbits(96):024x}", "model": random.choice(MODELS), "type": "message"}
    request, output, written = (
        f"req_{random.getrandbits(96):024x}",
        random.randint(5, 2000),
        random.randint(0, 4000),
    )
    usage = {
        "input_tokens": random.randint(1, 9),
        "cache_creation_input_tokens": written,
        "cache_read_input_tokens": random.randint(1000, 100_000),
        "cache_creation": {"ephemeral_5m_input_tokens": written, "ephemeral_1h_input_tokens": 0},
        "service_tier": "standard",
    }
    blocks, is_streamed = random.choice((1, 1, 2, 3)), random.random() < 0.3
    for block in range(blocks):
        is_early = is_streamed and block < blocks - 1
        content = [{"type": "text", "text": random.choice(texts)}]
        message = {
            **ids,
            "role": "assistant",
            "content": content,
            "stop_reason": None,
            "usage": usage | {"output_tokens": 1 if is_early else output},
        }
        last = {
            "requestId": request,
            "type": "assistant",
            "uuid": f"{random.getrandbits(96):024x}",
            "timestamp": time,
        }
        yield _line({"parentUuid": None, "isSidechain": False, **common, "message": message, **last})
    result = "\n".join(random.choices(texts, k=random.choice((1, 1, 2, 3, 8))))
    user = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": result}]}
    yield _line(
        {"parentUuid": None, "isSidechain": False, **common, "type": "user", "message": user}
        | {"uuid": f"{random.getrandbits(96):024x}", "timestamp": time, "toolUseResult": {"stdout": result}}
    )


def _line(record: Mapping[str, object]) -> bytes:
    return json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
