"""What is ours in a settings file: adding it and taking it out, in JSON with comments and in TOML. All other bytes stay."""

import json
import re
import tomllib
from collections.abc import Iterator, Sequence
from copy import deepcopy
from typing import Any

from runcard.agent_setup.tools import PLUGIN, SERVER, Part, SettingsEntry, SettingsPart
from runcard.encoding import JsonObject
from runcard.encoding.json.jsonc import (
    Insertion,
    JsonSpan,
    apply_insertions,
    as_object,
    insert_value,
    parse_jsonc,
    remove_value,
)
from runcard.errors import EncodingError, StoreError

_HOOK_LINE = re.compile(r"hook_note\.py'? |\bruncard hook ")
_SERVERS = ("mcpServers", "mcp", "mcp_servers")
_TABLE = re.compile(r"(?m)^[ \t]*\[")
_OWN_TABLE = re.compile(
    r"(?m)^[ \t]*\[[ \t]*mcp_servers[ \t]*\.[ \t]*[\"']?runcard[\"']?[ \t]*(?:\.[^\]\n]*)?\]"
)

Steps = list[list[tuple[int, str]]]


def parse_data(form: str, text: str) -> JsonObject:
    """The object in a file; EncodingError if there is none."""
    if form == "toml":
        try:
            return tomllib.loads(text)
        except (ValueError, RecursionError) as error:
            raise EncodingError("toml.syntax", str(error)) from error
    data = parse_jsonc(text).data if text.strip() else {}
    if not isinstance(data, dict):
        raise EncodingError("json.type", "it is not an object")
    return data


def own_parts(form: str, text: str) -> dict[Part, list[SettingsEntry]]:
    """What is ours in a text, by part."""
    data = parse_data(form, text)
    found: dict[Part, list[SettingsEntry]] = {}
    for path in _own_paths(data):
        value: Any = data
        for key in path:
            value = value[key]
        part: Part = "hooks" if path[0] in {"hooks", "plugin"} else "mcp"
        name = None if part == "hooks" else SERVER
        found.setdefault(part, []).append(SettingsEntry(tuple(map(str, path[:-1])), name, value))
    return found


def _own_paths(data: JsonObject) -> Iterator[list[str | int]]:
    """Where our values are."""
    for event, groups in as_object(data.get("hooks")).items():
        for number, group in enumerate(groups if isinstance(groups, list) else ()):
            if _is_own_group(group):
                yield ["hooks", event, number]
    plugins = data.get("plugin")
    for number, plugin in enumerate(plugins if isinstance(plugins, list) else ()):
        if _is_own_plugin(plugin):
            yield ["plugin", number]
    for name in _SERVERS:
        if _is_own_server(as_object(data.get(name)).get(SERVER)):
            yield [name, SERVER]


def _is_own_group(group: object) -> bool:
    handlers = as_object(group).get("hooks")
    commands = [as_object(each).get("command") for each in handlers] if isinstance(handlers, list) else []
    return bool(commands) and all(isinstance(each, str) and _HOOK_LINE.search(each) for each in commands)


def _is_own_plugin(plugin: object) -> bool:
    name = plugin[0] if isinstance(plugin, list) and plugin else plugin
    return isinstance(name, str) and name.endswith(f"/runcard/agent_setup/{PLUGIN}")


def _is_own_server(server: object) -> bool:
    command, arguments = as_object(server).get("command"), as_object(server).get("args")
    words = [
        *(command if isinstance(command, list) else [command]),
        *(arguments if isinstance(arguments, list) else []),
    ]
    texts = [word for word in words if isinstance(word, str)]
    return "mcp" in texts[1:] and (texts[0].endswith("runcard") or "runcard" in texts[1:])


def add_parts(form: str, text: str | None, parts: Sequence[SettingsPart]) -> tuple[str, Steps]:
    """The text with these parts, which it does not have, and the insertions that made it."""
    entries = [entry for part in parts for entry in part.entries]
    if form == "toml":
        return _add_tables(text or "", entries)
    steps: Steps = []
    before = parse_data(form, text or "")
    if not (text or "").strip():
        first = [Insertion(0, "{}" if (text or "").endswith("\n") else "{}\n")]
        text = _applied(text or "", first, steps)
    for entry in entries:
        text = _add_entry(text or "", entry, steps)
    if parse_data(form, text or "") != _with_entries(before, entries):
        raise EncodingError("json.type", "it has a form that cannot be edited")
    return text or "", steps


def _applied(text: str, insertions: list[Insertion], steps: Steps) -> str:
    steps.append([(each.at, each.text) for each in insertions])
    return apply_insertions(text, insertions)


def _add_entry(text: str, entry: SettingsEntry, steps: Steps) -> str:
    """Insert a value, with the containers that are missing around it."""
    root = parse_jsonc(text)
    path, missing = [*entry.path], list[str]()
    while path and root.find(path) is None:
        missing.insert(0, path.pop())
    value: object = entry.value
    key = entry.key
    for name in reversed(missing):
        value = [value] if key is None else {key: value}
        key = name
    _check_container(root, path, key)
    return _applied(text, insert_value(text, root, path, key, value), steps)


def _check_container(root: JsonSpan, path: Sequence[str], key: str | None) -> None:
    container = root.find(path)
    if container is None or not isinstance(container.data, list if key is None else dict):
        where = ".".join(path) or "the file"
        raise EncodingError("json.type", f"{where} is not {'a list' if key is None else 'an object'}")
    if key == SERVER and SERVER in container.data:
        raise StoreError(
            f"there is another MCP server called {SERVER} in it: nothing was written",
            hint="remove it, or rename it, then run this again",
        )


def _with_entries(data: JsonObject, entries: Sequence[SettingsEntry]) -> JsonObject:
    result: Any = deepcopy(data)
    for entry in entries:
        at = result
        for number, name in enumerate(entry.path):
            is_list = entry.key is None and number == len(entry.path) - 1
            at = at.setdefault(name, [] if is_list else {})
        if entry.key is None:
            at.append(entry.value)
        else:
            at[entry.key] = entry.value
    return as_object(result)


def remove_own(form: str, text: str) -> str:
    """The text without anything of ours, and without the containers that this leaves empty."""
    if form == "toml":
        return _remove_tables(text)
    while paths := list(_own_paths(parse_data(form, text))):
        path = paths[-1]
        root = parse_jsonc(text)
        while len(path) > 1 and len((root.find(path[:-1]) or root).members) == 1:
            path = path[:-1]
        text = remove_value(text, root, path)
    return text


def _add_tables(text: str, entries: Sequence[SettingsEntry]) -> tuple[str, Steps]:
    before = parse_data("toml", text)
    newline = "\r\n" if "\r\n" in text else "\n"
    blocks = []
    for entry in entries:
        lines = [f"[{'.'.join([*entry.path, str(entry.key)])}]"]
        lines += [f"{name} = {json.dumps(value, ensure_ascii=False)}" for name, value in entry.value.items()]
        blocks.append(newline.join([*lines, ""]))
    gap = "" if not text else newline if text.endswith("\n") else newline * 2
    steps: Steps = []
    if any(SERVER in as_object(before.get(entry.path[0])) for entry in entries):
        raise StoreError(
            f"there is another MCP server called {SERVER} in it: nothing was written",
            hint="remove it, or rename it, then run this again",
        )
    after = _applied(text, [Insertion(len(text), gap + newline.join(blocks))], steps)
    try:
        is_right = parse_data("toml", after) == _with_entries(before, entries)
    except EncodingError:
        is_right = False
    if not is_right:
        raise EncodingError("toml.type", "mcp_servers is written in a form that cannot be added to")
    return after, steps


def _remove_tables(text: str) -> str:
    data = parse_data("toml", text)
    if not any(_own_paths(data)):
        return text
    expected = json.loads(json.dumps(data, default=str))
    del expected["mcp_servers"][SERVER]
    after = text
    while match := _OWN_TABLE.search(after):
        following = _TABLE.search(after, match.end())
        end = following.start() if following else len(after)
        start = match.start()
        before = after[:start].rstrip("\r\n")
        after = (
            after[: len(before) + len(_line_end(after[len(before) :]))]
            + _gap(before, after[end:])
            + after[end:]
        )
    left = json.loads(json.dumps(parse_data("toml", after), default=str))
    if (left | {"mcp_servers": left.get("mcp_servers", {})}) != expected:
        raise EncodingError("toml.type", "our part of it has a form that cannot be taken out")
    return after


def _line_end(text: str) -> str:
    return "\r\n" if text.startswith("\r\n") else text[:1] if text.startswith("\n") else ""


def _gap(before: str, rest: str) -> str:
    return "\n" if before and rest else ""
