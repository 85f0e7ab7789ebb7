"""How long agent tools keep the files of their sessions.

    Claude Code   30 days after the last change of a session's file, or `cleanupPeriodDays` of its settings. They are those of
                  the project that it is started in, over those of the user, and the cleanup is one of all projects: a
                  short period in the settings of one project deletes the sessions of the others too
    Gemini CLI    30 days, or `general.sessionRetention` of its settings; only the sessions of the project it is started in
    Codex, OpenCode   delete no session by themselves
    Madrox        its logs are in a temporary folder, which the system may empty

This is what Claude Code 2.1.197, Codex 0.166, Gemini CLI 0.61 and OpenCode 1.18 do when they start. Settings files are hostile:
what is wrong in them makes the period unknown, or that of the default, and never an error.
"""

import json
import os
import re
from collections.abc import Iterable, Mapping
from typing import Any, Literal, NamedTuple

from runcard.errors import RuncardError
from runcard.files import printable, read_file
from runcard.transcripts import claude_code, gemini, madrox

DEFAULT = "default"
_DAYS = 30  # of Claude Code and of Gemini CLI
_LARGEST = 1 << 20  # bytes of a settings file
_MOST_DAYS = 10**7
_KEY = "cleanupPeriodDays"
_MANAGED = ("/etc/claude-code", "/Library/Application Support/ClaudeCode")
_SYSTEM = ("/etc/gemini-cli", "/Library/Application Support/GeminiCli")
_COMMENT = re.compile(r'("(?:[^"\\]|\\.)*(?:"|\Z))|//[^\n]*|/\*.*?(?:\*/|\Z)', re.DOTALL)
_PERIOD = re.compile(r"([0-9]{1,6})([hdwm])")
_UNIT_DAYS = {"h": 1 / 24, "d": 1, "w": 7, "m": 30}


class Retention(NamedTuple):
    """When a tool deletes a session."""

    kind: Literal["age", "never", "unknown"]
    days: float | None = None  # after the last change of the session
    source: str = DEFAULT  # or the settings file that says so
    note: str | None = None
    most: int | None = None  # sessions of a project that are kept, however old


def retention(
    tool: str, root: str, projects: Iterable[str], environ: Mapping[str, str] | None = None
) -> Retention:
    """How long a tool with this folder of its own keeps sessions; `projects` are the folders that it is used in."""
    if tool == claude_code.NAME:
        return _of_claude_code(root, projects)
    if tool == gemini.NAME:
        return _of_gemini(root, projects, os.environ if environ is None else environ)
    if tool == madrox.NAME:
        return Retention("unknown", note="its logs are in a temporary folder")
    return Retention("never")


def _of_claude_code(root: str, projects: Iterable[str]) -> Retention:
    for folder in _MANAGED:
        for path in reversed([os.path.join(folder, "managed-settings.json"), *_drop_ins(folder)]):
            if (managed := _claude_period(path)) is not None:
                return managed
    user = _claude_period(os.path.join(root, "settings.json"))
    best = user or Retention("age", _DAYS)
    for project in projects:
        folder = os.path.join(project, ".claude")
        names = ("settings.local.json", "settings.json")
        if os.path.realpath(folder) == os.path.realpath(root):
            continue  # the home of the user is a project, too
        periods = (_claude_period(os.path.join(folder, name)) for name in names)
        own = next((period for period in periods if period is not None), None)
        if own is not None and (_days(own) < _days(best) or (best.kind == "unknown" and own.kind == "age")):
            best = own._replace(note="it counts for all projects once Claude Code is started in this one")
    return best


def _claude_period(path: str) -> Retention | None:
    """The period in a settings file; None where it has none."""
    settings = _read(path)
    if _KEY not in settings:
        return None
    value = settings[_KEY]
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if is_number and 1 <= value <= _MOST_DAYS and value == int(value):
        return Retention("age", int(value), path)
    if is_number and value > _MOST_DAYS:
        return Retention("age", _MOST_DAYS, path)
    shown = printable(json.dumps(value)[:40])
    return Retention(
        "unknown", None, path, f"{_KEY} is {shown}: new versions delete nothing then, older ones everything"
    )


def _drop_ins(folder: str) -> list[str]:
    inner = os.path.join(folder, "managed-settings.d")
    try:
        names = sorted(name for name in os.listdir(inner) if name.endswith(".json") and name[0] != ".")
    except OSError:
        return []
    return [os.path.join(inner, name) for name in names]


def _of_gemini(root: str, projects: Iterable[str], environ: Mapping[str, str]) -> Retention:
    system = environ.get("GEMINI_CLI_SYSTEM_SETTINGS_PATH") or next(
        (
            path
            for path in (os.path.join(folder, "settings.json") for folder in _SYSTEM)
            if os.path.exists(path)
        ),
        os.path.join(_SYSTEM[0], "settings.json"),
    )
    before = [
        os.path.join(os.path.dirname(system), "system-defaults.json"),
        os.path.join(root, "settings.json"),
    ]
    best = _merged_gemini([*before, system])
    for project in projects:
        own = _merged_gemini([*before, os.path.join(project, ".gemini", "settings.json"), system])
        if _days(own) < _days(best):
            best = own._replace(note="for the sessions of this project, if Gemini CLI trusts its folder")
    return best


def _merged_gemini(paths: Iterable[str]) -> Retention:
    """The period by several settings files, of which the later ones win."""
    settings: dict[str, Any] = {"enabled": True, "maxAge": f"{_DAYS}d"}
    source = DEFAULT
    for path in paths:
        general = _read(path).get("general")
        own = general.get("sessionRetention") if isinstance(general, dict) else None
        if isinstance(own, dict) and own:
            settings |= own
            source = path
    if settings["enabled"] is False:
        return Retention("never", None, source, "its cleanup is turned off")
    age, most = settings.get("maxAge"), settings.get("maxCount")
    period = _PERIOD.fullmatch(age) if isinstance(age, str) else None
    days = int(period[1]) * _UNIT_DAYS[period[2]] if period else 0
    is_count = isinstance(most, int) and not isinstance(most, bool) and most > 0
    if settings["enabled"] is not True or days <= 0 or not (most is None or is_count):
        return Retention("unknown", None, source, "general.sessionRetention has a value that is not valid")
    note = f"it keeps the {most:,} newest sessions of a project at most" if is_count else None
    return Retention("age", days, source, note, most if is_count else None)


def _days(period: Retention) -> float:
    return float("inf") if period.days is None else period.days


def _read(path: str) -> dict[str, Any]:
    """The object in a settings file, which may have comments; an empty one where there is none that can be read."""
    try:
        data = read_file(path, _LARGEST, only_regular=True)
    except RuncardError:
        return {}
    if len(data) > _LARGEST:
        return {}
    text = data.decode("utf-8-sig", "replace")
    for attempt in (text, None):
        try:
            value = json.loads(
                _COMMENT.sub(lambda match: match[1] or " ", text) if attempt is None else attempt
            )
        except (ValueError, RecursionError):
            continue
        return value if isinstance(value, dict) else {}
    return {}
