"""The tools by name, and their files: in the folders of the tools, or in those that the user names.

Links below a folder are not followed, and nothing but regular files is opened. What is left out for that reason is named.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol

from runcard.errors import RuncardError, StoreError
from runcard.files import FileKind, NotRegularFileError, open_regular, printable, unreadable, walk
from runcard.transcripts import claude_code, codex, gemini, madrox, opencode
from runcard.transcripts.activity import SessionActivity, SessionFiles
from runcard.transcripts.content import FileContent, TranscriptFile, UnreadPart, decode_record
from runcard.transcripts.line_reader import LONGEST, open_lines

if TYPE_CHECKING:
    from runcard.transcripts.reading import TranscriptCalls

ALL = "all"
_PART = 32 << 20  # bytes of a large file that are read at once, where its lines do not depend on each other
_BOM = b"\xef\xbb\xbf"
_LINK = "a symbolic link, not followed"
_SAMPLES = ("a.jsonl", "chats/a.jsonl", "message/a/b.json")  # what may be in a folder of sessions


class NoSessionsError(StoreError):
    """There is no session where it was looked for."""


class AgentTool(Protocol):
    """The module of a tool."""

    NAME: str
    TITLE: str
    IS_DIVISIBLE: bool  # whether parts of a file can be read by themselves

    @property
    def NOT_WRITTEN(self) -> tuple[str, ...]:  # noqa: N802 - a constant; kinds of calls that are in no file of the tool
        ...

    def folders(self, environ: Mapping[str, str]) -> list[str]: ...
    def subfolders(self, folder: str) -> list[str]: ...
    def is_session_file(self, path: str) -> bool: ...
    def is_session_record(self, record: Mapping[str, Any]) -> bool: ...
    def read(self, path: str, file: BinaryIO, start: int = 0, end: int | None = None) -> FileContent: ...


class SessionTool(AgentTool, Protocol):
    """The module of a tool whose sessions can be imported: with what its files say beside the calls."""

    def sessions(
        self, files: Sequence[TranscriptFile]
    ) -> tuple[list[SessionFiles], list[UnreadPart]]: ...  # the files of each session, the main one first
    def read_activity(self, files: SessionFiles, activity: SessionActivity) -> list[UnreadPart]: ...


class TeamTool(SessionTool, Protocol):
    """The module of a tool that runs agents of other tools: the calls are in the session files of these."""

    def agent_calls(self, sessions: Sequence[SessionFiles]) -> "TranscriptCalls": ...
    def workspaces(self, files: SessionFiles) -> dict[str, str]: ...  # the folder of each agent, by its id
    def export(self, files: SessionFiles) -> Iterator[bytes]: ...
    def is_exported(self, path: str) -> bool: ...  # whether `export` has what is stored of a file


TEAM_TOOLS: dict[str, TeamTool] = {madrox.NAME: madrox}
SESSION_TOOLS: dict[str, SessionTool] = {
    tool.NAME: tool for tool in (claude_code, codex, gemini, opencode, madrox)
}
SOURCES: dict[str, AgentTool] = {source.NAME: source for source in (claude_code, codex, gemini, opencode)}


def find_files(
    tools: Sequence[str], paths: Sequence[str], environ: Mapping[str, str] | None = None
) -> tuple[list[TranscriptFile], list[UnreadPart]]:
    """The session files of these tools, and what was left out: in `paths`, or in the tools' own folders.

    Raises StoreError where there are none, which says where they were looked for.
    """
    files: dict[str, TranscriptFile] = {}
    unread: list[UnreadPart] = []
    folders = _named_folders(tools, paths, files) if paths else _own_folders(tools, environ)
    is_mixed = bool(paths) and len(tools) > 1  # sessions of several tools in one folder
    for tool, folder in folders:
        for found in below(tool, folder, unread):
            if found.path not in files:
                files[found.path] = _detected(found, tools, unread) if is_mixed else found
    files = {path: file for path, file in files.items() if file.tool}
    if not files and not unread:
        raise _nothing_found(tools, [folder for _, folder in folders] or list(paths))
    parts = [part for path in sorted(files) for part in _parts(files[path])]
    return parts, list(dict.fromkeys(unread))


def own_files(
    tool: str, environ: Mapping[str, str] | None = None
) -> tuple[list[TranscriptFile], list[UnreadPart]]:
    """The session files in a tool's own folders, whole, and what was left out. Nothing is opened but folders."""
    files: dict[str, TranscriptFile] = {}
    unread: list[UnreadPart] = []
    for _, folder in _own_folders([tool], environ):
        try:
            files |= {file.path: file for file in below(tool, folder, unread)}
        except RuncardError as error:  # the folder itself cannot be read
            unread.append(UnreadPart(folder, None, error.message))
    return list(files.values()), unread


def _detected(file: TranscriptFile, tools: Sequence[str], unread: list[UnreadPart]) -> TranscriptFile:
    """The same file for the tool that wrote it; for no tool where that is not known."""
    tool = detect(file.path, tools)
    if tool is None:
        unread.append(UnreadPart(file.path, None, "its first record is of no known tool"))
    return file._replace(tool=tool or "")


def _own_folders(tools: Sequence[str], environ: Mapping[str, str] | None) -> list[tuple[str, str]]:
    variables = os.environ if environ is None else environ
    return [(tool, folder) for tool in tools for folder in SESSION_TOOLS[tool].folders(variables)]


def _named_folders(
    tools: Sequence[str], paths: Sequence[str], files: dict[str, TranscriptFile]
) -> list[tuple[str, str]]:
    """The folders that the user names; a file goes to `files`, for the tool that wrote it."""
    folders = []
    for path in paths:
        if os.path.isdir(path):
            folders += [(tool, folder) for tool in tools for folder in SESSION_TOOLS[tool].subfolders(path)]
            continue
        try:
            with open(open_regular(path, follow=True), "rb") as file:
                size = os.fstat(file.fileno()).st_size
        except OSError as error:
            raise unreadable(error, path) from error
        tool = tools[0] if len(tools) == 1 else detect(path, tools)
        if tool is None:
            raise StoreError(
                f"{printable(path)} is no session file of a known tool",
                hint=f"name its tool: --source {' or --source '.join(tools)}",
            )
        files[path] = TranscriptFile(tool, path, size)
    return folders


def below(tool: str, folder: str, unread: list[UnreadPart]) -> Iterator[TranscriptFile]:
    """The session files of a tool below a folder; none where there is no such folder."""
    if not os.path.isdir(folder):
        return

    def note(path: str, error: RuncardError) -> None:
        unread.append(UnreadPart(os.path.join(folder, path), None, error.message))

    source = SESSION_TOOLS[tool]
    for name, kind in walk(folder, on_error=note):
        path = os.path.join(folder, name)
        if kind is FileKind.SYMLINK and _is_other_folder(source, folder, path):
            unread.append(UnreadPart(path, None, _LINK))
            continue
        if kind is FileKind.DIRECTORY or not source.is_session_file(path):
            continue
        if kind is not FileKind.FILE:
            unread.append(UnreadPart(path, None, _LINK if kind is FileKind.SYMLINK else "not a regular file"))
            continue
        try:
            size = os.lstat(path).st_size
        except OSError:
            continue  # it was deleted meanwhile
        yield TranscriptFile(tool, path, size)


def _is_other_folder(source: AgentTool, folder: str, link: str) -> bool:
    """Whether a link is to a folder elsewhere, which may have sessions."""
    if not os.path.isdir(link) or not any(
        source.is_session_file(os.path.join(link, name)) for name in _SAMPLES
    ):
        return False
    known, real = os.path.realpath(folder), os.path.realpath(link)
    return real != known and not real.startswith(os.path.join(known, ""))


def _parts(file: TranscriptFile) -> Iterator[TranscriptFile]:
    if file.size <= _PART or not SESSION_TOOLS[file.tool].IS_DIVISIBLE:
        yield file
        return
    for start in range(0, file.size, _PART):
        yield file._replace(start=start, end=min(start + _PART, file.size))


def detect(path: str, tools: Sequence[str]) -> str | None:
    """The tool that wrote a file, by its first record; None for any other file."""
    if path.endswith(".db"):
        return opencode.NAME if opencode.NAME in tools else None
    if path.endswith(".zst"):
        return codex.NAME if codex.NAME in tools else None
    try:
        with open_lines(open_regular(path, follow=True)) as file:
            line = file.readline(LONGEST)
            whole = line + file.read(LONGEST) if path.endswith(".json") else line
            record = decode_record(whole.removeprefix(_BOM))
    except (OSError, NotRegularFileError, ValueError):
        return None
    return next((tool for tool in tools if SESSION_TOOLS[tool].is_session_record(record)), None)


def _nothing_found(tools: Sequence[str], folders: Sequence[str]) -> NoSessionsError:
    names = ", ".join(SESSION_TOOLS[tool].TITLE for tool in tools)
    error = NoSessionsError(
        f"no sessions of {names} found", hint="if they are elsewhere, pass their folder or file as PATH"
    )
    error.details = tuple(f"looked in {printable(folder)}" for folder in dict.fromkeys(folders))
    return error
