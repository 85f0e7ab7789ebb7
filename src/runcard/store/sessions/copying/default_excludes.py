"""The files that are never copied from a workspace by default: generated files and credentials.

Add a pattern to GENERATED or CREDENTIALS, and to the table in `docs/collecting.md`. Patterns are written as in
`.gitignore`, but match at any depth, and credentials in upper and lower case. A user brings a file back with
`--exclude '!NAME'`.

They are matched here and not by a library, because every file is compared with all of them: that takes no longer than
opening the file.
"""

import re
from collections.abc import Iterable
from fnmatch import fnmatchcase, translate

GENERATED = (
    ".git",
    "node_modules",
    "__pycache__",
    ".venv",
    ".cache",
    ".mypy_cache",
    ".pytest_cache",
    ".ruff_cache",
    ".parcel-cache",
    ".sass-cache",
    ".eslintcache",
    ".npm",
    ".DS_Store",
)

CREDENTIALS = (
    ".env",
    ".env.*",
    "*.env",
    ".envrc",
    "*.pem",
    "master.key",
    "*.key",
    "*.p12",
    "*.pfx",
    "*.jks",
    "*.keystore",
    "*.kdbx",
    "*.ppk",
    "id_rsa*",
    "id_ed25519*",
    "id_ecdsa*",
    "id_dsa*",
    ".netrc",
    ".pgpass",
    ".npmrc",
    ".yarnrc.yml",
    ".pypirc",
    "pip.conf",
    "rclone.conf",
    ".git-credentials",
    ".htpasswd",
    ".vault-token",
    "credentials",
    "credentials.json",
    "*credentials*.json",
    "*service-account*.json",
    ".aws/",
    ".ssh/",
    ".gnupg/",
    ".kube/",
    "kubeconfig*",
    ".docker/config.json",
    ".config/gcloud/",
    ".config/gh/",
    ".codex/auth.json",
    ".mcp.json",
    ".claude_mcp_config.json",
    "secrets.*",
    "*.tfstate",
    "*.tfstate.*",
    "*.tfvars",
    "wallet.dat",
    "cookies.txt",
    ".*_history",
)


class DefaultExcludes:
    """A list of such patterns."""

    def __init__(self, patterns: Iterable[str], *, any_case: bool) -> None:
        self._patterns = [_ExcludePattern(pattern) for pattern in patterns]
        self._any_case = any_case
        self._may_match = re.compile("|".join(translate(each.parts[-1]) for each in self._patterns)).match

    def pattern_for(self, path: str, *, is_folder: bool) -> str | None:
        """The first pattern that excludes a path."""
        if self._any_case:
            path = path.lower()
        if self._may_match(path[path.rfind("/") + 1 :]) is None:
            return None
        names = path.split("/")
        return next((each.text for each in self._patterns if each.matches(names, is_folder=is_folder)), None)


class _ExcludePattern:
    """A pattern, split into names."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._folders_only = text.endswith("/")
        self.parts = text.rstrip("/").split("/")

    def matches(self, names: list[str], *, is_folder: bool) -> bool:
        tail = names[-len(self.parts) :]
        return (
            (is_folder or not self._folders_only)
            and len(tail) == len(self.parts)
            and all(map(fnmatchcase, tail, self.parts))
        )
