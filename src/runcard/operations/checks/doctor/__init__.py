"""What is wrong here, and what will be: sessions that agent tools delete soon, dead runs, settings, disk space.

Invariant: nothing is changed, on disk or elsewhere.
"""

import os
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from runcard.encoding import JsonObject
from runcard.errors import UsageError
from runcard.files import json_name, printable, shell_word
from runcard.operations.checks.config import config
from runcard.operations.checks.doctor import machine
from runcard.operations.checks.doctor.agent_sessions import SOON, AgentTranscripts, agent_transcripts
from runcard.operations.checks.doctor.agent_setups import (
    HookWork,
    InstalledSetup,
    hook_work,
    installed_setups,
)
from runcard.operations.checks.doctor.catalog import CatalogState, catalog_state
from runcard.operations.checks.doctor.stores import StoreState, store_paths, store_states
from runcard.settings import read_settings
from runcard.store.known_stores import known_stores
from runcard.store.runs.config_file import left_configs
from runcard.transcripts.retention import DEFAULT
from runcard.version import __version__


class DoctorWarning(NamedTuple):
    """Something to do, and how."""

    message: str
    hint: str | None = None


@dataclass(frozen=True)
class SettingsState:
    """The settings files in use, and what is wrong with them."""

    file: str | None = None
    is_trusted: bool | None = None
    user_file: str | None = None
    problems: tuple[DoctorWarning, ...] = ()

    def to_dict(self) -> JsonObject:
        return {
            "file": self.file,
            "trusted": self.is_trusted,
            "user_file": self.user_file,
            "problems": [problem._asdict() for problem in self.problems],
        }


@dataclass(frozen=True)
class DoctorReport:
    """All that `runcard doctor` prints."""

    now: float  # seconds since 1970
    transcripts: list[AgentTranscripts]
    searched: list[str]  # the stores in which imported sessions were looked for
    stores: list[StoreState]
    stores_problem: str | None  # why there may be more of them
    settings: SettingsState
    setups: list[InstalledSetup]
    hooks: HookWork
    clients: list[machine.ClientProgram]
    extras: list[machine.ExtraState]
    disks: list[machine.DiskSpace]
    catalog: CatalogState
    left_configs: list[str]  # files outside of stores that killed runs left
    open_state_folder: str | None  # the folder with the user's key, if other users can write to it

    @property
    def python(self) -> str:
        return ".".join(map(str, sys.version_info[:3]))

    def warnings(self) -> Iterator[DoctorWarning]:
        """What should be done, the most urgent first."""
        for tool in self.transcripts:
            yield from _about_transcripts(tool, self.now)
        yield from _about_hooks(self.setups, self.hooks)
        if self.stores_problem is not None:
            yield DoctorWarning(f"there may be more stores: {self.stores_problem}")
        for store in self.stores:
            yield from _about_store(store)
        yield from self.settings.problems
        if self.catalog.problem is not None:
            yield DoctorWarning(self.catalog.problem, self.catalog.hint)
        if self.open_state_folder is not None:
            yield DoctorWarning(
                f"other users can write to {printable(self.open_state_folder)}: they can replace your key and the list of files "
                "that you trust",
                f"chmod 700 {shell_word(self.open_state_folder)}",
            )
        if self.left_configs:
            yield DoctorWarning(
                f"killed runs left their configuration: {printable(self.left_configs[0])}"
                + (" and others" if len(self.left_configs) > 1 else ""),
                "remove it: runcard close",
            )
        for disk in self.disks:
            if disk.is_low:
                yield DoctorWarning(
                    f"only {disk.free / 1e6:,.0f} MB are free in {printable(disk.path)}",
                    "make room: `runcard archive --older-than 30d`, `runcard prune`",
                )

    def to_dict(self) -> JsonObject:
        return {
            "runcard": __version__,
            "python": self.python,
            "platform": sys.platform,
            "session_files": [tool.to_dict(self.now) for tool in self.transcripts],
            "searched_stores": self.searched,
            "stores": [store.to_dict() for store in self.stores],
            "catalog": self.catalog.to_dict(),
            "settings": self.settings.to_dict(),
            "installed": [setup.to_dict() for setup in self.setups],
            "hooks": self.hooks.to_dict(),
            "clients": [client.to_dict() for client in self.clients],
            "extras": [extra.to_dict() for extra in self.extras],
            "disks": [disk.to_dict() for disk in self.disks],
            "left_configurations": self.left_configs,
            "open_state_folder": self.open_state_folder and json_name(self.open_state_folder).text,
            "warnings": [warning._asdict() for warning in self.warnings()],
        }


def doctor(environ: Mapping[str, str] | None = None) -> DoctorReport:
    """Look at everything. What cannot be read is reported, and stops nothing."""
    variables = os.environ if environ is None else environ
    now = time.time()
    paths, problem = store_paths()
    searched = list(dict.fromkeys([*map(os.path.abspath, paths), *filter(os.path.isdir, known_stores())]))
    transcripts = agent_transcripts(searched, now, variables)
    folders = [folder for tool in transcripts for folder in tool.folders]
    return DoctorReport(
        now,
        transcripts,
        searched,
        store_states(paths),
        problem,
        _settings(),
        _installed(variables),
        hook_work(),
        machine.clients(variables),
        machine.extras(),
        machine.disk_space([*paths, *folders]),
        catalog_state(),
        list(left_configs()),
        machine.open_state_folder(variables),
    )


def _installed(variables: Mapping[str, str]) -> list[InstalledSetup]:
    try:
        return installed_setups(variables)
    except OSError:  # the present folder is gone
        return []


def _settings() -> SettingsState:
    try:
        settings = read_settings()
        values, warnings = config(settings)
        problems = [
            *(DoctorWarning(value.error.message, value.error.hint) for value in values if value.error),
            *(DoctorWarning(message, hint) for message, hint in warnings),
        ]
        file, user_file = settings.file, settings.user_file
    except UsageError as error:  # a file that cannot be read
        return SettingsState(problems=(DoctorWarning(error.message, error.hint),))
    except OSError as error:  # the present folder is gone
        return SettingsState(problems=(DoctorWarning(f"the settings cannot be read: {error.strerror}"),))
    return SettingsState(
        file.path if file else None,
        settings.is_trusted if file else None,
        user_file.path if user_file else None,
        tuple(problems),
    )


def _about_transcripts(tool: AgentTranscripts, now: float) -> Iterator[DoctorWarning]:
    if tool.soon and tool.next_deletion is not None:
        what, they = ("1 session is", "it") if tool.soon == 1 else (f"{tool.soon:,} sessions are", "them")
        yield DoctorWarning(
            f"{what} not imported, and {tool.title} deletes {they} {_when(tool, now)}",
            f"keep {they}: {tool.command}",
        )
    if tool.retention.kind == "unknown" and tool.not_imported and tool.retention.source != DEFAULT:
        yield DoctorWarning(
            f"it is unknown when {tool.title} deletes its sessions: {tool.retention.note}",
            f"correct {printable(tool.retention.source)}",
        )
    if tool.unread:
        path, _, reason = tool.unread[0]
        more = f", and {len(tool.unread) - 1:,} more: see --json" if len(tool.unread) > 1 else ""
        yield DoctorWarning(f"{tool.title}: {printable(path)}: {reason}{more}")


def _when(tool: AgentTranscripts, now: float) -> str:
    """When the first sessions are deleted. The tools do so when they start."""
    days = tool.days_left(now)
    if days:
        first = f"in {days} day{'' if days == 1 else 's'}"
    else:
        is_over = (tool.next_deletion or now) <= now
        first = f"the next time that {tool.title} starts" if is_over else "within a day"
    return first if tool.soon == 1 else f"within {SOON} days, the first of them {first}"


def _about_hooks(setups: list[InstalledSetup], hooks: HookWork) -> Iterator[DoctorWarning]:
    for setup in setups:
        if setup.missing is not None:
            what = "hooks" if setup.part == "hooks" else "MCP server"
            yield DoctorWarning(
                f"the {what} of {setup.title} cannot start: {printable(setup.missing)} is gone",
                f"install again: {setup.command}",
            )
        if setup.ignored is not None:
            yield DoctorWarning(setup.ignored)
    if hooks.failed:
        session, reason = hooks.failed[0]
        more = f", and {len(hooks.failed) - 1:,} more: see --json" if len(hooks.failed) > 1 else ""
        yield DoctorWarning(
            f"a session that a hook noted was not imported: {printable(session)}: {reason}{more}"
        )


def _about_store(store: StoreState) -> Iterator[DoctorWarning]:
    path = printable(store.path)
    if dead := [session for session in store.dead_sessions if session not in store.unproven_sessions]:
        sessions = "1 session was" if len(dead) == 1 else f"{len(dead):,} sessions were"
        yield DoctorWarning(
            f"{sessions} not closed and the process is gone: {printable(dead[0])}"
            + (" and others" if len(dead) > 1 else ""),
            f"close it: runcard close {shell_word(dead[0])}",
        )
    for session in store.unproven_sessions[:1]:
        count = len(store.unproven_sessions)
        sessions = "1 open session is" if count == 1 else f"{count:,} open sessions are"
        yield DoctorWarning(
            f"{sessions} not known to be yours: {printable(session)}" + (" and others" if count > 1 else ""),
            f"look at it: runcard show {shell_word(session)}; to store it without the files that it names: runcard close "
            f"{shell_word(session)}; if it is yours: runcard close --trust {shell_word(session)}",
        )
    if store.problem is not None and not store.is_listed:
        hint = "change its permissions, or run the command as its owner"
        yield DoctorWarning(f"the store {path} cannot be read: {store.problem}", hint)
    elif store.problem is not None:
        yield DoctorWarning(f"the store {path} cannot be read as a whole: {printable(store.problem)}")
    if store.dead_runs:
        count = len(store.dead_runs)
        runs = "1 run was" if count == 1 else f"{count:,} runs were"
        yield DoctorWarning(
            f"{runs} not closed and the process is gone: {printable(store.dead_runs[0])}"
            + (" and others" if count > 1 else ""),
            f"close {'it' if count == 1 else 'them'}: runcard close --outputs {path}",
        )
