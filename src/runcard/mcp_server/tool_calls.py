"""Running the work of a request: in a thread, with progress, until the client cancels it. Errors become answers.

The operations are plain functions, so each runs in a thread of its own; a few at the same time, the others wait. A request
that is cancelled stops where the work reports its progress: at the next file or record.
"""

import sys
import traceback
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import anyio
from anyio.to_thread import run_sync
from mcp import types

from runcard.encoding import JsonObject
from runcard.errors import RuncardError
from runcard.files import failure, printable
from runcard.mcp_server.paging import MOST_BYTES, json_size, text_head
from runcard.mcp_server.quoting import quoted_text, with_notice
from runcard.mcp_server.tools import (
    CallCancelledError,
    ServerScope,
    StructuredError,
    ToolCall,
    ToolDefinition,
)

if TYPE_CHECKING:
    from mcp.server import ServerRequestContext

_AT_ONCE = 16
_INTERVAL = 0.25  # seconds between two reports of progress

Answer = TypeVar("Answer")


class CallRunner:
    """Runs the work of requests."""

    def __init__(self, scope: ServerScope) -> None:
        self._scope = scope
        self._limiter: anyio.CapacityLimiter | None = None
        self._running: set[int] = set()
        self._calls: dict[int, ToolCall] = {}

    async def run(self, context: "ServerRequestContext[Any]", work: Callable[[ToolCall], Answer]) -> Answer:
        """The result of some work; if the client asked for progress, it gets it."""
        call = ToolCall(self._scope)
        self._calls[id(call)] = call
        if self._limiter is None:
            self._limiter = anyio.CapacityLimiter(_AT_ONCE)
        try:
            if "progress_token" not in (context.meta or {}):
                return await run_sync(work, call, abandon_on_cancel=True, limiter=self._limiter)
            async with anyio.create_task_group() as group:
                group.start_soon(_send_progress, context, call)
                result = await run_sync(work, call, abandon_on_cancel=True, limiter=self._limiter)
                group.cancel_scope.cancel()
            return result
        finally:
            call.cancelled.set()  # of a thread that is still at work, the answer is not wanted any more
            del self._calls[id(call)]

    async def call_tool(
        self, context: "ServerRequestContext[Any]", tool: ToolDefinition, arguments: JsonObject
    ) -> types.CallToolResult:
        """The result of a tool, as the protocol has it. Whatever goes wrong is a result, too."""
        return await self.run(context, partial(tool_result, tool, arguments))


async def _send_progress(context: "ServerRequestContext[Any]", call: ToolCall) -> None:
    sent = 0.0
    while True:
        await anyio.sleep(_INTERVAL)
        if call.progress is not None and call.progress[0] > sent:  # the protocol demands that it grows
            sent = call.progress[0]
            await context.session.report_progress(*call.progress)


def tool_result(tool: ToolDefinition, arguments: JsonObject, call: ToolCall) -> types.CallToolResult:
    """The result of a call; every error is an answer that an agent can act on."""
    try:
        tool.check(arguments)
        answer = tool.function(call, **arguments)
    except CallCancelledError:
        return error_result("the call was cancelled", None)
    except StructuredError as error:
        return _result(error.answer, is_error=True)
    except RuncardError as error:
        return error_result(error.message, error.hint, error.details)
    except OSError as error:
        problem = failure(error, str(error.filename or "a file"), "read or write")
        return error_result(problem.message, problem.hint)
    except Exception as error:  # noqa: BLE001 - the boundary: a fault of ours must not end the server
        traceback.print_exc(file=sys.stderr)
        return error_result(
            f"internal error in {tool.name}: {type(error).__name__}",
            "report it, with what the server printed to stderr",
        )
    return _result(answer)


def error_result(message: str, hint: str | None, details: tuple[str, ...] = ()) -> types.CallToolResult:
    """An error as the result of a tool."""
    return _result(_error_answer(message, hint, details), is_error=True)


def error_text(message: str, hint: str | None) -> str:
    """An error as text, for an answer that has no other place for it."""
    return quoted_text(_encodable(_error_answer(message, hint)))


def _error_answer(message: str, hint: str | None, details: tuple[str, ...] = ()) -> JsonObject:
    answer: JsonObject = {
        "error": text_head(printable(message), MOST_BYTES // 4),
        "hint": hint and text_head(printable(hint), MOST_BYTES // 4),
    }
    if details:
        answer["details"] = [text_head(printable(line), 500) for line in details[:10]]
    return answer


def _result(answer: JsonObject, *, is_error: bool = False) -> types.CallToolResult:
    answer = _encodable(answer)
    if json_size(answer) > MOST_BYTES:
        return error_result(
            "the answer is too large", "ask for a part of it, with pointer or a smaller limit"
        )
    text = types.TextContent(type="text", text=quoted_text(answer))
    # Clients check structured content against the schema of the tool's answer, which an error does not have.
    structured = None if is_error else with_notice(answer)
    return types.CallToolResult(content=[text], structured_content=structured, is_error=is_error)


def _encodable(answer: JsonObject) -> JsonObject:
    """The answer without what UTF-8 cannot encode: lone surrogates of names that are not UTF-8."""
    import json  # noqa: PLC0415

    text = json.dumps(answer, ensure_ascii=False, allow_nan=False)
    try:
        text.encode()
    except UnicodeEncodeError:
        cleaned: JsonObject = json.loads(text.encode("utf-8", "backslashreplace"))
        return cleaned
    return answer
