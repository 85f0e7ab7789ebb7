"""The tools that verify, validate and compare records."""

from runcard.encoding import JsonObject
from runcard.errors import UsageError
from runcard.mcp_server.paging import cursor_number, page_of_items, page_of_value
from runcard.mcp_server.records import RECORD_REFERENCE, record_reference
from runcard.mcp_server.tools import (
    COUNT,
    CURSOR,
    FLAG,
    OBJECTS,
    PAGE,
    POINTER,
    RECORD,
    ToolCall,
    ToolDefinition,
    about,
    answer_schema,
    arguments_schema,
    optional,
    quoted_value,
)

_MOST_PROOFS = 20  # signatures and time-stamps in an answer


def verify_record(call: ToolCall, record: str, cursor: str | None = None) -> JsonObject:
    """Hash every file of a record and compare it with the recorded digests."""
    from runcard.operations.checks.verify import summary, verify  # noqa: PLC0415 - long to load

    opened = call.scope.stores.open(record)
    results = verify(
        opened.path, progress=lambda files, size: call.report(size, message=f"{files:,} files hashed")
    )
    verdict = summary(results)
    findings, records = verdict.pop("findings"), verdict["records"]
    start = cursor_number(cursor, len(findings))
    page = page_of_items(findings[start:], before=start)
    return {
        "record": record_reference(opened),
        "intact": verdict["intact"],
        "complete": verdict["complete"],
        "signed": verdict["signed"],
        "timestamped": verdict["timestamped"],
        "quoted": {
            "findings": page.value,
            "signatures": [each for entry in records for each in entry["signers"]][:_MOST_PROOFS],
            "timestamps": [each for entry in records for each in entry["timestamps"]][:_MOST_PROOFS],
        },
        **page.to_dict(),
    }


def validate_document(
    call: ToolCall,
    record: str | None = None,
    document: object = None,
    kind: str | None = None,
    *,
    strict: bool = False,
    cursor: str | None = None,
) -> JsonObject:
    """Check the documents of a record, or a document that is passed, against their schemas and rules."""
    from runcard.encoding import encode_json  # noqa: PLC0415
    from runcard.operations.checks.validate import validate, validate_bytes  # noqa: PLC0415 - long to load

    if (record is None) == (document is None):
        raise UsageError(
            "pass a record or a document",
            hint="a document is a JSON object, or the text of a JSON or YAML file",
        )
    if record is not None:
        checked = list(validate(call.scope.stores.open(record).path, kind=kind, strict=strict))
    else:
        data = document.encode("utf-8", "replace") if isinstance(document, str) else encode_json(document)
        checked = [validate_bytes(data, kind=kind, strict=strict)]
    documents = [one.to_dict() for one in checked]
    start = cursor_number(cursor, len(documents))
    page = page_of_items(documents[start:], before=start)
    return {
        "valid": all(one.report.valid for one in checked),
        "total": len(documents),
        "quoted": {"documents": page.value},
        **page.to_dict(),
    }


def diff_records(
    call: ToolCall, before: str, after: str, pointer: str = "", cursor: str | None = None
) -> JsonObject:
    """How two records differ."""
    from runcard.operations.checks.diff import diff  # noqa: PLC0415 - long to load

    old, new = (call.scope.stores.open(word) for word in (before, after))
    found = diff(old.path, new.path)
    page = page_of_value(found.to_dict(), pointer, cursor)
    return {
        "before": record_reference(old),
        "after": record_reference(new),
        "identical": found.identical,
        "pointer": pointer,
        "quoted": {"value": page.value},
        **page.to_dict(),
    }


TOOLS = (
    ToolDefinition(
        name="verify_record",
        title="Verify a record",
        description=(
            "Check whether a record is what it was when it was closed: every file is hashed and compared. intact is false if "
            "something was changed, complete is false if something is missing. Each finding names the file. Whose key signed "
            "it, and whether an authority can be trusted, is not decided here: `runcard verify --signers --tsa-certs` does that."
        ),
        arguments=arguments_schema({"record": RECORD, "cursor": CURSOR}, ("record",)),
        answer=answer_schema(
            {
                "record": RECORD_REFERENCE,
                "intact": about(FLAG, "Nothing was changed since it was closed, except by amendments."),
                "complete": about(FLAG, "Nothing is missing."),
                "signed": about(
                    optional(FLAG),
                    "Whether it is signed as it is now, whoever signed; false: wrongly, or before a change; null: it has none.",
                ),
                "timestamped": about(
                    optional(FLAG), "Whether its time-stamps are right, whoever made them; null: it has none."
                ),
                "quoted": answer_schema(
                    {
                        "findings": about(OBJECTS, "kind, record, path, expected, found, message."),
                        "signatures": about(
                            OBJECTS,
                            "fingerprint of the key, signed_at by the signer's own clock, amended_since, changed_since.",
                        ),
                        "timestamps": about(
                            OBJECTS,
                            "time at the latest, authority as it calls itself, signatures it covers, anchor.",
                        ),
                    }
                ),
                **PAGE,
            }
        ),
        function=verify_record,
    ),
    ToolDefinition(
        name="validate_document",
        title="Validate documents",
        description=(
            "Check metadata documents against their JSON Schema and rules: those of a record, or one that you pass. Each finding "
            "has the rule, the JSON pointer, what is wrong, and how to correct it."
        ),
        arguments=arguments_schema(
            {
                "record": RECORD,
                "document": about(
                    {"type": ["object", "string"]},
                    "The document: an object, or the text of a JSON or YAML file.",
                ),
                "kind": about(
                    {
                        "type": "string",
                        "enum": ["generation", "team", "instance", "manifest", "archive-index", "testplan"],
                    },
                    "The kind that it must have. Default: detected.",
                ),
                "strict": about(FLAG, "A warning makes it invalid."),
                "cursor": CURSOR,
            }
        ),
        answer=answer_schema(
            {
                "valid": FLAG,
                "total": about(COUNT, "How many documents were checked."),
                "quoted": answer_schema(
                    {"documents": about(OBJECTS, "path, kind, version, valid, errors, warnings.")}
                ),
                **PAGE,
            }
        ),
        function=validate_document,
    ),
    ToolDefinition(
        name="diff_records",
        title="Compare two records",
        description=(
            "Show how two runs, or two sessions, differ: configuration, packages, code, inputs, outputs, metrics, tokens, cost, "
            "agents. Times and ids differ always, and do not count."
        ),
        arguments=arguments_schema(
            {"before": RECORD, "after": RECORD, "pointer": POINTER, "cursor": CURSOR}, ("before", "after")
        ),
        answer=answer_schema(
            {
                "before": RECORD_REFERENCE,
                "after": RECORD_REFERENCE,
                "identical": FLAG,
                **quoted_value("changes, inputs, outputs and times"),
            }
        ),
        function=diff_records,
    ),
)
