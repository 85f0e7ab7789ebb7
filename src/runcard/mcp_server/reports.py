"""The tools that report costs, and where a file comes from."""

import os
from datetime import UTC, datetime

from runcard.encoding import JsonObject
from runcard.errors import UsageError
from runcard.mcp_server.paging import page_of_value
from runcard.mcp_server.tools import (
    CURSOR,
    OBJECT,
    POINTER,
    TEXT,
    TEXTS,
    ToolCall,
    ToolDefinition,
    about,
    answer_schema,
    arguments_schema,
    quoted_value,
)


def cost_report(
    call: ToolCall,
    by: list[str] | None = None,
    since: str | None = None,
    pointer: str = "",
    cursor: str | None = None,
) -> JsonObject:
    """What the models of all runs and sessions cost."""
    from runcard.catalog.conditions import time_of  # noqa: PLC0415 - long to load
    from runcard.operations.catalog.costs import record_costs  # noqa: PLC0415

    stores = call.scope.stores
    start = None if since is None else time_of(since, datetime.now(UTC))
    call.report(0, message="reading the catalog")
    costs = record_costs(by or ["month"], since=start, **stores.catalog())
    report = costs.to_dict()
    totals = report.pop("totals")
    page = page_of_value(report, pointer, cursor)
    return {
        "totals": totals,
        "pointer": pointer,
        "quoted": {"value": page.value},
        **page.to_dict(),
        "warnings": [costs.warning] if costs.warning else [],
    }


def whence(
    call: ToolCall,
    digest: str | None = None,
    file: str | None = None,
    commit: str | None = None,
    pointer: str = "",
    cursor: str | None = None,
) -> JsonObject:
    """The records that made a file, and those that read it."""
    from runcard.digests import sha256_stream  # noqa: PLC0415
    from runcard.files import open_regular, unreadable  # noqa: PLC0415
    from runcard.operations.catalog.whence import whence as origin_of  # noqa: PLC0415 - long to load

    if sum(value is not None for value in (digest, file, commit)) != 1:
        raise UsageError(
            "pass one of digest, file and commit", hint="a file is named by its path in the project"
        )
    stores = call.scope.stores
    if file is not None:
        path = call.scope.project.path(file)
        try:
            with open(open_regular(path), "rb") as opened:
                digest = f"sha256:{sha256_stream(opened).hex}"
        except OSError as error:
            raise unreadable(error, file) from error
    if digest is not None:
        digest = _checked_digest(digest)
    call.report(0, message="reading the catalog")
    found = origin_of(digest, commit=commit, **stores.catalog())
    page = page_of_value(found.to_dict(), pointer, cursor)
    return {
        "pointer": pointer,
        "quoted": {"value": page.value},
        **page.to_dict(),
        "warnings": [found.warning] if found.warning else [],
    }


def _checked_digest(text: str) -> str:
    """A digest, and never the name of a file."""
    bare = text.lower().removeprefix("sha256:")
    if len(bare) != 64 or not set(bare) <= set("0123456789abcdef") or os.path.lexists(f"sha256:{bare}"):
        raise UsageError("this is not a digest", hint="write sha256: and all 64 hex digits, or pass a file")
    return f"sha256:{bare}"


_WARNINGS = about(TEXTS, "Why the answer may not be complete.")

TOOLS = (
    ToolDefinition(
        name="cost_report",
        title="Add up costs",
        description=(
            "Add up calls, tokens and cost of all runs and sessions, each call once, by one or more dimensions. A cost is null if "
            "a part of it is unknown; then known_cost_usd is what is known, and at_least is true. input excludes cached tokens."
        ),
        arguments=arguments_schema(
            {
                "by": about(
                    {"type": "array", "items": TEXT, "minItems": 1, "maxItems": 5},
                    "day, week, month, model, provider, experiment, role, agent, branch, tool, project, host, session, label.NAME, config.NAME. "
                    "Default: month.",
                ),
                "since": about(TEXT, "Only calls since then: 2026-11-01, or 30d ago."),
                "pointer": POINTER,
                "cursor": CURSOR,
            }
        ),
        answer=answer_schema(
            {
                "totals": about(
                    OBJECT, "calls, tokens by class, cost_usd, known_cost_usd, at_least, token_source."
                ),
                **quoted_value("groups, unpriced models, unread records"),
                "warnings": _WARNINGS,
            }
        ),
        function=cost_report,
    ),
    ToolDefinition(
        name="whence",
        title="Find where a file comes from",
        description=(
            "Find the run that made a file, the files that it read, the runs that made those, and so on; and who read it. Files "
            "are compared by content. Or find the runs that were made with a commit of the code."
        ),
        arguments=arguments_schema(
            {
                "digest": about(TEXT, "The SHA-256 of the file: sha256: and 64 hex digits."),
                "file": about(
                    {"type": "string", "minLength": 1, "maxLength": 4096},
                    "The path of the file in the project.",
                ),
                "commit": about(
                    {"type": "string", "minLength": 4, "maxLength": 100},
                    "A commit: its hash, or a name in git.",
                ),
                "pointer": POINTER,
                "cursor": CURSOR,
            }
        ),
        answer=answer_schema(
            {
                **quoted_value("digest, made_by and read_by"),
                "warnings": _WARNINGS,
            }
        ),
        function=whence,
    ),
)
