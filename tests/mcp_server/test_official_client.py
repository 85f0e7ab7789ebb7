"""The client of the official package, over stdio, against the real command. It checks every answer against its schema."""

import sys
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, MCPError, StdioServerParameters, stdio_client

from acceptance.command import environment
from runcard.documents.kinds import PUBLISHED
from runcard.plans.agents import AGENTS


def _client(place: Path, *arguments: str) -> Client:
    command = StdioServerParameters(
        command=sys.executable, args=["-m", "runcard", "mcp", *arguments], cwd=place, env=environment()
    )
    return Client(stdio_client(command))


def test_an_agent_lists_reads_and_verifies_records_and_fails_well_on_a_wrong_id(project: Path) -> None:
    async def work() -> None:
        async with _client(project) as client:
            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
            assert all(tool.output_schema and tool.annotations and tool.title for tool in tools.values())
            listed: Any = (await client.call_tool("list_records", {})).structured_content
            own = listed["quoted"]["records"][0]["id"]
            shown: Any = (await client.call_tool("get_record", {"record": own})).structured_content
            assert shown["record"]["id"] == own
            assert (
                shown["quoted"]["value"]["document"]["costs"]["reasoning_tokens"] is None
            )  # unknown stays null
            verified: Any = (await client.call_tool("verify_record", {"record": own})).structured_content
            assert verified["intact"] is True
            wrong = await client.call_tool("get_record", {"record": "run-nonsense"})
            assert wrong.is_error
            text: Any = wrong.content[0]
            assert "run-nonsense does not exist" in text.text
            assert "the newest are" in text.text

    anyio.run(work)


def test_resources_templates_completions_and_prompts(project: Path) -> None:
    async def work() -> None:
        async with _client(project) as client:
            resources = (await client.list_resources()).resources
            schemas = sum(len(kind.schemas) for kind in PUBLISHED.values())
            assert len(resources) == schemas + 2 * 3
            for resource in resources:
                content: Any = (await client.read_resource(str(resource.uri))).contents[0]
                assert content.mime_type == resource.mime_type
                assert 0 < len(content.text) < 60_000
            templates = (await client.list_resource_templates()).resource_templates
            assert [template.name for template in templates] == ["record", "summary", "schema"]
            for uri in (
                "runcard://records/nonsense",
                "runcard://schemas/x/1",
                "file:///etc/passwd",
                "runcard://records/..%2F..%2Fx",
            ):
                with pytest.raises(MCPError, match='"hint":'):
                    await client.read_resource(uri)
            prompts = (await client.list_prompts()).prompts
            assert [prompt.name for prompt in prompts] == [f"plan-{name}" for name in AGENTS]
            got: Any = (await client.get_prompt("plan-architect", {"source": "a.rb"})).messages[0].content
            assert got.text.startswith("# architect")
            assert got.text.endswith("SRC is a.rb")

    anyio.run(work)
