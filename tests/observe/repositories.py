"""Real git repositories for tests."""

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

IDENTITY = {
    "GIT_AUTHOR_NAME": "Ada",
    "GIT_AUTHOR_EMAIL": "ada@example.org",
    "GIT_COMMITTER_NAME": "Ada",
    "GIT_COMMITTER_EMAIL": "ada@example.org",
}


class Repository:
    """A repository in a folder, and git as a user runs it there."""

    def __init__(self, path: Path, *options: str) -> None:
        self.path = path
        path.mkdir(parents=True, exist_ok=True)
        self.git("init", "--quiet", "--initial-branch=main", *options)

    def git(self, *arguments: str, **variables: str) -> str:
        return run_git(self.path, *arguments, **variables).stdout.decode()

    def write(self, name: str | bytes, text: str | bytes = "text\n") -> Path:
        path = self.path / os.fsdecode(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    def commit(self, files: Mapping[str, str] | None = None) -> str:
        """Commit everything; returns the id."""
        for name, text in (files or {"a.txt": "one\n"}).items():
            self.write(name, text)
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message=x")
        return self.head

    @property
    def head(self) -> str:
        return self.git("rev-parse", "HEAD").strip()

    def age_index(self) -> None:
        """Make all files look untouched for a long time, so that git trusts what it knows about them."""
        for file in self.path.rglob("*"):
            if ".git" not in file.parts and not file.is_symlink():
                os.utime(file, (1_500_000_000, 1_500_000_000))
        self.git("update-index", "--refresh")


def run_git(path: Path, *arguments: str, **variables: str) -> "subprocess.CompletedProcess[bytes]":
    return subprocess.run(
        ["git", "-C", str(path), "-c", "protocol.file.allow=always", *arguments],
        env=os.environ | IDENTITY | variables,
        check=True,
        capture_output=True,
    )
