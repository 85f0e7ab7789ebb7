"""The client of the official package calls every tool over stdio and over HTTP. It checks each answer against its schema."""

from collections.abc import Sequence
from contextlib import AsyncExitStack, ExitStack
from pathlib import Path
from typing import Any, Literal

import anyio
import pytest
from anyio import to_thread
from mcp import Client, StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

from acceptance.command import RUNCARD, environment
from mcp_server.conftest import LARGE
from mcp_server.every_tool import calls, make_project, with_run
from mcp_server.http_server import HttpServer
from mcp_server.slow_server import COMMAND as SLOW
from waiting import wait_until

Transport = Literal["stdio", "http"]


class _Connection:
    """A client of a new server."""

    def __init__(self, transport: Transport, place: Path, program: Sequence[str] = RUNCARD) -> None:
        self._transport, self._place, self._program = transport, place, program
        self._processes, self._tasks = ExitStack(), AsyncExitStack()

    async def __aenter__(self) -> Client:
        if self._transport == "stdio":
            arguments = [*self._program[1:], "mcp", "--allow-write"]
            command = StdioServerParameters(
                command=self._program[0], args=arguments, cwd=self._place, env=environment()
            )
            return await self._tasks.enter_async_context(Client(stdio_client(command)))
        server = self._processes.enter_context(
            HttpServer(self._place, "--allow-write", program=self._program)
        )
        client = await self._tasks.enter_async_context(create_mcp_http_client(headers=server.header))
        transport = streamable_http_client(server.url, http_client=client)
        return await self._tasks.enter_async_context(Client(transport))

    async def __aexit__(self, *_: object) -> None:
        await self._tasks.aclose()
        self._processes.close()


@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_every_tool_is_listed_and_called(transport: Transport, tmp_path: Path) -> None:
    place = make_project(tmp_path)

    async def work() -> None:
        async with _Connection(transport, place) as client:
            names = {tool.name for tool in (await client.list_tools()).tools}
            assert names == {name for name, _ in calls()}
            run_id = ""
            for name, arguments in calls():
                result = await client.call_tool(name, with_run(arguments, run_id))
                assert not result.is_error, (name, result.content)
                answer: Any = result.structured_content
                run_id = run_id or answer["run_id"]

    anyio.run(work)


@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_a_wrong_id_is_an_error_with_a_hint(transport: Transport, tmp_path: Path) -> None:
    place = make_project(tmp_path)

    async def work() -> None:
        async with _Connection(transport, place) as client:
            for name, arguments in (
                ("get_record", {"record": "run-nonsense"}),
                ("verify_record", {"record": "run-nonsense"}),
                ("record_run_finish", {"run_id": "run-nonsense"}),
                ("collect_team_artifacts", {"team_session_id": "no-such-team"}),
            ):
                result = await client.call_tool(name, arguments)
                assert result.is_error, name
                text: Any = result.content[0]
                assert "nonsense" in text.text or "no-such-team" in text.text
            answer: Any = (await client.call_tool("list_records", {})).structured_content
            assert answer["total"] == 2  # the server goes on, and nothing was made

    anyio.run(work)


@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_progress_is_reported_and_cancelling_ends_the_work(transport: Transport, large_run: Path) -> None:
    reports: list[tuple[float, float | None]] = []

    async def work() -> None:
        async with _Connection(transport, large_run, SLOW) as client:
            with anyio.CancelScope() as scope:

                async def note(progress: float, total: float | None, message: str | None) -> None:  # noqa: ARG001
                    reports.append((progress, total))
                    if len(reports) == 2:
                        scope.cancel()

                await client.call_tool("verify_record", {"record": "@latest"}, progress_callback=note)
            assert scope.cancelled_caught
            answer: Any = (await client.call_tool("list_records", {})).structured_content
            assert answer["total"] == 1  # the server goes on
            await to_thread.run_sync(wait_until, (large_run / "stopped").exists, "the end of the work")

    anyio.run(work)
    first, second = reports[:2]
    assert 0 < first[0] < second[0] < LARGE
    assert first[1] == second[1]
