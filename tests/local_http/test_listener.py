"""The names of a server, and its token."""

import socket
from collections.abc import Iterator
from typing import Any

import pytest

from runcard.errors import RuncardError, UsageError
from runcard.local_http.access_token import choose_token, is_bearer
from runcard.local_http.listener import HttpListener, content_length, is_loopback, listen

_VARIABLE = "RUNCARD_TEST_TOKEN"


@pytest.fixture
def listener() -> Iterator[HttpListener]:
    open_port = listen("127.0.0.1", 0)
    yield open_port
    open_port.listening.close()


def _is_own(listener: HttpListener, *hosts: str) -> bool:
    scope: Any = {"server": ("127.0.0.1", listener.port)}
    return listener.is_own_host([host.encode() for host in hosts], scope)


def test_only_known_names_are_this_server(listener: HttpListener) -> None:
    port = listener.port
    assert _is_own(listener, f"127.0.0.1:{port}")
    assert _is_own(listener, f"LOCALHOST:{port}")
    assert _is_own(listener, f"[::1]:{port}")
    for other in (
        "127.0.0.1",
        f"evil.example:{port}",
        f"127.0.0.1.evil.example:{port}",
        f"127.0.0.1:{port + 1}",
        "",
    ):
        assert not _is_own(listener, other)
    assert not _is_own(listener)
    assert not _is_own(listener, f"127.0.0.1:{port}", f"127.0.0.1:{port}")


def test_an_origin_needs_the_scheme_and_the_port(listener: HttpListener) -> None:
    scope: Any = {"server": ("127.0.0.1", listener.port)}
    assert listener.is_own_origin([f"http://127.0.0.1:{listener.port}".encode()], scope)
    for other in (f"https://127.0.0.1:{listener.port}", "http://127.0.0.1", "null", ""):
        assert not listener.is_own_origin([other.encode()], scope)


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("127.0.0.1", True),
        ("127.9.9.9", True),
        ("::1", True),
        ("localhost", True),
        ("0.0.0.0", False),  # noqa: S104 - an address, not bound
        ("10.0.0.1", False),
    ],
)
def test_which_addresses_only_this_machine_reaches(host: str, expected: bool) -> None:  # noqa: FBT001
    assert is_loopback(host) is expected


def test_a_port_that_is_taken_and_a_wrong_address_are_explained(listener: HttpListener) -> None:
    with pytest.raises(RuncardError) as taken:
        listen("127.0.0.1", listener.port)
    assert "--port" in (taken.value.hint or "")
    with pytest.raises(UsageError):
        listen("no such host", 0)


def test_answers_are_sent_at_once(listener: HttpListener) -> None:
    """asyncio switches off the delay of small packets only for a socket that names its protocol."""
    assert listener.listening.proto == socket.IPPROTO_TCP


def test_a_token_is_new_or_that_of_the_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(_VARIABLE, raising=False)
    first, second = choose_token(_VARIABLE), choose_token(_VARIABLE)
    assert first[1]
    assert first != second
    monkeypatch.setenv(_VARIABLE, "x" * 20)
    assert choose_token(_VARIABLE) == ("x" * 20, False)
    for wrong in ("short", "x" * 1001, "é" * 30, "with a space in it, long"):
        monkeypatch.setenv(_VARIABLE, wrong)
        with pytest.raises(UsageError):
            choose_token(_VARIABLE)


def test_a_bearer_is_one_header_with_the_token() -> None:
    assert is_bearer([b"Bearer secret"], "secret")
    assert is_bearer([b"bearer  secret "], "secret")
    for wrong in ([], [b"Bearer"], [b"Basic secret"], [b"Bearer secretx"], [b"Bearer secret"] * 2):
        assert not is_bearer(wrong, "secret")


def test_a_length_that_is_no_number_is_none() -> None:
    assert content_length([(b"content-length", b"12")]) == 12
    assert content_length([(b"content-length", b"-1")]) == 0
    assert content_length([]) == 0
