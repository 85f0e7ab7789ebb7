"""Write the tools of `runcard mcp` into docs/mcp.md, with their arguments and answers."""  # noqa: INP001

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from runcard.mcp_server.server import ALL_TOOLS
from runcard.mcp_server.tools import PAGE, ToolDefinition

PAGE_PATH = Path(__file__).parents[1] / "docs" / "mcp.md"
PART = re.compile(r"(<!-- tools: [^\n]*-->\n).*(<!-- end of tools -->)", re.DOTALL)


def type_of(schema: dict[str, Any]) -> str:
    kinds = schema.get("type", "any")
    names = [kinds] if isinstance(kinds, str) else kinds
    if "enum" in schema:
        return " ".join(f"`{value}`" for value in schema["enum"])
    if names == ["array"]:
        return f"array of {schema.get('items', {}).get('type', 'any')}"
    return " or ".join(names)


def rows(properties: dict[str, Any], required: list[str], title: str) -> Iterator[str]:
    yield f"\n| {title} | type | |\n|---|---|---|\n"
    for name, schema in properties.items():
        mark = " *" if name in required and title == "argument" else ""
        yield f"| `{name}`{mark} | {type_of(schema)} | {schema.get('description', '')} |\n"


def answer_rows(tool: ToolDefinition) -> dict[str, Any]:
    """The properties of an answer; those of `quoted` by their paths, and not those that every page has."""
    found: dict[str, Any] = {}
    for name, schema in tool.answer["properties"].items():
        if name == "quoted":
            found |= {f"quoted.{inner}": value for inner, value in schema["properties"].items()}
        elif name not in PAGE:
            found[name] = schema
    return found


def section(tool: ToolDefinition) -> str:
    kind = "*Writes.* " if tool.writes else "*Writes if it may.* " if tool.may_write else ""
    arguments = tool.arguments["properties"]
    parts = [f"\n### {tool.name}\n\n{kind}{tool.description}\n"]
    if arguments:
        parts += rows(arguments, tool.arguments["required"], "argument")
    parts += rows(answer_rows(tool), tool.answer["required"], "answer")
    if "next_cursor" in tool.answer["properties"]:
        parts.append(
            "\nAnd `left_out`, `left_out_unit`, `next_cursor`, `shortened_parts`: see [answers](#answers).\n"
        )
    return "".join(parts)


def current(text: str) -> str:
    """The page with the tools as they are now."""
    intro = "\nArguments with a * are required.\n"
    tools = intro + "".join(section(tool) for tool in ALL_TOOLS) + "\n"
    return PART.sub(lambda match: match[1] + tools + match[2], text)


if __name__ == "__main__":
    PAGE_PATH.write_text(current(PAGE_PATH.read_text("utf-8")), "utf-8")
