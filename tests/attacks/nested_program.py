"""A program that calls a model, alone or in runs in runs, as its plan says: `python nested_program.py PLAN`.

A plan is a list of steps: `call` (nobody but a relay around it sees it), `reply` and `usage` (in a run of its own, which gets the reply
or only its usage), `agent` (of a session that names itself), `import` (of that session), and a list: a plan for `runcard run`.
"""

import json
import os
import subprocess
import sys
import urllib.request
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import runcard

BODY = {"model": "claude-sonnet-4-5", "max_tokens": 9, "messages": []}


def call(**headers: str) -> tuple[str, dict[str, Any]]:
    request = urllib.request.Request(  # noqa: S310 - of the upstream
        os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages",
        json.dumps(BODY).encode(),
        {"content-type": "application/json", **headers},
    )
    with urllib.request.urlopen(request, timeout=60) as reply:  # noqa: S310
        return reply.headers["request-id"], json.load(reply)


def own_run(step: str) -> None:
    with runcard.record("own-outputs") as run:
        _, reply = call()
        run.add_usage(reply if step == "reply" else reply["usage"], model=reply["model"])


def agent(session: str) -> None:
    request, reply = call(**{"x-claude-code-session-id": session})
    line = {
        "type": "assistant",
        "sessionId": session,
        "cwd": os.getcwd(),
        "requestId": request,
        "message": reply,
    }
    line |= {"timestamp": datetime.now(UTC).isoformat().replace("+00:00", "Z"), "uuid": reply["id"]}
    folder = Path.home() / ".claude" / "projects" / "work"
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / f"{session}.jsonl", "a") as file:
        file.write(json.dumps(line) + "\n")


def follow(plan: list[Any]) -> None:
    for step in plan:
        kind, _, session = step.partition(" ") if isinstance(step, str) else ("", "", "")
        if isinstance(step, list):
            words = [
                sys.executable,
                "-m",
                "runcard",
                "run",
                "--quiet",
                "--",
                sys.executable,
                __file__,
                json.dumps(step),
            ]
            subprocess.run(words, check=True)
        elif kind == "agent":
            agent(session)
        elif kind == "import":
            words = [sys.executable, "-m", "runcard", "import", "claude-code", "--all", "--quiet"]
            subprocess.run(words, check=False, capture_output=True)
        elif kind == "call":
            call()
        else:
            own_run(kind)


if __name__ == "__main__":
    follow(json.loads(sys.argv[1]))
