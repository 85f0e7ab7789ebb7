"""Calls in threads, which do not inherit the context of the block that started them, are not lost."""

import asyncio
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import anyio
import pytest

import runcard
from observe.clients import replies
from observe.clients.clients import (
    CHAT,
    CLAUDE,
    MESSAGE,
    claude,
    gpt,
    make,
)
from observe.clients.conftest import calls, events
from observe.clients.server import Answer, ModelServer
from runs.runs import read
from waiting import wait_until


def in_threads(count: int, function: Callable[[], Any]) -> list[Any]:
    with ThreadPoolExecutor(count) as pool:
        return [future.result(60) for future in [pool.submit(function) for _ in range(count)]]


def unattributed(run: runcard.Run) -> list[dict[str, Any]]:
    return [line["payload"] for line in events(run) if line["event"] == "model.called.unattributed"]


def uncertain(run: runcard.Run) -> list[str]:
    return [
        warning["message"] for warning in read(run.path)["warnings"] if warning["type"] == "uncertain-run"
    ]


@pytest.mark.parametrize(
    "way", ["claude", "claude-stream", "chat", "responses", "gemini", "async-claude-stream"]
)
def test_a_call_in_a_thread_belongs_to_the_only_open_run(
    way: str, server: ModelServer, outputs: Path
) -> None:
    with runcard.record(outputs, strict=True) as run:
        in_threads(1, lambda: make(way, server))
    assert [call["token_source"] for call in calls(run)] == ["reported"]
    assert read(run.path)["warnings"] == []


def test_calls_in_many_threads_are_all_there(server: ModelServer, outputs: Path) -> None:
    server.says(MESSAGE)
    with claude(server) as client, runcard.record(outputs, strict=True) as run:
        in_threads(8, lambda: [client.messages.create(**CLAUDE) for _ in range(5)])
        plain = threading.Thread(target=lambda: client.messages.create(**CLAUDE))
        plain.start()
        plain.join(60)
        asyncio.run(asyncio.to_thread(client.messages.create, **CLAUDE))
        anyio.run(import_module("anyio.to_thread").run_sync, lambda: client.messages.create(**CLAUDE))
    document = read(run.path)
    assert document["performance"]["calls"] == 43
    assert document["costs"]["input_tokens"] == 43 * replies.CLAUDE_TOKENS["input"]
    assert (document["configuration"]["model"], document["warnings"]) == (replies.CLAUDE, [])


def test_a_call_beside_nested_runs_goes_to_the_outer_one_with_a_warning(
    server: ModelServer, outputs: Path
) -> None:
    server.says(MESSAGE)
    with claude(server) as client, runcard.record(outputs, strict=True) as outer:
        with runcard.record(outputs, strict=True) as inner, pytest.warns(runcard.RuncardWarning) as warned:
            in_threads(2, lambda: client.messages.create(**CLAUDE))
        in_threads(1, lambda: client.messages.create(**CLAUDE))
    assert [len(calls(run)) for run in (outer, inner)] == [3, 0]
    assert [call.get("candidates") for call in calls(outer)] == [[outer.id, inner.id]] * 2 + [None]
    assert f"it was recorded in {outer.id}: 2 runs are open" in str(warned[0].message)
    for run, text in ((outer, "was recorded here that may belong"), (inner, f"was recorded in {outer.id}")):
        (message,) = uncertain(run)
        assert text in message
        assert "pass run= to runcard.watch" in message


@contextmanager
def two_runs(outputs: Path, client: Any, *, watch: bool) -> Iterator[list[runcard.Run]]:
    """Two runs that have nothing to do with each other, open in two threads; in the second one a client is watched."""

    def work(number: int) -> None:
        with runcard.record(outputs, strict=True) as run:
            if watch and number:
                runcard.watch(client)
            runs[number] = run
            opened.wait(60)
            done.wait(60)

    runs: dict[int, runcard.Run] = {}
    opened, done = threading.Barrier(3), threading.Event()
    with ThreadPoolExecutor(2) as pool:
        working = [pool.submit(work, number) for number in range(2)]
        try:
            opened.wait(60)
            yield [runs[0], runs[1]]
        finally:
            done.set()
        for future in working:
            future.result(60)


def test_the_run_in_which_a_client_was_watched_is_taken_among_several(
    server: ModelServer, outputs: Path
) -> None:
    server.says(MESSAGE)
    with claude(server) as client:
        with two_runs(outputs, client, watch=True) as (first, second):
            in_threads(2, lambda: client.messages.create(**CLAUDE))
        assert [len(calls(run)) for run in (first, second)] == [0, 2]
        assert read(second.path)["warnings"] == []
        with runcard.record(outputs, strict=True) as later:  # that run is closed: the open one counts
            in_threads(1, lambda: client.messages.create(**CLAUDE))
    assert len(calls(later)) == 1


def test_a_call_that_belongs_to_no_known_run_is_kept_with_a_warning(
    server: ModelServer, outputs: Path
) -> None:
    server.says(Answer(replies.completion()), Answer(replies.completion()))
    with gpt(server) as client, two_runs(outputs, client, watch=False) as runs:
        with pytest.warns(runcard.RuncardWarning) as warned:
            reply, _ = [client.chat.completions.create(**CHAT) for _ in range(2)]
        runs[1].add_usage(reply)  # whoever knows the run can still say it
    assert len([warning for warning in warned if "it is not part of any total" in str(warning.message)]) == 1
    documents = [read(run.path) for run in runs]
    kept = [call for run in runs for call in unattributed(run)]
    assert len(kept) == 2  # each once, not in each run
    for call in kept:
        assert set(call["candidates"]) == {run.id for run in runs}
        assert (call["tokens"], call["response_id"]) == (replies.CHAT_TOKENS, "chatcmpl-01")
    assert [document["costs"]["input_tokens"] for document in documents] == [
        None,
        replies.CHAT_TOKENS["input"],
    ]
    for run in runs:
        assert len(uncertain(run)) == 1
        assert next(runcard.verify(run.path)).verdict.findings == ()


PROGRAM = """
import sys, threading, anthropic, runcard
from concurrent.futures import ThreadPoolExecutor
client = runcard.watch(anthropic.Anthropic(api_key="k", base_url=sys.argv[1]))
def ask(_=None):
    client.messages.create(model="claude-latest", max_tokens=9, messages=[{"role": "user", "content": "?"}])
with ThreadPoolExecutor(2) as pool:
    list(pool.map(ask, range(2)))  # in no run of this process: in that of the command
    with runcard.record("inner", strict=True):
        list(pool.map(ask, range(3)))
    opened, done = threading.Barrier(3), threading.Event()
    def work(_):
        with runcard.record("inner", strict=True):
            opened.wait(60)
            done.wait(60)
    working = pool.map(work, range(2))
    opened.wait(60)
    ask()  # in one of two runs, or in none: the command surely made it
    done.set()
    list(working)
"""


def test_the_child_of_a_recorded_command(server: ModelServer, outputs: Path) -> None:
    server.says(MESSAGE)
    command = [
        sys.executable,
        "-m",
        "runcard",
        "run",
        "--outputs",
        str(outputs),
        "--",
        sys.executable,
        "-c",
        PROGRAM,
    ]
    done = subprocess.run([*command, server.url], capture_output=True, text=True, check=True, timeout=120)
    assert "it was recorded in" in done.stderr
    (outer,) = outputs.glob("2*")
    document = read(outer)
    assert document["performance"]["calls"] == 3
    assert [warning["type"] for warning in document["warnings"]] == ["uncertain-run"]
    inner = [read(path.parent) for path in sorted(Path("inner").glob("2*/metadata.json"))]
    assert sorted((document.get("performance") or {}).get("calls", 0) for document in inner) == [0, 0, 3]


def test_a_call_that_ends_after_its_run_is_in_it_as_unknown(server: ModelServer, outputs: Path) -> None:
    goes_on = threading.Event()
    server.says(Answer(replies.message(), hold=goes_on))
    with claude(server) as client, ThreadPoolExecutor(1) as pool:
        with runcard.record(outputs, strict=True) as run:
            reply = pool.submit(client.messages.create, **CLAUDE)
            wait_until(lambda: server.asked, "the request")
        goes_on.set()
        assert reply.result(60).id == "msg_01"  # the program goes on as before
    (call,) = calls(run)
    assert (call["tokens"], call["token_source"], call.get("error")) == ({}, None, None)
    document = read(run.path)
    assert document["costs"]["input_tokens"] is None
    assert document["warnings"][0]["type"] == "call-in-progress"
    assert next(runcard.verify(run.path)).verdict.findings == ()


def test_a_stream_that_is_read_when_its_run_ends_is_partial(server: ModelServer, outputs: Path) -> None:
    goes_on = threading.Event()
    server.says(Answer(events=replies.message_events(), hold=goes_on))

    def read_all() -> int:
        count = 0
        for _ in client.messages.create(**CLAUDE, stream=True):
            count += 1
            begun.set()
        return count

    begun = threading.Event()
    with claude(server) as client, ThreadPoolExecutor(1) as pool:
        with runcard.record(outputs, strict=True) as run:
            reading = pool.submit(read_all)
            assert begun.wait(60)
        goes_on.set()
        assert reading.result(60) > 5
    assert [call["token_source"] for call in calls(run)] == ["partial"]
    assert [warning["type"] for warning in read(run.path)["warnings"]] == ["unknown-price"]


def test_a_call_after_the_end_of_its_run_is_a_warning(server: ModelServer, outputs: Path) -> None:
    server.says(MESSAGE)

    async def main() -> Any:
        async def late() -> Any:
            await ended.wait()
            return await asyncio.to_thread(client.messages.create, **CLAUDE)

        ended = asyncio.Event()
        async with runcard.record(outputs):
            task = asyncio.create_task(late())  # it keeps the context of this block
        ended.set()
        return await task

    with (
        claude(server) as client,
        pytest.warns(runcard.RuncardWarning, match="is closed: this call was not recorded"),
    ):
        assert asyncio.run(main()).id == "msg_01"
