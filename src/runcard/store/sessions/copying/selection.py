"""Decide which paths of a workspace are copied.

Credentials come first: only a pattern with `!` that names the file itself brings one back. Then the user's `exclude`
patterns decide, then the generated files of `default_excludes`, then `.gitignore` files if they are used, then the user's
`include` patterns. So a file in the workspace can exclude more than the user specified, never less.

Invariant: below an excluded directory, only paths that the user's `!` patterns spell out are copied.
"""

from collections.abc import Sequence
from typing import NamedTuple

from runcard.files import globs
from runcard.store.default_excludes import CONFIGURATIONS, CREDENTIALS, GENERATED
from runcard.store.sessions.copying.copy_rules import CopyRules

NOT_INCLUDED = "not included"  # in place of a pattern, for files that no `include` pattern matches

_CREDENTIALS = globs.PatternList(CREDENTIALS, any_case=True)
_CONFIGURATIONS = globs.PatternList(CONFIGURATIONS, any_case=True)
_GENERATED = globs.PatternList(GENERATED, any_case=False)


def is_credential(path: str) -> bool:
    """Whether a file has the name of a credential, or is in a directory with such a name."""
    folders = [path[:end] for end, character in enumerate(path) if character == "/"]
    return _CREDENTIALS.pattern_for(path, is_folder=False) is not None or any(
        _CREDENTIALS.pattern_for(folder, is_folder=True) is not None for folder in folders
    )


def is_configuration(path: str) -> bool:
    """Whether a file has the name of a configuration that usually has passwords in it."""
    return _CONFIGURATIONS.pattern_for(path, is_folder=False) is not None


class Exclusion(NamedTuple):
    """The pattern that excludes a path, and whether it is one for credentials."""

    pattern: str
    is_credential: bool = False


class IgnoreFile(NamedTuple):
    """The patterns of a `.gitignore` file, and the path of its directory with a `/`, or nothing."""

    base: str
    patterns: Sequence[globs.IgnorePattern]


class FileSelection:
    """The patterns of one copy; raises UsageError for a malformed pattern."""

    def __init__(self, rules: CopyRules) -> None:
        self._include = globs.compile_patterns(rules.include)
        self._exclude = globs.compile_patterns(rules.exclude)
        self._named_files = [each for each in self._exclude if each.negates and each.names_a_file]
        self._parents = {folder for each in self._exclude if each.negates for folder in each.folders}

    @property
    def has_include(self) -> bool:
        """Whether only some files are copied, so that most directories would be empty."""
        return bool(self._include)

    def is_named(self, path: str) -> bool:
        """Whether a pattern with `!` names the file itself: it is copied, whatever it contains."""
        return (
            bool(self._named_files) and globs.last_match(self._named_files, path, is_folder=False) is not None
        )

    def is_on_the_way(self, path: str) -> bool:
        """Whether an excluded directory is entered, because the user named something below it."""
        return path in self._parents

    def exclusion(
        self, path: str, parent: Exclusion | None, ignore_files: Sequence[IgnoreFile], *, is_folder: bool
    ) -> Exclusion | None:
        """What excludes a path, or None when it is copied; `parent` excludes its directory."""
        exclusion = self._credential(path, parent, is_folder=is_folder) or self._other(
            path, parent, ignore_files, is_folder=is_folder
        )
        if exclusion is None and self._include and not is_folder and not globs.includes(self._include, path):
            return Exclusion(NOT_INCLUDED)
        return exclusion

    def _credential(self, path: str, parent: Exclusion | None, *, is_folder: bool) -> Exclusion | None:
        if parent is not None and parent.is_credential:
            exclusion = parent
        elif pattern := _CREDENTIALS.pattern_for(path, is_folder=is_folder):
            exclusion = Exclusion(pattern, is_credential=True)
        else:
            return None
        return None if not is_folder and self.is_named(path) else exclusion

    def _other(
        self, path: str, parent: Exclusion | None, ignore_files: Sequence[IgnoreFile], *, is_folder: bool
    ) -> Exclusion | None:
        if self._exclude and (own := globs.last_match(self._exclude, path, is_folder=is_folder)):
            return None if own.negates else Exclusion(own.text)
        if parent is not None:
            return parent
        if pattern := _GENERATED.pattern_for(path, is_folder=is_folder):
            return Exclusion(pattern)
        return _gitignored(path, ignore_files, is_folder=is_folder) if ignore_files else None


def _gitignored(path: str, ignore_files: Sequence[IgnoreFile], *, is_folder: bool) -> Exclusion | None:
    """The pattern of the nearest `.gitignore` file that matches."""
    for file in reversed(ignore_files):
        if match := globs.last_match(file.patterns, path[len(file.base) :], is_folder=is_folder):
            return None if match.negates else Exclusion(match.text)
    return None
