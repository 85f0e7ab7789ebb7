"""The audit hook that notices that a test starts a process, or looks up a host."""

import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest

from runcard.pytest_plugin import audit_events

AuditHook = Callable[[str, object], object]


@pytest.fixture
def noticed() -> Iterator[list[object]]:
    """What was noticed; the hook of this worker stays, as no hook can be removed."""
    found: list[object] = []
    audit_events.listen(audit_events.AuditListener(found.append, found.append))
    yield found
    audit_events.listen(None)


def test_a_process_is_noticed_with_its_words(noticed: list[object]) -> None:
    subprocess.run([sys.executable, "-c", b""], check=True)
    assert noticed == [[sys.executable, "-c", ""]]
    os.system("true")  # noqa: S605
    assert noticed[1:] == [[]]


def test_a_host_is_noticed(noticed: list[object]) -> None:
    with suppress(OSError):
        socket.create_connection(("name.invalid", 80))
    assert noticed == ["name.invalid"]
    with suppress(OSError):
        socket.getaddrinfo(None, 80)
    assert noticed == ["name.invalid"]


def test_nothing_is_noticed_after_the_session(noticed: list[object]) -> None:
    audit_events.listen(None)
    subprocess.run([sys.executable, "-c", ""], check=True)
    assert noticed == []


def test_no_python_code_is_run_for_other_events(
    noticed: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """During `sys.settrace` no other thread may run."""
    hooks: list[AuditHook] = []
    monkeypatch.setattr(audit_events, "_hook", audit_events._AuditHook())
    monkeypatch.setattr(sys, "addaudithook", hooks.append)
    audit_events.listen(audit_events.AuditListener(noticed.append, noticed.append))
    (hook,) = hooks

    assert functions_called(hook, "sys.settrace") == []
    assert functions_called(hook, "open") == []
    assert "__eq__" in functions_called(hook, "os.fork")
    assert noticed == [[]]


def functions_called(hook: AuditHook, event: str) -> list[str]:
    """The Python functions that are called while a hook is."""
    called: list[str] = []

    def note(frame: Any, kind: str, _: object) -> None:
        if kind == "call":
            called.append(frame.f_code.co_name)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        hook(event, ())
    finally:
        sys.setprofile(before)
    return called
