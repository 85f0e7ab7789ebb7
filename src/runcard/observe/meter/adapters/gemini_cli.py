"""Gemini CLI: it reads its base URL from a variable, and from the first `.env` file that it finds.

It uses a base URL only if its settings say how it logs in, and refuses to start otherwise. So without such a setting it is
left alone.
"""

import os
import sys

from runcard.observe.meter.adapters import GEMINI_URL, Adaptation, MeterGap
from runcard.observe.meter.adapters.settings_files import home_of, read_dotenv, read_settings_file, text_at

_DEFAULTS, _SETTINGS = "GEMINI_CLI_SYSTEM_DEFAULTS_PATH", "GEMINI_CLI_SYSTEM_SETTINGS_PATH"
_SYSTEM = "/Library/Application Support/GeminiCli" if sys.platform == "darwin" else "/etc/gemini-cli"
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
    """The arguments of Gemini CLI are not changed: a variable suffices."""
    adaptation.client = "Gemini CLI"
    adaptation.expects_calls = not (arguments and arguments[0] in _WITHOUT_CALLS)
    gap = _gap(adaptation)
    if gap is not None:
        adaptation.variables.pop(GEMINI_URL, None)
        adaptation.gaps = [*(other for other in adaptation.gaps if other != gap), gap]
    return arguments


def _gap(adaptation: Adaptation) -> MeterGap | None:
    """Why calls cannot pass the relay; None: they can, and the variable leads there."""
    given, home, directory = adaptation.given, home_of(adaptation.given), adaptation.directory
    login = _selected_login(given, directory)
    if login in _PLACES:
        reason = f"Gemini CLI logs in with {_PLACES[login]}: its calls do not pass the meter"
        return MeterGap(reason, "choose the login with an API key, so that they are counted")
    if given.get(GEMINI_URL):
        return None
    file = _env_file(directory, home)
    url = read_dotenv(file).get(GEMINI_URL) if file else None
    if file and url and os.path.dirname(file) not in {home, os.path.join(home, ".gemini")}:
        # Gemini CLI uses it only if it trusts the folder; and a key must not get to a host that it does not trust.
        reason = f"{GEMINI_URL} is set in {os.path.relpath(file, directory)}"
        return MeterGap(
            f"{reason}: calls of Gemini CLI do not pass the meter", f"set {GEMINI_URL} in the environment"
        )
    if url:
        relay = adaptation.url("google", url, GEMINI_URL)
        adaptation.variables |= {GEMINI_URL: relay} if relay else {}
        return None
    return without_login(given, directory)


def without_login(environment: dict[str, str], directory: str) -> MeterGap | None:
    """The gap if no settings say how Gemini CLI logs in."""
    if _selected_login(environment, directory) is not None:
        return None
    reason = "Gemini CLI has no login in its settings, and refuses a base URL then"
    return MeterGap(
        f"{reason}: calls of Gemini do not pass the meter", "choose a login once, with /auth in Gemini CLI"
    )


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


def _selected_login(environment: dict[str, str], directory: str) -> str | None:
    """How the settings say that it logs in; the last that says so wins."""
    defaults = environment.get(_DEFAULTS) or os.path.join(_SYSTEM, "system-defaults.json")
    system = environment.get(_SETTINGS) or os.path.join(_SYSTEM, "settings.json")
    own = [os.path.join(folder, ".gemini", "settings.json") for folder in (home_of(environment), directory)]
    layers = map(read_settings_file, [defaults, *own, system])
    chosen = [
        text_at(layer, "security", "auth", "selectedType") or text_at(layer, "selectedAuthType")
        for layer in layers
    ]
    return next((login for login in reversed(chosen) if login), None)
