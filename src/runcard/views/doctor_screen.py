"""The screen that `runcard doctor` prints: what is there, part by part. Commands and paths are never cut."""

from collections.abc import Iterable
from textwrap import wrap

from runcard.encoding import JsonObject
from runcard.files import printable
from runcard.views.formats import byte_size, counted
from runcard.views.screen_parts import MAX_LINES, SCREEN, section

_NAME_WIDTH = 13
_INDENT = " " * (2 + _NAME_WIDTH)


def doctor_screen(report: JsonObject) -> list[str]:
    """The report as lines."""
    return [
        f"runcard {report['runcard']}, Python {report['python']}, {report['platform']}",
        *section("Sessions of agent tools", _transcripts(report)),
        *section("Stores", _stores(report)),
        *section("Catalog", _catalog(report["catalog"])),
        *section("Settings", _settings(report["settings"])),
        *section("Agent tools that record themselves", _installed(report)),
        *section("Agent tools in PATH", [line for tool in report["clients"] for line in _client(tool)]),
        *section("Optional parts", [line for extra in report["extras"] for line in _extra(extra)]),
        *section("Disk space", [line for disk in report["disks"] for line in _disk(disk)]),
    ]


def _entry(name: str, texts: Iterable[str | None], *commands: str) -> list[str]:
    """A name with texts beside it, each on lines of its own; then commands, as they are typed."""
    lines = [
        line
        for text in texts
        if text
        for line in wrap(
            printable(text), SCREEN - len(_INDENT), break_long_words=False, break_on_hyphens=False
        )
    ]
    lines += commands
    shown = printable(name)
    is_long = len(shown) >= _NAME_WIDTH
    first = [f"  {shown}"] if is_long else [f"  {shown:<{_NAME_WIDTH}}{lines[0] if lines else ''}".rstrip()]
    return [*first, *(f"{_INDENT}{line}" for line in lines[0 if is_long else 1 :])]


def _transcripts(report: JsonObject) -> list[str]:
    lines = [line for tool in report["session_files"] for line in _transcript(tool)]
    if any(tool["not_imported"] for tool in report["session_files"]):
        lines += _entry("looked in", [", ".join(report["searched_stores"])])
    return lines or ["  none found"]


def _transcript(tool: JsonObject) -> list[str]:
    sessions = ("at least " if tool["at_least"] else "") + counted(tool["sessions"], "session")
    found = f"{sessions} in {counted(tool['files'], 'file')}, {byte_size(tool['bytes'])}"
    found += f"; {tool['empty']:,} more without a message" if tool["empty"] else ""
    command = [tool["command"]] if tool["command"] else []
    return _entry(tool["title"], [found, _imported(tool), _deleted(tool)], *command)


def _imported(tool: JsonObject) -> str | None:
    if not tool["sessions"]:
        return None
    if not tool["not_imported"]:
        return "all imported"
    new, grown = tool["not_imported"] - tool["grown"], tool["grown"]
    parts = [f"{new:,} not imported"] if new else []
    parts += [f"{grown:,} changed since {'its' if grown == 1 else 'their'} import"] if grown else []
    return ", ".join(parts)


def _deleted(tool: JsonObject) -> str:
    """When the tool deletes sessions, and the first of those that are not imported."""
    kind, days, source, note = (tool["retention"][key] for key in ("kind", "days", "source", "note"))
    where = "" if source == "default" else f", by {source}"
    if kind == "unknown":
        return f"when they are deleted is unknown{where}: {note}"
    if kind == "never":
        return f"{tool['title']} does not delete them{where}"
    period = counted(int(days), "day") if days == int(days) else f"{days:.3g} days"
    text = f"deleted {period} after their last change{where}" + (f" ({note})" if note else "")
    left = tool["days_left"]
    if left is None:
        return text
    return f"{text}; the next one " + (f"in {counted(left, 'day')}" if left else "at any time now")


def _catalog(catalog: JsonObject) -> list[str]:
    if catalog["problem"] is not None:
        return [f"  {printable(catalog['problem'])}"]
    if catalog["records"] is None:
        return _entry(catalog["place"], ["not made yet: the first `runcard ls` makes it"])
    found = counted(catalog["records"], "record")
    return _entry(
        catalog["place"], [f"{found} of {counted(catalog['hosts'], 'host')}" if catalog["hosts"] else found]
    )


def _stores(report: JsonObject) -> list[str]:
    lines = [line for store in report["stores"] for line in _store(store)]
    return lines or ["  none here"]


def _store(store: JsonObject) -> list[str]:
    if store["runs"] is None:
        return _entry(store["path"], [f"cannot be read: {store['problem']}"])
    size = ("at least " if store["bytes_at_least"] else "") + byte_size(store["bytes"])
    counts = [counted(store["runs"], "run"), counted(store["sessions"], "session")]
    counts += [f"{store['archived']:,} archived"] if store["archived"] else []
    texts = [f"{', '.join(counts)}; {size}"]
    running, dead = ([*store[f"{state}_runs"], *store[f"{state}_sessions"]] for state in ("open", "dead"))
    if running:
        texts.append(f"running: {', '.join(running[:MAX_LINES])}{_more(running)}")
    if dead:
        texts.append(f"not closed: {', '.join(dead[:MAX_LINES])}{_more(dead)}")
    leftovers = store["leftovers"]
    texts += [f"left by a killed command: {item['path']}: {item['about']}" for item in leftovers[:MAX_LINES]]
    texts += [_more(leftovers).removeprefix(" ")]
    return _entry(store["path"], texts)


def _more(items: list[object]) -> str:
    hidden = len(items) - MAX_LINES
    return f" and {hidden:,} more" if hidden > 0 else ""


def _state(setup: JsonObject) -> str:
    if setup["missing"]:
        return " (CANNOT START)"
    if setup["ignored"]:
        return " (IGNORED, see below)"
    return " (none has run yet)" if setup["part"] == "hooks" and setup["last_event"] is None else ""


def _installed(report: JsonObject) -> list[str]:
    lines = []
    titles = dict.fromkeys((setup["title"], setup["scope"]) for setup in report["installed"])
    for title, scope in titles:
        own = [setup for setup in report["installed"] if (setup["title"], setup["scope"]) == (title, scope)]
        where = "in this directory" if scope == "project" else "for all projects"
        parts = {"hooks": "hooks", "mcp": "MCP server"}
        texts = [f"{parts[setup['part']]}: {setup['path']}{_state(setup)}" for setup in own]
        lines += _entry(title, [where, *texts])
    hooks = report["hooks"]
    if hooks["sessions"]:
        texts = [f"{counted(hooks['sessions'], 'session')} noted"]
        texts += (
            [f"{counted(len(hooks['imported']), 'session')} imported now"] if hooks.get("imported") else []
        )
        texts += [f"{counted(len(hooks['pending']), 'session')} not imported yet"] if hooks["pending"] else []
        texts += (
            [f"{counted(len(hooks['failed']), 'session')} not imported: see below"] if hooks["failed"] else []
        )
        lines += _entry("hooks", [", ".join(texts)])
    return lines or _entry("none", [], "runcard install claude-code")


def _settings(settings: JsonObject) -> list[str]:
    trust = "" if settings["trusted"] else " (not trusted: it cannot loosen a setting)"
    lines = _entry("project", [f"{settings['file']}{trust}"]) if settings["file"] else []
    lines += _entry("user", [settings["user_file"]]) if settings["user_file"] else []
    if settings["problems"]:
        lines += _entry("problems", [f"{len(settings['problems']):,}, see below"])
    return lines or ["  all have their defaults, or come from the environment"]


def _client(client: JsonObject) -> list[str]:
    metered = "metered by `runcard run`" if client["metered"] else "the meter does not know it"
    return _entry(client["name"], [f"{client['title']}, {metered}", client["path"]])


def _extra(extra: JsonObject) -> list[str]:
    if extra["installed"]:
        return _entry(extra["name"], [f"installed: {extra['about']}"])
    return _entry(extra["name"], [f"not installed: {extra['about']}"], extra["install"])


def _disk(disk: JsonObject) -> list[str]:
    text = f"{byte_size(disk['free_bytes'])} of {byte_size(disk['total_bytes'])} free"
    return _entry(disk["path"], [text + (": low" if disk["low"] else "")])
