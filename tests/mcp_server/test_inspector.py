"""The command line of the official inspector lists and calls every tool."""

import json
from pathlib import Path
from typing import Any

import pytest

from mcp_server.every_tool import calls, make_project, with_run
from mcp_server.http_server import HttpServer
from mcp_server.npm_tools import run_tool

pytestmark = [pytest.mark.long, pytest.mark.needs("npm programs")]


def _inspect(server: HttpServer, place: Path, method: str, *options: str) -> Any:
    headers = ("--header", f"Authorization: Bearer {server.token}")
    words = ("--cli", server.url, "--transport", "http", *headers, "--method", method, *options)
    done = run_tool("mcp-inspector", *words, cwd=place)
    assert done.stdout, (options, done.stderr)
    return json.loads(done.stdout)


def test_it_lists_and_calls_every_tool(tmp_path: Path) -> None:
    place = make_project(tmp_path)
    with HttpServer(place, "--allow-write", seconds=400) as server:
        listed = {tool["name"] for tool in _inspect(server, place, "tools/list")["tools"]}
        assert listed == {name for name, _ in calls()}
        run_id = ""
        for name, arguments in calls():
            pairs = [
                f"{key}={value if isinstance(value, str) else json.dumps(value)}"
                for key, value in with_run(arguments, run_id).items()
            ]
            options = [word for pair in pairs for word in ("--tool-arg", pair)]
            answer = _inspect(server, place, "tools/call", "--tool-name", name, *options)
            assert not answer.get("isError"), (name, answer)
            assert "structuredContent" in answer
            run_id = run_id or answer["structuredContent"]["run_id"]
        assert _inspect(server, place, "resources/list")["resources"]
        assert _inspect(server, place, "prompts/list")["prompts"]
