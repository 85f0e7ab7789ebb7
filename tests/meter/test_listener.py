"""The listening socket of a run: it costs nothing without a connection, and the run ends whatever happens to the relay."""

import os
import select
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from meter.raw_peers import TIMEOUT, read_all, running_relay
from runcard.child_process.child import Child, ChildStreams
from runcard.child_process.find_program import find_command
from runcard.child_process.relay import OutputStream, Relay
from runcard.observe.meter import listener as listener_module
from runcard.observe.meter import relay as relay_module
from runcard.observe.meter.listener import Listener
from runcard.observe.meter.routes import Routes
from runcard.observe.process_tree import ProcessTree
from waiting import wait_until

_NEW_MODULES = """
import sys
before = set(sys.modules)
from runcard.observe.meter.listener import Listener
listener = Listener()
listener.base
listener.stop()
print(*sorted(set(sys.modules) - before))
"""


def test_a_socket_without_connections_loads_nothing() -> None:
    done = subprocess.run([sys.executable, "-c", _NEW_MODULES], capture_output=True, text=True, check=True)
    modules = set(done.stdout.split())
    assert "runcard.observe.meter.listener" in modules
    assert not modules & {"socket", "asyncio", "ssl", "selectors", "logging", "runcard.observe.meter.relay"}


def is_refused(port: int) -> bool:
    """Whether nothing accepts connections, or those that were accepted are closed."""
    try:
        with socket.create_connection(("127.0.0.1", port), TIMEOUT) as connection:
            return read_all(connection) == b""
    except ConnectionError:
        return True


@pytest.mark.parametrize("where", ["thread", "relay"])
def test_without_a_relay_connections_are_refused(monkeypatch: pytest.MonkeyPatch, where: str) -> None:
    """The program gets an error at once, and does not wait for a reply."""

    def fails(*_: object) -> None:
        raise RuntimeError("no more threads")

    listener = Listener()
    waiting = socket.create_connection(("127.0.0.1", listener.port), TIMEOUT)
    if where == "thread":
        monkeypatch.setattr(threading.Thread, "start", fails)
    else:
        monkeypatch.setattr(relay_module, "LoopbackRelay", fails)
    listener.start(Routes(listener.base), lambda *_: None, {})
    with pytest.raises(ConnectionResetError):
        read_all(waiting)
    waiting.close()
    assert is_refused(listener.port)
    listener.stop()
    assert listener.problems == ["the relay failed: RuntimeError: no more threads"]


def test_a_relay_that_hangs_does_not_hang_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    hangs, release = threading.Event(), threading.Event()
    problems = ["the relay did not end in time"]

    def observe(*_: object) -> None:
        hangs.set()
        release.wait(TIMEOUT)

    with running_relay(observe=observe, problems=problems) as relay:
        path = relay.path("http://127.0.0.1:1")
        with relay.connect() as connection:
            connection.sendall(b"GET %s HTTP/1.1\r\nHost: %s\r\n\r\n" % (path, relay.host))
            assert hangs.wait(TIMEOUT)
            wait_until(lambda: relay.listener.is_started, "the thread that starts the relay")
            with monkeypatch.context() as patch:
                patch.setattr(listener_module, "STOP_TIMEOUT", 0.1)
                relay.listener.stop()
            release.set()


def test_stopping_while_the_relay_starts() -> None:
    for _ in range(20):
        listener = Listener()
        listener.start(Routes(listener.base), lambda *_: None, {})
        listener.stop()
        listener.stop()
        assert listener.problems == []
        assert is_refused(listener.port)


def test_the_output_loop_calls_a_function_once(tmp_path: Path) -> None:
    """When the descriptor is readable; output is passed on before and afterwards."""
    calls: list[str] = []
    readable, writable = os.pipe()
    output, end = os.pipe()
    copy = os.open(tmp_path / "copy", os.O_WRONLY | os.O_CREAT)
    script = (
        f"echo one; until test -e {tmp_path}/one; do sleep 0.01; done; for n in 1 2; do echo x >/dev/fd/{writable}; done; "
        f"until test -e {tmp_path}/called; do sleep 0.01; done; echo two"
    )

    def note(call: str) -> None:
        calls.append(call)
        (tmp_path / call.rsplit(maxsplit=1)[-1]).touch()

    os.set_inheritable(writable, True)
    child = Child(
        find_command(["sh", "-c", script], os.get_exec_path()),
        {**os.environ},
        ChildStreams(None, end, end),
        set(),
    )

    class Log:
        def feed(self, stream: str, data: bytes) -> None:
            if data:
                note(f"{stream} {data.decode().strip()}")

    relay = Relay(child, [OutputStream("stdout", output, copy)], None, Log(), ProcessTree(child.pid))
    relay.call_once_readable(readable, lambda: note("called"))
    os.close(end)
    child.release()
    try:
        assert relay.run() == 0
    finally:
        relay.close()
    assert calls == ["stdout one", "called", "stdout two"]
    assert select.select([readable], [], [], 0)[0]
    for descriptor in (readable, writable, copy):
        os.close(descriptor)
