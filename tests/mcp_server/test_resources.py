"""Resources: records, summaries and schemas by their URIs."""

import json

import pytest

import runcard
from mcp_server.answers import Tools
from runcard.errors import RuncardError
from runcard.mcp_server.resources import complete, list_resources, read_resource
from runcard.mcp_server.tools import ToolCall


@pytest.fixture
def call(project: object) -> ToolCall:
    assert project is not None
    return ToolCall(Tools().scope)


def test_every_resource_of_the_list_can_be_read(call: ToolCall) -> None:
    entries, cursor = list_resources(call, None)
    assert cursor is None
    kinds = {entry.mime_type for entry in entries}
    assert kinds == {"application/json", "text/markdown", "application/schema+json"}
    for entry in entries:
        text, mime_type = read_resource(call, entry.uri)
        assert (mime_type, bool(text)) == (entry.mime_type, True)
    schema = next(entry for entry in entries if entry.mime_type == "application/schema+json")
    assert json.loads(read_resource(call, schema.uri)[0])["$schema"]


def test_sessions_with_the_same_id_have_uris_of_their_own(call: ToolCall) -> None:
    for name in ("agent-a", "agent-b"):
        with runcard.Session("again") as session:
            session.start_instance(name).finish()
    with runcard.Session("again") as session:
        session.start_instance("agent-c")
        uris = [entry.uri for entry in list_resources(call, None)[0] if "again" in entry.uri]
        assert len(set(uris)) == len(uris) == 6
        texts = [read_resource(call, uri)[0] for uri in uris if not uri.endswith("/summary")]
    assert all(sum(name in text for text in texts) == 1 for name in ("agent-a", "agent-b", "agent-c"))


@pytest.mark.parametrize("uri", ["", "runcard://other/x", "file:///etc/passwd"])
def test_no_other_uri_is_read(call: ToolCall, uri: str) -> None:
    with pytest.raises(RuncardError, match="there is no resource"):
        read_resource(call, uri)


def test_a_uri_with_more_parts_or_an_unknown_schema_is_none(call: ToolCall) -> None:
    entries, _ = list_resources(call, None)
    for entry in (entries[0], entries[-1]):
        with pytest.raises(RuncardError, match="there is no resource"):
            read_resource(call, f"{entry.uri}/more")


def test_variables_of_templates_are_completed(call: ToolCall) -> None:
    assert "team" in complete(call, "kind", "te", None)
    assert complete(call, "version", "2", "team") == ["2.0.0"]
    assert complete(call, "version", "9", None) == []
    assert "team-1" in complete(call, "record", "team", None)
    assert complete(call, "other", "", None) == []
