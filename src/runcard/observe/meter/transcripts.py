"""What the transcripts of Claude Code say about the calls of a run, to notice calls that did not pass the relay.

A transcript is a lower bound: it lacks some calls. So it never adds to what a run used; it only shows that something is
missing. Nothing but ids and times is read from it.
"""

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

_LONGEST_LINE = 64 << 20
_NOT_CALLED = "<synthetic>"  # in place of a model: a message that Claude Code wrote itself


def transcripts_folder(environment: Mapping[str, str]) -> str:
    """The folder of Claude Code."""
    home = environment.get("HOME") or os.path.expanduser("~")
    return environment.get("CLAUDE_CONFIG_DIR") or os.path.join(home, ".claude")


class TranscriptSearch:
    """The transcripts of the sessions in a folder of Claude Code's."""

    def __init__(self, folder: str, directory: str, since: float) -> None:
        """`folder` has its settings; `directory` is where it ran; `since` is when, in seconds since 1970."""
        self._projects = os.path.join(folder, "projects")
        self._project = os.path.join(self._projects, re.sub(r"[^A-Za-z0-9]", "-", directory))
        self._since = since

    def unmetered_calls(self, sessions: Iterable[str], is_metered: Callable[[str], bool]) -> int:
        """How many responses since the start are in transcripts, and were not metered.

        Those of the given sessions are read; without any, those of the sessions that began in this directory meanwhile.
        `is_metered` is asked for the id that the provider gave to a request, or to a response.
        """
        named = [session for session in sessions if re.fullmatch(r"[A-Za-z0-9-]{1,100}", session)]
        files = [path for name in named for path in self._files_of(name)] if named else self._new_files()
        found: dict[str, bool] = {}
        for path in files:
            for request, response in self._replies(path):
                key = response or request or ""
                found[key] = found.get(key, False) or any(
                    is_metered(name) for name in (request, response) if name
                )
        return sum(not was_metered for was_metered in found.values())

    def _files_of(self, session: str) -> Iterator[str]:
        """The transcript of a session, and those of its agents."""
        for project in _names(self._projects):
            folder = os.path.join(self._projects, project)
            yield os.path.join(folder, f"{session}.jsonl")
            agents = os.path.join(folder, session, "subagents")
            yield from (os.path.join(agents, name) for name in _names(agents) if name.endswith(".jsonl"))

    def _new_files(self) -> Iterator[str]:
        for name in _names(self._project):
            path = os.path.join(self._project, name)
            times = [time for line in _lines(path) if (time := _time(line)) is not None]
            if name.endswith(".jsonl") and times and min(times) >= self._since:
                yield from self._files_of(name.removesuffix(".jsonl"))

    def _replies(self, path: str) -> Iterator[tuple[str | None, str | None]]:
        """The ids of the replies in a transcript that were written since the start."""
        for line in _lines(path):
            message, time = line.get("message"), _time(line)
            if (
                line.get("type") != "assistant"
                or line.get("isApiErrorMessage")
                or not isinstance(message, dict)
            ):
                continue
            if message.get("model") == _NOT_CALLED or time is None or time < self._since:
                continue
            request, response = _text(line.get("requestId")), _text(message.get("id"))
            if request or response:
                yield request, response


def _names(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


def _lines(path: str) -> Iterator[dict[str, Any]]:
    """The objects in a file with one on each line; other lines are skipped."""
    try:
        with open(path, "rb", opener=_open_without_waiting) as file:
            while line := file.readline(_LONGEST_LINE):
                try:
                    value = json.loads(line)
                except (ValueError, RecursionError):
                    continue
                if isinstance(value, dict):
                    yield value
    except OSError:
        return


def _open_without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC)  # a FIFO would wait for a writer


def _time(line: dict[str, Any]) -> float | None:
    try:
        moment = datetime.fromisoformat(line["timestamp"])
    except (KeyError, TypeError, ValueError):
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None
