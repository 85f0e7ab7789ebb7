"""Values and long texts, as the log of an agent shows them."""

import json

LEFT_OUT = "[a line that is too long was left out]"
_SHORT = 200  # characters of a text that is shown whole
_BEGINNING = 60  # characters of a longer one


def plain_text(text: str) -> str:
    """A text in UTF-8: halves of characters, which some tools write, become question marks."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def json_text(value: object) -> str:
    """A value as JSON, in one line; empty where there is none."""
    try:
        return "" if value is None else json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    except (ValueError, RecursionError):
        return ""


def beginning(text: str) -> str:
    """The beginning of a text that a tool wrote: its instructions are long, and the same in all sessions."""
    text = text.strip()
    if len(text) <= _SHORT:
        return text
    return f"{text[:_BEGINNING].splitlines()[0]} … ({len(text):,} characters)"
