"""A session file of an agent tool, or a folder of them, that was given where a SPEC is needed."""

import os

from runcard.errors import RuncardError, StoreError
from runcard.files import FileKind, NotRegularFileError, open_regular, printable, walk
from runcard.transcripts.sources import SESSION_TOOLS, detect
from runcard.views.formats import command_line

_MOST_ENTRIES = 20_000  # of a folder that are looked at
_MOST_FILES = 200  # of them that are opened
_FIRST_BYTES = {".db": b"SQLite format 3\0", ".zst": b"\x28\xb5\x2f\xfd"}  # of formats that are no text


def transcript_error(path: str) -> StoreError | None:
    """The error for a path that has sessions of agent tools, with the command that imports them; None for any other."""
    is_folder = os.path.isdir(path)
    try:
        tools = _tools_in(path) if is_folder else [tool] if (tool := _tool_of(path)) else []
    except RuncardError:  # the folder cannot be read
        return None
    if not tools:
        return None
    what = "a folder with sessions" if is_folder else "a session file"
    names = " and ".join(SESSION_TOOLS[name].TITLE for name in tools)
    word = os.path.join(os.curdir, path) if path.startswith("-") else path  # not taken for an option
    commands = [command_line(["runcard", "import", name, word]) for name in tools]
    return StoreError(
        f"{printable(path)} is {what} of {names}, not a SPEC", hint=f"to store it: {'; '.join(commands)}"
    )


def _tools_in(folder: str) -> list[str]:
    """The tools that have session files in a folder, as far as it was looked at, in the order of their names."""
    tools: set[str] = set()
    opened = 0
    for number, (name, kind) in enumerate(walk(folder, on_error=lambda path, error: None)):  # noqa: ARG005
        path = os.path.join(folder, name)
        if number >= _MOST_ENTRIES or opened >= _MOST_FILES:
            break
        if kind is FileKind.FILE and any(source.is_session_file(path) for source in SESSION_TOOLS.values()):
            opened += 1
            tools |= {tool} if (tool := _tool_of(path)) else set()
    return sorted(tools)


def _tool_of(path: str) -> str | None:
    """The tool that wrote a file, by its first bytes; None for any other file."""
    expected = _FIRST_BYTES.get(os.path.splitext(path)[1])
    if expected is not None:
        try:
            with open(open_regular(path, follow=True), "rb") as file:
                if file.read(len(expected)) != expected:
                    return None
        except (OSError, NotRegularFileError):
            return None
    return detect(path, list(SESSION_TOOLS))
