"""`runcard install` and `runcard uninstall`: change the settings files of agent tools so that they record themselves.

All changes are planned first, from the files as they are; then they are shown; then they are written, each file only if it is still
as it was planned from. If one cannot be written, those that were are put back.
"""

import contextlib
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import unified_diff

from runcard.agent_setup import hook_note
from runcard.agent_setup.ignored_settings import ignored_reason
from runcard.agent_setup.install_notes import (
    InstallNote,
    digest_of,
    locked_install,
    made_folders,
    read_install_note,
    remove_install_note,
    write_install_note,
)
from runcard.agent_setup.own_entries import add_parts, own_parts, parse_data, remove_own
from runcard.agent_setup.settings_file import (
    SettingsText,
    broken,
    check_unchanged,
    read_settings_text,
    remove_folders,
    replace_settings,
)
from runcard.agent_setup.tools import OWN_MARK, SETUPS, AgentSetup, Commands, Part, Scope, SettingsPart
from runcard.encoding import JsonObject
from runcard.errors import EncodingError, RuncardError, StoreError, UsageError
from runcard.extras import install_hint, missing_modules
from runcard.files import json_name, printable
from runcard.masking import mask_text

_PARTS: tuple[Part, ...] = ("hooks", "mcp")
TOOLS = tuple(SETUPS)


@dataclass
class SettingsChange:
    """What becomes of one file."""

    before: SettingsText
    after: bytes | None
    note: InstallNote | None  # to be kept; None: nothing of ours is left
    parts: tuple[Part, ...]  # what of ours it has afterwards

    @property
    def path(self) -> str:
        return self.before.path

    @property
    def is_any(self) -> bool:
        return self.before.data != self.after

    def diff(self) -> list[str]:
        """The difference in lines, with secrets masked."""
        old = (self.before.data or b"").decode("utf-8", "replace").expandtabs(4).splitlines()
        new = (self.after or b"").decode("utf-8", "replace").expandtabs(4).splitlines()
        name = printable(self.path)
        froms = "/dev/null" if self.before.data is None else name
        to = "/dev/null" if self.after is None else name
        return [printable(mask_text(line).value) for line in unified_diff(old, new, froms, to, lineterm="")]


@dataclass
class SetupPlan:
    """What is to be changed for one tool, and what to say about it."""

    tool: str
    title: str
    changes: list[SettingsChange] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)

    @property
    def is_any(self) -> bool:
        return any(change.is_any for change in self.changes)

    def to_dict(self) -> JsonObject:
        return {
            "tool": self.tool,
            "files": [
                {
                    "path": json_name(change.path).text,
                    "changed": change.is_any,
                    "parts": list(change.parts),
                    "diff": change.diff(),
                }
                for change in self.changes
            ],
            "remarks": self.remarks,
        }


def own_commands(*, allow_write: bool = False) -> Commands:
    """The programs that settings files name: those that are in use now."""
    if not sys.executable:
        raise UsageError("it is not known which Python this is", hint="call runcard by its full path")
    options = ("--allow-write",) if allow_write else ()
    hook = (sys.executable, "-I", "-S", os.path.abspath(hook_note.__file__))
    return Commands((*_program(), "mcp", *options), hook)


def _program() -> tuple[str, ...]:
    beside = os.path.join(os.path.dirname(sys.executable), "runcard")
    for path in (sys.argv[0], beside):
        if os.path.isabs(path) and os.path.basename(path) == "runcard" and os.access(path, os.X_OK):
            return (path,)
    return (sys.executable, "-P", "-m", "runcard")


def plan_install(
    tool: str,
    *,
    parts: Sequence[Part] = (),
    scope: Scope = "project",
    allow_write: bool = False,
    environ: Mapping[str, str] | None = None,
) -> SetupPlan:
    """What `install` would change. Without `parts`, all that the tool has. Writes nothing."""
    setup = _setup(tool)
    wanted = tuple(parts) or (_PARTS if setup.no_hooks is None else ("mcp",))
    commands = own_commands(allow_write=allow_write)
    plan = SetupPlan(tool, setup.title)
    plan.changes = list(_changes(setup, commands, scope, environ, add=wanted))
    if "hooks" in wanted and setup.note:
        plan.remarks.append(setup.note)
    variables = os.environ if environ is None else environ
    for change in plan.changes:
        text = (change.after or b"").decode("utf-8", "replace")
        reason = ignored_reason(tool, change.path, text, is_project=scope == "project", environ=variables)
        plan.remarks += [reason] if reason is not None else []
    if not parts and setup.no_hooks is not None:
        plan.remarks.append(f"{setup.title} gets no hooks: {setup.no_hooks}")
    if "mcp" in wanted and missing_modules("mcp"):
        plan.remarks.append(f"the MCP server is not installed; {install_hint('mcp')}")
    return plan


def plan_uninstall(
    tool: str,
    *,
    parts: Sequence[Part] = (),
    scope: Scope = "project",
    environ: Mapping[str, str] | None = None,
) -> SetupPlan:
    """What `uninstall` would change. Without `parts`, all that is ours is removed. Writes nothing."""
    setup = _setup(tool)
    plan = SetupPlan(tool, setup.title)
    plan.changes = list(_changes(setup, own_commands(), scope, environ, remove=tuple(parts) or _PARTS))
    return plan


def _setup(tool: str) -> AgentSetup:
    if tool not in SETUPS:
        raise UsageError(f"{tool!r} is not a known tool", hint=f"use {', '.join(SETUPS)}")
    return SETUPS[tool]


def _changes(
    setup: AgentSetup,
    commands: Commands,
    scope: Scope,
    environ: Mapping[str, str] | None,
    *,
    add: tuple[Part, ...] = (),
    remove: tuple[Part, ...] = (),
) -> Iterator[SettingsChange]:
    """The changes of all files that have one of these parts, or get it."""
    directory = os.getcwd()
    possible = _PARTS if setup.no_hooks is None else ("mcp",)
    asked = add or tuple(part for part in remove if part in possible)
    variables = os.environ if environ is None else environ
    every = setup.parts(possible, scope, commands, directory, variables)
    if unknown := [part for part in asked if part not in possible]:
        setup.parts((unknown[0],), scope, commands, directory, variables)  # says why not
    for path in dict.fromkeys(part.path for part in every if part.part in asked):
        text = read_settings_text(path, directory if scope == "project" else None)
        yield _planned(text, [part for part in every if part.path == path], add, remove)


def _planned(
    text: SettingsText, every: list[SettingsPart], add: tuple[Part, ...], remove: tuple[Part, ...]
) -> SettingsChange:
    try:
        if every[0].form == "own":
            return _planned_own(text)
        return _planned_shared(text, every, add, remove)
    except EncodingError as error:
        raise broken(text.path, error.message) from error
    except StoreError as error:
        if printable(text.path) in error.message:
            raise
        raise StoreError(f"{printable(text.path)}: {error.message}", hint=error.hint) from error


def _planned_own(text: SettingsText) -> SettingsChange:
    """A file of an earlier version, which is taken away. Another one of this name is kept."""
    is_ours = text.text is not None and text.text.startswith(OWN_MARK)
    return SettingsChange(text, None if is_ours else text.data, None, ())


def _planned_shared(
    text: SettingsText, every: list[SettingsPart], add: tuple[Part, ...], remove: tuple[Part, ...]
) -> SettingsChange:
    form, present = every[0].form, text.text
    parse_data(form, present or "")  # it is not broken
    installed = own_parts(form, present or "")
    kept = [
        part for part in every if (part.part in installed or part.part in add) and part.part not in remove
    ]
    names = tuple(part.part for part in kept)
    same = {part.part: list(part.entries) for part in kept}
    if same == {part: entries for part, entries in installed.items() if entries}:
        return SettingsChange(text, text.data, read_install_note(text.path), names)
    base = _without_ours(text, form)
    if not kept:
        return SettingsChange(text, None if base is None else text.encode(base), None, ())
    after, steps = add_parts(form, base, kept)
    before = None if base is None else digest_of(text.encode(base))
    data = text.encode(after)
    return SettingsChange(text, data, InstallNote(text.path, before, str(digest_of(data)), steps), names)


def _without_ours(text: SettingsText, form: str) -> str | None:
    """The text without anything of ours: as it was before, if nothing else changed; None if there was no file."""
    note = read_install_note(text.path)
    if text.text is None:
        return None
    if note is not None and note.after == digest_of(text.data):
        undone = note.undo(text.text)
        if note.before is None:
            return None
        if undone is not None and digest_of(text.encode(undone)) == note.before:
            return undone
    rest = remove_own(form, text.text)
    was_made = note is not None and note.before is None
    return None if was_made and not parse_data(form, rest) else rest


def carry_out(plans: Sequence[SetupPlan]) -> list[str]:
    """Write the changes; the paths that were changed. After an error, all files are as they were."""
    changes = [change for plan in plans for change in plan.changes if change.is_any]
    done: list[SettingsChange] = []
    with (
        locked_install()
    ):  # or what one process puts back would take away what another one has found installed
        for change in changes:
            check_unchanged(change.before)
        try:
            for change in changes:
                _write(change)
                done.append(change)
        except RuncardError:
            for change in reversed(done):
                _put_back(change)
            raise
    return [change.path for change in done]


def _write(change: SettingsChange) -> None:
    made = [*made_folders(change.path), *replace_settings(change.before, change.after)]
    if change.note is not None:
        write_install_note(replace(change.note, made=made))
    else:
        remove_install_note(change.path)
    if change.after is None:
        remove_folders(made)


def _put_back(change: SettingsChange) -> None:
    with contextlib.suppress(RuncardError):
        made = made_folders(change.path)
        replace_settings(SettingsText(change.path, change.after), change.before.data)
        remove_install_note(change.path)
        if change.before.data is None:
            remove_folders(made)
