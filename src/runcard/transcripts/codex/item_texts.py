"""The texts of messages, tool uses and tool results, as a log shows them."""

import json
import re
from typing import Any, NamedTuple

from runcard.transcripts.content import object_of, text_of
from runcard.transcripts.step_text import json_text

_EXIT_CODE = re.compile(r"^(?:Exit code:|Process exited with code) (-?\d+)$", re.MULTILINE)
_HEAD = 400  # characters of a result in which its exit code is
_NEVER_RAN = ("unsupported call:", "failed to parse function arguments", "execution error:")
_INPUTS = {
    "function_call": "arguments",
    "custom_tool_call": "input",
    "local_shell_call": "action",
    "web_search_call": "action",
    "tool_search_call": "arguments",
    "image_generation_call": "revised_prompt",
}
_NOT_SHOWN = {
    "input_image": "[image]",
    "image": "[image]",
    "local_image": "[image]",
    "input_audio": "[audio]",
    "encrypted_content": "[encrypted]",
}
_IMAGE_TAG = re.compile(r"</?image\b[^>]*>")

TOOL_USES = frozenset(_INPUTS)
TOOL_RESULTS = frozenset({"function_call_output", "custom_tool_call_output", "tool_search_output"})


class ToolResult(NamedTuple):
    """What a tool gave back."""

    text: str
    is_error: bool


def content_text(content: object) -> str:
    """The text of a message: a string, or a list of parts."""
    if isinstance(content, str):
        return content
    texts = [_part_text(part) for part in content] if isinstance(content, list) else []
    return "\n".join(text for text in texts if text)


def _part_text(part: object) -> str:
    if isinstance(part, str):
        return part
    fields = object_of(part)
    text = fields.get("text")
    if isinstance(text, str):
        return "" if _IMAGE_TAG.fullmatch(text.strip()) else text
    return _NOT_SHOWN.get(text_of(fields.get("type")) or "", "")


def tool_name(item: dict[str, Any]) -> str:
    """The name of the tool that is used, after that of its group."""
    kind = text_of(item.get("type")) or ""
    name = text_of(item.get("name")) or kind.removesuffix("_call")
    group = text_of(item.get("namespace"))
    return f"{group}.{name}" if group else name


def tool_input(item: dict[str, Any]) -> str:
    """What a tool is given."""
    value = item.get(_INPUTS.get(text_of(item.get("type")) or "", ""))
    return value if isinstance(value, str) else json_text(value)


def tool_result(item: dict[str, Any]) -> ToolResult:
    """What a tool gave back, and whether it failed, as far as the text says so."""
    output = item.get("output", item.get("tools"))
    fields = _fields(output)
    text = content_text(next((fields[name] for name in ("output", "content") if name in fields), output))
    if not text and output and not isinstance(output, str) and not fields:
        text = json_text(output)
    code = object_of(fields.get("metadata")).get("exit_code")
    if code is None and (match := _EXIT_CODE.search(text, 0, _HEAD)):
        code = int(match[1])
    has_failed = isinstance(code, int) and code != 0
    is_error = has_failed or fields.get("success") is False or text.startswith(_NEVER_RAN)
    return ToolResult(text, is_error)


def _fields(output: object) -> dict[str, Any]:
    """The fields of a result of older versions: an object, or the text of one."""
    if isinstance(output, str) and output.startswith('{"output":'):
        try:
            output = json.loads(output)
        except (ValueError, RecursionError):
            return {}
    return object_of(output)
