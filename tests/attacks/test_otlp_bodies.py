"""Reports with hostile framing: nobody can make the receiver read without end, take one length for another, or go silent."""

import gzip
import socket
import time
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

from runcard.observe.meter import otlp_witness
from runcard.observe.meter.otlp_witness import OtlpWitness

LIMIT = 30  # seconds
EMPTY = b"{}"


@pytest.fixture
def witness(monkeypatch: pytest.MonkeyPatch) -> Iterator[OtlpWitness]:
    monkeypatch.setattr(otlp_witness, "_LAST_REPORTS", 0.0)
    receiver = OtlpWitness()
    receiver.start()
    yield receiver
    receiver.stop()


def status_of(witness: OtlpWitness, headers: bytes, body: bytes) -> int:
    """The status of the reply, while the connection stays open: who waits for its end gets no reply in time."""
    parts = urlsplit(witness.variables["OTEL_EXPORTER_OTLP_LOGS_ENDPOINT"])
    with socket.create_connection(("127.0.0.1", parts.port or 0), timeout=LIMIT) as connection:
        start = f"POST {parts.path} HTTP/1.1\r\nHost: {parts.netloc}\r\nContent-Type: application/json\r\n"
        connection.sendall(start.encode() + headers + b"\r\n" + body)
        return int(connection.makefile("rb").readline().split()[1])


@pytest.mark.parametrize("size", [b"-1", b"+2", b"0x2", b"0_2", b" 2", b"", b"1" * 300])
def test_a_chunk_size_that_is_no_number_is_refused(witness: OtlpWitness, size: bytes) -> None:
    body = size + b"\r\n" + EMPTY + b"\r\n0\r\n\r\n"
    assert status_of(witness, b"Transfer-Encoding: chunked\r\n", body) == 400


def test_a_chunk_without_its_line_end_is_refused(witness: OtlpWitness) -> None:
    assert status_of(witness, b"Transfer-Encoding: chunked\r\n", b"2\r\n{}xx0\r\n\r\n") == 400


@pytest.mark.parametrize(
    "headers",
    [
        b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n",
        b"Transfer-Encoding: gzip, chunked\r\n",
        b"Transfer-Encoding: xchunked\r\n",
        b"Content-Length: 2\r\nContent-Length: 3\r\n",
        b"Content-Length: -2\r\n",
        b"Content-Length: +2\r\n",
        b"Content-Length: two\r\n",
    ],
)
def test_a_body_without_one_clear_length_is_refused(witness: OtlpWitness, headers: bytes) -> None:
    assert status_of(witness, headers, b"2\r\n{}\r\n0\r\n\r\n") == 400


def test_a_damaged_gzip_stream_is_refused(witness: OtlpWitness) -> None:
    body = gzip.compress(EMPTY)[:10] + b"\xff" * 20
    headers = b"Content-Encoding: gzip\r\nContent-Length: %d\r\n" % len(body)
    assert status_of(witness, headers, body) == 400


def test_small_chunks_take_time_in_proportion(witness: OtlpWitness) -> None:
    large, small = 32 << 20, 3000
    body = b"%x\r\n" % large + b" " * large + b"\r\n" + b"1\r\n \r\n" * small + b"2\r\n{}\r\n0\r\n\r\n"
    before = time.process_time()
    assert status_of(witness, b"Transfer-Encoding: chunked\r\n", body) == 200
    assert time.process_time() - before < 3
