"""The transport over standard input and output: one JSON message on each line.

While the server runs, descriptor 1 is standard error: whatever an operation, a library or a child process prints cannot get
between the messages. A line that is not a message gets an error as its answer, and the server goes on. When the client closes
its end, the requests that it sent are answered, if it still listens, and the server ends.
"""

import asyncio
import json
import os
import re
import select
import signal
import sys
import threading
from typing import TYPE_CHECKING, Any

import anyio
from anyio.to_thread import run_sync
from mcp import types
from mcp.shared.message import SessionMessage
from mcp.types import jsonrpc_message_adapter
from pydantic import ValidationError

if TYPE_CHECKING:
    from anyio.abc import ObjectReceiveStream, ObjectSendStream
    from mcp.server import Server

MOST_MESSAGE = 8 << 20  # bytes of a message from a client

_BLOCK = 1 << 16
_ENDS = 4096  # bytes of a message that is too large, in which its id is looked for
_ID = re.compile(rb'"id"\s*:\s*(?:(-?\d{1,15})|"([^"\\]{0,200})")\s*[,}]')
_PARSE_ERROR, _INVALID_REQUEST = -32700, -32600
_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_PATIENCE = 5.0  # seconds for the answers of a client that has closed its end
_LOOK = 0.05  # seconds between two looks whether it still listens

Line = tuple[bytes, bool]  # and whether it was too large


class LineReader:
    """The lines of a descriptor. Of a line that is too large, only the beginning and the end are kept."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._pending = b""

    def next_line(self) -> Line | None:
        """The next line; None at the end."""
        parts: list[bytes] = []
        size, tail, is_large = 0, b"", False
        while True:
            data = self._pending or os.read(self._descriptor, _BLOCK)
            head, newline, self._pending = data.partition(b"\n")
            size += len(head)
            if size > MOST_MESSAGE and not is_large:
                is_large, parts = True, [b"".join(parts)[:_ENDS], b"\n"]
            if is_large:
                tail = (tail + head)[-_ENDS:]
            else:
                parts.append(head)
            if newline or not data:
                return (b"".join(parts) + tail, is_large) if size or newline else None


def serve_stdio(server: "Server[Any]") -> int:
    """Serve until the client closes its end, or a signal ends the process; returns the exit code."""
    source, target = os.dup(0), os.dup(1)
    with open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    sys.stdout.flush()
    os.dup2(2, 1)
    return anyio.run(_StdioConnection(server, source, target).serve)


class _StdioConnection:
    """One client."""

    def __init__(self, server: "Server[Any]", source: int, target: int) -> None:
        self._server, self._source, self._target = server, source, target
        self._unanswered = 0
        self._code = 0

    async def serve(self) -> int:
        incoming, inbox = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        outbox, outgoing = anyio.create_memory_object_stream[SessionMessage](0)
        async with anyio.create_task_group() as group:
            group.start_soon(self._end_on_signal, group.cancel_scope)
            async with anyio.create_task_group() as streams:
                streams.start_soon(self._write_all, outgoing, group.cancel_scope)
                streams.start_soon(self._read_all, incoming, outbox.clone())
                await self._server.run(inbox, outbox, self._server.create_initialization_options())
            group.cancel_scope.cancel()
        return self._code

    async def _end_on_signal(self, scope: anyio.CancelScope) -> None:
        with anyio.open_signal_receiver(*_SIGNALS) as signals:
            async for number in signals:
                self._code = 128 + number
                scope.cancel()

    async def _read_all(
        self,
        incoming: "ObjectSendStream[SessionMessage | Exception]",
        answers: "ObjectSendStream[SessionMessage]",
    ) -> None:
        """Pass on each message; a line that is none gets an error as its answer."""
        lines: asyncio.Queue[Line | None] = asyncio.Queue(16)
        arguments = (LineReader(self._source), asyncio.get_running_loop(), lines)
        # A thread that does not keep the process alive: reading from a pipe cannot be interrupted.
        threading.Thread(target=_read_lines, args=arguments, name="stdin", daemon=True).start()
        async with incoming, answers:
            while (line := await lines.get()) is not None:
                if line[0].strip():
                    await self._pass_on(line, incoming, answers)
            await self._wait_for_answers()

    async def _pass_on(
        self,
        line: Line,
        incoming: "ObjectSendStream[SessionMessage | Exception]",
        answers: "ObjectSendStream[SessionMessage]",
    ) -> None:
        data, is_large = line
        try:
            if is_large:
                await answers.send(_refusal(data, f"the message is larger than {MOST_MESSAGE >> 20} MiB"))
                return
            message = jsonrpc_message_adapter.validate_json(data, by_name=False)
        except ValidationError as error:
            is_json = error.errors(include_url=False, include_input=False)[0]["type"] != "json_invalid"
            text = "this is not a JSON-RPC message" if is_json else "this is not JSON"
            await answers.send(_refusal(data, text, _INVALID_REQUEST if is_json else _PARSE_ERROR))
            return
        if isinstance(message, types.JSONRPCNotification) and b'"id"' in data and "id" in json.loads(data):
            await answers.send(_refusal(data, "the id of a request is a number or a text"))
            return
        self._unanswered += isinstance(message, types.JSONRPCRequest)
        await incoming.send(SessionMessage(message))

    async def _wait_for_answers(self) -> None:
        """Let the requests of a client that has closed its end be answered, if it still listens."""
        poll = select.poll()
        poll.register(self._target, 0)
        with anyio.move_on_after(_PATIENCE):
            while self._unanswered > 0 and not poll.poll(0):  # noqa: ASYNC110 - a pipe sends no event
                await anyio.sleep(_LOOK)

    async def _write_all(
        self, outgoing: "ObjectReceiveStream[SessionMessage]", scope: anyio.CancelScope
    ) -> None:
        try:
            async with outgoing:
                async for item in outgoing:
                    message = item.message
                    text = message.model_dump_json(by_alias=True, exclude_unset=True)
                    await run_sync(_write, self._target, text.encode() + b"\n", abandon_on_cancel=True)
                    self._unanswered -= isinstance(message, types.JSONRPCResponse | types.JSONRPCError)
        except OSError:  # the client is gone
            scope.cancel()


def _read_lines(
    reader: LineReader, loop: asyncio.AbstractEventLoop, lines: "asyncio.Queue[Line | None]"
) -> None:
    line: Line | None = (b"", False)
    while line is not None:
        try:
            line = reader.next_line()
        except OSError:
            line = None
        passing = lines.put(line)
        try:
            asyncio.run_coroutine_threadsafe(passing, loop).result()
        except (RuntimeError, asyncio.CancelledError):  # the loop has ended
            passing.close()
            return


def _write(descriptor: int, data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[os.write(descriptor, left) :]


def _refusal(data: bytes, text: str, code: int = _INVALID_REQUEST) -> SessionMessage:
    """The answer to what is not a message; with its id, if that can be found."""
    ids = _ID.findall(data[:_ENDS]) or _ID.findall(data[-_ENDS:])
    number, word = ids[-1] if ids else (b"", b"")
    own: int | str | None = int(number) if number else word.decode("utf-8", "replace") or None
    error = types.ErrorData(code=code, message=text)
    return SessionMessage(types.JSONRPCError(jsonrpc="2.0", id=own, error=error))
