"""How things look on the terminal: data on stdout, messages on stderr, control characters escaped in both."""

import os
import re
import sys
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from runcard.cli.exit_codes import ExitCode
from runcard.cli.verbosity import is_quiet
from runcard.errors import EncodingError

if TYPE_CHECKING:
    from runcard.documents.findings import Finding
    from runcard.settings import Settings

# What JSON lets stand in a string although a terminal may act on it or hide it.
_UNSEEN = "[\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\U000e0000-\U000e007f]"

AS_JSON = "runcard.as_json"  # the key of --json in the context of a command

_COLOURS = {"Error": "\x1b[31m\x1b[1m", "Warning": "\x1b[33m\x1b[1m", "Note": "\x1b[1m"}
_PLAIN = "\x1b[0m"


def colour() -> bool | None:
    """Whether to use colours; None: on a terminal only.

    NO_COLOR wins over all others. FORCE_COLOR counts when it is not empty, CLICOLOR_FORCE when it is not 0 either.
    """
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR") or os.environ.get("CLICOLOR_FORCE", "0") not in {"", "0"}:
        return True
    return False if is_dumb() else None


def is_dumb() -> bool:
    """Whether the terminal can show lines of text only."""
    return os.environ.get("TERM") == "dumb"


def say(text: str) -> None:
    """Print a line of data to stdout."""
    _write(f"{_printable(text)}\n")


def say_text(text: str) -> None:
    """Print the lines of a text to stdout."""
    is_printable = text.replace("\n", "").isprintable()  # as most are: then no line has to be looked at
    lines = text.removesuffix("\n") if is_printable else "\n".join(map(_printable, text.splitlines()))
    _write(f"{lines}\n")


def say_done(text: str) -> None:
    """Print a line about success to stdout, unless --quiet is given."""
    if not is_quiet():
        say(text)


def _write(text: str, *, err: bool = False) -> None:
    """Write to stdout or stderr at once."""
    stream = sys.stderr if err else sys.stdout
    if not (stream.encoding or "").lower().startswith("utf"):
        import click  # noqa: PLC0415 - it knows what to do about other encodings

        click.echo(text, nl=False, err=err, color=True)
        return
    stream.write(text)
    stream.flush()


def say_note(text: str) -> None:
    """Print a remark to stderr, such as that there is nothing to print, and what to do about it, unless --quiet is given."""
    if not is_quiet():
        _write(f"{_printable(text)}\n", err=True)


def say_json(data: Any, *, on_one_line: bool = False) -> None:  # noqa: ANN401
    """Print data as JSON to stdout."""
    from json import dumps  # noqa: PLC0415

    from runcard.encoding import COMPACT, encode_json  # noqa: PLC0415

    encode = partial(encode_json, layout=COMPACT) if on_one_line else encode_json
    try:
        text = encode(data).decode()
    except EncodingError:
        text = encode(_in_utf8(data)).decode()
    _write(re.sub(_UNSEEN, lambda match: dumps(match[0])[1:-1], text))


def _in_utf8(data: Any) -> Any:  # noqa: ANN401
    """The same data with bytes of names that are not UTF-8 escaped."""
    from runcard.files import json_name  # noqa: PLC0415

    if isinstance(data, str):
        return json_name(data).text
    if isinstance(data, dict):
        return {json_name(key).text: _in_utf8(value) for key, value in data.items()}
    return [_in_utf8(value) for value in data] if isinstance(data, list | tuple) else data


def complain(
    label: str,
    message: str,
    *,
    hint: str | None = None,
    details: Sequence[str] = (),
    on_stdout: bool = False,
) -> None:
    """Print an error, a warning or a note to stderr, with lines of details and a hint below it; as part of a report to stdout."""
    is_coloured = colour()
    if is_coloured is None:
        is_coloured = (sys.stdout if on_stdout else sys.stderr).isatty()
    prefix = f"{_COLOURS[label]}{label}:{_PLAIN}" if is_coloured else f"{label}:"
    lines = [f"{prefix} {_printable(message)}", *(f"  {_printable(line)}" for line in details)]
    if hint:
        lines.append(f"  hint: {_printable(hint)}")
    _write("".join(f"{line}\n" for line in lines), err=not on_stdout)


def complain_about(finding: "Finding", path: str) -> None:
    """Print a finding and how to fix it."""
    complain(finding.severity.capitalize(), finding_line(finding, path), hint=finding.hint)


def complain_of_settings(settings: "Settings", code: ExitCode) -> ExitCode:
    """Print the warnings of the configuration files, such as unknown keys; the exit code with them.

    For commands that find or delete records by the settings: a misspelt key leads them to the wrong ones.
    """
    warnings = list(settings.warnings())
    for message, hint in warnings:
        complain("Warning", message, hint=hint)
    return ExitCode.WARNINGS if warnings and code == ExitCode.OK else code


def finding_line(finding: "Finding", path: str) -> str:
    """A finding as compilers print them: place, message, rule."""
    place = (path or "''") + (f":{finding.line}:{finding.column}" if finding.line else "")
    pointer = f" {finding.path}:" if finding.path else ""
    return f"{place}:{pointer} {finding.message} [{finding.rule}]"


def _printable(text: str) -> str:
    """A text on one line, with control characters escaped."""
    from runcard.files import printable  # noqa: PLC0415 - half as heavy as click, and help needs none

    return printable(text)


def note_uncovered(record: str) -> None:
    """Say that the signatures of a record do not cover how it was just amended, unless --quiet is given."""
    from runcard.operations.signatures.uncovered import uncovered_amendments  # noqa: PLC0415 - few records are amended

    if not is_quiet() and (uncovered := uncovered_amendments(record)) is not None:
        complain("Note", uncovered.message, hint=uncovered.hint)
