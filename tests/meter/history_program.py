"""A program that does what a plan says: `python history_program.py PLAN`, where PLAN is JSON, a list of steps.

`["call", MODEL]` calls a model; `["watched", MODEL]` by a client that is watched; `["reported", MODEL]` passes the reply to
`add_usage`, `["nameless", MODEL]` its usage without the id. `["agent", MODEL, SESSION]` calls as Claude Code does, and writes the
session file. `["record", EXPERIMENT, STEPS]` opens a run; `["run", OPTIONS, STEPS]` is `runcard run` with this program;
"""

import http.client
import json
import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import runcard

Reply = dict[str, Any]


def call(model: str, headers: dict[str, str]) -> tuple[Reply, str]:
    """The reply of a model, and the id of the request; tried again as clients do."""
    body = json.dumps({"model": model, "max_tokens": 9, "messages": []}).encode()
    parts = urlsplit(os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages")
    while True:
        connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=60)
        connection.request("POST", parts.path, body, {"content-type": "application/json", **headers})
        answer = connection.getresponse()
        data = answer.read()
        connection.close()
        if answer.status == 200:
            return json.loads(data), answer.headers["request-id"]


def agent(model: str, session: str) -> None:
    reply, request = call(model, {"x-claude-code-session-id": session})
    line = {
        "type": "assistant",
        "sessionId": session,
        "requestId": request,
        "timestamp": datetime.now(UTC).isoformat(),
        "cwd": str(Path.cwd()),
        "version": "2.1.197",
        "message": reply,
    }
    path = Path.home() / ".claude/projects/-work" / f"{session}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        file.write(json.dumps(line) + "\n")


def watched(model: str) -> None:
    import anthropic  # noqa: PLC0415 - few steps need it, and it takes long to load

    client = runcard.watch(anthropic.Anthropic(api_key="x"))
    client.messages.create(model=model, max_tokens=9, messages=[{"role": "user", "content": "fox"}])


def play(steps: list[Any], run: Any = None) -> None:
    for kind, *arguments in steps:
        if kind == "call":
            call(arguments[0], {})
        elif kind == "watched":
            watched(arguments[0])
        elif kind == "reported":
            run.add_usage(call(arguments[0], {})[0])
        elif kind == "nameless":
            reply, _ = call(arguments[0], {})
            run.add_usage(reply["usage"], model=reply["model"])
        elif kind == "agent":
            agent(*arguments)
        elif kind == "record":
            with runcard.record(experiment=arguments[0], provider="anthropic", strict=True) as inner:
                play(arguments[1], inner)
        elif kind == "run":
            options, inner_steps = arguments
            wait(start([sys.executable, "-m", "runcard", "run", "--quiet", *options, "--"], inner_steps))
        else:
            for process in [start([], inner_steps) for inner_steps in arguments]:
                wait(process)


def start(prefix: list[str], steps: list[Any]) -> "subprocess.Popen[bytes]":
    return subprocess.Popen([*prefix, sys.executable, __file__, json.dumps(steps)], stdin=subprocess.DEVNULL)


def wait(process: "subprocess.Popen[bytes]") -> None:
    if process.wait(120):
        raise SystemExit(process.returncode)


if __name__ == "__main__":
    play(json.loads(sys.argv[1]))
