"""Teams of Claude Code: `teams/<team>/config.json` beside `projects`, which names the members and their roles.

The file is there as long as the team is. It is hostile like all others, and so is the name of a team.
"""

import os
import re
from typing import NamedTuple

from runcard.files import read_regular
from runcard.transcripts.content import decode_record, object_of, text_of

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._ -]{0,199}")
_LARGEST = 1 << 20  # bytes
_MOST_MEMBERS = 1000


class ClaudeTeam(NamedTuple):
    """A team: its members are the sub-agents of the session that leads it, or have sessions of their own."""

    lead_session: str | None
    lead_role: str | None
    roles: dict[str, str]  # by the names of the members


def read_team(session_path: str, name: str) -> ClaudeTeam | None:
    """The team with this name, where the folder with this session has it."""
    above, found, _ = session_path.rpartition("/projects/")
    if not found or _NAME.fullmatch(name) is None:
        return None
    folder = os.path.join(above, "teams", name)
    try:
        data = b"" if os.path.islink(folder) else read_regular(os.path.join(folder, "config.json")) or b""
        config = decode_record(data) if len(data) <= _LARGEST else {}
    except (OSError, ValueError):
        return None
    members = config.get("members")
    known = [object_of(member) for member in members[:_MOST_MEMBERS]] if isinstance(members, list) else []
    roles = {}
    lead = None
    for member in known:
        own, role = text_of(member.get("name")), text_of(member.get("agentType"))
        if own is not None and role is not None:
            roles[own] = role
            if member.get("agentId") == config.get("leadAgentId"):
                lead = role
    return ClaudeTeam(text_of(config.get("leadSessionId")), lead, roles)
