"""Settings files that an agent tool does not read as they are, so that what is installed in them does nothing."""

import os
from collections.abc import Mapping

from runcard.encoding import JsonObject, decode_json
from runcard.errors import EncodingError
from runcard.files import printable, read_regular

_TRUSTED, _PARENT = "TRUST_FOLDER", "TRUST_PARENT"


def ignored_reason(
    tool: str, path: str, text: str, *, is_project: bool, environ: Mapping[str, str]
) -> str | None:
    """Why a tool ignores a settings file with this text, and what to do; None if it reads the file."""
    if tool == "claude-code" and path.endswith("settings.json") and _object(text.encode()) is None:
        return f"Claude Code ignores {printable(path)}: it has comments or trailing commas; remove them"
    if tool == "gemini" and is_project and not _is_trusted(os.path.dirname(os.path.dirname(path)), environ):
        return (
            f"Gemini CLI ignores {printable(path)}: it does not trust this folder; start `gemini` here and trust it, "
            "or set GEMINI_CLI_TRUST_WORKSPACE=true"
        )
    return None


def _is_trusted(folder: str, environ: Mapping[str, str]) -> bool:
    """Whether Gemini CLI trusts a folder, as far as its files say."""
    home = environ.get("GEMINI_CLI_HOME") or environ.get("HOME") or os.path.expanduser("~")
    own = os.path.join(home, ".gemini")
    if environ.get("GEMINI_CLI_TRUST_WORKSPACE") == "true" or not _uses_trust(own):
        return True
    rules = _read(environ.get("GEMINI_CLI_TRUSTED_FOLDERS_PATH") or os.path.join(own, "trustedFolders.json"))
    real = os.path.realpath(folder)
    found: dict[str, bool] = {}
    for path, level in rules.items():
        base = os.path.realpath(os.path.dirname(path) if level == _PARENT else path)
        if os.path.join(real, "").startswith(os.path.join(base, "")):
            found[base] = level in {_TRUSTED, _PARENT}
    return found[max(found, key=len)] if found else False


def _uses_trust(own: str) -> bool:
    security = _read(os.path.join(own, "settings.json")).get("security")
    trust = security.get("folderTrust") if isinstance(security, dict) else None
    return not (isinstance(trust, dict) and trust.get("enabled") is False)


def _read(path: str) -> JsonObject:
    try:
        return _object(read_regular(os.path.realpath(path)) or b"") or {}
    except OSError:
        return {}


def _object(data: bytes) -> JsonObject | None:
    """The object in a text that is JSON without comments."""
    try:
        value = decode_json(data)
    except EncodingError:
        return None
    return value if isinstance(value, dict) else None
