"""Sessions of Claude Code, written by hand: with a sub-agent, a fork, two models, errors and secrets."""

from pathlib import Path
from typing import Any

from transcripts.session_files import OPUS, SONNET, assistant, claude, usage, write

Json = dict[str, Any]

FIRST = "11111111-1111-4111-8111-111111111111"
FORK = "22222222-2222-4222-8222-222222222222"
OTHER = "33333333-3333-4333-8333-333333333333"
AGENT = "a1b2c3d4"
SECRET = "sk-ant-api03-" + "k7Wq" * 23 + "AA"


def said(text: Any, minute: int, *, session: str = FIRST, second: int = 0, **fields: Any) -> Json:
    """A message of the user, or the result of a tool."""
    return {
        "parentUuid": None,
        "isSidechain": False,
        "cwd": "/home/u/shop",
        "sessionId": session,
        "version": "2.1.197",
        "gitBranch": "main",
        "type": "user",
        "message": {"role": "user", "content": text},
        "uuid": f"u-{session}-{minute}-{second}",
        "timestamp": time(minute, second),
        **fields,
    }


def time(minute: int, second: int = 0) -> str:
    return f"2026-11-02T10:{minute:02}:{second:02}.000Z"


def text(words: str) -> Json:
    return {"type": "text", "text": words}


def tool_use(name: str, use: str, **given: Any) -> Json:
    return {"type": "tool_use", "id": use, "name": name, "input": given}


def result(use: str, words: str, *, failed: bool = False) -> list[Json]:
    return [{"type": "tool_result", "tool_use_id": use, "content": words, "is_error": failed}]


def reply(
    call: str, minute: int, *content: Json, second: int = 0, session: str = FIRST, **fields: Any
) -> Json:
    counts = fields.pop("counts", None)
    return assistant(
        call,
        counts,
        request=f"req_{call}",
        time=time(minute, second),
        content=content,
        sessionId=session,
        uuid=f"{session}-{call}-{second}",
        **fields,
    )


def session_with_sub_agent(home: Path) -> None:
    """Two models, a tool that fails, a sub-agent that is done, and a secret in a message."""
    claude(
        home,
        said(f"Deploy with {SECRET}", 0),
        reply("msg_1", 0, text("I look."), second=2, stop=None, counts=usage(output=1)),
        reply("msg_1", 0, tool_use("Bash", "t1", command="ls"), second=3, stop="tool_use"),
        said(result("t1", "no such file", failed=True), 1),
        reply(
            "msg_2",
            1,
            tool_use("Agent", "t2", prompt="search", subagent_type="tester"),
            second=10,
            stop="tool_use",
            model=OPUS,
        ),
        said(result("t2", "found"), 5, toolUseResult={"agentId": AGENT, "totalTokens": 9}),
        reply("msg_3", 5, text("Done."), second=30),
        name=f"{FIRST}.jsonl",
    )
    folder = home / "projects" / "-home-u-shop" / FIRST / "subagents"
    side: Json = {"isSidechain": True, "agentId": AGENT}
    write(
        folder / f"agent-{AGENT}.jsonl",
        said("search", 2, **side) | {"uuid": "side-1"},
        reply("msg_4", 2, tool_use("Grep", "t3", pattern="x"), second=4, stop="tool_use", **side),
        said(result("t3", "x"), 3, **side) | {"uuid": "side-2"},
        reply("msg_5", 3, text("found"), second=9, counts=usage(service_tier="batch"), **side),
    )
    write(
        folder / f"agent-{AGENT}.meta.json",
        {"agentType": "tester", "description": "search", "toolUseId": "t2"},
    )


def fork(home: Path) -> None:
    """A session that begins with the calls of the first one."""
    claude(
        home,
        {"type": "queue-operation", "timestamp": time(20), "sessionId": FORK},
        said("Deploy", 0, session=FORK, forkedFrom={"sessionId": FIRST}),
        reply(
            "msg_1",
            0,
            text("I look."),
            second=3,
            session=FORK,
            stop="tool_use",
            forkedFrom={"sessionId": FIRST},
        ),
        said("And now?", 20, session=FORK, second=1),
        reply("msg_6", 20, text("Now this."), second=20, session=FORK),
        name=f"{FORK}.jsonl",
    )


def other_project(home: Path) -> None:
    """A session in another folder, whose model has no price."""
    write(
        home / "projects" / "-home-u-other" / f"{OTHER}.jsonl",
        said("Hi", 40, session=OTHER) | {"cwd": "/home/u/other"},
        reply("msg_7", 41, text("Hi"), session=OTHER, model="claude-of-tomorrow-9")
        | {"cwd": "/home/u/other"},
    )


MODELS = (SONNET, OPUS)
