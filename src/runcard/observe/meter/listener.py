"""The listening socket: bound before the program starts; the first connection starts the relay.

Loaded by every `runcard run`, so it imports nothing heavy. The socket is on the loopback interface only and is not inherited
by the program. The relay runs in a thread, which begins with the first connection: a process with threads must not fork.
"""

import _socket
import contextlib
import os
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from runcard.observe.meter.exchange import Observe
    from runcard.observe.meter.relay import LoopbackRelay
    from runcard.observe.meter.routes import Routes

STOP_TIMEOUT = 5.0  # seconds
_BACKLOG = 1024


class Listener:
    """A socket that waits for the first connection of the program."""

    def __init__(self) -> None:
        """Raises OSError when there is no loopback interface."""
        self._socket = _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM)
        try:
            self._socket.bind(("127.0.0.1", 0))
            self._socket.listen(_BACKLOG)
        except OSError:
            self._socket.close()
            raise
        self.port: int = self._socket.getsockname()[1]
        self._secret = os.urandom(16).hex()
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()
        self._relay: LoopbackRelay | None = None
        self._is_stopping = False
        self._problems: list[str] = []

    @property
    def base(self) -> str:
        """The URL of the relay, with its secret."""
        return f"http://127.0.0.1:{self.port}/{self._secret}"

    def fileno(self) -> int:
        """The descriptor that becomes readable with the first connection."""
        return self._socket.fileno()

    @property
    def is_started(self) -> bool:
        return self._thread is not None

    @property
    def problems(self) -> list[str]:
        """What went wrong in the relay itself, so that calls may be missing."""
        return self._problems + (self._relay.problems if self._relay is not None else [])

    def start(self, routes: "Routes", observe: "Observe", environment: Mapping[str, str]) -> None:
        """Start the relay, which accepts the connections. `environment` is that of the program: its proxies and certificates."""
        arguments = (routes, observe, dict(environment))
        thread = threading.Thread(target=self._run, args=arguments, name="runcard-meter", daemon=True)
        try:
            thread.start()
        except RuntimeError as error:  # too many threads
            self._fail(error)
        else:
            self._thread = thread

    def _run(self, routes: "Routes", observe: "Observe", environment: dict[str, str]) -> None:
        try:
            import socket  # noqa: PLC0415 - only with a connection

            from runcard.observe.meter.relay import LoopbackRelay  # noqa: PLC0415

            relay = LoopbackRelay(routes, observe, environment, self._secret, self.port)
            with self._lock:
                self._relay = relay
                if self._is_stopping:
                    relay.stop()
            relay.run(socket.socket(fileno=os.dup(self._socket.fileno())))
        except Exception as error:  # noqa: BLE001 - the end of the thread: reported, and connections are refused
            self._fail(error)

    def _fail(self, error: Exception) -> None:
        """Without a relay, connections are refused."""
        self._problems.append(f"the relay failed: {type(error).__name__}: {error}")
        self._close()

    def stop(self) -> None:
        """Report the exchanges in progress as ended, and stop; in bounded time."""
        with self._lock:
            self._is_stopping = True
            if self._relay is not None:
                self._relay.stop()
        if self._thread is not None:
            self._thread.join(STOP_TIMEOUT)
            if self._thread.is_alive():
                self._problems.append("the relay did not end in time")
        self._close()

    def _close(self) -> None:
        with contextlib.suppress(OSError):
            self._socket.close()
