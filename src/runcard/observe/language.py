"""The language of this program's messages, as POSIX writes it."""

import re
from collections.abc import Mapping

_FORM = re.compile(r"(C|POSIX|[a-z]{2,3}(_[A-Z0-9]{2,3})?)(\.[A-Za-z0-9-]+)?(@[A-Za-z0-9]+)?", re.ASCII)


def language(variables: Mapping[str, str]) -> str | None:
    """The locale that a program with these environment variables speaks; None when none is set."""
    stated = next(
        (variables[name] for name in ("LC_ALL", "LC_MESSAGES", "LANG") if variables.get(name)), None
    )
    return stated if stated is not None and _FORM.fullmatch(stated) else None
