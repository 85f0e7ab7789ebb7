"""The page on a port: in a thread of the test, which is fast, or a real `runcard serve` in a process of its own."""

import asyncio
import re
import subprocess
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Self

import uvicorn

from acceptance.command import RUNCARD, environment
from runcard.local_http.listener import listen
from runcard.local_http.serving import make_server
from runcard.web.app import make_app


class PageThread:
    """The page on a free port, served by a thread of this process: with its home, folder and environment."""

    def __init__(self) -> None:
        self._listener = listen("127.0.0.1", 0)
        self.url = self._listener.url
        self.app = make_app(self._listener)
        self._server = uvicorn.Server(make_server(self.app).config)  # the other one needs the main thread
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        asyncio.run(self._server.serve(sockets=[self._listener.listening]))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._server.should_exit = self._server.force_exit = True
        self._thread.join(20)
        assert not self._thread.is_alive()


class PageServer:
    """A server on a free port; it is killed if it hangs."""

    def __init__(
        self,
        place: Path,
        *arguments: str,
        home: Path | None = None,
        seconds: float = 120,
        program: Sequence[str] = RUNCARD,
    ) -> None:
        self.process = subprocess.Popen(
            (*program, "serve", "--port", "0", "--no-open", *arguments),
            cwd=place,
            env=environment({} if home is None else {"HOME": str(home)}, measured=True),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._watchdog = threading.Timer(seconds, self.process.kill)
        self._watchdog.start()
        assert self.process.stdout is not None
        self.printed = self.process.stdout.readline()
        found = re.search(r"at (http://\S+);", self.printed)
        assert found, self.process.communicate()
        self.address = found[1]
        url, _, asked = self.address.partition("/?token=")
        self.url, self.token = url.rstrip("/"), asked or None

    def with_token(self, path: str) -> str:
        """The address of a view, with which a browser comes in."""
        sign = "&" if "?" in path else "?"
        return self.url + path + (f"{sign}token={self.token}" if self.token else "")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._watchdog.cancel()
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()

    def end(self, number: int) -> tuple[int, str]:
        """Send a signal; the exit code, and what the server wrote to standard error."""
        self.process.send_signal(number)
        _, errors = self.process.communicate()
        return self.process.returncode, errors
