"""The tools that record the session of a team of agents, and collect it.

A session that is started here belongs to no process: it stays open when the server ends, and is stored by
`collect_team_artifacts`, or by `runcard session finish`.
"""

from typing import TYPE_CHECKING

from runcard.encoding import JsonObject
from runcard.errors import RuncardError, StoreError
from runcard.files import shell_word
from runcard.mcp_server.paging import MOST_BYTES, page_of_items
from runcard.mcp_server.tools import (
    COUNT,
    FLAG,
    OBJECT,
    OBJECTS,
    PAGE,
    TEXT,
    StructuredError,
    ToolCall,
    ToolDefinition,
    about,
    answer_schema,
    arguments_schema,
    optional,
)

if TYPE_CHECKING:
    from runcard.operations.sessions.assembly import CollectionProgress

_MOST_ERRORS = 20
_SESSION_ID = about({"type": "string", "minLength": 1, "maxLength": 128}, "The id of the session.")
_AGENT = about(
    {"type": "string", "minLength": 1, "maxLength": 1000}, "The name of the agent, or its instance_id."
)


def session_start(call: ToolCall, team_session_id: str, labels: JsonObject | None = None) -> JsonObject:  # noqa: ARG001
    """Start a session that stays open until it is collected."""
    from runcard.operations.sessions.shell_session import start_session  # noqa: PLC0415 - long to load

    link = start_session(team_session_id, labels=labels)
    return {"team_session_id": link.session_id, "path": link.path}


def instance_start(  # noqa: PLR0913 - as its schema
    call: ToolCall,
    team_session_id: str,
    name: str,
    *,
    role: str | None = None,
    model: str | None = None,
    provider: str | None = None,
    parent: str | None = None,
    workspace: str | None = None,
    output: str | None = None,
    labels: JsonObject | None = None,
) -> JsonObject:
    """Record that an agent starts. What it names is copied later, so it must be in the project."""
    from runcard.operations.sessions.shell_session import join_session  # noqa: PLC0415 - long to load

    project = call.scope.project
    instance = join_session(team_session_id).start_instance(
        name,
        role=role,
        model=model,
        provider=provider,
        parent=parent,
        workspace=None if workspace is None else project.path(workspace),
        output=None if output is None else project.path(output),
        labels=labels,
    )
    return {"team_session_id": team_session_id, "instance_id": instance.id}


def instance_finish(
    call: ToolCall,  # noqa: ARG001
    team_session_id: str,
    agent: str,
    status: str = "completed",
    error: str | None = None,
    usage: list[JsonObject] | None = None,
) -> JsonObject:
    """Record that an agent has ended, and what it used."""
    from runcard.operations.sessions.shell_session import join_session  # noqa: PLC0415 - long to load

    instance = join_session(team_session_id).instance(agent)
    for reply in usage or ():
        instance.add_usage(reply)
    instance.finish(status, error)
    return {"team_session_id": team_session_id, "instance_id": instance.id, "status": status}


def collect_team_artifacts(call: ToolCall, team_session_id: str) -> JsonObject:
    """Store the session with this id; with the documented answer, also for an error."""
    from runcard.operations.sessions.collect import failure_dict  # noqa: PLC0415 - long to load
    from runcard.operations.sessions.collect_team import collect_team  # noqa: PLC0415

    def report(amount: "CollectionProgress") -> None:
        call.report(amount.number, amount.total, "copying the work of an agent")

    try:

        def confine(path: str) -> str:
            """The path again before it is copied: a SPEC or an open session may name any."""
            try:
                return call.scope.project.path(path)
            except StoreError as error:
                hint = f"it can be stored from a shell: runcard collect {shell_word(team_session_id)}"
                raise StoreError(error.message, hint=hint) from error

        answer = collect_team(team_session_id, progress=report, confine=confine).to_dict()
    except RuncardError as error:
        failure = failure_dict(error, {"team_session_id": team_session_id}) | {"hint": error.full_hint}
        failure["findings"] = failure.get("findings", [])[:_MOST_ERRORS]
        raise StructuredError(error.message, failure) from error
    page = page_of_items(answer["instances"], MOST_BYTES // 2)
    errors = answer["summary"]["errors"]
    answer["summary"]["errors"] = [str(line)[:300] for line in errors[:_MOST_ERRORS]]
    left_out = len(errors) - len(answer["summary"]["errors"])
    return {
        **answer,
        "instances": page.value,
        **page.to_dict(),
        "errors_left_out": left_out,
    }


TOOLS = (
    ToolDefinition(
        name="collect_team_artifacts",
        title="Collect the work of a team",
        description=(
            "Store the session of a team of agents: copy workspaces and transcripts, write the documents and checksums, and "
            "return what each agent did, used and cost. The session is one that is being recorded, one whose process died, or "
            "one that a SPEC describes. An answer with status success can have errors, which name what was left out."
        ),
        arguments=arguments_schema(
            {"team_session_id": about({"type": "string", "maxLength": 200}, "The id of the session.")},
            ("team_session_id",),
        ),
        answer=answer_schema(
            {
                "status": about({"type": "string", "enum": ["success", "error"]}, "success, or error."),
                "team_session_id": TEXT,
                "artifacts_path": about(
                    optional(TEXT), "The directory of the stored session: pass it to get_record."
                ),
                "instances_count": COUNT,
                "instances": about(
                    OBJECTS,
                    "The agents: id, name, role, model, status, times, tokens, cost, parent, children.",
                ),
                "summary": about(OBJECT, "Totals, times, all_completed, and errors."),
                "already_collected": about(FLAG, "It was stored before: nothing was collected."),
                "errors_left_out": about(
                    COUNT, "How many errors of the summary are left out; get_record has all."
                ),
                **PAGE,
            },
            ("status", "team_session_id", "artifacts_path", "instances_count", "instances", "summary"),
        ),
        function=collect_team_artifacts,
        writes=True,
    ),
    ToolDefinition(
        name="session_start",
        title="Start recording a session",
        description=(
            "Start the record of a session of a team of agents. Then call instance_start and instance_finish for each agent, and "
            "collect_team_artifacts at the end. It stays open until then."
        ),
        arguments=arguments_schema(
            {"team_session_id": _SESSION_ID, "labels": about(OBJECT, "Labels: names and values.")},
            ("team_session_id",),
        ),
        answer=answer_schema(
            {"team_session_id": TEXT, "path": about(TEXT, "The directory of the open session.")}
        ),
        function=session_start,
        writes=True,
        repeatable=False,
    ),
    ToolDefinition(
        name="instance_start",
        title="Record that an agent starts",
        description="Record that an agent of an open session starts to work.",
        arguments=arguments_schema(
            {
                "team_session_id": _SESSION_ID,
                "name": about(
                    {"type": "string", "minLength": 1, "maxLength": 1000},
                    "The name of the agent, for people.",
                ),
                "role": about(TEXT, "Its role, such as architect or qa_engineer."),
                "model": about(TEXT, "Its model."),
                "provider": about(TEXT, "Who sells the model."),
                "parent": about(TEXT, "The agent that started it: its name or instance_id."),
                "workspace": about(
                    TEXT, "The folder that it works in, by its path in the project: it is copied at the end."
                ),
                "output": about(
                    TEXT, "The file with what it prints, by its path in the project: it is copied at the end."
                ),
                "labels": about(OBJECT, "Labels: names and values."),
            },
            ("team_session_id", "name"),
        ),
        answer=answer_schema({"team_session_id": TEXT, "instance_id": TEXT}),
        function=instance_start,
        writes=True,
        repeatable=False,
    ),
    ToolDefinition(
        name="instance_finish",
        title="Record that an agent has ended",
        description="Record that an agent of an open session has ended, how, and what its model calls used.",
        arguments=arguments_schema(
            {
                "team_session_id": _SESSION_ID,
                "agent": _AGENT,
                "status": about(
                    {"type": "string", "enum": ["completed", "error", "timeout", "terminated"]},
                    "How it ended. Default: completed.",
                ),
                "error": about(TEXT, "Why it failed."),
                "usage": about(
                    {"type": "array", "items": OBJECT, "maxItems": 1000},
                    "The usage of its model calls, one object for each, as the vendor reports it.",
                ),
            },
            ("team_session_id", "agent"),
        ),
        answer=answer_schema({"team_session_id": TEXT, "instance_id": TEXT, "status": TEXT}),
        function=instance_finish,
        writes=True,
        repeatable=False,
    ),
)
