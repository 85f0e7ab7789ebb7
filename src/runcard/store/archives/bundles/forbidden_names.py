"""Names that a bundle must not have, because other programs obey such files merely because they are there.

git runs the hooks of a `.git`, editors run the tasks of a `.vscode`, Python imports a `sitecustomize.py`, coding agents
follow a `CLAUDE.md`. Inputs may have any other name. Names are compared as forgiving file systems do it: without regard
to case, to characters that are not seen, and to dots and blanks at their end.
"""

import re
from unicodedata import normalize

# Refused in every folder: version control finds its own from any folder below, and so do direnv and runcard.
_EVERYWHERE = frozenset({".git", ".hg", ".svn", ".bzr", ".jj", ".runcard", ".envrc", "git~1", "runcard.toml"})
# Refused at the top of the folder, like every name that begins with a dot: there one works, and there tools look.
_AT_THE_TOP = frozenset(
    {
        "pyproject.toml",
        "setup.cfg",
        "setup.py",
        "tox.ini",
        "pytest.ini",
        "conftest.py",
        "noxfile.py",
        "sitecustomize.py",
        "usercustomize.py",
        "package.json",
        "node_modules",
        "mise.toml",
        "pixi.toml",
        "uv.toml",
        "bunfig.toml",
        "deno.json",
        "deno.jsonc",
        "agents.md",
        "claude.md",
        "claude.local.md",
        "gemini.md",
    }
)
_INVISIBLE = "[\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]"


def is_tool_file(path: str) -> bool:
    """Whether a path of a bundle, relative to its top folder, is a file or folder that tools obey."""
    top, *below = map(_plain, path.split("/"))
    return is_tool_name(top) or not _EVERYWHERE.isdisjoint(below)


def is_tool_name(name: str) -> bool:
    """Whether tools obey a file or folder of this name at the top of a working directory."""
    plain = _plain(name)
    return plain.startswith(".") or plain in _AT_THE_TOP or plain in _EVERYWHERE


def _plain(name: str) -> str:
    if name.isascii() and name.islower():
        return name.rstrip(". ") or name
    return re.sub(_INVISIBLE, "", normalize("NFKC", name)).casefold().rstrip(". ") or name
