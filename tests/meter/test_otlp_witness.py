"""What Claude Code reports about its calls: what is kept of it, and who may report."""

import gzip
import http.client
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from runcard.observe.meter import otlp_witness
from runcard.observe.meter.otlp_witness import OtlpWitness, ReportedCall
from runcard.operations.runs.witness import compare_calls


@pytest.fixture
def witness(monkeypatch: pytest.MonkeyPatch) -> Iterator[OtlpWitness]:
    monkeypatch.setattr(otlp_witness, "_LAST_REPORTS", 0.0)
    receiver = OtlpWitness()
    receiver.start()
    yield receiver
    receiver.stop()


def url(witness: OtlpWitness) -> str:
    return witness.variables["OTEL_EXPORTER_OTLP_LOGS_ENDPOINT"]


def send(
    target: str,
    body: bytes = b"",
    headers: dict[str, str] | None = None,
    method: str = "POST",
    path: str = "",
) -> tuple[int, bytes]:
    parts = urlsplit(target)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=30)
    connection.request(
        method, path or parts.path, body, {"content-type": "application/json", **(headers or {})}
    )
    reply = connection.getresponse()
    answer = reply.status, reply.read()
    connection.close()
    return answer


def attribute(key: str, value: Any) -> dict[str, Any]:
    return {"key": key, "value": value}


def logs(*records: list[dict[str, Any]]) -> bytes:
    found = [{"attributes": attributes} for attributes in records]
    return json.dumps({"resourceLogs": [{"scopeLogs": [{"logRecords": found}]}]}).encode()


CALL = [
    attribute("event.name", {"stringValue": "api_request"}),
    attribute("request_id", {"stringValue": "req_1"}),
    attribute("input_tokens", {"intValue": 21}),
    attribute("output_tokens", {"intValue": "301"}),
    attribute("cache_read_tokens", {"intValue": "4001"}),
    attribute("prompt", {"stringValue": "never kept"}),
]
PROMPT = [
    attribute("event.name", {"stringValue": "user_prompt"}),
    attribute("request_id", {"stringValue": "req_2"}),
]
KEPT = ReportedCall("req_1", {"input": 21, "output": 301, "cache_read": 4001})


@pytest.mark.parametrize("coding", ["", "gzip", "chunked"])
def test_the_ids_and_counts_of_calls_are_kept(witness: OtlpWitness, coding: str) -> None:
    body = logs(CALL, PROMPT)
    if coding == "gzip":
        answer = send(url(witness), gzip.compress(body), {"content-encoding": "gzip"})
    elif coding == "chunked":
        pieces = (
            b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in (body[:10], body[10:])) + b"0\r\n\r\n"
        )
        answer = send(url(witness), pieces, {"transfer-encoding": "chunked"})
    else:
        answer = send(url(witness), body)
    assert answer == (200, b'{"partialSuccess":{}}')
    assert witness.calls == [KEPT]


@pytest.mark.parametrize(
    ("path", "headers", "method"),
    [
        ("/v1/logs", {}, "POST"),
        ("/0123456789abcdef0123456789abcdef/v1/logs", {}, "POST"),
        ("", {"host": "evil.example"}, "POST"),
        ("", {}, "GET"),
        ("", {"origin": "https://evil.example"}, "OPTIONS"),
    ],
)
def test_others_get_a_404_without_a_body(
    witness: OtlpWitness, path: str, headers: dict[str, str], method: str
) -> None:
    assert send(url(witness), logs(CALL), headers, method, path) == (404, b"")
    assert witness.calls == []


def test_protobuf_is_refused(witness: OtlpWitness) -> None:
    assert send(url(witness), b"\x0a\x00", {"content-type": "application/x-protobuf"})[0] == 415


def test_metrics_and_traces_are_accepted_and_dropped(witness: OtlpWitness) -> None:
    path = urlsplit(url(witness)).path.replace("logs", "metrics")
    assert send(url(witness), b"\x0a\x00", {"content-type": "application/x-protobuf"}, path=path) == (
        200,
        b"{}",
    )


@pytest.mark.parametrize("body", [b"", b"{", b"\xff", b"[" * 100_000])
def test_what_is_no_json_is_refused(witness: OtlpWitness, body: bytes) -> None:
    assert send(url(witness), body)[0] == 400
    assert send(url(witness), logs(CALL))[0] == 200


@pytest.mark.parametrize(
    "value",
    [
        [],
        1,
        None,
        {"resourceLogs": 1},
        {"resourceLogs": [1, {"scopeLogs": [{"logRecords": [{"attributes": [1]}]}]}]},
    ],
)
def test_other_forms_hold_no_calls(witness: OtlpWitness, value: object) -> None:
    assert send(url(witness), json.dumps(value).encode())[0] == 200
    assert witness.calls == []


def test_a_call_with_values_of_other_types(witness: OtlpWitness) -> None:
    strange = [
        CALL[0],
        attribute("request_id", {"intValue": 7}),
        attribute("input_tokens", {"stringValue": "x"}),
    ]
    strange += [
        attribute("output_tokens", {"intValue": -1}),
        attribute("cache_read_tokens", {"doubleValue": 1.5}),
    ]
    send(url(witness), logs(strange, [CALL[0], attribute("request_id", {"stringValue": "\x1b[2J"})]))
    assert witness.calls == [ReportedCall(None, {}), ReportedCall(None, {})]


def test_a_body_that_unpacks_to_too_much_is_refused(witness: OtlpWitness) -> None:
    bomb = gzip.compress(b" " * (80 << 20), 1)
    assert send(url(witness), bomb, {"content-encoding": "gzip"})[0] == 413
    assert send(url(witness), b"", {"content-length": str(1 << 40)})[0] == 413


def journal(folder: Path, *payloads: dict[str, Any]) -> str:
    path = folder / "journal"
    lines = [json.dumps({"event": "model.called", "payload": payload}) for payload in payloads]
    path.write_text("\n".join([*lines, '{"event": "model.called"', "1", '{"event": "other"}']))
    return str(path)


def metered(request_id: str | None, **more: Any) -> dict[str, Any]:
    tokens = {"input": 4022, "output": 301, "cache_read": 4001}
    return {"observer": "meter", "client_session": "s", "request_id": request_id, "tokens": tokens, **more}


def test_the_same_counts_agree_and_others_differ(tmp_path: Path) -> None:
    path = journal(tmp_path, metered("req_1"), metered("req_2"), metered("req_3"), metered(None))
    reported = [KEPT, KEPT._replace(request_id="req_2", tokens={"input": 22}), KEPT._replace(request_id=None)]
    assert compare_calls(reported, path) == {
        "source": "otlp",
        "reported": 3,
        "metered": 4,
        "agreeing": 1,
        "only_reported": [],
        "only_metered": ["req_3"],
        "differing": ["req_2"],
        "without_id": 2,
    }


def test_cache_writes_of_both_kinds_are_one_count(tmp_path: Path) -> None:
    tokens = {"input": 4155, "output": 301, "cache_read": 4001, "cache_write_5m": 100, "cache_write_1h": 33}
    call = KEPT._replace(tokens=KEPT.tokens | {"cache_write": 133})
    assert compare_calls([call], journal(tmp_path, metered("req_1", tokens=tokens)))["agreeing"] == 1


def test_calls_of_others_and_failed_ones_are_not_compared(tmp_path: Path) -> None:
    others = [
        metered("a", observer="watch"),
        metered("b", client_session=None),
        metered("c", error={"type": "x"}),
    ]
    assert compare_calls([], journal(tmp_path, *others))["only_metered"] == []
