"""Which agent tools record themselves: what `runcard install` has added to their settings, and what their hooks have left."""

import os
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from urllib.parse import unquote, urlsplit

from runcard.agent_setup.ignored_settings import ignored_reason
from runcard.agent_setup.notes import is_pending, read_notes, read_result
from runcard.agent_setup.own_entries import own_parts
from runcard.agent_setup.settings_file import read_settings_text
from runcard.agent_setup.tools import OWN_MARK, SETUPS, Commands, Part, Scope, SettingsEntry, SettingsPart
from runcard.documents.times import format_time
from runcard.encoding import JsonObject
from runcard.errors import RuncardError
from runcard.files import json_name

_ANY = Commands(("runcard", "mcp"), ("runcard", "hook"))
_SCOPES: tuple[Scope, ...] = ("project", "user")
_PROGRAM_WORDS = 4  # of a hook: the interpreter, its options, the file


@dataclass(frozen=True)
class InstalledSetup:
    """One part of one tool that is installed."""

    tool: str
    title: str
    scope: Scope
    part: Part
    path: str
    missing: str | None  # a program that it names and that is gone
    ignored: str | None = None  # why the tool does not read the file
    last_event: str | None = None  # when a hook of the tool ran last; None: none has, or it has no hooks

    @property
    def command(self) -> str:
        """What installs it again."""
        return f"runcard install {self.tool} --{self.part}{' --user' if self.scope == 'user' else ''}"

    def to_dict(self) -> JsonObject:
        missing = None if self.missing is None else json_name(self.missing).text
        return {
            "tool": self.tool,
            "title": self.title,
            "scope": self.scope,
            "part": self.part,
            "path": json_name(self.path).text,
            "missing": missing,
            "ignored": self.ignored,
            "last_event": self.last_event,
        }


@dataclass(frozen=True)
class HookWork:
    """What hooks have noted."""

    sessions: int
    pending: list[str]  # ids of sessions with something to import
    failed: list[tuple[str, str]]  # ids, and why they could not be imported

    def to_dict(self) -> JsonObject:
        failed = [{"session": json_name(own).text, "reason": why} for own, why in self.failed]
        return {
            "sessions": self.sessions,
            "pending": [json_name(own).text for own in self.pending],
            "failed": failed,
        }


def installed_setups(environ: Mapping[str, str]) -> list[InstalledSetup]:
    """What is installed in the current directory and for this user. A file that cannot be read has nothing of ours."""
    found = []
    last: dict[str, float] = {}
    for note in read_notes():
        last[note.tool] = max(note.time, last.get(note.tool, 0.0))
    for setup in SETUPS.values():
        possible: tuple[Part, ...] = ("hooks", "mcp") if setup.no_hooks is None else ("mcp",)
        for scope in _SCOPES:
            for part in setup.parts(possible, scope, _ANY, os.getcwd(), environ):
                if (programs := _programs(part)) is not None:
                    gone = next(
                        (path for path in programs if os.path.isabs(path) and not os.path.exists(path)), None
                    )
                    ignored = _ignored(setup.name, part, environ, is_project=scope == "project")
                    moment = last.get(setup.name) if part.part == "hooks" else None
                    found.append(
                        InstalledSetup(
                            setup.name,
                            setup.title,
                            scope,
                            part.part,
                            part.path,
                            gone,
                            ignored,
                            None if moment is None else format_time(datetime.fromtimestamp(moment, UTC)),
                        )
                    )
    same_place = {
        (each.part, each.path): each for each in reversed(found)
    }  # the home is the current directory
    return [each for each in found if each is same_place[each.part, each.path]]


def _ignored(tool: str, part: SettingsPart, environ: Mapping[str, str], *, is_project: bool) -> str | None:
    text = read_settings_text(os.path.realpath(part.path)).text or ""
    return ignored_reason(tool, part.path, text, is_project=is_project, environ=environ)


def _programs(part: SettingsPart) -> list[str] | None:
    """The files that a part names; None if it is not installed."""
    try:
        text = read_settings_text(os.path.realpath(part.path)).text
        if text is None:
            return None
        if part.form == "own":
            return [] if text.startswith(OWN_MARK) else None
        entries = own_parts(part.form, text).get(part.part)
    except RuncardError:
        return None
    return None if not entries else [path for entry in entries for path in _paths(entry)]


def _paths(entry: SettingsEntry) -> Iterator[str]:
    if entry.key is not None:
        command = entry.value.get("command")
        yield from command[:1] if isinstance(command, list) else [str(command)]
        return
    if entry.path == ("plugin",):
        yield from _plugin_paths(entry.value)
        return
    for handler in entry.value["hooks"]:
        try:
            words = shlex.split(handler["command"])
        except ValueError:
            continue
        yield from words[:_PROGRAM_WORDS]


def _plugin_paths(plugin: object) -> list[str]:
    """The files of a plugin of OpenCode: itself, and the program that it starts."""
    url, options = plugin if isinstance(plugin, list) and len(plugin) > 1 else (plugin, None)
    command = options.get("command") if isinstance(options, dict) else None
    words = command[:_PROGRAM_WORDS] if isinstance(command, list) else []
    return [unquote(urlsplit(str(url)).path), *map(str, words)]


def hook_work() -> HookWork:
    """What hooks have noted, and what of it is not imported."""
    notes = list(read_notes())
    results = {note.name: read_result(note.name) for note in notes}
    failed = [
        (note.session, result.error)
        for note in notes
        if (result := results[note.name]) is not None and result.action == "failed"
    ]
    names = {session for session, _ in failed}
    pending = [
        note.session for note in notes if is_pending(note, results[note.name]) and note.session not in names
    ]
    return HookWork(len(notes), pending, failed)
