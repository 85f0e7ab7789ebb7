"""The category of an error, by the words of its message and the status of the instance.

The words are those that vendors and systems use. A message without any of them is `other`. A category in the SPEC has
precedence.
"""

import re

_WORDS = (
    ("rate_limit", r"\b429\b|rate.?limit|too many requests|quota|overloaded|\b529\b"),
    ("context_length", r"context.?(length|window)|prompt is too long|maximum.{0,20}tokens|too many tokens"),
    (
        "authentication",
        r"\b40[13]\b|unauthori[sz]ed|authenticat|forbidden|invalid.{0,9}(api.?)?key|credential",
    ),
    ("out_of_memory", r"out of memory|\boom\b|memoryerror|cannot allocate memory"),
    ("timeout", r"time[d ]?.?out|deadline exceeded"),
    ("refusal", r"\brefus(ed to|al)\b|content.?(policy|filter)|safety (policy|filter)"),
    ("network", r"network|connection|dns|unreachable|name resolution|\b50[234]\b|broken pipe|ssl"),
    ("tool_error", r"\btool\b"),
    ("crashed", r"crash|segmentation fault|core dumped|traceback|panic|killed|signal \d|exit (code|status)"),
    ("cancelled", r"cancel|interrupt|terminated|aborted"),
)
_PATTERN = re.compile("|".join(f"(?P<{name}>{words})" for name, words in _WORDS), re.IGNORECASE)
_BY_STATUS = {"timeout": "timeout", "terminated": "cancelled"}
_RETRYABLE = {
    "rate_limit": True,
    "timeout": True,
    "network": True,
    "context_length": False,
    "authentication": False,
}


def category(message: str | None, status: str) -> str | None:
    """The category of an error; None if there was none, as far as is known."""
    if status in _BY_STATUS:
        return _BY_STATUS[status]
    if message is None:
        return "other" if status == "error" else None
    matched = {match.lastgroup for match in _PATTERN.finditer(message)}
    return next((name for name, _ in _WORDS if name in matched), "other")


def retryable(name: str) -> bool | None:
    """Whether a retry may help; None if the category does not decide it."""
    return _RETRYABLE.get(name)
