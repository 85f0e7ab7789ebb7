"""Error recovery: makes the most of a text with syntax errors, or with Ruby that is newer than the grammar.

The text is split by indentation into statements. Valid statements stay. Of an invalid class, method or block the inner
statements are tried one by one; what is still invalid is blanked. So one bad line costs that line, not the file. A text
without usable indentation is left as it is.

Invariant: every line that stays keeps its number.
"""

import re
from itertools import pairwise

from runcard.plans.ruby.syntax_tree import Code

_MAX_SIZE = 500_000  # bytes; larger files are not written by hand
_EFFORT = 20  # a text is parsed again for at most so many times its length
_MAX_DEPTH = 50
_CLOSER = re.compile(r"[ \t]*(?:(?:end|else|elsif|when|in|rescue|ensure)\b|[}\])]|&?\.\w)")
_LAST = re.compile(r"[ \t]*(?:end\b|\})")
_NAMED = re.compile(r"([ \t]*(?:class|module|def)[ \t]+[^\s(;<=]+(?:=(?=[ \t]*\())?)")
_OPENER = re.compile(r"[ \t]*(?:class|module|def|begin)\b|.*(?:\bdo|\{)[ \t]*(?:\|[^|]*\|)?[ \t]*(?:#.*)?$")
# Lines that do not open anything, although the lines below are indented deeper: `private` as some write it, conflict
# markers, stray closing brackets.
_OUTDENTED = re.compile(
    r"[ \t]*(?:(?:private|protected|public|module_function|end)[ \t]*(?:#.*)?$|[\"'`(){}\[\]]+[ \t]*$)"
    r"|(?:<{7}|={7}|>{7}|\|{7})(?: |$)"
)
_BARE = re.compile(r"[ \t]*(?:class|module)\b|.*\bdo[ \t]*$")  # lines that always have a body
_HEREDOC = re.compile(r"(?<!class )(?<!class)<<[~-]?([\"'`]?)([A-Za-z_]\w*)\1")


class _NoRecoveryError(Exception):
    """Recovery would take too long, or the indentation is not usable."""


def recover(code: Code, *, is_needed: bool) -> tuple[Code, list[int]]:
    """The better of the given tree and the one of the recovered text, with the lines that were dropped.

    If recovery is not needed, because all errors seem to be inside methods, the recovered tree must have more
    definitions to be better.
    """
    if len(code.text) > _MAX_SIZE:
        return code, []
    recovery = _Recovery(code.text.decode())
    plain = recovery.code()  # without the part after `__END__`
    try:
        recovery.recover(0, len(recovery.lines))
    except _NoRecoveryError:
        return plain, []
    better = recovery.code()
    (definitions, blocks), (before, blocks_before) = better.count(), plain.count()
    if definitions < before + (not is_needed) or (recovery.lost_most() and blocks < blocks_before):
        return plain, []
    return better, recovery.dropped_lines


class _Recovery:
    def __init__(self, text: str) -> None:
        self.lines = text.split("\n")
        self.dropped_lines: list[int] = []
        self._full = sum(map(_is_code, self.lines))
        self._left = _EFFORT * len(text)
        self._in_text = self._text_lines()

    def recover(self, first: int, last: int, depth: int = 0) -> None:
        """Make the lines from `first` up to `last` valid."""
        for start, stop in self._statements(first, last):
            if not self._is_valid(start, stop):
                self._recover_statement(start, stop, depth)

    def code(self) -> Code:
        return Code("\n".join(self.lines).encode())

    def lost_most(self) -> bool:
        return sum(map(_is_code, self.lines)) < self._full / 2

    def _recover_statement(self, start: int, stop: int, depth: int) -> None:
        """Keep as much as possible of an invalid statement."""
        before = len(self.dropped_lines)
        if depth < _MAX_DEPTH and _OPENER.match(self.lines[start]):
            closed = (
                stop - start > 1 and bool(_LAST.match(self.lines[stop - 1])) and self._is_out(start, stop - 1)
            )
            self.recover(start + 1, stop - 1 if closed else stop, depth + 1)
            if not closed and stop - start == 1 and not depth and _BARE.match(self.lines[start]):
                raise _NoRecoveryError
            closing = "" if closed else "; end"
            self.lines[stop - 1] += closing
            if self._is_valid(start, stop):
                if len(self.dropped_lines) == before:
                    self.dropped_lines.append(start + 1)  # it has no `end`
                return
            if named := _NAMED.match(self.lines[start]):  # only the name is certain
                self.dropped_lines.append(start + 1)
                self.lines[start] = named[1] + (closing if stop - start == 1 else "")
                if self._is_valid(start, stop):
                    return
        self.dropped_lines.append(start + 1)
        self.lines[start:stop] = [""] * (stop - start)

    def _statements(self, first: int, last: int) -> list[tuple[int, int]]:
        """Ranges of lines: lines that are indented deeper, or that close, belong to the line above."""
        starts: list[int] = []
        base: int | None = None
        rows = [row for row in range(first, last) if _is_code(self.lines[row]) and row not in self._in_text]
        for row, below in pairwise([*rows, last]):
            line = self.lines[row]
            indent = _indent(line)
            if (
                below < last
                and _OUTDENTED.match(line)
                and (next_indent := _indent(self.lines[below])) > indent
            ):
                if base is None or indent < base >= next_indent:
                    starts.append(row)
            elif base is None or (indent <= base and not _CLOSER.match(line)):
                starts.append(row)
                base = indent
        return [(start, self._end(start, stop)) for start, stop in pairwise([*starts, last])]

    def _end(self, start: int, stop: int) -> int:
        while stop - 1 > start and not _is_code(self.lines[stop - 1]):
            stop -= 1
        return stop

    def _is_out(self, start: int, last: int) -> bool:
        return _indent(self.lines[last]) <= _indent(self.lines[start])

    def _is_valid(self, start: int, stop: int) -> bool:
        text = "\n".join(self.lines[start:stop])
        self._left -= len(text)
        if self._left < 0:
            raise _NoRecoveryError
        return Code(text.encode()).is_valid

    def _text_lines(self) -> set[int]:
        """The lines of here-documents and block comments; blanks everything after `__END__`."""
        text_lines: set[int] = set()
        waiting: list[str] = []
        last = {line.strip(): row for row, line in enumerate(self.lines)}  # the last row with this text alone
        for row, line in enumerate(self.lines):
            if waiting:
                text_lines.add(row)
                if line.strip() == waiting[0]:
                    del waiting[0]
            elif line == "__END__":
                self.lines[row:] = [""] * (len(self.lines) - row)
                break
            elif line.startswith("=begin"):
                text_lines.add(row)
                waiting = ["=end"]
            else:
                waiting = [name for _, name in _HEREDOC.findall(line) if last.get(name, row) > row]
        return text_lines


def _is_code(line: str) -> bool:
    text = line.lstrip()
    return bool(text) and not text.startswith("#")


def _indent(line: str) -> int:
    line = line.expandtabs()
    return len(line) - len(line.lstrip())
