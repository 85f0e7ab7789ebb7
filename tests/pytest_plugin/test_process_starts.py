"""The audit hook that notices that a test starts a process."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from runcard.pytest_plugin import process_starts

AuditHook = Callable[[str, object], object]


@pytest.fixture
def starts() -> Iterator[list[str]]:
    """What was noticed; the hook of this worker stays, as no hook can be removed."""
    noticed: list[str] = []
    yield noticed
    process_starts.before_process_starts(None)


def test_a_process_is_noticed_before_it_starts(starts: list[str]) -> None:
    process_starts.before_process_starts(lambda: starts.append("start"))
    subprocess.run([sys.executable, "-c", ""], check=True)
    assert starts == ["start"]
    process_starts.before_process_starts(None)
    subprocess.run([sys.executable, "-c", ""], check=True)
    assert starts == ["start"]


def test_no_python_code_is_run_for_other_events(starts: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """During `sys.settrace` no other thread may run."""
    hooks: list[AuditHook] = []
    monkeypatch.setattr(process_starts, "_watch", process_starts._Watch())
    monkeypatch.setattr(sys, "addaudithook", hooks.append)
    process_starts.before_process_starts(lambda: starts.append("start"))
    (hook,) = hooks

    assert functions_called(hook, "sys.settrace") == []
    assert functions_called(hook, "open") == []
    assert "__eq__" in functions_called(hook, "os.fork")
    assert starts == ["start"]


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
