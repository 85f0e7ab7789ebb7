"""The folders in which Madrox keeps its logs: which file is what, and when something happened.

Times in `instances.json` are UTC. All others are local times without a zone: they are read in the time zone of this process.
"""

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import NamedTuple

from runcard.transcripts.calls import NO_TIME
from runcard.transcripts.content import milliseconds

DEFAULT_FOLDER = "/tmp/madrox_logs"  # noqa: S108 - Madrox's own
_VARIABLES = ("MADROX_LOG_DIR", "LOG_DIR")
_PARTS = ("state", "audit", "instances")
_AUDIT = re.compile(r"audit_.*\.jsonl(\..+)?")
_INSTANCE_LOG = re.compile(r"instance\.log(\.\d+)?")
_INSTANCE_FILES = frozenset({"metadata.json", "communication.jsonl", "tmux_output.log"})


def folders(environ: Mapping[str, str]) -> list[str]:
    """Where Madrox may have its logs. A server that the plugin starts has a folder of its own in it."""
    bases = [environ[name] for name in _VARIABLES if environ.get(name)] + [DEFAULT_FOLDER]
    return [folder for base in dict.fromkeys(bases) for folder in subfolders(base)]


def subfolders(folder: str) -> list[str]:
    """The parts of a folder of logs that are read, and those of the folders in it. Workspaces are not among them."""
    found = [os.path.join(folder, name) for name in _PARTS]
    for root in _folders_in(folder):
        found += [path for name in _PARTS if os.path.isdir(path := os.path.join(root, name))]
    return found


def _folders_in(folder: str) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            return sorted(entry.path for entry in entries if entry.is_dir(follow_symlinks=False))
    except OSError:
        return []


class LogFile(NamedTuple):
    """What a file is, by its path."""

    root: str  # the folder of logs
    kind: str  # `state`, `server`, `audit`, or the name of a file of an instance
    instance: str | None = None


def log_file(path: str) -> LogFile | None:
    """What a file is; None for one that is not read."""
    folder, name = os.path.split(path)
    above, part = os.path.split(folder)
    if part == "state" and name in {"instances.json", "server.json"}:
        return LogFile(above, "state" if name == "instances.json" else "server")
    if part == "audit" and _AUDIT.fullmatch(name):
        return LogFile(above, "audit")
    root, instances = os.path.split(above)
    if instances == "instances" and (name in _INSTANCE_FILES or _INSTANCE_LOG.fullmatch(name)):
        kind = "instance.log" if name.startswith("instance.log") else name
        return LogFile(root, kind, part)
    return None


@dataclass
class LogFolder:
    """The files of one folder of logs."""

    root: str
    state: str | None = None
    server: str | None = None
    audit: list[str] = field(default_factory=list)
    instances: dict[str, dict[str, list[str]]] = field(default_factory=dict)  # by id, then by what they are

    def files_of(self, instance: str, kind: str) -> list[str]:
        """The files of an instance, the oldest first: `instance.log.1` was `instance.log` once."""
        return sorted(self.instances.get(instance, {}).get(kind, ()), reverse=True)


def log_folders(paths: Iterable[str]) -> dict[str, LogFolder]:
    """Files, by the folder of logs that they are in."""
    found: dict[str, LogFolder] = {}
    for path in sorted(paths):
        file = log_file(path)
        if file is None:
            continue
        folder = found.setdefault(file.root, LogFolder(file.root))
        if file.instance is not None:
            folder.instances.setdefault(file.instance, {}).setdefault(file.kind, []).append(path)
        elif file.kind == "audit":
            folder.audit.append(path)
        elif file.kind == "state":
            folder.state = path
        else:
            folder.server = path
    return found


def utc_time(value: object) -> int:
    """A time of `instances.json`: UTC, also without a zone."""
    return _time(value, UTC)


def local_time(value: object) -> int:
    """A time of any other file: local where it has no zone."""
    return _time(value, None)


def _time(value: object, zone: object) -> int:
    if not isinstance(value, str):
        return NO_TIME
    try:
        moment = datetime.fromisoformat(value)
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC) if zone is UTC else moment.astimezone()
    except (ValueError, OverflowError, OSError):
        return NO_TIME
    return milliseconds(moment.isoformat())
