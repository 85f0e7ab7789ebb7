"""A `claude` for the samples of the documentation, and the provider that it calls: both on this machine.

As the real one does, it makes a call for a title besides the one that answers, and reports its calls if it is asked to.
"""

import json
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

ANSWER = "Ada wants fewer meetings."
USAGE: dict[str, dict[str, int]] = {
    "claude-haiku-4-5": {"input_tokens": 4000, "output_tokens": 100},
    "claude-sonnet-4-5": {
        "input_tokens": 19020,
        "cache_read_input_tokens": 15000,
        "cache_creation_input_tokens": 2000,
        "output_tokens": 850,
    },
}
OTHER_USAGE = {"input_tokens": 812, "output_tokens": 96}  # of a model that only a sample calls
_ATTRIBUTES = {
    "input_tokens": "input_tokens",
    "output_tokens": "output_tokens",
    "cache_read_input_tokens": "cache_read_tokens",
    "cache_creation_input_tokens": "cache_creation_tokens",
}


class _Provider(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        model = request["model"]
        reply = {
            "id": f"msg_{model}",
            "type": "message",
            "role": "assistant",
            "model": model,
            "content": [{"type": "text", "text": ANSWER}],
            "stop_reason": "end_turn",
            "usage": USAGE.get(model, OTHER_USAGE),
        }
        body = json.dumps(reply).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("request-id", f"req_{model}")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002
        pass


@contextmanager
def provider() -> Iterator[str]:
    """The URL of a provider."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Provider) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()


def install(folder: Path) -> None:
    """Make this file the program `claude` in a folder."""
    folder.mkdir()
    program = folder / "claude"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} {__file__} "$@"\n')
    program.chmod(0o755)


def write_session(home: Path) -> None:
    """The file of a session of two calls, where Claude Code would have put it."""
    folder = home / ".claude" / "projects" / "-home-ada-shop"
    folder.mkdir(parents=True)
    session = {"sessionId": "5a1c9f3e", "cwd": "/home/ada/shop", "version": "2.1.197"}
    question = {"role": "user", "content": "Which tests fail?"}
    lines: list[dict[str, Any]] = [
        {**session, "type": "user", "timestamp": "2026-11-02T10:00:00Z", "message": question}
    ]
    for number, (model, usage) in enumerate(USAGE.items(), 1):
        message = {
            "id": f"msg_{number}",
            "type": "message",
            "role": "assistant",
            "model": model,
            "content": [{"type": "text", "text": ANSWER}],
            "stop_reason": "end_turn",
            "usage": {"cache_read_input_tokens": 0, "cache_creation_input_tokens": 0, **usage},
        }
        time = f"2026-11-02T10:00:0{number}Z"
        line = {"type": "assistant", "timestamp": time, "requestId": f"req_{number}", "message": message}
        lines.append({**session, **line})
    (folder / "5a1c9f3e.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


def _post(url: str, body: object, headers: dict[str, str]) -> Any:
    request = Request(url, json.dumps(body).encode(), {"content-type": "application/json", **headers})  # noqa: S310
    with urlopen(request) as reply:  # noqa: S310
        return json.load(reply)


def main() -> None:
    records = []
    for model in USAGE:
        body = {"model": model, "max_tokens": 99, "messages": []}
        headers = {"x-claude-code-session-id": "0123"}
        reply = _post(os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages", body, headers)
        values: dict[str, Any] = {"event.name": "api_request", "request_id": f"req_{model}"}
        values |= {_ATTRIBUTES[name]: count for name, count in reply["usage"].items()}
        attributes = [
            {"key": key, "value": {"intValue" if isinstance(value, int) else "stringValue": value}}
            for key, value in values.items()
        ]
        records.append({"attributes": attributes})
    if endpoint := os.environ.get("OTEL_EXPORTER_OTLP_LOGS_ENDPOINT"):
        _post(endpoint, {"resourceLogs": [{"scopeLogs": [{"logRecords": records}]}]}, {})
    sys.stdout.write(f"{ANSWER}\n")


if __name__ == "__main__":
    main()
