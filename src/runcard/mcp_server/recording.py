"""The tools that record a run, for a program or an agent that speaks only this protocol."""

from typing import TYPE_CHECKING

from runcard.encoding import JsonObject
from runcard.errors import UsageError
from runcard.files.paths import check_relative
from runcard.mcp_server.paging import page_of_value
from runcard.mcp_server.tools import (
    OBJECT,
    TEXT,
    ToolCall,
    ToolDefinition,
    about,
    answer_schema,
    arguments_schema,
    optional,
)

if TYPE_CHECKING:
    from runcard.recording.run import Run

_RUN_ID = about(
    {"type": "string", "minLength": 1, "maxLength": 128}, "The run_id that record_run_start returned."
)
_PATH = about(TEXT, "The directory of the run; a file that is written there becomes a part of the record.")


def record_run_start(call: ToolCall, inputs: list[str] | None = None, **facts: object) -> JsonObject:
    """Start a run; this process owns it until it is finished."""
    for pattern in inputs or ():
        if reason := check_relative(pattern):
            raise UsageError(
                f"the input {pattern[:200]!r} is refused: {reason}",
                hint="name files and patterns by their paths in the project",
            )
    run = call.scope.runs.start(None, inputs=inputs or (), **facts)
    return {"run_id": run.id, "path": str(run.path)}


_KINDS_OF_EVENT = ("event", "usage", "metric", "config", "labels", "error", "warning")


def record_run_event(call: ToolCall, run_id: str, **facts: object) -> JsonObject:
    """Record one thing that happened in a run."""
    given: JsonObject = dict(facts)
    kinds = [kind for kind in _KINDS_OF_EVENT if kind in given]
    if len(kinds) != 1:
        raise UsageError(
            "pass exactly one of " + ", ".join(_KINDS_OF_EVENT), hint="call it once for each event"
        )
    run = call.scope.runs.get(run_id)
    _record(run, kinds[0], given)
    return {"run_id": run.id, "recorded": kinds[0]}


def _record(run: "Run", kind: str, given: JsonObject) -> None:
    value = given[kind]
    if kind == "event":
        run.log(value, **given.get("payload", {}))
    elif kind == "usage":
        run.add_usage(
            value,
            step=given.get("step"),
            model=given.get("model"),
            provider=given.get("provider"),
            cost=given.get("cost_usd"),
            latency=given.get("latency_seconds"),
        )
    elif kind == "metric":
        if "value" not in given:
            raise UsageError("a metric needs a value", hint="pass value, a number")
        run.log_metric(value, given["value"], step=given.get("step_number"))
    elif kind == "config":
        run.set_config(value)
    elif kind == "labels":
        run.set_labels(**value)
    elif kind == "error":
        run.add_error(value)
    else:
        run.add_warning(value)


def record_run_finish(
    call: ToolCall, run_id: str, status: str = "completed", error: str | None = None
) -> JsonObject:
    """End and close a run."""
    if error is not None:
        call.scope.runs.get(run_id).add_error(error)
    run = call.scope.runs.finish(run_id, status)
    from runcard.operations.checks.show import show  # noqa: PLC0415 - long to load

    document = show(run.path).document
    return {
        "run_id": run.id,
        "path": str(run.path),
        "status": document["generation"]["status"],
        "quoted": {"costs": page_of_value(document["costs"]).value},
    }


TOOLS = (
    ToolDefinition(
        name="record_run_start",
        title="Start recording a run",
        description=(
            "Start the record of a run that you or your program does, and get its run_id. Then report what happens with "
            "record_run_event, and end it with record_run_finish. Secrets are masked."
        ),
        arguments=arguments_schema(
            {
                "model": about(TEXT, "The model, such as claude-sonnet-4-5."),
                "provider": about(TEXT, "Who sells the model, such as anthropic."),
                "config": about(OBJECT, "The configuration of the run: names and values."),
                "inputs": about(
                    {
                        "type": "array",
                        "items": {"type": "string", "minLength": 1, "maxLength": 4096},
                        "maxItems": 1000,
                    },
                    "Files and patterns that the run reads, by their paths in the project, such as in/*.md.",
                ),
                "experiment": about(TEXT, "The name of the experiment that it belongs to."),
                "labels": about(OBJECT, "Labels: names and values."),
                "parent": about(TEXT, "The id of the run that started this one."),
                "application": about(TEXT, "The name of the program that generates, such as persona."),
                "application_version": about(TEXT, "Its version, such as 0.9.0. Default: the installed one."),
            }
        ),
        answer=answer_schema({"run_id": TEXT, "path": _PATH}),
        function=record_run_start,
        writes=True,
        repeatable=False,
    ),
    ToolDefinition(
        name="record_run_event",
        title="Record what happens in a run",
        description=(
            "Record one thing that happened in an open run: an event of your own, the usage of a model call, a metric, more "
            "configuration or labels, an error or a warning. Pass exactly one of them. Never pass prompts or replies."
        ),
        arguments=arguments_schema(
            {
                "run_id": _RUN_ID,
                "event": about(
                    {"type": "string", "minLength": 1, "maxLength": 200}, "The name of an event of your own."
                ),
                "payload": about(OBJECT, "The data of the event."),
                "usage": about(
                    OBJECT,
                    "The usage of one model call as its vendor reports it: the reply, or its usage, such as "
                    '{"input_tokens": 812, "output_tokens": 90}.',
                ),
                "model": about(TEXT, "With usage: the model, if the usage does not name it."),
                "provider": about(TEXT, "With usage: who sells the model."),
                "step": about(TEXT, "With usage: the step of the run."),
                "cost_usd": about(
                    {"type": "number", "minimum": 0}, "With usage: the cost, if you know it better."
                ),
                "latency_seconds": about(
                    {"type": "number", "minimum": 0}, "With usage: how long the call took."
                ),
                "metric": about(
                    {"type": "string", "minLength": 1, "maxLength": 200}, "The name of a metric."
                ),
                "value": about({"type": "number"}, "With metric: its value."),
                "step_number": about(
                    {"type": "integer", "minimum": 0}, "With metric: the step of the value."
                ),
                "config": about(OBJECT, "Configuration to add or change."),
                "labels": about(OBJECT, "Labels to add or change."),
                "error": about(TEXT, "An error that happened."),
                "warning": about(TEXT, "A warning."),
            },
            ("run_id",),
        ),
        answer=answer_schema({"run_id": TEXT, "recorded": about(TEXT, "What was recorded.")}),
        function=record_run_event,
        writes=True,
        repeatable=False,
    ),
    ToolDefinition(
        name="record_run_finish",
        title="Finish a run",
        description="End an open run and close its record: it gets its final document and its checksums, and cannot change any more.",
        arguments=arguments_schema(
            {
                "run_id": _RUN_ID,
                "status": about(
                    {"type": "string", "enum": ["completed", "failed", "interrupted"]},
                    "How it ended. Default: completed.",
                ),
                "error": about(TEXT, "Why it failed."),
            },
            ("run_id",),
        ),
        answer=answer_schema(
            {
                "run_id": TEXT,
                "path": _PATH,
                "status": optional(TEXT),
                "quoted": answer_schema({"costs": about(OBJECT, "Tokens and cost; null is unknown.")}),
            }
        ),
        function=record_run_finish,
        writes=True,
        repeatable=False,
    ),
)
