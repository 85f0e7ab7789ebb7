"""The validators of other projects. Each function raises an error for what its format does not allow."""

import base64
import json
from typing import Any

from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from google.protobuf.json_format import MessageToDict, ParseDict
from in_toto_attestation.predicates.provenance.v1.provenance_pb2 import Provenance as ProvenanceMessage
from in_toto_attestation.v1.resource_descriptor import ResourceDescriptor
from in_toto_attestation.v1.statement import Statement
from in_toto_attestation.v1.statement_pb2 import Statement as StatementMessage
from opentelemetry.proto.trace.v1.trace_pb2 import TracesData

_BOM = JsonStrictValidator(SchemaVersion.V1_6)


def check_statement(statement: dict[str, Any]) -> None:
    """in-toto-attestation: the statement, and a SLSA predicate, whose unknown fields it refuses."""
    message = ParseDict(statement, StatementMessage())
    Statement.copy_from_pb(message).validate()
    if statement["predicateType"] == "https://slsa.dev/provenance/v1":
        provenance = ParseDict(statement["predicate"], ProvenanceMessage())
        for part in (*provenance.build_definition.resolved_dependencies, *provenance.run_details.byproducts):
            ResourceDescriptor.copy_from_pb(part).validate()
        again = MessageToDict(provenance)
        assert again["runDetails"]["metadata"]["invocationId"]


def check_traces(traces: dict[str, Any]) -> list[dict[str, Any]]:
    """opentelemetry-proto; its JSON has ids in base64, OTLP in hex. Returns the spans with plain attributes."""
    data = json.loads(json.dumps(traces))
    spans = [
        span for part in data["resourceSpans"] for scope in part["scopeSpans"] for span in scope["spans"]
    ]
    for span in spans:
        for name in {"traceId", "spanId", "parentSpanId"} & span.keys():
            span[name] = base64.b64encode(bytes.fromhex(span[name])).decode()
    message = ParseDict(data, TracesData())
    parsed = [span for part in message.resource_spans for each in part.scope_spans for span in each.spans]
    ids = {span.span_id for span in parsed}
    assert len(ids) == len(parsed)
    for span in parsed:
        assert (len(span.trace_id), len(span.span_id)) == (16, 8)
        assert len(span.parent_span_id) in {0, 8}
        assert span.end_time_unix_nano >= span.start_time_unix_nano
    return [_plain(span) for span in parsed]


def _plain(span: Any) -> dict[str, Any]:
    return {
        "name": span.name,
        "id": span.span_id.hex(),
        "parent": span.parent_span_id.hex() or None,
        "trace": span.trace_id.hex(),
        "start": span.start_time_unix_nano,
        "end": span.end_time_unix_nano,
        "status": span.status.code,
        "attributes": {
            entry.key: getattr(entry.value, entry.value.WhichOneof("value")) for entry in span.attributes
        },
    }


def check_bom(bom: str) -> None:
    """The strict JSON schema of CycloneDX 1.6; every reference names something, once."""
    error = _BOM.validate_str(bom)
    assert error is None, str(error)
    data = json.loads(bom)
    workflows = [each for part in data["formulation"] for each in part["workflows"]]
    parts = [data["metadata"]["component"], *data["components"], *workflows]
    refs = [part["bom-ref"] for part in parts]
    assert len(refs) == len(set(refs))
    named = [ref for each in data["dependencies"] for ref in (each["ref"], *each["dependsOn"])]
    named += [
        entry["resource"]["ref"]
        for each in workflows
        for entry in (*each.get("inputs", ()), *each.get("outputs", ()))
    ]
    assert set(named) <= set(refs)
