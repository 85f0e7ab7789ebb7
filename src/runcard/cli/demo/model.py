"""A scripted model on this machine that speaks the wire format of Anthropic's Messages: for the demo, and nothing else."""

import json
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from runcard.encoding import JsonObject

# What it says, by a word of the question.
_PERSONAS = {
    "invoice": {"name": "Ada", "role": "bookkeeper", "wants": "to find an old invoice in seconds"},
    "van": {"name": "Ben", "role": "courier", "wants": "one hand free while he looks at the map"},
}
_UNKNOWN = {"name": "Kim", "role": "unknown", "wants": "to be asked something else"}


@contextmanager
def scripted_model() -> Iterator[str]:
    """Its address, as long as the block lasts."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()


def demo_environment(address: str) -> dict[str, str]:
    """The variables of a program that calls the scripted model at this address: those of this process, but for runcard's."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("RUNCARD_")}
    model = {"ANTHROPIC_BASE_URL": address, "ANTHROPIC_API_KEY": "no-key-is-needed"}
    return {**own, **model, "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        known = self.path.endswith("/v1/messages")
        data = json.dumps(_message(asked) if known else _NOT_FOUND).encode()
        self.send_response(200 if known else 404)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name in the standard library
        """Say nothing: the terminal is the demo's."""


_NOT_FOUND = {"type": "error", "error": {"type": "not_found_error", "message": "only /v1/messages is here"}}


def _message(asked: JsonObject) -> JsonObject:
    question = str(asked["messages"][-1]["content"])
    persona = next((persona for word, persona in _PERSONAS.items() if word in question), _UNKNOWN)
    text = json.dumps(persona)
    return {
        "id": f"msg_demo_{persona['name'].lower()}",
        "type": "message",
        "role": "assistant",
        "model": asked["model"],
        "content": [{"type": "text", "text": text}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": len(question) // 4, "output_tokens": len(text) // 4},
    }
