"""OpenCode: a base URL in its configuration wins over the environment; OPENCODE_CONFIG_CONTENT wins over its files.

Variables suffice for providers whose library reads them. For others, and for those with a base URL in a file, the content of
the variable has the URL of the relay. A provider without a key is not named in it: naming it would switch it on.
"""

import json
import os
import re

from runcard.encoding import JsonObject
from runcard.observe.meter.adapters import Adaptation
from runcard.observe.meter.adapters.settings_files import (
    home_of,
    object_at,
    parse_settings,
    read_settings_file,
    text_at,
)

_CONTENT = "OPENCODE_CONFIG_CONTENT"
_FILES = ("opencode.json", "opencode.jsonc")
_BY_VARIABLE = frozenset({"anthropic", "openai"})  # their libraries read a variable
_VARIABLE = re.compile(r"\{env:([^}]*)\}")

# Base URLs that are not in OpenCode's list of models, since they are those of the provider's library; and their keys.
_LIBRARIES = {
    "google": (
        "https://generativelanguage.googleapis.com/v1beta",
        ("GOOGLE_GENERATIVE_AI_API_KEY", "GEMINI_API_KEY"),
    ),
    "groq": ("https://api.groq.com/openai/v1", ("GROQ_API_KEY",)),
    "mistral": ("https://api.mistral.ai/v1", ("MISTRAL_API_KEY",)),
    "xai": ("https://api.x.ai/v1", ("XAI_API_KEY",)),
    "cerebras": ("https://api.cerebras.ai/v1", ("CEREBRAS_API_KEY",)),
    "openrouter": ("https://openrouter.ai/api/v1", ("OPENROUTER_API_KEY",)),
    "deepseek": ("https://api.deepseek.com", ("DEEPSEEK_API_KEY",)),
}
_WITHOUT_CALLS = frozenset(
    [
        "--version",
        "-v",
        "--help",
        "-h",
        "agent",
        "auth",
        "completion",
        "db",
        "debug",
        "export",
        "import",
        "mcp",
        "models",
        "providers",
        "stats",
        "uninstall",
        "upgrade",
    ]
)


def adapt_opencode(adaptation: Adaptation, arguments: list[str]) -> list[str]:
    """The arguments of OpenCode are not changed."""
    adaptation.client = "OpenCode"
    adaptation.expects_calls = not (arguments and arguments[0] in _WITHOUT_CALLS)
    environment = adaptation.given
    content = parse_settings(environment.get(_CONTENT, "").encode("utf-8", "surrogateescape"))
    urls = _library_urls(environment) | _configured_urls(environment, adaptation.directory, content)
    providers = dict(object_at(content, "provider"))
    for name, upstream in urls.items():
        if url := adaptation.url(re.sub(r"[^A-Za-z0-9._-]", "-", name), upstream, f"the base URL of {name}"):
            entry = object_at(providers, name)
            providers[name] = entry | {"options": object_at(entry, "options") | {"baseURL": url}}
    if providers != object_at(content, "provider"):
        adaptation.variables[_CONTENT] = json.dumps(content | {"provider": providers}, ensure_ascii=False)
    return arguments


def _configured_urls(environment: dict[str, str], directory: str, content: JsonObject) -> dict[str, str]:
    """The base URLs in the configuration, the last wins."""
    urls: dict[str, str] = {}
    for config in [*map(read_settings_file, _config_files(environment, directory)), content]:
        for name, provider in object_at(config, "provider").items():
            url = text_at(provider, "options", "baseURL")
            if url is not None and "{file:" not in url:
                urls[name] = _VARIABLE.sub(lambda match: environment.get(match[1], ""), url)
    return urls


def _config_files(environment: dict[str, str], directory: str) -> list[str]:
    """The files that OpenCode reads, in their order."""
    config = environment.get("XDG_CONFIG_HOME") or os.path.join(home_of(environment), ".config")
    files = [os.path.join(config, "opencode", name) for name in ("config.json", *_FILES)]
    if own := environment.get("OPENCODE_CONFIG"):
        files.append(os.path.join(directory, own))
    folders = []
    folder = directory
    while True:
        folders.append(folder)
        if os.path.exists(os.path.join(folder, ".git")) or folder == os.path.dirname(folder):
            break
        folder = os.path.dirname(folder)
    folders.reverse()
    if not environment.get("OPENCODE_DISABLE_PROJECT_CONFIG"):
        files += [os.path.join(folder, name) for folder in folders for name in _FILES]
    more = [os.path.join(folder, ".opencode") for folder in (*folders, home_of(environment))]
    more += [value for value in [environment.get("OPENCODE_CONFIG_DIR")] if value]
    return [*files, *(os.path.join(folder, name) for folder in more for name in _FILES)]


def _library_urls(environment: dict[str, str]) -> dict[str, str]:
    """The base URLs of providers that are switched on by a key and whose library reads no variable."""
    data = environment.get("XDG_DATA_HOME") or os.path.join(home_of(environment), ".local", "share")
    logins = parse_settings(environment.get("OPENCODE_AUTH_CONTENT", "").encode("utf-8", "surrogateescape"))
    logins = logins or read_settings_file(os.path.join(data, "opencode", "auth.json"))
    with_key = {name for name in logins if text_at(logins, name, "type") == "api"}
    return {
        name: url
        for name, (url, keys) in _LIBRARIES.items()
        if name not in _BY_VARIABLE and (name in with_key or any(environment.get(key) for key in keys))
    }
