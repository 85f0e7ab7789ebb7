"""Gemini CLI: `tmp/<project>/chats/session-<time>-<id>.jsonl`, or `.json` with one object of older versions.

The files of sub-agents are in a folder beside them, which has the id of their session as its name.
"""

import os
from collections.abc import Mapping
from typing import Any

from runcard.transcripts.activity import SessionActivity, SessionFiles
from runcard.transcripts.content import UnreadPart
from runcard.transcripts.gemini.chat_calls import read
from runcard.transcripts.gemini.chat_meta import NAME
from runcard.transcripts.gemini.sessions import sessions

__all__ = [
    "IS_DIVISIBLE",
    "NAME",
    "NOT_WRITTEN",
    "TITLE",
    "folders",
    "is_session_file",
    "is_session_record",
    "read",
    "read_activity",
    "sessions",
    "subfolders",
]

TITLE = "Gemini CLI"
NOT_WRITTEN = (
    "calls of the model router",
    "summaries of compacted conversations",
    "searches and pages of its web tools",
    "calls that ended before their usage was reported",
)
IS_DIVISIBLE = False  # the last record of a message counts


def folders(environ: Mapping[str, str]) -> list[str]:
    """Where Gemini CLI keeps its sessions."""
    home = environ.get("GEMINI_CLI_HOME") or os.path.expanduser("~")
    return [os.path.join(home, ".gemini", "tmp")]


def subfolders(folder: str) -> list[str]:
    """Where sessions are in a folder that the user names: all of it, or the `tmp` of a home of Gemini CLI."""
    own = os.path.join(folder, "tmp")
    return [own] if os.path.isdir(own) else [folder]


def is_session_file(path: str) -> bool:
    """Whether a file in one of these folders is a session, by its name."""
    is_chat = "chats" in path.split("/")[:-1] or os.path.basename(path).startswith("session-")
    return is_chat and path.endswith((".json", ".jsonl"))


def is_session_record(record: Mapping[str, Any]) -> bool:
    """Whether the first record of a file is of this tool."""
    return "projectHash" in record or ("sessionId" in record and "startTime" in record)


def read_activity(files: SessionFiles, activity: SessionActivity) -> list[UnreadPart]:
    """Read what the agents of a session said and did."""
    from runcard.transcripts.gemini.activity import read_activity as read_steps  # noqa: PLC0415 - only an import of sessions needs it

    return read_steps(files, activity)
