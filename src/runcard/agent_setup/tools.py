"""The tools that runcard can be installed into: which files they read, and what is added to these.

A tool has a file for hooks and one for MCP servers, which may be the same, for a project and for a user.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from runcard.errors import UsageError

if TYPE_CHECKING:
    from runcard.encoding import JsonObject

Scope = Literal["project", "user"]
Part = Literal["hooks", "mcp"]
SERVER = "runcard"  # the name of the MCP server in settings files


class SettingsEntry(NamedTuple):
    """A value in a settings file: a member of the object at `path`, or without a key an item of the array there."""

    path: tuple[str, ...]
    key: str | None
    value: Any


@dataclass(frozen=True)
class SettingsPart:
    """What one part adds to one file."""

    part: Part
    path: str
    form: Literal[
        "json", "toml", "own"
    ]  # own: a whole file that an earlier version wrote, and that is not used any more
    entries: tuple[SettingsEntry, ...] = ()


class Commands(NamedTuple):
    """What the settings files name: programs with their absolute paths."""

    server: tuple[str, ...]  # starts the MCP server
    hook: tuple[str, ...]  # notes an event; the tool and the event are added

    def hook_line(self, tool: str, event: str) -> str:
        """A line for a shell. If runcard is gone, the agent goes on, and prints nothing."""
        import shlex  # noqa: PLC0415

        return f"{shlex.join([*self.hook, tool, event])} 2>/dev/null || :"


@dataclass(frozen=True)
class AgentSetup:
    """One tool."""

    name: str
    title: str
    events: tuple[str, ...] = ()  # those with a hook
    timeout: int = 0  # of a hook, in the unit of the tool
    note: str | None = None  # what the user has to do afterwards
    no_hooks: str | None = None  # why it has none

    def parts(
        self,
        wanted: tuple[Part, ...],
        scope: Scope,
        commands: Commands,
        directory: str,
        environ: Mapping[str, str],
    ) -> list[SettingsPart]:
        """What is added to which files."""
        folder = directory if scope == "project" else _home(environ)
        made = []
        if "hooks" in wanted:
            if self.no_hooks is not None:
                raise UsageError(
                    f"{self.title}: {self.no_hooks}",
                    hint=f"install only the MCP server: runcard install {self.name} --mcp",
                )
            made.append(self._hooks(_place(self.name, "hooks", scope, folder, environ), commands))
            if self.name == "opencode" and os.path.lexists(old := _old_plugin(scope, folder, environ)):
                made.append(SettingsPart("hooks", old, "own"))
        if "mcp" in wanted:
            made.append(self._server(_place(self.name, "mcp", scope, folder, environ), commands))
        return made

    def _hooks(self, path: str, commands: Commands) -> SettingsPart:
        if self.name == "opencode":
            return SettingsPart("hooks", path, "json", (_plugin(commands),))
        entries = []
        for event in self.events:
            handler: JsonObject = {"type": "command", "command": commands.hook_line(self.name, event)}
            handler |= {"name": "runcard"} if self.name == "gemini" else {}
            entries.append(
                SettingsEntry(("hooks", event), None, {"hooks": [handler | {"timeout": self.timeout}]})
            )
        return SettingsPart("hooks", path, "json", tuple(entries))

    def _server(self, path: str, commands: Commands) -> SettingsPart:
        program, *arguments = commands.server
        value: JsonObject = {"command": program, "args": arguments}
        if self.name == "codex":
            return SettingsPart("mcp", path, "toml", (SettingsEntry(("mcp_servers",), SERVER, value),))
        if self.name == "opencode":
            value = {"type": "local", "command": [program, *arguments], "enabled": True}
            return SettingsPart("mcp", path, "json", (SettingsEntry(("mcp",), SERVER, value),))
        value = {"type": "stdio", **value} if self.name == "claude-code" else value
        return SettingsPart("mcp", path, "json", (SettingsEntry(("mcpServers",), SERVER, value),))


_CLAUDE_EVENTS = ("SessionStart", "Stop", "SubagentStop", "SessionEnd")
SETUPS = {
    setup.name: setup
    for setup in (
        AgentSetup("claude-code", "Claude Code", _CLAUDE_EVENTS, 5),
        AgentSetup(
            "codex",
            "Codex",
            _CLAUDE_EVENTS,
            3,  # it allows SessionEnd no more
            note="Codex runs new hooks only after you have reviewed them: it asks when it starts, or type /hooks",
        ),
        AgentSetup("gemini", "Gemini CLI", ("SessionStart", "AfterAgent", "SessionEnd"), 5000),
        AgentSetup("opencode", "OpenCode", ("session.created", "session.busy", "session.idle")),
        AgentSetup(
            "cursor",
            "Cursor",
            no_hooks="its sessions cannot be imported yet, so a hook would have nothing to do",
        ),
    )
}
END_EVENTS = frozenset({"SessionEnd"})


def _home(environ: Mapping[str, str]) -> str:
    return environ.get("HOME") or os.path.expanduser("~")


def _place(tool: str, part: Part, scope: Scope, folder: str, environ: Mapping[str, str]) -> str:
    """The file of a part."""
    is_user, join = scope == "user", os.path.join
    match tool, part:
        case "claude-code", "hooks":
            return join(
                (is_user and environ.get("CLAUDE_CONFIG_DIR")) or join(folder, ".claude"), "settings.json"
            )
        case "claude-code", "mcp":
            if is_user:
                return join(environ.get("CLAUDE_CONFIG_DIR") or folder, ".claude.json")
            return join(folder, ".mcp.json")
        case "codex", _:
            own = (is_user and environ.get("CODEX_HOME")) or join(folder, ".codex")
            return join(own, "hooks.json" if part == "hooks" else "config.toml")
        case "gemini", _:
            own = (is_user and environ.get("GEMINI_CLI_HOME")) or folder
            return join(own, ".gemini", "settings.json")
        case "opencode", _:
            own = _opencode(environ, folder) if is_user else folder
            names = ("opencode.jsonc", "opencode.json")
            return next(
                (path for name in names if os.path.lexists(path := join(own, name))), join(own, names[1])
            )
    return join(folder, ".cursor", "mcp.json")


def _opencode(environ: Mapping[str, str], home: str) -> str:
    return os.path.join(environ.get("XDG_CONFIG_HOME") or os.path.join(home, ".config"), "opencode")


def _old_plugin(scope: Scope, folder: str, environ: Mapping[str, str]) -> str:
    own = _opencode(environ, folder) if scope == "user" else os.path.join(folder, ".opencode")
    return os.path.join(own, "plugins", "runcard.js")


# The first line of the plugin of earlier versions, a file of its own in a folder of OpenCode.
OWN_MARK = "// Written by `runcard install opencode`; `runcard uninstall opencode` removes it."
PLUGIN = "opencode_plugin.js"  # beside this module


def _plugin(commands: Commands) -> SettingsEntry:
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), PLUGIN)
    return SettingsEntry(("plugin",), None, [Path(path).as_uri(), {"command": [*commands.hook]}])
