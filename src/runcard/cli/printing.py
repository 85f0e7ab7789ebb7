"""How things look on the terminal: colours only there, data on stdout, messages on stderr, nothing hostile anywhere."""

import os
import re
from functools import partial
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from runcard.documents.findings import Finding
    from runcard.errors import ExitCode
    from runcard.settings import Settings

# What JSON lets stand in a string although a terminal may act on it or hide it.
_UNSEEN = re.compile("[\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\U000e0000-\U000e007f]")

AS_JSON = "runcard.as_json"  # where a context keeps whether --json was said

_COLOURS = {"Error": "red", "Warning": "yellow"}


def colour() -> bool | None:
    """Whether to colour: click decides by the terminal, unless the user said no or it is one that cannot."""
    return False if os.environ.get("NO_COLOR") or is_dumb() else None


def is_dumb() -> bool:
    """Whether the terminal says that it takes lines of text and nothing else."""
    return os.environ.get("TERM") == "dumb"


def say(text: str) -> None:
    """A line of data."""
    click.echo(_harmless(text), color=colour())


def say_json(data: Any, *, on_one_line: bool = False) -> None:  # noqa: ANN401
    """Data for machines, on stdout."""
    from json import dumps  # noqa: PLC0415

    from runcard.encoding import COMPACT, encode_json  # noqa: PLC0415
    from runcard.errors import EncodingError  # noqa: PLC0415

    encode = partial(encode_json, layout=COMPACT) if on_one_line else encode_json
    try:
        text = encode(data).decode()
    except EncodingError:
        text = encode(_in_utf8(data)).decode()
    click.echo(_UNSEEN.sub(lambda match: dumps(match[0])[1:-1], text), nl=False)


def _in_utf8(data: Any) -> Any:  # noqa: ANN401
    """The same data with stray bytes of names escaped, so that no name keeps anybody from an answer."""
    from runcard.files import json_name  # noqa: PLC0415

    if isinstance(data, str):
        return json_name(data).text
    if isinstance(data, dict):
        return {json_name(key).text: _in_utf8(value) for key, value in data.items()}
    return [_in_utf8(value) for value in data] if isinstance(data, list | tuple) else data


def complain(word: str, message: str, *, hint: str | None = None) -> None:
    """A message for people, on stderr."""
    label = click.style(f"{word}:", fg=_COLOURS[word], bold=True)
    click.echo(f"{label} {_harmless(message)}", err=True, color=colour())
    if hint:
        click.echo(f"  hint: {_harmless(hint)}", err=True, color=colour())


def complain_about(found: "Finding", path: str) -> None:
    """A finding, and how to mend it."""
    complain(found.severity.capitalize(), finding_line(found, path), hint=found.hint)


def complain_of_settings(settings: "Settings", code: "ExitCode") -> "ExitCode":
    """Say what stands in the file of settings and nobody reads; the exit code that this makes of `code`.

    For commands to which the settings tell where records lie or what becomes of them: a misspelt key sends them astray.
    """
    from runcard.errors import ExitCode  # noqa: PLC0415

    warnings = list(settings.warnings())
    for message, hint in warnings:
        complain("Warning", message, hint=hint)
    return ExitCode.WARNINGS if warnings and code == ExitCode.OK else code


def finding_line(found: "Finding", path: str) -> str:
    """A finding as compilers print them: where, what, which rule."""
    place = (path or "''") + (f":{found.line}:{found.column}" if found.line else "")
    pointer = f" {found.path}:" if found.path else ""
    return f"{place}:{pointer} {found.message} [{found.rule}]"


def _harmless(text: str) -> str:
    """A text on one line; whoever prints need not ask where each part of it comes from."""
    from runcard.files import printable  # noqa: PLC0415

    return printable(text)
