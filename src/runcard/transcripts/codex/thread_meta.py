"""What the first record of a rollout says: which thread the file is of, who started it, and where.

A thread is a conversation of one agent. A sub-agent is a thread of its own, which belongs to the session of its parent.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from runcard.transcripts.calls import MAIN, NO_TIME
from runcard.transcripts.content import milliseconds, object_of, text_of

_SUFFIXES = (".zst", ".jsonl", ".json")


@dataclass
class ThreadMeta:
    """One thread; None where the file does not say it."""

    id: str
    spawner: str | None = None  # the thread that started this sub-agent
    fork_of: str | None = None  # the thread whose history this one continues
    session: str | None = None  # the session that a sub-agent belongs to
    is_subagent: bool = False
    name: str | None = None  # of the sub-agent
    role: str | None = None
    path: str | None = None  # of the sub-agent, by the names of its parents
    cwd: str | None = None
    branch: str | None = None
    commit: str | None = None
    repository: str | None = None
    version: str | None = None
    provider: str | None = None
    created: int = NO_TIME
    history_end: int | None = None  # the ordinal of the first record that is the sub-agent's own
    has_history_elsewhere: bool = False  # the history of a fork stays in the file of its parent

    @property
    def agent(self) -> str:
        """The name of the agent for people."""
        return (self.name or self.role or self.path or self.id) if self.is_subagent else MAIN

    @property
    def agent_id(self) -> str:
        return self.id if self.is_subagent else MAIN


def thread_of_file(path: str) -> ThreadMeta:
    """The thread of a file, by its name: `rollout-<time>-<id>.jsonl`."""
    name = os.path.basename(path)
    for suffix in _SUFFIXES:
        name = name.removesuffix(suffix)
    return ThreadMeta(name.removeprefix("rollout-")[20:] or name)


def thread_of_meta(meta: Mapping[str, Any], time: int, file_id: str) -> ThreadMeta:
    """The thread of a `session_meta` record, written at this time; `file_id` stands in for a missing id."""
    source = object_of(meta.get("source")).get("subagent")
    spawned = object_of(object_of(source).get("thread_spawn"))
    thread = ThreadMeta(text_of(meta.get("id")) or file_id)
    thread.spawner = text_of(spawned.get("parent_thread_id")) or text_of(meta.get("parent_thread_id"))
    thread.fork_of = text_of(meta.get("forked_from_id"))
    session = text_of(meta.get("session_id"))
    thread.session = session if session and session != thread.id else thread.spawner
    thread.is_subagent = bool(thread.spawner or source or meta.get("thread_source") == "subagent")
    thread.name = text_of(spawned.get("agent_nickname")) or text_of(meta.get("agent_nickname"))
    role = text_of(spawned.get("agent_role")) or text_of(meta.get("agent_role"))
    thread.role = role or text_of(source) or text_of(object_of(source).get("other"))
    thread.path = text_of(spawned.get("agent_path"))
    thread.cwd = text_of(meta.get("cwd"))
    _set_git(thread, object_of(meta.get("git")))
    thread.version = text_of(meta.get("cli_version"))
    thread.provider = text_of(meta.get("model_provider"))
    thread.created = time if time >= 0 else milliseconds(meta.get("timestamp"))
    first = meta.get("subagent_history_start_ordinal")
    thread.history_end = first if isinstance(first, int) and not isinstance(first, bool) else None
    thread.has_history_elsewhere = bool(object_of(meta.get("history_base")))
    return thread


def thread_of_header(header: Mapping[str, Any], file_id: str) -> ThreadMeta:
    """The thread of the first record of an older version, which has no type."""
    thread = ThreadMeta(text_of(header.get("id")) or file_id)
    thread.created = milliseconds(header.get("timestamp"))
    thread.cwd, thread.version = text_of(header.get("cwd")), text_of(header.get("cli_version"))
    _set_git(thread, object_of(header.get("git")))
    return thread


def _set_git(thread: ThreadMeta, git: Mapping[str, Any]) -> None:
    thread.branch = text_of(git.get("branch"))
    thread.commit = text_of(git.get("commit_hash"))
    thread.repository = text_of(git.get("repository_url"))


def session_of(thread: ThreadMeta, threads: Mapping[str, ThreadMeta]) -> str:
    """The session that a thread belongs to. Older versions name only the parent of a sub-agent, which may be one itself."""
    passed = {thread.id}
    while thread.session and thread.session not in passed and thread.session in threads:
        passed.add(thread.session)
        thread = threads[thread.session]
    return thread.session or thread.id
