"""A program under the name of a coding agent: it calls models, writes a transcript and reports events, as it is told.

Its plan is JSON in the variable PLAN: how many `calls` it makes, the `transcript` (ids of replies, `call-N` for those of its
calls), the `reported` request ids. It needs no library, and prints its arguments and variables.
"""

import http.client
import json
import os
import sys
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlsplit

SESSION = "01234567-89ab-cdef-0123-456789abcdef"
COUNTS = {"input_tokens": 21, "output_tokens": 301, "cache_read_tokens": 4001, "cache_creation_tokens": 1033}


def post(url: str, body: object, headers: dict[str, str]) -> dict[str, str]:
    """Send a request; returns the reply's ids."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=30)
    connection.request("POST", parts.path, json.dumps(body), {"content-type": "application/json", **headers})
    reply = connection.getresponse()
    data = reply.read()
    connection.close()
    return {
        "status": str(reply.status),
        "request": reply.getheader("request-id") or "",
        "response": str(json.loads(data or b"{}").get("id")),
    }


def call() -> dict[str, str]:
    body = {"model": "claude-sonnet-4-5", "max_tokens": 9, "messages": []}
    return post(
        os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages", body, {"x-claude-code-session-id": SESSION}
    )


def transcript_line(name: str, replies: list[dict[str, str]]) -> str:
    number = name.removeprefix("call-")
    ids = (
        replies[int(number) - 1]
        if number.isdigit()
        else {"request": f"req_{name}", "response": f"msg_{name}"}
    )
    message = {
        "id": ids["response"],
        "model": "claude-sonnet-4-5",
        "usage": {"input_tokens": 1, "output_tokens": 2},
    }
    line = {
        "type": "assistant",
        "requestId": ids["request"],
        "message": message,
        "cwd": os.environ.get("SESSION_FOLDER") or str(Path.cwd()),
    }
    return json.dumps({**line, "timestamp": datetime.now(UTC).isoformat()})


def report(request_ids: list[str], replies: list[dict[str, str]]) -> None:
    records = []
    for name in request_ids:
        number = name.removeprefix("call-")
        request_id = replies[int(number) - 1]["request"] if number.isdigit() else name
        values = {"event.name": {"stringValue": "api_request"}, "request_id": {"stringValue": request_id}}
        values |= {name: {"intValue": str(count)} for name, count in COUNTS.items()}
        records.append({"attributes": [{"key": key, "value": value} for key, value in values.items()]})
    logs = {"resourceLogs": [{"scopeLogs": [{"logRecords": records}]}]}
    post(os.environ["OTEL_EXPORTER_OTLP_LOGS_ENDPOINT"], logs, {})


def main() -> None:
    plan = json.loads(os.environ.get("PLAN", "{}"))
    replies = [call() for _ in range(plan.get("calls", 0))]
    if "transcript" in plan:
        folder = (
            Path(os.environ["HOME"])
            / ".claude/projects"
            / "".join(letter if letter.isalnum() else "-" for letter in str(Path.cwd()))
        )
        folder.mkdir(parents=True, exist_ok=True)
        lines = [transcript_line(name, replies) for name in plan["transcript"]]
        (folder / f"{plan.get('session', SESSION)}.jsonl").write_text("\n".join(lines))
    if plan.get("reported") is not None:
        report(plan["reported"], replies)
    sys.stdout.write(json.dumps({"arguments": sys.argv[1:], "variables": dict(os.environ)}))


if __name__ == "__main__":
    main()
