"""What the path of a file says: whether it is a session, which one, and whose agent; and the facts in the file beside it."""

import os
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from runcard.transcripts.content import decode_record, object_of, text_of

_OTHER_FILES = frozenset({"journal.jsonl", "history.jsonl"})  # of workflows; the user's prompts
_NOT_A_LETTER = re.compile(r"[^a-zA-Z0-9]")
_AGENT, _END, _SUBAGENTS, _WORKFLOWS = "agent-", ".jsonl", "subagents", "workflows"
_LARGEST = 4 << 20  # bytes of a file with facts


def folders(environ: Mapping[str, str]) -> list[str]:
    """Where Claude Code keeps its sessions."""
    home = os.path.expanduser("~")
    roots = environ.get("CLAUDE_CONFIG_DIR") or ""
    known = [root.strip() for root in roots.split(",") if root.strip()]
    known = known or [os.path.join(home, ".claude"), os.path.join(home, ".config", "claude")]
    return [os.path.join(root, "projects") for root in known]


def subfolders(folder: str) -> list[str]:
    """Where sessions are in a folder that the user names: all of it, or the `projects` of a home of Claude Code."""
    projects = os.path.join(folder, "projects")
    return [projects] if os.path.isdir(projects) else [folder]


def is_session_file(path: str) -> bool:
    """Whether a file in one of these folders is a session, by its name."""
    return path.endswith(_END) and os.path.basename(path) not in _OTHER_FILES


def agent_of(path: str) -> str | None:
    """The id of the sub-agent whose file this is; None for the file of a session."""
    name = os.path.basename(path)
    return name.removesuffix(_END).removeprefix(_AGENT) if name.startswith(_AGENT) else None


def session_of(path: str) -> str | None:
    """The session of a file, by its path; None for a sub-agent of an older version, whose lines name it."""
    if agent_of(path) is None:
        return os.path.basename(path).removesuffix(_END)
    parts = os.path.dirname(path).split("/")
    return parts[-1 - parts[::-1].index(_SUBAGENTS) - 1] if _SUBAGENTS in parts[1:] else None


def started_in(cwd: str, path: str) -> str:
    """The folder in which a session was started: the one that its own folder is named after, at or above `cwd`."""
    names = frozenset(path.split("/")[-8:])
    folder = cwd
    while folder not in {"", "/"}:
        if _NOT_A_LETTER.sub("-", folder) in names:
            return folder
        folder = os.path.dirname(folder)
    return cwd


def workflow_of(path: str) -> str | None:
    """The run of a workflow that the sub-agent with this file belongs to."""
    parts = os.path.dirname(path).split("/")
    return parts[-1] if parts[-2:-1] == [_WORKFLOWS] else None


def workflow_labels(path: str) -> dict[str, str]:
    """The labels of the agents of the run of a workflow, by their ids; `path` is the file of one of them."""
    folder, _, run = os.path.dirname(path).rpartition(f"/{_SUBAGENTS}/{_WORKFLOWS}/")
    steps = _read_json(os.path.join(folder, _WORKFLOWS, f"{run}.json")).get("workflowProgress")
    known = [object_of(step) for step in steps] if isinstance(steps, list) else []
    pairs = [(text_of(step.get("agentId")), text_of(step.get("label"))) for step in known]
    return {agent: label for agent, label in pairs if agent is not None and label is not None}


class AgentFacts(NamedTuple):
    """What the file beside the file of a sub-agent says; None where it does not."""

    role: str | None = None
    description: str | None = None
    name: str | None = None
    use_id: str | None = None  # of the tool use that started it
    team: str | None = None  # whose member it is


def agent_facts(path: str) -> AgentFacts:
    """The facts about the sub-agent with this file."""
    meta = _read_json(f"{path.removesuffix(_END)}.meta.json")
    fields = (meta.get(name) for name in ("agentType", "description", "name", "toolUseId", "teamName"))
    return AgentFacts(*map(text_of, fields))


def _read_json(path: str) -> dict[str, Any]:
    """The object in a small file; an empty one where there is none."""
    from runcard.files import read_regular  # noqa: PLC0415

    try:
        data = read_regular(path) or b""
        return decode_record(data) if len(data) <= _LARGEST else {}
    except (OSError, ValueError):
        return {}
