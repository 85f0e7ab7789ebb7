"""The tools that read test plans. Those that write them are in `plan_writes`."""

from hashlib import sha256
from typing import TYPE_CHECKING

from runcard.encoding import JsonObject
from runcard.mcp_server.paging import page_of_value
from runcard.mcp_server.tools import (
    CURSOR,
    FLAG,
    POINTER,
    TEXT,
    TEXTS,
    ToolCall,
    ToolDefinition,
    about,
    answer_schema,
    arguments_schema,
    optional,
    quoted_value,
)
from runcard.settings import read_settings

if TYPE_CHECKING:
    from runcard.plans.plan import Plan
    from runcard.plans.plan_files import MethodRef

SOURCE: JsonObject = {
    "source": about(
        {"type": "string", "minLength": 1, "maxLength": 4096},
        "The Ruby source, or the plan itself, by its path in the project.",
    ),
    "class_name": about(TEXT, "The class of the method, if the source has several plans."),
    "method": about(TEXT, "The method, if the source has several plans."),
    "method_type": about({"type": "string", "enum": ["instance", "class"]}, "The type of the method."),
}
AGENT = about(
    {
        "type": "string",
        "enum": [
            "analyzer",
            "validator",
            "skeleton",
            "architect",
            "implementer",
            "factory-optimizer",
            "polisher",
            "reviewer",
        ],
    },
    "The agent of the pipeline that you are.",
)
PLAN_PATH = about(TEXT, "The path of the plan.")
WARNINGS = about(TEXTS, "What needs attention.")


def method_ref(arguments: JsonObject) -> "MethodRef":
    from runcard.plans.plan_files import MethodRef  # noqa: PLC0415 - long to load

    return MethodRef(arguments.get("class_name"), arguments.get("method"), arguments.get("method_type"))


def place(call: ToolCall, source: str, method: JsonObject) -> tuple[str, JsonObject]:
    """The real path of a source, and where its plan is looked for."""
    project = call.scope.project
    return project.source_or_plan(source), {
        "root": project.root,
        "method_ref": method_ref(method),
        "limits": read_settings().limits,
    }


def plan_digest(plan: "Plan") -> str | None:
    """The digest of a plan as it was read; None if it does not exist."""
    content = plan.location.plan_file.content
    return None if content is None else f"sha256:{sha256(content).hexdigest()}"


def plan_status(call: ToolCall, source: str, **method: str) -> JsonObject:
    """Whether the plan of a source can be used."""
    from runcard.operations.plans.status import status  # noqa: PLC0415 - long to load

    path, where = place(call, source, dict(method))
    result = status(path, **where).to_dict()
    return {
        name: result[name] for name in ("valid", "metadata_path", "reason", "validated", "next", "warnings")
    } | {"quoted": {"target": result["target"]}}


def plan_begin(call: ToolCall, agent: str, source: str, **method: str) -> JsonObject:
    """Whether an agent may begin."""
    from runcard.operations.plans.begin import begin  # noqa: PLC0415 - long to load

    path, where = place(call, source, dict(method))
    return begin(path, agent, **where).to_dict()


def plan_read(
    call: ToolCall, source: str, pointer: str = "", cursor: str | None = None, **method: str
) -> JsonObject:
    """The content of a plan, as far as it fits."""
    from runcard.plans.plan import find_plan  # noqa: PLC0415 - long to load

    path, where = place(call, source, dict(method))
    plan = find_plan(path, **where)
    plan.check_exists()
    page = page_of_value(plan.to_dict(), pointer, cursor)
    return {
        "metadata_path": plan.path,
        "digest": plan_digest(plan),
        "pointer": pointer,
        "quoted": {"value": page.value},
        **page.to_dict(),
        "warnings": list(plan.warnings),
    }


def plan_validate(
    call: ToolCall, source: str, pointer: str = "", cursor: str | None = None, **method: str
) -> JsonObject:
    """The findings about a plan; with `--allow-write` they are written into it, as `runcard plan validate` does."""
    from runcard.operations.plans.validate import validate_plan  # noqa: PLC0415 - long to load

    path, where = place(call, source, dict(method))
    result = validate_plan(path, write=call.scope.allows_write, **where).to_dict()
    findings = {"errors": result["errors"], "warnings": result["warnings"]}
    page = page_of_value(findings, pointer, cursor)
    return {
        "metadata_path": result["metadata_path"],
        "valid": result["valid"],
        "version": result["version"],
        "written": result["written"],
        "pointer": pointer,
        "quoted": {"value": page.value},
        **page.to_dict(),
        "warnings": result["remarks"],
    }


def list_factories(
    call: ToolCall,
    directory: str | None = None,
    pointer: str = "",
    cursor: str | None = None,
    *,
    details: bool = False,
) -> JsonObject:
    """The factories of the project, or below one of its directories."""
    from runcard.operations.plans.factories import list_factories as factories_at  # noqa: PLC0415 - long to load

    project = call.scope.project
    path = project.root if directory is None else project.path(directory)
    found = factories_at(path, root=project.root, in_detail=details)
    page = page_of_value(found.to_dict(), pointer, cursor)
    return {"pointer": pointer, "quoted": {"value": page.value}, **page.to_dict(), "warnings": found.warnings}


TOOLS = (
    ToolDefinition(
        name="plan_status",
        title="Check whether a plan is fresh",
        description="Check whether the test plan of a Ruby source exists and still fits the source, and which agent is next.",
        arguments=arguments_schema(SOURCE, ("source",)),
        answer=answer_schema(
            {
                "valid": about(FLAG, "It can be used."),
                "metadata_path": PLAN_PATH,
                "reason": about(optional(TEXT), "Why it cannot be used, or what to know about it."),
                "validated": about(FLAG, "The validator has passed it."),
                "next": about(TEXT, "The next agent."),
                "warnings": WARNINGS,
                "quoted": answer_schema({"target": {"type": ["object", "null"]}}),
            }
        ),
        function=plan_status,
    ),
    ToolDefinition(
        name="plan_begin",
        title="Check whether an agent may begin",
        description=(
            "Check whether you, an agent of the pipeline, may begin your work on a plan: the agent before you must have reported, "
            "and the plan must be valid. Nothing is written. Call it first."
        ),
        arguments=arguments_schema({"agent": AGENT, **SOURCE}, ("agent", "source")),
        answer=answer_schema(
            {
                "agent": TEXT,
                "ready": about(FLAG, "You may begin."),
                "missing": about(TEXTS, "Why not."),
                "metadata_path": PLAN_PATH,
                "fresh": about(FLAG, "The source is unchanged since the analysis."),
                "warnings": WARNINGS,
            }
        ),
        function=plan_begin,
    ),
    ToolDefinition(
        name="plan_read",
        title="Read a plan",
        description=(
            "Read a test plan, or a section of it: analyzer, validation, test_level, target, characteristics, "
            "factories_detected, automation."
        ),
        arguments=arguments_schema({**SOURCE, "pointer": POINTER, "cursor": CURSOR}, ("source",)),
        answer=answer_schema(
            {
                "metadata_path": PLAN_PATH,
                "digest": about(optional(TEXT), "The digest of the file: pass it to plan_write_section."),
                **quoted_value("The sections of the plan"),
                "warnings": WARNINGS,
            }
        ),
        function=plan_read,
    ),
    ToolDefinition(
        name="plan_validate",
        title="Validate a plan",
        description=(
            "Check a test plan by every rule. If the server may write, the findings are written into its section validation, and "
            "nothing else is changed."
        ),
        arguments=arguments_schema({**SOURCE, "pointer": POINTER, "cursor": CURSOR}, ("source",)),
        answer=answer_schema(
            {
                "metadata_path": PLAN_PATH,
                "valid": FLAG,
                "version": optional(TEXT),
                "written": about(FLAG, "The section validation was changed."),
                **quoted_value("errors and warnings"),
                "warnings": WARNINGS,
            }
        ),
        function=plan_validate,
        may_write=True,
    ),
    ToolDefinition(
        name="list_factories",
        title="List factories",
        description="List the factories (factory_bot) of the project, with the file and the traits of each.",
        arguments=arguments_schema(
            {
                "directory": about(TEXT, "A directory of the project. Default: all of it."),
                "details": about(FLAG, "Also list parents, classes, aliases and other traits."),
                "pointer": POINTER,
                "cursor": CURSOR,
            }
        ),
        answer=answer_schema(
            {
                **quoted_value("By the name of the factory: file, traits"),
                "warnings": WARNINGS,
            }
        ),
        function=list_factories,
    ),
)
