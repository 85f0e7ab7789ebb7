"""Claude Code: one JSON object in each line, `projects/<folder>/<session>.jsonl`, and a file for each sub-agent below it.

file_names       what the path of a file says: its session, its agent; the facts in the file beside it
call_reader      the model calls of a file
session_files    the files of each session
activity_reader  what the agents of a session said and did
steps            the steps in one record, as text
"""

from runcard.transcripts.activity import SessionActivity, SessionFiles
from runcard.transcripts.claude_code.call_reader import (
    IS_DIVISIBLE,
    NAME,
    NOT_WRITTEN,
    TITLE,
    is_session_record,
    read,
)
from runcard.transcripts.claude_code.file_names import folders, is_session_file, subfolders
from runcard.transcripts.claude_code.session_files import sessions
from runcard.transcripts.content import UnreadPart

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


def read_activity(files: SessionFiles, activity: SessionActivity) -> list[UnreadPart]:
    """Read what the agents of a session said and did."""
    from runcard.transcripts.claude_code.activity_reader import read_activity as read_steps  # noqa: PLC0415 - only an import of sessions needs it

    return read_steps(files, activity)
