"""Codex: it reads no variable for its base URL; `-c` sets that of the provider that it uses.

The last wins: `config.toml` of the machine, of the user, of the project, the profile, options of the command. With a login of
ChatGPT the server names the host of a workspace, which may have to stay in a region. So without a base URL of the user's it is
left alone there; the calls of a person's own account go to one host.
"""

import base64
import json
import os

from runcard.encoding import JsonObject
from runcard.observe.meter.adapters import Adaptation, MeterGap
from runcard.observe.meter.adapters.settings_files import (
    home_of,
    object_at,
    parse_settings,
    parse_toml,
    read_settings_file,
    read_toml_file,
    text_at,
)
from runcard.observe.meter.routes import UnusableUrlError, split_url

_API = "https://api.openai.com/v1"
_CHATGPT = "https://chatgpt.com/backend-api/codex"
_PERSONAL = frozenset({"free", "go", "plus", "pro"})  # plans of ChatGPT
_CLAIMS = "https://api.openai.com/auth"  # in the token that says who is logged in
_OPENAI, _BEDROCK, _LOCAL = "openai", "amazon-bedrock", ("ollama", "lmstudio")
_URL = "openai_base_url"
_SYSTEM = "/etc/codex/config.toml"
_MANAGED = "/etc/codex/managed_config.toml"
_CONFIG_OPTIONS = ("-c", "--config")
_WITHOUT_CALLS = frozenset(
    [
        "--version",
        "-V",
        "--help",
        "-h",
        "app",
        "completion",
        "debug",
        "features",
        "help",
        "login",
        "logout",
        "mcp",
        "plugin",
        "sandbox",
        "update",
    ]
)
_RUNS = frozenset({"exec", "e"})  # these take a key from the environment


def adapt_codex(adaptation: Adaptation, arguments: list[str]) -> list[str]:
    """The arguments of Codex, with the base URL of its provider."""
    adaptation.client = "Codex"
    adaptation.expects_calls = not (arguments and arguments[0] in _WITHOUT_CALLS)
    environment = adaptation.given
    folder = environment.get("CODEX_HOME") or os.path.join(home_of(environment), ".codex")
    config = _config(folder, adaptation.directory, arguments)
    provider = text_at(config, "model_provider") or _OPENAI
    if "--oss" in arguments or provider in _LOCAL:
        adaptation.expects_calls = False  # models on this machine
        return arguments
    entry = object_at(config, "model_providers", provider)
    if provider == _BEDROCK or entry.get("aws") is not None:
        reason = (
            "Codex calls Amazon Bedrock, where a signature covers the host: its calls do not pass the meter"
        )
        adaptation.gaps.append(MeterGap(reason))
        return arguments
    name = _URL if provider == _OPENAI else f"model_providers.{_key(provider)}.base_url"
    upstream = text_at(config, _URL) if provider == _OPENAI else text_at(entry, "base_url")
    if upstream is None:
        upstream = _login_url(folder, config, environment, arguments)
    if upstream is None:
        reason = "Codex is logged in with ChatGPT for a workspace, where the server chooses the host, or in a way that is not known"
        hint = f"use a key (CODEX_API_KEY), or set {_URL} in config.toml"
        adaptation.gaps.append(MeterGap(f"{reason}: its calls do not pass the meter", hint))
        return arguments
    url = adaptation.url(_route_name(provider, upstream), upstream, name)
    return arguments if url is None else _with_setting(_without(arguments, name), f"{name}={json.dumps(url)}")


def _route_name(provider: str, upstream: str) -> str:
    """Codex looks for names of Azure's hosts in the base URL: the host of the user's own URL stays a part of it."""
    try:
        host = split_url(upstream).origin.partition("://")[2].partition(":")[0]
    except UnusableUrlError:
        host = ""
    return host if provider != _OPENAI and host and host[0] != "[" else _OPENAI


def _config(folder: str, directory: str, arguments: list[str]) -> JsonObject:
    """The configuration that Codex would use."""
    config = _merge(read_toml_file(_SYSTEM), read_toml_file(os.path.join(folder, "config.toml")))
    for parent in _parents(directory):
        project = os.path.join(parent, ".codex", "config.toml")
        level = text_at(config, "projects", parent, "trust_level")
        if level == "trusted" and os.path.dirname(project) != folder:
            config = _merge(config, read_toml_file(project))
    options = list(_options(arguments))
    profile = next(
        (value for name, value in reversed(options) if name == "profile"), text_at(config, "profile")
    )
    if profile:
        config = _merge(config, object_at(config, "profiles", profile))
        config = _merge(config, read_toml_file(os.path.join(folder, f"{profile}.config.toml")))
    for name, value in options:
        if name == "config":
            config = _merge(config, _assignment(value))
    return _merge(config, read_toml_file(_MANAGED))


def _parents(directory: str) -> list[str]:
    """A directory and those above it, the outermost first."""
    parents = [directory]
    while parents[-1] != os.path.dirname(parents[-1]):
        parents.append(os.path.dirname(parents[-1]))
    return parents[::-1]


def _options(arguments: list[str]) -> list[tuple[str, str]]:
    """The options for the configuration and the profile, in their order."""
    found = []
    for word, following in zip(arguments, [*arguments, ""][1:], strict=True):
        if word == "--":
            break
        if word in _CONFIG_OPTIONS:
            found.append(("config", following))
        elif word in {"-p", "--profile"}:
            found.append(("profile", following))
        elif word.startswith("--config="):
            found.append(("config", word.removeprefix("--config=")))
        elif word.startswith("--profile="):
            found.append(("profile", word.removeprefix("--profile=")))
    return found


def _assignment(text: str) -> JsonObject:
    """`key=value` of `-c`: the value is TOML, or a text."""
    key, _, value = text.partition("=")
    parsed = parse_toml(f"value = {value}".encode("utf-8", "replace")).get(
        "value", value.strip().strip("\"'")
    )
    names = key.strip().split(".")
    for name in reversed(names):
        parsed = {name.strip('"'): parsed}
    return parsed if isinstance(parsed, dict) else {}


def _without(arguments: list[str], name: str) -> list[str]:
    """The arguments without `-c` for this key: the one that leads to the relay takes its place."""
    words, at = list(arguments), 0
    while at < len(words) and words[at] != "--":
        value = words[at + 1] if words[at] in _CONFIG_OPTIONS and at + 1 < len(words) else None
        if value is not None and value.partition("=")[0].strip() == name:
            del words[at : at + 2]
        elif words[at].startswith(f"--config={name}="):
            del words[at]
        else:
            at += 1 if value is None else 2
    return words


def _with_setting(arguments: list[str], setting: str) -> list[str]:
    """The arguments with one more `-c`, after the others: one of them may set the whole provider."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    after = [at + 2 for at in range(end - 1) if arguments[at] in _CONFIG_OPTIONS]
    after += [at + 1 for at in range(end) if arguments[at].startswith("--config=")]
    place = max(after, default=0)
    return [*arguments[:place], "-c", setting, *arguments[place:]]


def _login_url(
    folder: str, config: JsonObject, environment: dict[str, str], arguments: list[str]
) -> str | None:
    """The base URL that goes with the login, as far as it can be known."""
    if environment.get("CODEX_API_KEY") and _RUNS & set(arguments[:1]):
        return _API
    if environment.get("CODEX_ACCESS_TOKEN"):
        return None
    login = read_settings_file(os.path.join(folder, "auth.json"))
    if not login:  # it is not logged in, unless the login is kept elsewhere
        return _API if text_at(config, "cli_auth_credentials_store") in {None, "file"} else None
    mode = text_at(login, "auth_mode")
    if mode == "apikey" or (mode is None and text_at(login, "OPENAI_API_KEY")):
        return _API
    is_personal = _plan(text_at(login, "tokens", "id_token") or "") in _PERSONAL
    return _CHATGPT if mode in {None, "chatgpt"} and is_personal else None


def _plan(token: str) -> str | None:
    """The plan of ChatGPT in a token (JWT); nothing else is read from it."""
    part = token.partition(".")[2].partition(".")[0]
    try:
        claims = parse_settings(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    except ValueError:
        return None
    return text_at(claims, _CLAIMS, "chatgpt_plan_type")


def _key(name: str) -> str:
    """A name in a dotted key of TOML."""
    is_bare = name.isascii() and name.replace("-", "").replace("_", "").isalnum()
    return name if is_bare else json.dumps(name)


def _merge(first: JsonObject, second: JsonObject) -> JsonObject:
    """Tables are merged, everything else is replaced."""
    merged = dict(first)
    for name, value in second.items():
        before = merged.get(name)
        merged[name] = (
            _merge(before, value) if isinstance(before, dict) and isinstance(value, dict) else value
        )
    return merged
