"""Patterns in the syntax of `.gitignore`, as the user gives them or as `.gitignore` files have them.

The library `pathspec` says what a pattern means; it is loaded only when there is one, since that takes longer than to
copy a thousand files. A name may have a newline in it, which its regular expressions do not expect: a NUL stands for it,
which no name has.

Invariant: `last` matches what lies at a path itself; what lies above it has been judged before.
"""

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from runcard.errors import UsageError
from runcard.files import printable

_WILD = re.compile(r"(?<!\\)(?:\\\\)*[*?\[]")


class Pattern(NamedTuple):
    """One pattern; `negates` when it begins with `!`."""

    text: str
    regex: re.Pattern[str]
    negates: bool

    @property
    def body(self) -> str:
        return self.text[1:] if self.negates else self.text

    @property
    def names_a_file(self) -> bool:
        """Whether it names files themselves: without a wildcard, and not as a directory."""
        return _WILD.search(self.body) is None and not self.body.endswith("/")

    @property
    def folders(self) -> list[str]:
        """The directories that it spells out on its way from the root."""
        names = self.body.lstrip("/").split("/")[:-1]
        literal = next((index for index, name in enumerate(names) if _WILD.search(name)), len(names))
        return ["/".join(names[: depth + 1]) for depth in range(literal)]


def check_patterns(texts: Iterable[str]) -> None:
    """Raise UsageError for a pattern that means nothing."""
    compiled(tuple(texts))


def compiled(texts: Sequence[str]) -> list[Pattern]:
    """The user's patterns; raises UsageError for one that means nothing."""
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


def from_file(text: str) -> list[Pattern]:
    """The patterns of a `.gitignore` file; like git, it passes over a line that means nothing."""
    lines = (line.removesuffix("\r") for line in text.split("\n"))
    return [pattern for pattern in map(_compile, lines) if pattern is not None]


def last(patterns: Sequence[Pattern], path: str, *, is_folder: bool) -> Pattern | None:
    """The last pattern that matches what lies at `path` itself: it decides."""
    text = path.replace("\n", "\0") + "/" * is_folder
    for pattern in reversed(patterns):
        match = pattern.regex.match(text)
        # Its one group, if any, is the `/` behind a directory: further on, the match is of a directory above.
        if match is not None and (match.lastindex is None or match.end() == len(text)):
            return pattern
    return None


def includes(patterns: Sequence[Pattern], path: str) -> bool:
    """Whether a list of what is wanted wants a file; one that begins with `!` wants everything else."""
    text = path.replace("\n", "\0")
    for pattern in reversed(patterns):
        if pattern.regex.match(text):
            return not pattern.negates
    return patterns[0].negates


def _compile(text: str) -> Pattern | None:
    if not text.strip() or text.startswith("#") or "\0" in text or "\n" in text:
        return None
    from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern  # noqa: PLC0415 - see above

    try:
        pattern = GitIgnoreSpecPattern(text)
    except (ValueError, re.error):
        return None
    if pattern.regex is None:
        return None
    return Pattern(text, pattern.regex, negates=not pattern.include)
