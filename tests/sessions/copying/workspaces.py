"""Workspaces for tests: made from a description, copied, and compared."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from runcard.store.sessions.copying import CopiedWorkspace, CopyRules, copy_workspace


def make(root: Path, files: Mapping[str, bytes | str]) -> Path:
    """A directory with these files."""
    root.mkdir(parents=True, exist_ok=True)
    for name, data in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data.encode() if isinstance(data, str) else data)
    return root


def copy(source: Path, **rules: Any) -> CopiedWorkspace:
    """Copy a workspace to a new place beside it."""
    return copy_workspace(source, target_of(source), rules=CopyRules(**rules))


def target_of(source: Path) -> Path:
    return source.with_name(source.name + "-copy")


def paths(copied: CopiedWorkspace) -> list[str]:
    return [file.path for file in copied.files]


def reasons(copied: CopiedWorkspace) -> dict[str, str]:
    return {omission.path: omission.reason for omission in copied.omissions}


def stored(source: Path) -> list[str]:
    """All files and links that are in the copy, by their paths."""
    target = target_of(source)
    return sorted(
        os.path.relpath(os.path.join(folder, name), target)
        for folder, _, names in os.walk(target)
        for name in names
    )
