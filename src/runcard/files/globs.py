"""Match paths against patterns: globs, lists of names, and the syntax of `.gitignore`.

* Globs, as users type them: `*`, `?` and `[…]` within a name, `**` for any number of directories.
* Fixed lists of patterns without `**`, which match at any depth: fast enough to check every file of a large tree.
* `.gitignore` patterns, as users give them or as `.gitignore` files have them. The library `pathspec` decides what they
  mean; it is imported only if there is a pattern, since that takes longer than copying a thousand files.

Nothing here looks at the disk.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from fnmatch import fnmatchcase, translate
from typing import NamedTuple

from runcard.errors import UsageError
from runcard.files.names import printable

_WILDCARDS = "*?["
_UNESCAPED_WILDCARD = re.compile(r"(?<!\\)(?:\\\\)*[*?\[]")


def has_wildcard(text: str) -> bool:
    """Whether a text is a glob, and not a plain path."""
    return any(character in text for character in _WILDCARDS)


def name_matcher(pattern: str) -> Callable[[str], object]:
    """A function that tells whether a name matches a pattern without `/`."""
    return re.compile(translate(pattern)).match


def path_matches(pattern: Sequence[str], path: Sequence[str]) -> bool:
    """Whether a path, or a directory above it, matches a glob; both are split into their names."""
    matched = {0}  # how many names of the path the pattern may have matched so far
    for part in pattern:
        if part == "**":
            matched = {end for start in matched for end in range(start, len(path))}
        else:
            matched = {count + 1 for count in matched if count < len(path) and fnmatchcase(path[count], part)}
    return bool(matched)


class PatternList:
    """A fixed list of patterns, each of which matches at any depth."""

    def __init__(self, patterns: Iterable[str], *, any_case: bool) -> None:
        self._patterns = [_SplitPattern(pattern) for pattern in patterns]
        self._any_case = any_case
        names = "|".join(translate(each.names[0]) for each in self._patterns if len(each.names) == 1)
        paths = "|".join(translate("/".join(each.names)) for each in self._patterns if len(each.names) > 1)
        ends = [rf"(?>.*/|)(?:{names})"] * bool(names) + [rf"(?:.*/|)(?:{paths})"] * bool(paths)
        self._may_match = re.compile(f"(?s:{'|'.join(ends)})").match

    def pattern_for(self, path: str, *, is_folder: bool) -> str | None:
        """The first pattern that matches a path."""
        if self._any_case:
            path = path.lower()
        if self._may_match(path) is None:
            return None
        names = path.split("/")
        return next(
            (pattern.text for pattern in self._patterns if pattern.matches(names, is_folder=is_folder)), None
        )


class _SplitPattern:
    """A pattern split into names; one that ends with `/` matches directories only."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._folders_only = text.endswith("/")
        self.names = text.rstrip("/").split("/")

    def matches(self, path: list[str], *, is_folder: bool) -> bool:
        tail = path[-len(self.names) :]
        return (
            (is_folder or not self._folders_only)
            and len(tail) == len(self.names)
            and all(map(fnmatchcase, tail, self.names))
        )


class IgnorePattern(NamedTuple):
    """A pattern in the syntax of `.gitignore`; `negates` if it begins with `!`."""

    text: str
    regex: re.Pattern[str]
    negates: bool

    @property
    def body(self) -> str:
        return self.text[1:] if self.negates else self.text

    @property
    def names_a_file(self) -> bool:
        """Whether it names a file itself: no wildcard, and not a directory."""
        return _UNESCAPED_WILDCARD.search(self.body) is None and not self.body.endswith("/")

    @property
    def folders(self) -> list[str]:
        """The directories, from the root, that it names without a wildcard."""
        names = self.body.lstrip("/").split("/")[:-1]
        literal = next(
            (index for index, name in enumerate(names) if _UNESCAPED_WILDCARD.search(name)), len(names)
        )
        return ["/".join(names[: depth + 1]) for depth in range(literal)]


def check_patterns(texts: Iterable[str]) -> None:
    """Raise UsageError for a malformed pattern."""
    compile_patterns(tuple(texts))


def compile_patterns(texts: Sequence[str]) -> list[IgnorePattern]:
    """The user's patterns; raises UsageError for a malformed one."""
    patterns = []
    for text in texts:
        pattern = _compile(text)
        if pattern is not None:
            patterns.append(pattern)
        elif text.strip() and not text.startswith("#"):
            raise UsageError(
                f"the pattern {printable(text)!r} is malformed",
                hint="write it as in .gitignore: close every [, put no single backslash at the end",
            )
    return patterns


def parse_gitignore(text: str) -> list[IgnorePattern]:
    """The patterns of a `.gitignore` file; a malformed line is ignored, as git does."""
    lines = (line.removesuffix("\r") for line in text.split("\n"))
    return [pattern for pattern in map(_compile, lines) if pattern is not None]


def last_match(patterns: Sequence[IgnorePattern], path: str, *, is_folder: bool) -> IgnorePattern | None:
    """The last pattern that matches `path` itself, which decides; directories above it were checked before."""
    text = _without_newlines(path) + "/" * is_folder
    for pattern in reversed(patterns):
        match = pattern.regex.match(text)
        # Its only group, if any, is the `/` after a directory. If the match ends earlier, a directory above matched.
        if match is not None and (match.lastindex is None or match.end() == len(text)):
            return pattern
    return None


def includes(patterns: Sequence[IgnorePattern], path: str) -> bool:
    """Whether a list of files to include has a file; if its first pattern begins with `!`, all others are included."""
    text = _without_newlines(path)
    for pattern in reversed(patterns):
        if pattern.regex.match(text):
            return not pattern.negates
    return patterns[0].negates


def _without_newlines(path: str) -> str:
    """The regular expressions of `pathspec` do not expect a newline: replace it with NUL, which no name contains."""
    return path.replace("\n", "\0")


def _compile(text: str) -> IgnorePattern | None:
    if not text.strip() or text.startswith("#") or "\0" in text or "\n" in text:
        return None
    from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern  # noqa: PLC0415 - see above

    try:
        pattern = GitIgnoreSpecPattern(text)
    except (ValueError, re.error):
        return None
    if pattern.regex is None:
        return None
    return IgnorePattern(text, pattern.regex, negates=not pattern.include)
