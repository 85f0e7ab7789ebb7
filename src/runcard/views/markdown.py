"""Text from records inside Markdown: no name can break a table or become markup."""

import re

from runcard.files import printable

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>|#~&$])")


def escape(text: object) -> str:
    """A text for a sentence or a table cell."""
    return _SPECIAL.sub(r"\\\1", printable(str(text)))


def code(text: object) -> str:
    """A text in code font, whatever it holds."""
    plain = printable(str(text)).replace("|", "\\|")
    if not plain.strip():
        return ""
    longest = max((len(run) for run in re.findall("`+", plain)), default=0)
    fence = "`" * (longest + 1)
    return f"{fence} {plain} {fence}" if longest else f"`{plain}`"
