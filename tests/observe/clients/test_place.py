"""Which run a call goes to, and what can be watched: contexts, threads, tasks, processes, copies, subclasses."""

import asyncio
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx2
import pytest

import runcard
from observe.clients import replies
from observe.clients.clients import (
    CHAT,
    CLAUDE,
    GEMINI,
    anthropic,
    async_claude,
    claude,
    gemini,
    genai,
    gpt,
    make,
    openai,
)
from observe.clients.conftest import calls
from observe.clients.server import Answer, ModelServer
from runcard.errors import UsageError
from runcard.observe.clients.endpoints import regional_host
from runcard.recording.recorder import events_of
from runs.runs import read


def test_a_call_goes_to_the_run_that_is_open_where_it_is_made(server: ModelServer, outputs: Path) -> None:
    server.says(replies.message())
    with claude(server) as client:
        client.messages.create(**CLAUDE)
        with runcard.record(outputs, strict=True) as outer:
            client.messages.create(**CLAUDE)
            with runcard.record(outputs, strict=True) as inner:
                client.messages.create(**CLAUDE)
                client.messages.create(**CLAUDE)
    assert (len(calls(outer)), len(calls(inner))) == (1, 2)


def test_a_run_that_is_given_goes_before_the_one_that_is_open(server: ModelServer, outputs: Path) -> None:
    server.says(replies.message())
    with runcard.record(outputs, strict=True) as given, runcard.record(outputs, strict=True) as current:
        with claude(server) as client:
            runcard.watch(client, run=given)
            client.messages.create(**CLAUDE)
            client.with_options(max_retries=0).messages.create(**CLAUDE)
            runcard.watch(client)  # and from now on the open one again
            client.messages.create(**CLAUDE)
        assert (len(calls(given)), len(calls(current))) == (2, 1)


def test_a_recorder_without_a_directory_can_be_given(server: ModelServer) -> None:
    server.says(replies.message(), Answer(events=replies.message_events()))
    recorder = runcard.MetadataRecorder(strict=True)
    recorder.start()
    with claude(server) as client:
        runcard.watch(client, run=recorder)
        client.messages.create(**CLAUDE)
        stream = client.messages.create(**CLAUDE, stream=True)
        next(stream)
        recorder.finish()
        stream.close()
    costs = recorder.document().to_dict()["costs"]
    assert (costs["input_tokens"], costs["token_source"]) == (2 * 5051, "partial")


def test_threads_record_into_the_run_of_their_context(server: ModelServer, outputs: Path) -> None:
    server.says(replies.message())
    count, width = 6, 3

    def work(number: int) -> runcard.Run:
        with runcard.record(outputs, labels={"n": str(number)}, strict=True) as run:
            together.wait(60)
            for _ in range(number):
                client.messages.create(**CLAUDE)
        return run

    together = threading.Barrier(width)
    with claude(server) as client, ThreadPoolExecutor(width) as pool:
        runs = list(pool.map(work, range(count)))
    assert [len(calls(run)) for run in runs] == list(range(count))


def test_tasks_record_into_the_run_of_their_context(server: ModelServer, outputs: Path) -> None:
    server.says(Answer(events=replies.message_events()))

    async def work(client: Any, number: int) -> runcard.Run:
        async with runcard.record(outputs, strict=True) as run:
            for _ in range(number):
                async for _ in await client.messages.create(**CLAUDE, stream=True):
                    await asyncio.sleep(0)
        return run

    async def main() -> list[runcard.Run]:
        async with async_claude(server) as client:
            return await asyncio.gather(*(work(client, number) for number in range(4)))

    runs = asyncio.run(main())
    assert [len(calls(run)) for run in runs] == [0, 1, 2, 3]
    assert {call["token_source"] for run in runs for call in calls(run)} == {"reported"}


def test_a_stream_belongs_to_the_run_that_was_open_when_it_was_asked_for(
    server: ModelServer, outputs: Path
) -> None:
    server.says(Answer(events=replies.chunks()))
    with runcard.record(outputs, strict=True) as first, gpt(server) as client:
        stream = client.chat.completions.create(**CHAT, stream=True)
        with runcard.record(outputs, strict=True) as second:
            list(stream)
    assert (len(calls(first)), len(calls(second))) == (1, 0)


PROGRAM = """
import sys, anthropic, runcard
client = runcard.watch(anthropic.Anthropic(api_key="k", base_url=sys.argv[1]))
client.messages.create(model="claude-latest", max_tokens=9, messages=[{"role": "user", "content": "?"}])
"""


def test_another_process_records_into_the_run_it_was_started_by(server: ModelServer, outputs: Path) -> None:
    server.says(replies.message())
    with runcard.record(outputs, strict=True) as run:
        command = [sys.executable, "-W", "error", "-c", PROGRAM, server.url]
        subprocess.run(command, env={**os.environ, **run.environ}, check=True, timeout=120)
        make("claude", server)
    assert len(calls(run)) == 2
    assert read(run.path)["costs"]["input_tokens"] == 2 * 5051


def test_a_forked_child_does_not_tell_of_its_parents_stream(server: ModelServer, outputs: Path) -> None:
    server.says(Answer(events=replies.message_events()))
    with runcard.record(outputs, strict=True) as run, claude(server) as client:
        stream = client.messages.create(**CLAUDE, stream=True)
        next(stream)
        if (child := os.fork()) == 0:
            try:
                stream.response.__del__()
                events_of(run).end_calls()
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        list(stream)
    assert [call["token_source"] for call in calls(run)] == ["reported"]


def test_a_watched_client_is_what_it_was(server: ModelServer) -> None:
    made = {
        anthropic.Anthropic(api_key="k"): anthropic.Anthropic,
        anthropic.AsyncAnthropic(api_key="k"): anthropic.AsyncAnthropic,
        openai.OpenAI(api_key="k"): openai.OpenAI,
        openai.AsyncOpenAI(api_key="k"): openai.AsyncOpenAI,
        openai.AzureOpenAI(
            api_key="k", azure_endpoint="https://a.example", api_version="1"
        ): openai.AzureOpenAI,
    }
    for client, kind in made.items():
        assert runcard.watch(client) is client
        assert runcard.watch(runcard.watch(client)) is client
        assert isinstance(client, kind)
        assert isinstance(client.copy(), kind)
        assert type(client).__name__ == kind.__name__
        assert type(client).__mro__[1] is kind  # watched once, however often it was asked for
    with gemini(server) as client:
        assert isinstance(client, genai.Client)


def test_a_copy_with_an_http_client_of_its_own_is_watched(server: ModelServer, run: runcard.Run) -> None:
    server.says(replies.message())
    with claude(server) as client, anthropic.DefaultHttpxClient() as http:
        client.with_options(http_client=http).messages.create(**CLAUDE)
        assert len(calls(run)) == 1
        with anthropic.Anthropic(api_key="k", base_url=server.url, http_client=http) as other:
            other.messages.create(**CLAUDE)  # shares the HTTP client, but nobody watches it
    assert len(calls(run)) == 1


def test_a_subclass_of_the_user_is_watched(server: ModelServer, run: runcard.Run) -> None:
    class Ours(anthropic.Anthropic):  # type: ignore[misc]
        def request(self, *args: Any, **kwargs: Any) -> Any:
            asked.append(args[1].url)
            return super().request(*args, **kwargs)

    asked: list[str] = []
    server.says(replies.message())
    with Ours(api_key="k", base_url=server.url) as client:
        runcard.watch(client).messages.create(**CLAUDE)
    assert (len(asked), len(calls(run))) == (1, 1)


def test_one_client_can_be_watched_for_each_step(server: ModelServer, run: runcard.Run) -> None:
    server.says(replies.message())
    with claude(server) as client:
        draft = runcard.watch(client.with_options(), step="draft", template="Write about {x}")
        review = runcard.watch(client.with_options(), step="review")
        for each in (client, draft, review):
            each.messages.create(**CLAUDE)
    assert [call["step"] for call in calls(run)] == [None, "draft", "review"]
    plain, templated, _ = (call["template_sha256"] for call in calls(run))
    assert (plain, len(templated)) == (None, 64)


@pytest.mark.parametrize("thing", [None, object(), "anthropic", 3, dict])
def test_what_cannot_be_watched_is_refused_and_told_what_can(thing: object) -> None:
    with pytest.raises(
        TypeError, match=r"cannot be watched; supported: anthropic\.Anthropic, openai\.OpenAI"
    ):
        runcard.watch(thing)


def test_a_run_must_be_one(server: ModelServer) -> None:
    with claude(server) as client, pytest.raises(UsageError, match="run is a str"):
        runcard.watch(client, run="outputs")  # type: ignore[arg-type]


def test_no_vendor_is_imported_to_watch_a_client() -> None:
    script = """
import sys, runcard
assert not [name for name in sys.modules if name.startswith("runcard.observe")]
try:
    runcard.watch(object())
except TypeError:
    pass
print([name for name in ("anthropic", "openai", "google", "httpx", "httpx2", "pydantic") if name in sys.modules])
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=120
    )
    assert done.stdout == "[]\n"


@pytest.mark.parametrize(
    ("client", "provider"),
    [
        (lambda: anthropic.Anthropic(api_key="k"), "anthropic"),
        (lambda: openai.OpenAI(api_key="k"), "openai"),
        (lambda: openai.AzureOpenAI(api_key="k", azure_endpoint="https://us.openai.azure.com", api_version="1"), "azure"),
        (lambda: openai.OpenAI(api_key="k", base_url="https://api.x.ai/v1"), "x-ai"),
        (lambda: openai.OpenAI(api_key="k", base_url="https://notopenai.com/v1"), None),
    ],
)  # fmt: skip
def test_the_provider_is_who_answers_at_the_address(
    client: Any, provider: str | None, run: runcard.Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing leaves this machine: every request is sent to a proxy that is not there."""
    for name in ("HTTPS_PROXY", "https_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    with runcard.watch(client().with_options(max_retries=0)) as watched:
        if isinstance(watched, anthropic.Anthropic):
            ask, asked = watched.messages.create, CLAUDE
        else:
            ask, asked = watched.chat.completions.create, CHAT
        with pytest.raises((anthropic.APIConnectionError, openai.APIConnectionError)):
            ask(**asked)
    assert calls(run)[0]["provider"] == provider


@pytest.mark.parametrize(
    ("address", "is_regional"),
    [
        ("https://api.openai.com/v1", False),
        ("https://eu.api.openai.com/v1", True),
        ("https://api.x.ai/v1", False),
        ("https://us.api.x.ai/v1", True),
        ("https://aiplatform.googleapis.com/v1", False),
        ("https://us-east5-aiplatform.googleapis.com/v1", True),
        ("https://aiplatform.eu.rep.googleapis.com/v1", True),
        ("https://us.openai.azure.com/v1", False),
    ],
)
def test_the_host_of_one_region_is_recognized(address: str, is_regional: bool) -> None:  # noqa: FBT001
    assert (regional_host(address) is not None) == is_regional


def test_the_cost_at_the_host_of_one_region_is_at_least_the_list_price(outputs: Path) -> None:
    def answer(_: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, json=replies.completion())

    costs = []
    for host in ("api.openai.com", "eu.api.openai.com"):
        transport = httpx2.Client(transport=httpx2.MockTransport(answer))
        client = openai.OpenAI(api_key="k", base_url=f"https://{host}/v1", http_client=transport)
        with runcard.record(outputs, strict=True) as run:
            runcard.watch(client).chat.completions.create(**CHAT)
        costs.append(read(run.path)["costs"])
    assert (costs[1]["total_cost_usd"], costs[1]["known_cost_usd"]) == (None, costs[0]["total_cost_usd"])
    assert costs[0]["total_cost_usd"]


def test_a_user_that_stops_at_the_last_event_of_gemini_is_not_charged_twice(
    server: ModelServer, outputs: Path
) -> None:
    server.says(Answer(events=replies.generated_events()))
    with runcard.record(outputs, strict=True) as run, gemini(server) as client:
        for event in client.models.generate_content_stream(**GEMINI):
            if event.candidates[0].finish_reason:
                run.add_usage(event)
                break
    assert len(calls(run)) == 1
