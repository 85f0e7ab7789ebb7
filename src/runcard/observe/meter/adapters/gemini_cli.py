"""Gemini CLI: the variable for its base URL also changes how it logs in, unless its settings say how.

So where it would use a key from the environment, the lowest of its settings files, for which there is a variable, says so.
It also reads variables from the first `.env` file that it finds: those count where the environment has none.
"""

import json
import os
import sys

from runcard.encoding import JsonObject
from runcard.observe.meter.adapters import Adaptation, MeterGap
from runcard.observe.meter.adapters.settings_files import (
    home_of,
    is_on,
    object_at,
    read_dotenv,
    read_settings_file,
    text_at,
)

_URL = "GOOGLE_GEMINI_BASE_URL"
_DEFAULTS = "GEMINI_CLI_SYSTEM_DEFAULTS_PATH"
_SYSTEM = "/Library/Application Support/GeminiCli" if sys.platform == "darwin" else "/etc/gemini-cli"
_KEY_LOGIN, _GATEWAY_LOGIN = "gemini-api-key", "gateway"
_PLACES = {
    "oauth-personal": "a Google account",
    "compute-default-credentials": "Google's credentials of this machine",
    "cloud-shell": "Google Cloud Shell",
    "vertex-ai": "Vertex AI",
}
_WITHOUT_CALLS = frozenset(
    ["--version", "-v", "--help", "-h", "extension", "extensions", "hooks", "mcp", "skill", "skills"]
)


def adapt_gemini_cli(adaptation: Adaptation, arguments: list[str]) -> list[str]:
    """The arguments of Gemini CLI are not changed: variables suffice."""
    adaptation.client = "Gemini CLI"
    adaptation.expects_calls = not (arguments and arguments[0] in _WITHOUT_CALLS)
    given, home = adaptation.given, home_of(adaptation.given)
    file = _env_file(adaptation.directory, home)
    in_file = read_dotenv(file) if file else {}
    if file and _URL in in_file and not given.get(_URL):
        if os.path.dirname(file) not in {home, os.path.join(home, ".gemini")}:
            # Gemini CLI uses it only if it trusts the folder; and a key must not get to a host that it does not trust.
            reason = f"{_URL} is set in {os.path.relpath(file, adaptation.directory)}"
            _leave(
                adaptation,
                MeterGap(
                    f"{reason}: calls of Gemini CLI do not pass the meter", f"set {_URL} in the environment"
                ),
            )
            return arguments
        if url := adaptation.url("google", in_file[_URL], _URL):
            adaptation.variables[_URL] = url
    environment = in_file | given
    login = _selected_login(given, home, adaptation.directory) or _login(environment)
    if login in _PLACES:
        reason = f"Gemini CLI logs in with {_PLACES[login]}: its calls do not pass the meter"
        _leave(adaptation, MeterGap(reason, "choose the login with an API key, so that they are counted"))
    elif login == _KEY_LOGIN and _selected_login(given, home, adaptation.directory) is None:
        defaults = _system_defaults(given)
        auth = object_at(defaults, "security", "auth") | {"selectedType": login}
        defaults |= {"security": object_at(defaults, "security") | {"auth": auth}}
        adaptation.variables[_DEFAULTS] = adaptation.write_private(json.dumps(defaults).encode())
    return arguments


def _leave(adaptation: Adaptation, gap: MeterGap) -> None:
    adaptation.variables.pop(_URL, None)
    adaptation.gaps.append(gap)


def _env_file(directory: str, home: str) -> str | None:
    """The file with variables that Gemini CLI reads."""
    folder = directory
    while True:
        for path in (os.path.join(folder, ".gemini", ".env"), os.path.join(folder, ".env")):
            if os.path.exists(path):
                return path
        if folder == os.path.dirname(folder):
            break
        folder = os.path.dirname(folder)
    paths = (os.path.join(home, ".gemini", ".env"), os.path.join(home, ".env"))
    return next((path for path in paths if os.path.exists(path)), None)


def _selected_login(environment: dict[str, str], home: str, directory: str) -> str | None:
    """How the settings say that it logs in; the last that says so wins."""
    system = environment.get("GEMINI_CLI_SYSTEM_SETTINGS_PATH") or os.path.join(_SYSTEM, "settings.json")
    files = [os.path.join(folder, ".gemini", "settings.json") for folder in (home, directory)]
    layers = [_system_defaults(environment), *map(read_settings_file, [*files, system])]
    chosen = [
        text_at(layer, "security", "auth", "selectedType") or text_at(layer, "selectedAuthType")
        for layer in layers
    ]
    return next((login for login in reversed(chosen) if login), None)


def _login(environment: dict[str, str]) -> str | None:
    """How it logs in by its variables, without a base URL of ours."""
    if environment.get("GOOGLE_GENAI_USE_GCA") == "true":
        return "oauth-personal"
    if environment.get("GOOGLE_GENAI_USE_VERTEXAI") == "true":
        return "vertex-ai"
    if environment.get(_URL):
        return _GATEWAY_LOGIN
    if environment.get("GEMINI_API_KEY"):
        return _KEY_LOGIN
    is_cloud = is_on(environment.get("CLOUD_SHELL")) or is_on(environment.get("GEMINI_CLI_USE_COMPUTE_ADC"))
    return "compute-default-credentials" if is_cloud else None


def _system_defaults(environment: dict[str, str]) -> JsonObject:
    path = environment.get(_DEFAULTS) or os.path.join(_SYSTEM, "system-defaults.json")
    return read_settings_file(path)
