"""Makes personas out of interviews with a model: a small program as people write them.

It knows of runcard only that its results go to RUNCARD_RUN_DIR, and that its calls are to be recorded.
"""

import json
import os
import urllib.request
from pathlib import Path
from typing import Any

import runcard

MODEL = "claude-sonnet-5-5"


def main() -> None:
    results = Path(os.environ["RUNCARD_RUN_DIR"], "personas")
    results.mkdir()
    for interview in sorted(Path("interviews").glob("*.md")):
        print(f"asking for a persona from {interview} ...")
        prompt = f"Make one persona, as JSON, out of this interview:\n\n{interview.read_text()}"
        persona = json.loads(ask(prompt))
        Path(results, f"{interview.stem}.json").write_text(json.dumps(persona, indent=2) + "\n")
        print(f"  {persona['name']}: {persona['wants']}")


def ask(prompt: str) -> str:
    question = {"role": "user", "content": prompt}
    request: dict[str, Any] = {"model": MODEL, "max_tokens": 500, "messages": [question]}
    try:
        from anthropic import Anthropic
    except ImportError:
        return ask_by_hand(request)
    client = runcard.watch(Anthropic())  # from here on, every call is recorded
    reply = client.messages.create(**request)
    return str(reply.content[0].text)


def ask_by_hand(request: dict[str, Any]) -> str:
    """The same without Anthropic's library: the reply tells what it used."""
    headers = {"x-api-key": os.environ["ANTHROPIC_API_KEY"], "content-type": "application/json"}
    url = os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages"
    asked = urllib.request.Request(url, json.dumps(request).encode(), headers)
    with urllib.request.urlopen(asked) as answer:
        reply: dict[str, Any] = json.load(answer)
    if run := runcard.current_run():
        run.add_usage(reply)
    return str(reply["content"][0]["text"])


if __name__ == "__main__":
    main()
