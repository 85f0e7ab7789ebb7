"""The width of generated specs: lines fit into what the project's `.rubocop.yml` allows, where Ruby can be broken."""

import os
import re
import textwrap
from collections.abc import Iterable, Iterator
from contextlib import suppress

from runcard.encoding.yaml import decode_yaml
from runcard.errors import RuncardError
from runcard.files import read_file

DEFAULT_WIDTH = 120  # of rubocop
_MIN_WIDTH = 40
_MAX_SIZE = 1 << 20
_COPS = ("Layout/LineLength", "Metrics/LineLength")
_COMMENT = re.compile(r"( *)# (.+)")
_WITH_COMMENT = re.compile(
    r"( *)((?:let|subject)\(:\w+\) \{ .* \}|get .*) (# (?:TODO: [^'\"]+|includes [\w:]+))"
)
_TAGGED = re.compile(r"( *)(context (['\"]).*\3), (plan: '[^',\\]*' do)")
_BLOCK = re.compile(r"( *)((?:let|subject)\(:\w+\)) \{ (.+) \}")


def max_line_length(root: str) -> int:
    """The width that rubocop allows in a project, from its own file or one that this inherits from."""
    known = _rubocop(root, ".rubocop.yml")
    inherited = known.get("inherit_from")
    names = inherited if isinstance(inherited, list) else [inherited]
    others = [_rubocop(root, name) for name in reversed(names) if isinstance(name, str)]
    for settings in (known, *others):
        for cop in _COPS:
            options = settings.get(cop)
            width = options.get("Max") if isinstance(options, dict) else None
            if isinstance(width, int) and not isinstance(width, bool) and width > 0:
                return max(width, _MIN_WIDTH)
    return DEFAULT_WIDTH


def _rubocop(root: str, name: str) -> dict[str, object]:
    path = os.path.normpath(os.path.join(root, name))
    with suppress(RuncardError):
        if path.startswith(os.path.join(root, "")) and os.path.isfile(path):
            data = decode_yaml(read_file(path, _MAX_SIZE, only_regular=True))
            return data if isinstance(data, dict) else {}
    return {}


def fitted(lines: Iterable[str], width: int) -> Iterator[str]:
    """The lines of a skeleton, those that are too long broken where that changes nothing."""
    for line in lines:
        yield from _fitted(line, width) if len(line) > width else (line,)


def _fitted(line: str, width: int) -> Iterator[str]:
    if match := _COMMENT.fullmatch(line):
        indent = match[1]
        yield from textwrap.wrap(
            match[2],
            width,
            initial_indent=f"{indent}# ",
            subsequent_indent=f"{indent}#   ",
            break_long_words=False,
            break_on_hyphens=False,
        )
    elif match := _TAGGED.fullmatch(line):
        yield f"{match[1]}{match[2]},"
        yield f"{match[1]}        {match[4]}"
    elif match := _WITH_COMMENT.fullmatch(line):
        yield from fitted((f"{match[1]}{match[3]}", f"{match[1]}{match[2]}"), width)
    elif match := _BLOCK.fullmatch(line):
        yield from (f"{match[1]}{match[2]} do", f"{match[1]}  {match[3]}", f"{match[1]}end")
    else:
        yield line
