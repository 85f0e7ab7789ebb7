"""Fill configuration values into the arguments of a command: `runcard run --template-args`.

`{name}` stands for a value, `{a.b}` for one in an object; `{{` and `}}` stand for braces. A text is filled in as it is,
every other value as JSON.

Invariant: a value that is masked in the recorded configuration is masked in the recorded command as well, also if the
command alone would not show that it is a secret.
"""

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from runcard.encoding import COMPACT, JsonObject, encode_json
from runcard.errors import UsageError
from runcard.files import printable
from runcard.masking import mask_data
from runcard.masking.marks import add_counts

_BRACES = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")


class FilledCommand(NamedTuple):
    """A command with its values, the same as it may be recorded, and how often each rule masked a value."""

    arguments: list[str]
    recorded: list[str]
    masked_counts: dict[str, int]


def fill_command(command: Sequence[str], configuration: JsonObject) -> FilledCommand:
    """Fill in the values; raises UsageError for a name that the configuration does not have."""
    counts: dict[str, int] = {}
    words = [_fill(word, configuration, counts) for word in command]
    return FilledCommand([word for word, _ in words], [recorded for _, recorded in words], counts)


def _fill(word: str, configuration: JsonObject, counts: dict[str, int]) -> tuple[str, str]:
    real, recorded, end = "", "", 0
    for match in _BRACES.finditer(word):
        plain = word[end : match.start()]
        if match[1] is not None:
            text, masked = _texts(match[1], word, configuration, counts)
        elif len(match[0]) > 1:
            text = masked = match[0][0]
        else:
            raise UsageError(
                f"--template-args: {printable(word)} has a single {match[0]}",
                hint="write {{ and }} for braces",
            )
        real, recorded, end = real + plain + text, recorded + plain + masked, match.end()
    return real + word[end:], recorded + word[end:]


def _texts(name: str, word: str, configuration: JsonObject, counts: dict[str, int]) -> tuple[str, str]:
    """The text of a value, and the one to record."""
    names = [name] if name in configuration else name.split(".")
    value: Any = configuration
    for part in names:
        if not isinstance(value, dict) or part not in value:
            raise _unknown_name(name, word)
        value = value[part]
    text = _as_text(value)
    if "\0" in text:
        raise UsageError(
            f"--template-args: the value of {printable(name)} has a NUL character",
            hint="no argument of a command can have one",
        )
    masked = mask_data(_nested(names, value))
    add_counts(counts, masked.counts)
    recorded = masked.value
    for _ in names:
        (recorded,) = recorded.values()
    return text, _as_text(recorded)


def _unknown_name(name: str, word: str) -> UsageError:
    set_it = f"set it with --set {name}=…, or " if re.fullmatch(r"[\w.-]+", name) else ""
    return UsageError(
        f"--template-args: {printable(word)}: the configuration has no {printable(name)!r}",
        hint=f"{set_it}write {{{{ and }}}} for braces",
    )


def _nested(names: list[str], value: Any) -> Any:  # noqa: ANN401
    """An object that has only this value, under these names."""
    for name in reversed(names):
        value = {name: value}
    return value


def _as_text(value: Any) -> str:  # noqa: ANN401
    return value if isinstance(value, str) else encode_json(value, COMPACT).decode().strip()
