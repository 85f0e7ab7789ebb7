"""The page of the server has every tool, as it is."""

import importlib.util
from pathlib import Path

from runcard.mcp_server.server import ALL_TOOLS

ROOT = Path(__file__).parents[2]


def test_the_page_lists_every_tool_with_its_arguments_and_answers() -> None:
    """If not: python scripts/update_mcp_page.py"""
    spec = importlib.util.spec_from_file_location("update_mcp_page", ROOT / "scripts" / "update_mcp_page.py")
    assert spec is not None
    assert spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    text = (ROOT / "docs" / "mcp.md").read_text()
    assert script.current(text) == text
    assert all(f"\n### {tool.name}\n" in text for tool in ALL_TOOLS)


def test_every_tool_describes_itself() -> None:
    for tool in ALL_TOOLS:
        assert tool.description.endswith(".")
        for name, schema in tool.arguments["properties"].items():
            assert schema.get("description"), (tool.name, name)
        assert tool.arguments["additionalProperties"] is False
        assert set(tool.answer["required"]) <= set(tool.answer["properties"])
