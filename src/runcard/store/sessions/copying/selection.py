"""Whether what lies at a path is copied.

Credentials come first: only a pattern with `!` that names the file itself brings one back. Then the user's own patterns
decide, then the list of rubbish, then `.gitignore` files where they count, then what the user wants at all. So a file in
the workspace can leave out more, and never less than the user said.

Invariant: below a directory that is left out, only what the user's `!` patterns spell out is copied.
"""

from collections.abc import Sequence
from typing import NamedTuple

from runcard.files import globs
from runcard.store.sessions.copying.default_excludes import CREDENTIALS, RUBBISH
from runcard.store.sessions.copying.options import CopyRules

NOT_INCLUDED = "not included"  # in the place of a pattern, for what no pattern of the user wants

_CREDENTIALS = globs.PatternList(CREDENTIALS, any_case=True)
_RUBBISH = globs.PatternList(RUBBISH, any_case=False)


class LeftOut(NamedTuple):
    """The pattern that leaves something out, and whether it is one for credentials."""

    pattern: str
    is_credential: bool = False


class IgnoreFile(NamedTuple):
    """The patterns of a `.gitignore` file, and the path of its directory with a `/`, or nothing."""

    base: str
    patterns: Sequence[globs.IgnorePattern]


class Judge:
    """The rules of one copy; raises UsageError for a malformed pattern."""

    def __init__(self, rules: CopyRules) -> None:
        self._include = globs.compile_patterns(rules.include)
        self._exclude = globs.compile_patterns(rules.exclude)
        self._named = [each for each in self._exclude if each.negates and each.names_a_file]
        self._on_the_way = {folder for each in self._exclude if each.negates for folder in each.folders}

    @property
    def is_choosy(self) -> bool:
        """Whether only some files are wanted, so that most directories would be empty."""
        return bool(self._include)

    def is_named(self, path: str) -> bool:
        """Whether a pattern with `!` names the file itself: the user wants it, whatever it holds."""
        return bool(self._named) and globs.last_match(self._named, path, is_folder=False) is not None

    def leads_on(self, path: str) -> bool:
        """Whether a directory is entered although it is left out: the user named something below it."""
        return path in self._on_the_way

    def verdict(
        self, path: str, above: LeftOut | None, ignored: Sequence[IgnoreFile], *, is_folder: bool
    ) -> LeftOut | None:
        """Why it is left out, or None; `above` says why its directory is."""
        verdict = self._credential(path, above, is_folder=is_folder) or self._other(
            path, above, ignored, is_folder=is_folder
        )
        if verdict is None and self._include and not is_folder and not globs.includes(self._include, path):
            return LeftOut(NOT_INCLUDED)
        return verdict

    def _credential(self, path: str, above: LeftOut | None, *, is_folder: bool) -> LeftOut | None:
        if above is not None and above.is_credential:
            found = above
        elif pattern := _CREDENTIALS.pattern_for(path, is_folder=is_folder):
            found = LeftOut(pattern, is_credential=True)
        else:
            return None
        return None if not is_folder and self.is_named(path) else found

    def _other(
        self, path: str, above: LeftOut | None, ignored: Sequence[IgnoreFile], *, is_folder: bool
    ) -> LeftOut | None:
        if self._exclude and (own := globs.last_match(self._exclude, path, is_folder=is_folder)):
            return None if own.negates else LeftOut(own.text)
        if above is not None:
            return above
        if pattern := _RUBBISH.pattern_for(path, is_folder=is_folder):
            return LeftOut(pattern)
        return _ignored(path, ignored, is_folder=is_folder) if ignored else None


def _ignored(path: str, ignored: Sequence[IgnoreFile], *, is_folder: bool) -> LeftOut | None:
    """What the nearest `.gitignore` file says that says anything."""
    for file in reversed(ignored):
        if found := globs.last_match(file.patterns, path[len(file.base) :], is_folder=is_folder):
            return None if found.negates else LeftOut(found.text)
    return None
