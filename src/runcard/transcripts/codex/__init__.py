"""Codex: one JSON object in each line, `sessions/YYYY/MM/DD/rollout-<time>-<id>.jsonl`; older files also in `archived_sessions`.

The first versions wrote one object in `rollout-<time>-<id>.json`.
"""

import os
from collections.abc import Mapping

from runcard.transcripts.activity import SessionActivity, SessionFiles
from runcard.transcripts.codex.record_types import NAME, is_session_record
from runcard.transcripts.codex.rollout_calls import Thread, add_events, read
from runcard.transcripts.codex.sessions import sessions
from runcard.transcripts.content import UnreadPart

__all__ = [
    "IS_DIVISIBLE",
    "NAME",
    "NOT_WRITTEN",
    "TITLE",
    "Thread",
    "add_events",
    "folders",
    "is_session_file",
    "is_session_record",
    "read",
    "read_activity",
    "sessions",
    "subfolders",
]

TITLE = "Codex"
NOT_WRITTEN = ("sessions that it does not save", "calls that ended before their usage was reported")
IS_DIVISIBLE = False  # the model of a call is in an earlier line
_OTHER_FILES = frozenset({"session_index.jsonl", "history.jsonl"})  # titles; the user's prompts
_FOLDERS = ("sessions", "archived_sessions")


def folders(environ: Mapping[str, str]) -> list[str]:
    """Where Codex keeps its sessions."""
    home = environ.get("CODEX_HOME") or os.path.join(os.path.expanduser("~"), ".codex")
    return [os.path.join(home, name) for name in _FOLDERS]


def subfolders(folder: str) -> list[str]:
    """Where sessions are in a folder that the user names: all of it, or those of a home of Codex."""
    own = [os.path.join(folder, name) for name in _FOLDERS]
    return [path for path in own if os.path.isdir(path)] or [folder]


def is_session_file(path: str) -> bool:
    """Whether a file in one of these folders is a session, by its name."""
    name = os.path.basename(path)
    if name in _OTHER_FILES:
        return False
    return name.endswith((".jsonl", ".jsonl.zst")) or (name.startswith("rollout-") and name.endswith(".json"))


def read_activity(files: SessionFiles, activity: SessionActivity) -> list[UnreadPart]:
    """Read what the agents of a session said and did."""
    from runcard.transcripts.codex.activity import read_activity as read_steps  # noqa: PLC0415 - only an import of sessions needs it

    return read_steps(files, activity)
