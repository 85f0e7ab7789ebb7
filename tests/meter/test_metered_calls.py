"""Calls that pass the relay become events of a run, and its totals."""

import json
import threading
from pathlib import Path
from typing import Any

import pytest

import runcard
from meter.exchanges import ANTHROPIC, OPENAI, answer, pass_exchange, post, sse
from observe.clients import replies
from runcard.observe.meter import wire_calls
from runcard.observe.meter.exchange import Failure
from runcard.recording import metered_calls
from runcard.recording.metered_calls import MeteredCalls, make_observer
from runcard.recording.model_calls import record_call
from runcard.recording.recorder import events_of
from waiting import wait_until

Json = dict[str, Any]
KEY = "sk-ant-api03-" + "a" * 93 + "AA"
REQUEST: Json = {
    "model": "claude-sonnet-latest",
    "max_tokens": 9,
    "messages": [{"role": "user", "content": f"Hi {KEY}"}],
}


@pytest.fixture
def run(tmp_path: Path) -> runcard.Run:
    return runcard.start(tmp_path / "outputs")


def send(
    meter: MeteredCalls, reply: Json, status: int = 200, path: str = "/v1/messages", **headers: str
) -> None:
    route = ANTHROPIC if path == "/v1/messages" else OPENAI
    body = json.dumps(reply).encode()
    pass_exchange(meter.observe(route, post(path)), REQUEST, answer(status=status, **headers), [body])


def closed(run: runcard.Run, meter: MeteredCalls) -> Json:
    meter.close()
    run.finish()
    document = runcard.load(run.path / "metadata.json").to_dict()
    (verified,) = runcard.verify(run.path)
    assert verified.verdict.intact
    return document


def calls(run: runcard.Run) -> list[Json]:
    lines = [json.loads(line) for line in (run.path / "experiment.jsonl").read_text().splitlines()]
    return [line["payload"] for line in lines if line["event"] == "model.called"]


def test_calls_are_recorded_with_what_the_wire_shows(run: runcard.Run) -> None:
    meter = make_observer(events_of(run))
    send(meter, {"error": {"type": "overloaded_error", "message": f"busy {KEY}"}}, 529, request_id="req_1")
    send(meter, replies.message(model="claude-sonnet-4-5"), request_id="req_2")
    document = closed(run, meter)
    failed, good = calls(run)
    assert failed["error"] == {
        "type": "overloaded_error",
        "message": "busy [masked:anthropic-key]",
        "status": 529,
    }
    assert (failed["status"], failed["token_source"], failed["cost_usd"]) == (529, None, None)
    assert (good["observer"], good["status"], good["retry_of"]) == ("meter", 200, failed["call_id"])
    assert (good["request_id"], good["response_id"]) == ("req_2", "msg_01")
    assert good["endpoint"] == "api.anthropic.com/v1/messages"
    assert good["tokens"] == replies.CLAUDE_TOKENS
    assert good["prompt_sha256"] == failed["prompt_sha256"]
    assert KEY not in (run.path / "experiment.jsonl").read_text()
    assert "content" not in good
    assert document["configuration"]["model"] == "claude-sonnet-4-5"
    assert document["configuration"]["provider"] == "anthropic"
    assert document["performance"]["calls"] == 1
    assert document["token_usage"]["failed_calls"] == [
        {"type": "overloaded_error", "status": 529, "calls": 1}
    ]


def test_several_models_are_listed_and_none_is_that_of_the_run(run: runcard.Run) -> None:
    meter = make_observer(events_of(run))
    for number, model in enumerate(("claude-sonnet-4-5", "claude-haiku-4-5", "claude-sonnet-4-5")):
        send(meter, replies.message(model=model, id=f"msg_{number}"))
    document = closed(run, meter)
    assert document["configuration"]["model"] is None
    assert document["configuration"]["provider"] == "anthropic"
    rows = document["token_usage"]["breakdown_by_model"]
    assert [(row["model"], row["calls"]) for row in rows] == [
        ("claude-sonnet-4-5", 2),
        ("claude-haiku-4-5", 1),
    ]
    assert document["costs"]["input_tokens"] == 3 * replies.CLAUDE_TOKENS["input"]
    readme = (run.path / "README.md").read_text()
    assert "`claude-sonnet-4-5` (2 calls, cost $" in readme
    assert "`claude-haiku-4-5` (1 call, cost $" in readme


def test_what_was_billed_before_a_cut_is_partial(run: runcard.Run) -> None:
    meter = make_observer(events_of(run))
    body = sse(replies.message_events())
    head = answer("text/event-stream")
    pass_exchange(
        meter.observe(ANTHROPIC, post("/v1/messages")), REQUEST, head, [body[:700]], Failure.CLIENT_GONE
    )
    document = closed(run, meter)
    (call,) = calls(run)
    assert (call["token_source"], call["tokens"]["input"], call["error"]["type"]) == (
        "partial",
        5051,
        "client-gone",
    )
    assert document["costs"]["total_cost_usd"] is None
    assert document["costs"]["known_cost_usd"] > 0


def test_requests_that_are_not_understood_are_counted_and_named_once(run: runcard.Run) -> None:
    meter = make_observer(events_of(run))
    send(meter, replies.message(model="claude-sonnet-4-5"))
    for _ in range(4):
        send(meter, {}, path="/v1/videos")
    document = closed(run, meter)
    costs = document["costs"]
    assert (costs["total_cost_usd"], costs["token_source"]) == (None, "partial")
    assert costs["known_cost_usd"] > 0
    (reason,) = document["token_usage"]["incomplete"]
    assert (reason["reason"], reason["calls"]) == ("POST api.openai.com/v1/videos is not understood", 4)
    assert [warning["type"] for warning in document["warnings"]] == ["usage-incomplete"]
    lines = (run.path / "experiment.jsonl").read_text()
    assert lines.count('"usage.incomplete"') == 2


def test_content_is_kept_masked_on_request(run: runcard.Run) -> None:
    meter = make_observer(events_of(run), keep_content=True)
    pieces = [sse(replies.message_events())]
    pass_exchange(
        meter.observe(ANTHROPIC, post("/v1/messages")), REQUEST, answer("text/event-stream"), pieces
    )
    closed(run, meter)
    (call,) = calls(run)
    assert call["content"]["prompt"]["messages"] == [{"role": "user", "content": "Hi [masked:anthropic-key]"}]
    assert replies.WORDS in [part.get("text") for part in call["content"]["reply"]]


def test_a_watched_client_and_add_usage_report_the_same_call(run: runcard.Run) -> None:
    meter = make_observer(events_of(run))
    reply = replies.message(model="claude-sonnet-4-5")
    send(meter, reply, request_id="req_1")
    run.add_usage(reply, step="draft")
    run.add_usage({"input": 5051, "output": 393}, model="claude-sonnet-latest", cost=0.5)
    document = closed(run, meter)
    assert document["costs"]["input_tokens"] == 5051
    assert document["costs"]["total_cost_usd"] == 0.5
    assert document["token_usage"]["repeated_reports"] == 2
    assert document["token_usage"]["breakdown_by_step"][0]["step"] == "draft"


def hang(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Let the recorder hang until the event is set."""
    is_free = threading.Event()

    def wait(*arguments: Any) -> None:
        is_free.wait(60)
        record_call(*arguments)

    monkeypatch.setattr(metered_calls, "record_call", wait)
    return is_free


def test_the_relay_never_waits_for_the_recorder(run: runcard.Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """All calls are over while the first one is still being recorded; none is lost."""
    is_free = hang(monkeypatch)
    meter = make_observer(events_of(run))
    for number in range(200):
        send(meter, replies.message(model="claude-sonnet-4-5", id=f"msg_{number}"))
    is_free.set()
    document = closed(run, meter)
    assert document["performance"]["calls"] == 200
    assert document["costs"]["total_cost_usd"] > 0


def test_a_recorder_that_is_far_behind_loses_calls_and_says_so(
    run: runcard.Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Calls that could not be recorded are counted as missing."""
    monkeypatch.setattr(metered_calls, "_MOST_WAITING", 60)
    is_free = hang(monkeypatch)
    meter = make_observer(events_of(run))
    for number in range(70):
        send(meter, replies.message(model="claude-sonnet-4-5", id=f"msg_{number}"))
    is_free.set()
    document = closed(run, meter)
    (reason,) = document["token_usage"]["incomplete"]
    assert reason["calls"] + document["performance"]["calls"] == 70
    assert reason["calls"] > 0


def test_without_a_thread_calls_are_missing(run: runcard.Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """There is a limit of threads. The command and its record end as usual."""

    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        meter = make_observer(events_of(run))
        send(meter, replies.message(), request_id="req_1")
    send(meter, replies.message(id="msg_02"), request_id="req_2")
    document = closed(run, meter)
    (reason,) = document["token_usage"]["incomplete"]
    assert reason["reason"] == "a call could not be recorded: can't start new thread"
    assert document["performance"]["calls"] == 1


def test_requests_of_waiting_calls_take_bounded_memory(
    run: runcard.Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Calls without room for their request are recorded without its parameters; later there is room again."""
    is_free = hang(monkeypatch)
    monkeypatch.setattr(wire_calls, "_MOST_BUFFERED", 5 * len(json.dumps(REQUEST)))
    meter = make_observer(events_of(run))
    for number in range(20):
        send(meter, replies.message(model="claude-sonnet-4-5", id=f"msg_{number}"))
    is_free.set()
    wait_until(lambda: len(calls(run)) == 20)
    send(meter, replies.message(model="claude-sonnet-4-5", id="msg_20"))
    document = closed(run, meter)
    recorded = calls(run)
    known = [call["prompt_sha256"] is not None for call in recorded]
    assert sum(known[:20]) in {5, 6}  # the first has been read, sooner or later, when the recorder hangs
    assert known[:5] == [True] * 5
    assert known[20]
    assert all(call["tokens"] == replies.CLAUDE_TOKENS for call in recorded)
    assert document["costs"]["total_cost_usd"] > 0


def test_a_call_that_cannot_be_recorded_is_missing(run: runcard.Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metered_calls, "record_call", lambda *_: 1 / 0)
    meter = make_observer(events_of(run))
    send(meter, replies.message())
    (reason,) = closed(run, meter)["token_usage"]["incomplete"]
    assert reason["reason"].startswith("a call could not be recorded: ZeroDivisionError")


def test_the_result_of_claude_code_is_the_total_of_calls_that_were_seen(run: runcard.Run) -> None:
    meter = make_observer(events_of(run))
    head = post("/v1/messages", x_claude_code_session_id="ses-1")
    for number in range(2):
        body = json.dumps(replies.message(model="claude-sonnet-4-5", id=f"msg_{number}")).encode()
        pass_exchange(meter.observe(ANTHROPIC, head), REQUEST, answer(), [body])
    usage = {
        "inputTokens": 42,
        "outputTokens": 786,
        "cacheReadInputTokens": 8000,
        "cacheCreationInputTokens": 2060,
    }
    models = {"claude-sonnet-4-5": {**usage, "costUSD": 0.02}, "claude-haiku-4-5": {**usage, "costUSD": 0.01}}
    result = {
        "type": "result",
        "uuid": "u-1",
        "session_id": "ses-1",
        "total_cost_usd": 0.03,
        "modelUsage": models,
    }
    run.add_usage(result)
    document = closed(run, meter)
    assert document["costs"]["input_tokens"] == 2 * replies.CLAUDE_TOKENS["input"]
    assert document["token_usage"]["repeated_reports"] == 2
    assert len(document["token_usage"]["breakdown_by_model"]) == 1


@pytest.mark.parametrize("text", ["x" * 1_500_000, "a b " * 100_000])
def test_content_that_is_too_long_for_an_event_does_not_cost_its_counts(run: runcard.Run, text: str) -> None:
    meter = make_observer(events_of(run), keep_content=True)
    blocks = [{"type": "text", "text": text}] * 3
    send(meter, replies.message(model="claude-sonnet-4-5", content=blocks), request_id="req_1")
    pieces = [
        {"role": "user", "content": [{"type": "text", "text": str(number)}]} for number in range(12_000)
    ]
    body = json.dumps(replies.message(model="claude-sonnet-4-5", id="msg_2")).encode()
    pass_exchange(
        meter.observe(ANTHROPIC, post("/v1/messages")), {**REQUEST, "messages": pieces}, answer(), [body]
    )
    document = closed(run, meter)
    assert document["costs"]["input_tokens"] == 2 * replies.CLAUDE_TOKENS["input"]
    assert document["costs"]["cache_read_tokens"] == 2 * replies.CLAUDE_TOKENS["cache_read"]
    assert document["performance"]["calls"] == 2
