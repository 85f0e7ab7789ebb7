"""Paths and ids that come from documents, which may be hostile.

A path from a document is relative and plain, and no symbolic link leads it out of the directory it belongs to. Paths
that the user types are not checked here: they may point anywhere.

Invariant: what `resolve_below` returns lies in `root` and passes through no link any more.
"""

import os
import re

from runcard.errors import StoreError
from runcard.files.names import printable

SAFE_ID = re.compile("[A-Za-z0-9][A-Za-z0-9._-]{0,127}")


def is_safe_id(text: str) -> bool:
    """Whether an id may become the name of a file or directory."""
    return SAFE_ID.fullmatch(text) is not None


def check_relative(text: str) -> str | None:
    """Why a path from a document is refused, or None for a good one."""
    if not text:
        return "it is empty"
    if "\0" in text:
        return "it contains a NUL byte"
    if text.startswith("/"):
        return "it is absolute"
    enclosed = f"/{text}/"  # looking into it takes a third of the time of looking at its parts
    if "/../" in enclosed:
        return "it leads upwards with '..'"
    if "//" in enclosed or "/./" in enclosed:
        return "it has an empty or '.' part, so that one file has two names"
    return None


def resolve_below(root: str | os.PathLike[str], relative: str) -> str:
    """The real path of what `relative` names below `root`.

    Raises StoreError for a hostile path and for a link that leads out, and FileNotFoundError or another OSError when
    there is nothing that could be opened. Links that stay inside are followed.
    """
    if reason := check_relative(relative):
        raise StoreError(
            f"the path {printable(relative)!r} is refused: {reason}",
            hint="name a file below the directory of the record, without '..'",
        )
    base = os.path.realpath(root, strict=True)
    # Strict, because without it a link beyond what can be resolved is taken for an ordinary name.
    real = os.path.realpath(os.path.join(base, relative), strict=True)
    if os.path.commonpath([base, real]) != base:
        raise StoreError(
            f"the path {printable(relative)!r} is refused: a symbolic link leads it out of {printable(base)}",
            hint="put the file itself in the place of the link",
        )
    return real
