"""The tools that write test plans: only what is an agent's own, and only with `--allow-write`."""

from runcard.encoding import JsonObject
from runcard.errors import UsageError
from runcard.mcp_server.paging import page_of_value
from runcard.mcp_server.plans import AGENT, PLAN_PATH, SOURCE, WARNINGS, place, plan_digest
from runcard.mcp_server.tools import (
    FLAG,
    OBJECT,
    TEXT,
    TEXTS,
    ToolCall,
    ToolDefinition,
    about,
    answer_schema,
    arguments_schema,
    optional,
)

_AUTOMATION = "automation"


def plan_write_section(
    call: ToolCall,
    agent: str,
    source: str,
    section: str,
    value: object,
    key: str | None = None,
    digest: str | None = None,
    **method: str,
) -> JsonObject:
    """Replace a section of a plan, or a key of its automation; refused if it is not the agent's."""
    from runcard.masking import mask_data  # noqa: PLC0415 - long to load
    from runcard.plans.plan import StaleError, find_plan  # noqa: PLC0415
    from runcard.settings.apply import use_masking_settings  # noqa: PLC0415

    if (section == _AUTOMATION) != (key is not None):
        raise UsageError(
            "pass a key with the section automation, and with no other",
            hint="for example: section automation, key linter",
        )
    path, where = place(call, source, dict(method))
    plan = find_plan(path, **where)
    if digest is not None and digest != plan_digest(plan):
        raise StaleError(
            f"{plan.path} has changed since it was read: nothing was written",
            hint="read it again with plan_read",
        )
    use_masking_settings()
    masked = mask_data(value)
    data = plan.to_dict()
    if key is None:
        data[section] = masked.value
    else:
        automation = data.get(_AUTOMATION)
        data[_AUTOMATION] = (automation if isinstance(automation, dict) else {}) | {key: masked.value}
    written = plan.write(agent, data)
    warnings = [*written.warnings, *(f"a secret was masked: {rule}" for rule in masked.counts)]
    return {
        "agent": agent,
        "metadata_path": written.path,
        "digest": plan_digest(written),
        "changed": plan_digest(written) != plan_digest(plan),
        "warnings": warnings,
    }


def plan_mark(  # noqa: PLR0913 - as its schema
    call: ToolCall,
    agent: str,
    source: str,
    *,
    completed: bool | None = None,
    version: str | None = None,
    skipped: str | None = None,
    warnings: list[str] | None = None,
    errors: list[str] | None = None,
    values: JsonObject | None = None,
    **method: str,
) -> JsonObject:
    """Write an agent's report into a plan."""
    from runcard.operations.plans.mark import mark  # noqa: PLC0415 - long to load
    from runcard.plans.agent_reports import AgentReport  # noqa: PLC0415

    report = AgentReport(
        completed, version, skipped, tuple(warnings or ()), tuple(errors or ()), values or {}
    )
    path, where = place(call, source, dict(method))
    result = mark(path, agent, report, **where)
    return {
        "agent": agent,
        "metadata_path": result.plan.path,
        "quoted": {"automation": page_of_value(result.automation).value},
        "warnings": list(result.warnings),
    }


TOOLS = (
    ToolDefinition(
        name="plan_write_section",
        title="Write a section of a plan",
        description=(
            "Replace a section of a test plan, or a key of its automation, as an agent of the pipeline. An agent can only write "
            "what is its own (see the prompt of the agent); a change that makes the plan invalid, or that is based on an old "
            "version of it, is refused, and nothing is written."
        ),
        arguments=arguments_schema(
            {
                "agent": AGENT,
                **SOURCE,
                "section": about(
                    {"type": "string", "minLength": 1, "maxLength": 200},
                    "The section, such as characteristics.",
                ),
                "key": about(
                    {"type": "string", "minLength": 1, "maxLength": 200},
                    "The key of automation, such as linter.",
                ),
                "value": about({}, "The new value, as JSON."),
                "digest": about(
                    TEXT, "The digest that plan_read returned: refuse to write if the plan has changed since."
                ),
            },
            ("agent", "source", "section", "value"),
        ),
        answer=answer_schema(
            {
                "agent": TEXT,
                "metadata_path": PLAN_PATH,
                "digest": about(optional(TEXT), "The digest of the plan now."),
                "changed": about(FLAG, "Something was written."),
                "warnings": WARNINGS,
            }
        ),
        function=plan_write_section,
        writes=True,
        destroys=True,
    ),
    ToolDefinition(
        name="plan_mark",
        title="Report on a plan",
        description=(
            "Write your report, as an agent of the pipeline, into a plan: the work is completed, there was nothing to do, or it "
            "failed. The next agent can begin when you have reported completed or skipped. The reviewer reports nothing."
        ),
        arguments=arguments_schema(
            {
                "agent": AGENT,
                **SOURCE,
                "completed": about(
                    FLAG, "The work is done. Default, unless skipped, warnings, errors or values are passed."
                ),
                "version": about(TEXT, "The version of the agent."),
                "skipped": about(TEXT, "Why there was nothing to do."),
                "warnings": about(TEXTS, "Warnings to add."),
                "errors": about(TEXTS, "Errors to add; without completed, the work counts as not done."),
                "values": about(OBJECT, "Keys of automation to set; only your own."),
            },
            ("agent", "source"),
        ),
        answer=answer_schema(
            {
                "agent": TEXT,
                "metadata_path": PLAN_PATH,
                "quoted": answer_schema({"automation": about(OBJECT, "The section automation now.")}),
                "warnings": WARNINGS,
            }
        ),
        function=plan_mark,
        writes=True,
        destroys=True,
        repeatable=False,
    ),
)
