"""Tools that are called in this process, with every answer checked: its schema, its size, and that it says what is left out."""

import json
import os
from pathlib import Path
from typing import Any

from jsonschema_rs import Draft202012Validator

from runcard.mcp_server.paging import MOST_BYTES, json_size
from runcard.mcp_server.project_folder import ProjectFolder
from runcard.mcp_server.quoting import NOTICE
from runcard.mcp_server.readable_stores import ReadableStores
from runcard.mcp_server.recorded_runs import RecordedRuns
from runcard.mcp_server.server import ALL_TOOLS
from runcard.mcp_server.tool_calls import tool_result
from runcard.mcp_server.tools import ServerScope, ToolCall

Fields = dict[str, Any]
TOOLS = {tool.name: tool for tool in ALL_TOOLS}


def error_of(text: str) -> Fields:
    """The error in the text of a result."""
    answer: Fields = json.loads(text[text.index("{") : text.rindex("}") + 1])
    return answer


class Tools:
    """The tools of a server for the current directory, or for some stores."""

    def __init__(self, *stores: str | Path, allows_write: bool = False) -> None:
        folders = [os.fspath(store) for store in stores]
        self.scope = ServerScope(ReadableStores(folders), ProjectFolder(), RecordedRuns(), allows_write)

    def __call__(self, name: str, /, **arguments: Any) -> Fields:
        """The answer of a call that must succeed."""
        answer, is_error = self.result(name, arguments)
        assert not is_error, answer
        Draft202012Validator(TOOLS[name].answer).validate(answer)
        return answer

    def error(self, name: str, /, **arguments: Any) -> Fields:
        """The answer of a call that must fail."""
        answer, is_error = self.result(name, arguments)
        assert is_error, answer
        assert answer["error"]
        return answer

    def result(self, name: str, arguments: Fields) -> tuple[Fields, bool]:
        result = tool_result(TOOLS[name], arguments, ToolCall(self.scope))
        text: Any = result.content[0]
        assert (
            result.structured_content is None
        ) == result.is_error  # it would not fit the schema of the answer
        answer = error_of(text.text) if result.is_error else dict(result.structured_content)
        if not result.is_error:
            assert answer.pop("notice") == NOTICE
        assert json_size(answer) <= MOST_BYTES
        assert len(text.text.encode()) < MOST_BYTES + 500
        return answer, result.is_error

    def pages(self, name: str, /, **arguments: Any) -> list[Fields]:
        """All pages of an answer, from the first to the last."""
        found = [self(name, **arguments)]
        while (cursor := found[-1]["next_cursor"]) is not None:
            assert found[-1]["left_out"] > 0
            found.append(self(name, **arguments | {"cursor": cursor}))
        assert found[-1]["left_out"] == 0
        return found
