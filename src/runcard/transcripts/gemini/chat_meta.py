"""What the metadata of a chat says: its session, its agent and its project."""

import os
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from runcard.files import read_regular
from runcard.transcripts.calls import MAIN
from runcard.transcripts.content import text_of

NAME = "gemini"
_LONGEST_PATH = 4096
_SUBAGENT = "subagent"


class ChatMeta(NamedTuple):
    """One file."""

    session: str
    agent: str  # MAIN, or the id of the sub-agent
    folder: str | None  # of the project
    project: str | None  # the same, or the hash that stands for it


def chat_of(path: str, meta: Mapping[str, Any]) -> ChatMeta:
    """The chat in a file with these metadata."""
    name, above = os.path.basename(path).rpartition(".")[0], os.path.dirname(path)
    session, is_subagent = text_of(meta.get("sessionId")), meta.get("kind") == _SUBAGENT
    if is_subagent and os.path.basename(above) != "chats":
        session = os.path.basename(above)  # that of its parent
    directories = meta.get("directories")
    first = text_of(directories[0]) if isinstance(directories, list) and directories else None
    folder = _project_root(above) or first
    project = folder or text_of(meta.get("projectHash"))
    return ChatMeta(session or name, name if is_subagent else MAIN, folder, project)


def _project_root(folder: str) -> str | None:
    """The folder of the project, from the file `.project_root` beside `chats`."""
    for above in _folders_above(folder):
        if os.path.basename(above) == "chats":
            try:
                data = read_regular(os.path.join(os.path.dirname(above), ".project_root"))
            except OSError:
                return None
            return text_of((data or b"")[:_LONGEST_PATH].decode("utf-8", "replace").strip())
    return None


def _folders_above(folder: str) -> Iterator[str]:
    for _ in range(3):
        yield folder
        folder = os.path.dirname(folder)
