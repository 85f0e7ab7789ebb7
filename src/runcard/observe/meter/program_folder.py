"""A folder of stand-ins, first in PATH, so that the known programs are metered where a script, a shell or make starts them.

There is one for each known program that is in PATH. `program_shim` is its text, `program_start` adapts its command. The folder
also has what these two need to know of the meter, and what they tell it:

    meter.json    the relay, and the variables that the meter has set
    route-NAME    where a route leads that only a program has found
    starts.jsonl  each program that was started, and why its calls cannot be metered

Invariant: only this user can read the folder, and it is removed with the run.
"""

import json
import os
import sys
from typing import TYPE_CHECKING, Any

from runcard.observe.meter.adapters import MeterGap
from runcard.observe.meter.routes import Route, UnusableUrlError, split_url

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runcard.observe.meter.routes import Routes

PREFIX = "runcard-programs-"  # of the names of these folders

_PROGRAMS = ("claude", "codex", "gemini", "opencode")
_STATE, _STARTS, _ROUTE = "meter.json", "starts.jsonl", "route-"
_LONGEST_HEADER = 127  # characters of `#!` and what follows it, on old systems
_MOST_BYTES = 1 << 20
_OPTIONS = "-IS"


def programs_in(path: str) -> list[str]:
    """The known programs in the folders of a PATH."""
    folders = [folder for folder in path.split(os.pathsep) if folder]
    return [
        name
        for name in _PROGRAMS
        if any(os.access(os.path.join(folder, name), os.X_OK) for folder in folders)
    ]


def without_stand_ins(path: str) -> str:
    """A PATH without the folders of enclosing runs."""
    if PREFIX not in path:
        return path
    folders = path.split(os.pathsep)
    return os.pathsep.join(folder for folder in folders if not os.path.basename(folder).startswith(PREFIX))


class ProgramFolder:
    """The folder of one run."""

    def __init__(self, path: str) -> None:
        self.path = path

    def write_stand_ins(self, names: list[str]) -> bool:
        """Write them; False if the system runs no programs from this folder."""
        with open(os.path.join(os.path.dirname(__file__), "program_shim.py"), encoding="utf-8") as file:
            text = file.read()
        packages = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(__file__))))
        for name in names:
            call = f"become_program({self.path!r}, {name!r}, {packages!r}, sys.argv[1:])"
            self._write(name, f"{_header()}\n{text}\n\n{call}\n", 0o700)
        return os.access(os.path.join(self.path, names[0]), os.X_OK)

    def write_state(self, state: dict[str, Any]) -> None:
        self._write(_STATE, json.dumps(state), 0o600)

    def read_state(self) -> dict[str, Any]:
        with open(os.path.join(self.path, _STATE), encoding="utf-8") as file:
            return dict(json.load(file))

    def write_private(self, data: bytes) -> str:
        """A file for a program that is started, as long as the command runs."""
        name = f"settings-{os.getpid()}.json"
        self._write(name, data.decode("utf-8", "surrogateescape"), 0o600)
        return os.path.join(self.path, name)

    def add_route(self, route: Route) -> None:
        """Tell the relay where a route leads; the name says it, too, so it is the same whoever writes it."""
        content = {"upstream": route.upstream, "network": route.network and dict(route.network)}
        self._write(_ROUTE + route.name, json.dumps(content), 0o600)

    def find_route(self, name: str) -> Route | None:
        """A route that a program has found."""
        try:
            with open(os.path.join(self.path, _ROUTE + name), encoding="utf-8") as file:
                content = json.loads(file.read(_MOST_BYTES))
            upstream, network = content["upstream"], content["network"]
            if split_url(upstream).origin != upstream:
                return None
        except (OSError, ValueError, LookupError, TypeError, AttributeError, UnusableUrlError):
            return None
        if network is None:
            return Route(name, upstream)
        return Route(name, upstream, tuple((str(key), str(value)) for key, value in network.items()))

    def add_start(self, client: str | None, directory: str, gaps: list[MeterGap]) -> None:
        """Note that a program was started here."""
        line = json.dumps({"client": client, "directory": directory, "gaps": gaps}) + "\n"
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        descriptor = os.open(os.path.join(self.path, _STARTS), flags, 0o600)
        try:
            os.write(descriptor, line.encode("utf-8", "surrogateescape"))
        finally:
            os.close(descriptor)

    def starts(self) -> "Iterator[tuple[str | None, str, list[MeterGap]]]":
        """The programs that were started: what they are, where, and what cannot be metered of them."""
        try:
            with open(os.path.join(self.path, _STARTS), encoding="utf-8", errors="surrogateescape") as file:
                lines = file.readlines(_MOST_BYTES)
        except OSError:
            return
        for line in lines:
            try:
                start = json.loads(line)
                yield start["client"], start["directory"], [MeterGap(*gap) for gap in start["gaps"]]
            except (ValueError, LookupError, TypeError):
                continue

    def _write(self, name: str, text: str, mode: int) -> None:
        """The file has its name when it is whole: programs are started at the same time."""
        path = os.path.join(self.path, name)
        temporary = f"{path}.{os.getpid()}.tmp"
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(temporary, flags, mode)
        with os.fdopen(descriptor, "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write(text)
        os.rename(temporary, path)


def _header() -> str:
    """The first lines of a script that the interpreter of this process runs, without its packages.

    Not that of a virtual environment, which the command may remove. A path that `#!` cannot have is run by a shell, which
    takes what follows for a text.
    """
    python = os.path.realpath(sys.executable)
    header = f"#!{python} {_OPTIONS}"
    if len(header) <= _LONGEST_HEADER and not set(python) & set(" \t\n\\"):
        return header
    import shlex  # noqa: PLC0415 - few have such a path

    return f"#!/bin/sh\n'''exec' {shlex.quote(python)} {_OPTIONS} \"$0\" \"$@\"\n' '''"


def routes_of(state: dict[str, Any], folder: ProgramFolder, network: dict[str, str] | None) -> "Routes":
    """The routes of the run, for a program that has these proxies and certificates; None: those of the command."""
    from runcard.observe.meter.routes import SharedRoutes  # noqa: PLC0415 - only where a program is started

    return SharedRoutes(state["base"], state["routes"], network, folder.add_route)
