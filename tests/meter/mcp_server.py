"""An MCP server on stdin and stdout with 60 tools: `python mcp_server.py`."""

import json
import sys

TOOLS = 60


def result_of(method: str, parameters: dict[str, object]) -> dict[str, object]:
    if method == "initialize":
        version = parameters.get("protocolVersion", "2025-06-18")
        server = {"name": "sixty", "version": "1.0"}
        return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": server}
    if method == "tools/list":
        schema = {
            "type": "object",
            "properties": {"value": {"type": "string", "description": "A value. " * 20}},
        }
        names = [f"tool_{number:02}" for number in range(TOOLS)]
        return {
            "tools": [{"name": name, "description": f"Does {name}.", "inputSchema": schema} for name in names]
        }
    return {}


def main() -> None:
    for line in sys.stdin:
        request = json.loads(line)
        if "id" not in request:
            continue  # a notification
        result = result_of(request["method"], request.get("params") or {})
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
