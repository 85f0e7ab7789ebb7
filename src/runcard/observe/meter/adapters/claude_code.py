"""Claude Code: a base URL in its settings files, or in `--settings`, wins over the environment.

Settings are applied in this order, the last wins: the environment, `.claude.json`, the user's settings, the project's, the
project's local ones, `--settings`, the managed ones of the machine. So `--settings` leads to the relay, except past managed
settings. Variables in the settings of a project count only if the user trusts the project: before that, its URL must not
get a request.
"""

import json
import os
import sys

from runcard.encoding import JsonObject
from runcard.observe.meter.adapters import ANTHROPIC, BASE_URL, CLAUDE_CODE, Adaptation, MeterGap
from runcard.observe.meter.adapters.settings_files import (
    home_of,
    is_on,
    object_at,
    parse_settings,
    read_json_file,
)

_MANAGED = "/Library/Application Support/ClaudeCode" if sys.platform == "darwin" else "/etc/claude-code"
_SETTINGS, _SOURCES = "--settings", "--setting-sources"

# Switches that send calls elsewhere.
_CLOUDS = {
    "CLAUDE_CODE_USE_BEDROCK": "Amazon Bedrock, where a signature covers the host",
    "CLAUDE_CODE_USE_MANTLE": "Amazon Bedrock, where a signature covers the host",
    "CLAUDE_CODE_USE_ANTHROPIC_AWS": "Claude on AWS, where a signature covers the host",
    "CLAUDE_CODE_USE_VERTEX": "Vertex AI",
    "CLAUDE_CODE_USE_GATEWAY": "a gateway",
}
_FOUNDRY = "CLAUDE_CODE_USE_FOUNDRY"
_FOUNDRY_URL = "ANTHROPIC_FOUNDRY_BASE_URL"
_CONNECTIONS = {
    "ANTHROPIC_UNIX_SOCKET": "a socket of its own",
    "CLAUDE_CODE_CLIENT_CERT": "a connection with a client certificate",
}
_WITHOUT_CALLS = frozenset(
    [
        "--version",
        "-v",
        "--help",
        "-h",
        "auth",
        "config",
        "doctor",
        "install",
        "mcp",
        "plugin",
        "plugins",
        "setup-token",
        "update",
        "upgrade",
    ]
)


def adapt_claude_code(adaptation: Adaptation, arguments: list[str]) -> list[str]:
    """The arguments of Claude Code, with settings that lead it to the relay where a settings file leads elsewhere."""
    adaptation.client = CLAUDE_CODE
    adaptation.expects_calls = not (arguments and arguments[0] in _WITHOUT_CALLS)
    settings = ClaudeSettings(adaptation.given, arguments, adaptation.directory)
    effective = adaptation.given | settings.variables | settings.managed
    adaptation.upstream_environment = effective
    gap = _other_way(effective) or _fixed_url(settings)
    if gap is not None:
        adaptation.gaps.append(gap)
        return arguments
    name = _FOUNDRY_URL if is_on(effective.get(_FOUNDRY)) else BASE_URL
    upstream = effective.get(name, "").strip() or ANTHROPIC
    url = adaptation.url("foundry" if name == _FOUNDRY_URL else "anthropic", upstream, name)
    if url is None:
        return arguments
    adaptation.variables[name] = url
    adaptation.say_first_party(effective)
    adaptation.exempt_from_proxies(effective)
    if fixed := settings.managed.keys() & adaptation.variables.keys():
        del adaptation.variables[name]
        adaptation.gaps.append(_managed_gap(min(fixed)))
        return arguments
    hidden = {name: value for name, value in adaptation.variables.items() if name in settings.variables}
    return settings.with_variables(hidden, adaptation) if hidden else arguments


def _other_way(environment: dict[str, str]) -> MeterGap | None:
    """Why calls do not use a base URL, if they do not."""
    for name, place in _CLOUDS.items():
        if is_on(environment.get(name)):
            return MeterGap(f"{name} sends the calls of Claude Code to {place}: they do not pass the meter")
    if is_on(environment.get(_FOUNDRY)) and not environment.get(_FOUNDRY_URL):
        reason = f"{_FOUNDRY} sends the calls of Claude Code to Microsoft Foundry: they do not pass the meter"
        return MeterGap(reason, f"set {_FOUNDRY_URL} in place of ANTHROPIC_FOUNDRY_RESOURCE")
    for name, place in _CONNECTIONS.items():
        if environment.get(name):
            return MeterGap(f"{name} gives Claude Code {place}: its calls do not pass the meter")
    return None


def _fixed_url(settings: "ClaudeSettings") -> MeterGap | None:
    """Why the base URL cannot be changed, if it cannot."""
    for name in (BASE_URL, _FOUNDRY_URL):
        if name in settings.managed:
            return _managed_gap(name)
        if name in settings.untrusted:
            reason = (
                f"the settings of this project set {name}, and Claude Code does not trust the project yet"
            )
            return MeterGap(
                f"{reason}: its calls do not pass the meter",
                "trust the project in Claude Code, then run again",
            )
    return None


def _managed_gap(name: str) -> MeterGap:
    return MeterGap(
        f"managed settings of Claude Code in {_MANAGED} set {name}: its calls do not pass the meter"
    )


class ClaudeSettings:
    """The variables in the settings that Claude Code would load, and its own `--settings`."""

    def __init__(self, environment: dict[str, str], arguments: list[str], directory: str) -> None:
        self._arguments = arguments
        home = home_of(environment)
        own = environment.get("CLAUDE_CONFIG_DIR")
        self.folder = own or os.path.join(home, ".claude")
        state = read_json_file(os.path.join(own or home, ".claude.json"))
        sources = _option(arguments, _SOURCES)
        names = (
            {"user", "project", "local"} if sources is None else {name.strip() for name in sources.split(",")}
        )
        self.variables = _variables(state)
        if "user" in names:
            self.variables |= _variables(read_json_file(os.path.join(self.folder, "settings.json")))
        of_project: dict[str, str] = {}
        for source, file in (("project", "settings.json"), ("local", "settings.local.json")):
            if source in names:
                of_project |= _variables(read_json_file(os.path.join(directory, ".claude", file)))
        is_trusted = bool({"-p", "--print"} & set(arguments)) or _is_trusted(state, directory)
        self.untrusted = {} if is_trusted else of_project
        self.variables |= of_project if is_trusted else {}
        self._given = _option(arguments, _SETTINGS)
        self._settings = self._read_given(directory)
        self.variables |= _variables(self._settings)
        self.managed = _variables(*map(read_json_file, _managed_files()))

    def _read_given(self, directory: str) -> JsonObject:
        if self._given is None:
            return {}
        if self._is_inline:
            return parse_settings(self._given.encode("utf-8", "surrogateescape"))
        return read_json_file(os.path.join(directory, self._given))

    @property
    def _is_inline(self) -> bool:
        return (self._given or "{").lstrip().startswith("{")

    def with_variables(self, variables: dict[str, str], adaptation: Adaptation) -> list[str]:
        """The arguments, with these variables in `--settings`. What was in a file of the user's stays in a private file."""
        settings = self._settings | {"env": object_at(self._settings, "env") | variables}
        text = json.dumps(settings, ensure_ascii=False)
        value = text if self._is_inline else adaptation.write_private(text.encode("utf-8", "replace"))
        return _with_option(self._arguments, _SETTINGS, value)


def _variables(*settings: JsonObject) -> dict[str, str]:
    """The variables that settings hold, the last wins."""
    return {
        name: value
        for part in settings
        for name, value in object_at(part, "env").items()
        if isinstance(value, str)
    }


def _managed_files() -> list[str]:
    folder = os.path.join(_MANAGED, "managed-settings.d")
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith(".json") and name[0] != ".")
    except OSError:
        names = []
    return [os.path.join(_MANAGED, "managed-settings.json"), *(os.path.join(folder, name) for name in names)]


def _is_trusted(state: JsonObject, directory: str) -> bool:
    """Whether the user has trusted this directory, or one above it."""
    folder = directory
    while True:
        if object_at(state, "projects", folder).get("hasTrustDialogAccepted") is True:
            return True
        if folder == os.path.dirname(folder):
            return False
        folder = os.path.dirname(folder)


def _option(arguments: list[str], name: str) -> str | None:
    """The value of an option; the last one counts."""
    value = None
    for word, following in zip(arguments, [*arguments, None][1:], strict=True):
        if word == "--":
            break
        if word == name and following is not None:
            value = following
        elif word.startswith(f"{name}="):
            value = word.removeprefix(f"{name}=")
    return value


def _with_option(arguments: list[str], name: str, value: str) -> list[str]:
    """The arguments with this value of an option, in place of one that is there."""
    words, rest = list(arguments), arguments.index("--") if "--" in arguments else len(arguments)
    for at in range(rest - 1, -1, -1):
        if words[at] == name and at + 1 < len(words):
            return [*words[: at + 1], value, *words[at + 2 :]]
        if words[at].startswith(f"{name}="):
            return [*words[:at], f"{name}={value}", *words[at + 1 :]]
    return [name, value, *words]
