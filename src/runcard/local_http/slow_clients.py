"""Connections that send nothing, or a request that never ends, are closed: there is a limit of connections for all."""

import asyncio

from uvicorn.protocols.http.h11_impl import H11Protocol

PATIENCE = 20.0  # seconds in which a request must have arrived


class DeadlineProtocol(H11Protocol):
    """HTTP in which the head of a request has a deadline. What is being answered, such as live events, has none."""

    _look: asyncio.TimerHandle | None = None
    _answered: object = None  # what was answered last, when this was looked at

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as the base has it
        super().connection_made(transport)
        self._look = self.loop.call_later(PATIENCE, self._check)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._look is not None:
            self._look.cancel()
        super().connection_lost(exc)

    def _check(self) -> None:
        last = self.cycle
        is_waiting = bool(getattr(last, "response_complete", True))  # before the first request there is none
        if is_waiting and last is self._answered:  # nothing arrived since the last look
            self.transport.close()
            return
        self._answered = last if is_waiting else self
        self._look = self.loop.call_later(PATIENCE, self._check)
