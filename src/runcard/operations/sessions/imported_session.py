"""The description of a session that is imported, as `collect` has it from a SPEC: its agents, their times and their usage.

What a tool wrote is hostile: an id that cannot be a file name, or that looks like a secret, is replaced by a digest of it;
parents that do not exist or form a circle are replaced by the main agent.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256

from runcard.documents.percentiles import Times
from runcard.documents.session.build import InstanceUsage
from runcard.documents.session.error_categories import category, retryable
from runcard.documents.session.session_spec import InstanceSpec, SessionSpec
from runcard.documents.times import format_time_ms
from runcard.encoding import JsonObject
from runcard.files import is_safe_id
from runcard.masking import mask_text
from runcard.operations.sessions.metered_sessions import MeteredSession
from runcard.operations.sessions.session_calls import AgentCalls
from runcard.transcripts.activity import UNATTRIBUTED, SessionActivity, SessionAgent, SessionFiles
from runcard.transcripts.calls import MAIN
from runcard.transcripts.content import text_of

_MOST_NAMES = 200  # names of tools in a document; the rest is counted together
_OTHER = "other tools"
_OWN_TOOL = re.compile(r"(?:mcp_+)?runcard_+[a-z]")  # a tool of the MCP server, as the agents name it


def safe_id(tool: str, own: str) -> str:
    """An id of a tool as the name of a directory: itself, or else a digest of it."""
    if is_safe_id(own) and mask_text(own).value == own:
        return own
    return f"{tool}-{sha256(own.encode('utf-8', 'surrogateescape')).hexdigest()[:16]}"


@dataclass(frozen=True, slots=True)
class ImportParts:
    """All that is known of a session that is imported."""

    files: SessionFiles
    activity: SessionActivity
    calls: Mapping[str | None, AgentCalls]  # by the id of the agent; None: not known
    not_written: tuple[str, ...]  # kinds of calls that its tool never writes
    metered: MeteredSession | None = None  # the runs that metered it
    recorded_by: tuple[str, ...] = ()  # who imported it, now and before

    @property
    def started(self) -> int:
        """When the work began, or else when its files were last changed; milliseconds since 1970."""
        return min((agent.started for agent in self._timed), default=self.files.modified)

    @property
    def ended(self) -> int:
        return max((agent.ended for agent in self._timed), default=self.files.modified)

    @property
    def is_timed(self) -> bool:
        """Whether its files have any time."""
        return bool(self._timed)

    @property
    def _timed(self) -> list[SessionAgent | AgentCalls]:
        agents: list[SessionAgent | AgentCalls] = [*self.activity.agents.values(), *self.calls.values()]
        return [agent for agent in agents if agent.started >= 0]

    @property
    def is_empty(self) -> bool:
        """Whether there is neither a call nor a step of an agent."""
        return not self.calls and all(
            agent.last is None and agent.status is None for agent in self.activity.agents.values()
        )


def instance_ids(parts: ImportParts) -> dict[str | None, str]:
    """The id of the instance of each agent, by the id that its tool gives it; the main agent comes first.

    None stands for the agents that are not known: their calls and their steps are those of one instance.
    """
    known = {*parts.activity.agents, *(own for own in parts.calls if own is not None)} - {UNATTRIBUTED}
    ordered = sorted(known, key=lambda own: (own != MAIN, _first(parts, own), own))
    ids: dict[str | None, str] = {own: safe_id(parts.files.tool, own) for own in ordered}
    if None in parts.calls or UNATTRIBUTED in parts.activity.agents:
        ids[None] = UNATTRIBUTED
    return ids


def _first(parts: ImportParts, own: str) -> int:
    times = [agent.started for agent in _both(parts, own) if agent.started >= 0]
    return min(times, default=1 << 62)


def _agent(parts: ImportParts, own: str | None) -> SessionAgent | None:
    return parts.activity.agents.get(UNATTRIBUTED if own is None else own)


def _both(parts: ImportParts, own: str | None) -> list[SessionAgent | AgentCalls]:
    return [each for each in (_agent(parts, own), parts.calls.get(own)) if each is not None]


def imported_spec(
    parts: ImportParts, *, is_counted: bool = True
) -> tuple[SessionSpec, dict[str, InstanceUsage]]:
    """The session as it is stored, and the usage of its instances; secrets are not masked yet.

    `is_counted` says that the tool writes its calls, so that an agent without any has used nothing.
    """
    ids = instance_ids(parts)
    parents = _parents(parts, ids)
    instances, usages = [], {}
    for own, instance_id in ids.items():
        calls = parts.calls.get(own)
        is_known = calls is not None or (is_counted and _has_used_nothing(parts, own))
        usages[instance_id] = (calls or AgentCalls()).usage() if is_known else InstanceUsage()
        instances.append(_instance(parts, own, instance_id, parents.get(own), usages[instance_id]))
    fields: JsonObject = {
        "labels": {} if parts.is_timed else {"times": "of the file: its records have none"},
        "origin_session": _origin(parts),
    }
    if parts.recorded_by:
        fields["recorded_by"] = _recorded_by(parts)
    if parts.metered is not None:
        fields |= {"metered_runs": parts.metered.runs, "relations": parts.metered.relations}
    if parts.metered is None or not parts.metered.is_whole:
        fields["usage_incomplete"] = {"calls_not_in_transcripts": list(parts.not_written), "calls": None}
    return SessionSpec(safe_id(parts.files.tool, parts.files.session), tuple(instances), fields), usages


def _recorded_by(parts: ImportParts) -> list[str]:
    """How the session was seen: by imports, by runs that metered it, and by agents that used the MCP server of runcard."""
    seen = {*parts.recorded_by}
    seen |= {"meter"} if parts.metered is not None and parts.metered.runs else set()
    names = (name for agent in parts.activity.agents.values() for name in agent.tool_uses)
    seen |= {"mcp"} if any(_OWN_TOOL.match(name) for name in names) else set()
    return sorted(seen)


def _has_used_nothing(parts: ImportParts, own: str | None) -> bool:
    """Whether an agent without counted calls made none: its file is there, and has no reply of a model."""
    agent, owners = _agent(parts, own), parts.activity.owners
    is_read = own == MAIN or not owners or own in owners.values()
    return is_read and not (agent is not None and agent.has_called)


def _origin(parts: ImportParts) -> JsonObject:
    activity = parts.activity
    folder = (
        activity.folder or parts.files.folder or _first_known(call.project for call in parts.calls.values())
    )
    facts = {
        "tool": parts.files.tool,
        "tool_version": activity.tool_version,
        "id": parts.files.session,
        "folder": folder,
        "branch": activity.branch or _first_known(call.branch for call in parts.calls.values()),
        "commit": activity.commit,
        "repository": activity.repository,
        "title": activity.title,
        "resumed_from": activity.resumed_from,
        "started": format_time_ms(_moment(parts.started)),
        "ended": format_time_ms(_moment(parts.ended)),
    }
    return {name: text for name, value in facts.items() if (text := text_of(value)) is not None}


def _first_known(values: Iterable[str | None]) -> str | None:
    return next((value for value in values if value is not None), None)


def _parents(parts: ImportParts, ids: Mapping[str | None, str]) -> dict[str | None, str]:
    """The parent of each agent: as its tool says, or else the main agent; the main agent has none."""
    agents = parts.activity.agents
    parents: dict[str, str] = {}
    for own in ids:
        if own is None or own == MAIN:
            continue
        parent = agents[own].parent if own in agents else None
        if parent is None or parent not in ids or _is_below(own, parent, parents):
            parent = MAIN
        if parent in ids:
            parents[own] = parent
    known: dict[str | None, str] = {own: ids[parent] for own, parent in parents.items()}
    return known


def _is_below(own: str, parent: str, parents: Mapping[str, str]) -> bool:
    """Whether the parent of an agent would be the agent itself, or one below it."""
    above: str | None = parent
    while above is not None:
        if above == own:
            return True
        above = parents.get(above)
    return False


def _instance(
    parts: ImportParts, own: str | None, instance_id: str, parent: str | None, usage: InstanceUsage
) -> InstanceSpec:
    agent, both = _agent(parts, own), _both(parts, own)
    started = min((each.started for each in both if each.started >= 0), default=parts.started)
    ended = max((each.ended for each in both if each.ended >= 0), default=parts.ended)
    created, terminated = _moment(started), _moment(max(started, ended))
    calls = parts.calls.get(own)
    name = text_of(agent and (agent.name or agent.role)) or (text_of(calls.name) if calls else None)
    fields: JsonObject = {
        "name": UNATTRIBUTED if own is None else name or instance_id,
        "role": text_of(agent and agent.role) or "general",
        "model": usage.model or text_of(agent and agent.model),
        "status": "completed" if own is None else agent.final_status if agent else "terminated",
        "created_at": format_time_ms(created),
        "terminated_at": format_time_ms(terminated),
        **(_facts(agent) if agent is not None else {}),
    }
    known = {key: value for key, value in fields.items() if value is not None}
    if known["status"] == "running":  # it ends when it is collected
        del known["terminated_at"]
        return InstanceSpec(instance_id, parent, created, None, known)
    return InstanceSpec(instance_id, parent, created, terminated, known)


def _facts(agent: SessionAgent) -> JsonObject:
    """What the steps of an agent tell: its tools, its errors, its response times."""
    times = Times(agent.response_times or agent.replies.seconds())
    task = text_of(agent.description)
    labels = agent.labels | ({"task": task} if task else {})
    return {
        "tool_uses": _by_name(agent.tool_uses),
        "errors_by_category": dict(sorted(agent.error_categories.items())),
        "performance": {"response_times": {"count": len(times), **(times.summary() or {})}}
        if len(times)
        else {},
        **({"labels": labels} if labels else {}),
        **_error(agent),
    }


def _error(agent: SessionAgent) -> JsonObject:
    """The error that ended the work of an agent."""
    if agent.final_status not in {"error", "timeout"} or not agent.errors:
        return {}
    last = agent.errors[-1]
    message = text_of(last.message)
    kind = last.category or category(message, agent.final_status) or "other"
    details: JsonObject = {"category": kind, "message": message}
    if last.time >= 0:
        details["time"] = format_time_ms(_moment(last.time))
    if (may_retry := retryable(kind)) is not None:
        details["retryable"] = may_retry
    return {"error_message": message, "error_details": details}


def _by_name(counts: "Counter[str]") -> dict[str, int]:
    """The most frequent ones by name, the rest together."""
    named: Counter[str] = Counter()
    for name, count in counts.items():
        named[text_of(name) or "unknown"] += count
    ordered = sorted(named.items(), key=lambda entry: (-entry[1], entry[0]))
    shown = dict(ordered[:_MOST_NAMES])
    if rest := sum(count for _, count in ordered[_MOST_NAMES:]):
        shown[_OTHER] = shown.get(_OTHER, 0) + rest
    return shown


def _moment(milliseconds: int) -> datetime:
    return datetime.fromtimestamp(max(0, milliseconds) / 1000, UTC)
