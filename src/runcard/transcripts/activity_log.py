"""The log of an agent for people: each step with its time, and its text indented.

The text is what an agent, a tool or a user wrote: control characters in it are shown, not obeyed, and no line of it can look
like the beginning of a step.
"""

from datetime import UTC, datetime
from functools import lru_cache

from runcard.files import printable
from runcard.transcripts.activity import Entry

_INDENT = "  "


def log_text(entry: Entry) -> str:
    """A step as the log has it."""
    text = entry.text.replace("\r\n", "\n").replace("\t", "    ").strip("\n")
    if not text:
        return f"{_heading(entry)}\n\n"
    if not text.replace("\n", "").isprintable():
        text = "\n".join(map(printable, text.split("\n")))
    indented = text.replace("\n", f"\n{_INDENT}")
    return f"{_heading(entry)}\n{_INDENT}{indented}\n\n"


def _heading(entry: Entry) -> str:
    name = f": {printable(entry.name)}" if entry.name else ""
    failed = " (failed)" if entry.kind == "tool result" and entry.is_error else ""
    return f"[{_time(entry.time)}] {entry.kind}{name}{failed}"


@lru_cache(16)
def _time(milliseconds: int) -> str:
    try:
        moment = datetime.fromtimestamp(milliseconds // 1000, UTC) if milliseconds >= 0 else None
    except (OverflowError, ValueError, OSError):
        moment = None
    return "no time" if moment is None else f"{moment:%Y-%m-%d %H:%M:%S}Z"
