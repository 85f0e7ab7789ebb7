"""A program that calls a model (`call`), or writes a session of Codex in this folder without one (`session HOME`)."""

import http.client
import json
import os
import sys
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlsplit


def call() -> None:
    body = json.dumps({"model": "claude-sonnet-4-5", "max_tokens": 9, "messages": []}).encode()
    parts = urlsplit(os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages")
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=30)
    connection.request("POST", parts.path, body, {"content-type": "application/json"})
    connection.getresponse().read()
    connection.close()


def write_session(home: Path) -> None:
    stamp, folder = datetime.now(UTC).isoformat(), str(Path.cwd())
    usage = {"input_tokens": 7, "output_tokens": 3, "total_tokens": 10}
    record = {"session_id": "s", "thread_id": "s", "response_id": "resp_elsewhere", "usage": usage}
    lines = [
        {"timestamp": stamp, "type": "session_meta", "payload": {"id": "s", "cwd": folder}},
        {"timestamp": stamp, "type": "turn_context", "payload": {"model": "gpt-5", "cwd": folder}},
        {"timestamp": stamp, "type": "token_usage_record", "payload": record},
    ]
    path = home / ".codex/sessions/2026/01/01/rollout-2026-01-01T00-00-00-s.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


if __name__ == "__main__":
    if sys.argv[1] == "call":
        call()
    else:
        write_session(Path(sys.argv[2]))
