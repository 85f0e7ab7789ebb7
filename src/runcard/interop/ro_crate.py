"""A record as an RO-Crate 1.1 with the profile Process Run Crate 0.5: `ro-crate-metadata.json`.

The crate is a folder that holds the record in a folder of its own, under the record's name, so that `runcard verify` still
checks it. A run is one action. In a session, the work of each agent is one. The tool of an action is the model; if none is
known, the program.
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Final, NamedTuple
from urllib.parse import quote

from runcard.encoding import JsonObject
from runcard.files import encode_name
from runcard.interop.license_url import license_url
from runcard.interop.record_content import (
    ModelName,
    RecordContent,
    RecordFile,
    UsageFigures,
    agent_models,
    agent_usage,
    moment,
    section,
    text,
    time_text,
    without_none,
)

DESCRIPTOR: Final = "ro-crate-metadata.json"
PROFILE: Final = "https://w3id.org/ro/wfrun/process/0.5"
CONTEXT: Final = [
    "https://w3id.org/ro/crate/1.1/context",
    "https://w3id.org/ro/terms/workflow-run/context",
    {
        "sha256": "https://schema.org/sha256",
        "resourceUsage": "https://w3id.org/ro/terms/workflow-run#resourceUsage",
    },
]

_ROOT = "./"
_FORMAT = "https://w3id.org/ro/crate/1.1"
_ID = "urn:runcard:property:"
_MEDIA_TYPES = {
    "json": "application/json",
    "jsonl": "application/jsonl",
    "md": "text/markdown",
    "txt": "text/plain",
    "log": "text/plain",
    "csv": "text/csv",
    "html": "text/html",
    "yaml": "application/yaml",
    "yml": "application/yaml",
    "py": "text/x-python",
    "pdf": "application/pdf",
    "png": "image/png",
    "jpg": "image/jpeg",
    "jpeg": "image/jpeg",
    "svg": "image/svg+xml",
    "xml": "application/xml",
}
_SAFE_HEX = frozenset("0123456789abcdef")
_FAILED = frozenset({"failed", "interrupted", "error", "timeout", "terminated"})


class CrateFacts(NamedTuple):
    """What a crate must have and a record does not know."""

    license: str  # an SPDX id, a URL, or any text
    published: datetime  # used if the record has no times
    authors: Sequence[str] = ()


def crate_metadata(content: RecordContent, facts: CrateFacts) -> JsonObject:
    """The content of `ro-crate-metadata.json`."""
    license_entity = _license(facts.license)
    authors = [_person(number, name) for number, name in enumerate(facts.authors) if name.strip()]
    actions = [*(_run_action(content) if content.is_run else _agent_actions(content))]
    files = [_file(content, file) for file in (content.metadata, *content.files)]
    folder: JsonObject = {
        "@id": _folder(content),
        "@type": "Dataset",
        "name": content.name,
        "description": f"The record of the {content.kind}, as runcard stores it",
        "hasPart": _links(files),
    }
    published = content.ended or content.started or facts.published
    root: JsonObject = {
        "@id": _ROOT,
        "@type": "Dataset",
        "name": content.title,
        "description": f"A {content.kind} recorded by runcard: models, inputs, outputs, times and costs",
        "datePublished": time_text(published),
        "license": _link(license_entity),
        "conformsTo": {"@id": PROFILE},
        "identifier": content.id,
        "hasPart": [_link(folder), *_links(files)],
        "mentions": _links(entity for entity in actions if entity["@type"] == "CreateAction"),
        **({"author": _links(authors)} if authors else {}),
    }
    descriptor: JsonObject = {
        "@id": DESCRIPTOR,
        "@type": "CreativeWork",
        "about": {"@id": _ROOT},
        "conformsTo": {"@id": _FORMAT},
    }
    profile: JsonObject = {
        "@id": PROFILE,
        "@type": "CreativeWork",
        "name": "Process Run Crate",
        "version": "0.5",
    }
    graph = [descriptor, root, profile, license_entity, *authors, folder, *files, *actions]
    return {"@context": CONTEXT, "@graph": [*_once(graph)]}


def _once(entities: Iterable[JsonObject]) -> Iterator[JsonObject]:
    """Each entity once: agents may share a model."""
    seen: set[str] = set()
    for entity in entities:
        if entity["@id"] not in seen:
            seen.add(entity["@id"])
            yield entity


def _link(entity: JsonObject) -> JsonObject:
    return {"@id": entity["@id"]}


def _links(entities: Iterable[JsonObject]) -> list[JsonObject]:
    return [_link(entity) for entity in entities]


def _license(given: str) -> JsonObject:
    name = given.strip()
    return {"@id": license_url(name) or "#license", "@type": "CreativeWork", "name": name}


def _person(number: int, name: str) -> JsonObject:
    return {"@id": f"#author-{number + 1}", "@type": "Person", "name": name.strip()}


def _folder(content: RecordContent) -> str:
    return f"{_quoted(content.name)}/"


def _quoted(path: str) -> str:
    return quote(encode_name(path), safe="/")


def _file(content: RecordContent, file: RecordFile) -> JsonObject:
    suffix = file.text.rpartition(".")[2].lower() if "." in file.text else ""
    return {
        "@id": _folder(content) + _quoted(file.path),
        "@type": "File",
        "name": file.text,
        "contentSize": str(file.size),
        "encodingFormat": _MEDIA_TYPES.get(suffix, "application/octet-stream"),
        "sha256": file.sha256,
    }


def _run_action(content: RecordContent) -> Iterator[JsonObject]:
    generation = section(content.document, "generation")
    command = generation.get("command")
    program = " ".join(map(str, command)) if isinstance(command, list) and command else None
    tools = [_model(model) for model in content.models] or [_program(program or generation.get("function"))]
    inputs = [*_inputs(content)]
    figures = [*_figures("run", content.usage)]
    outputs = [_file(content, file) for file in content.outputs]
    action: JsonObject = {
        "@id": "#run",
        "@type": "CreateAction",
        "name": content.title,
        "description": program and f"Command: {program}",
        "instrument": _links(tools),
        "startTime": time_text(content.started),
        "endTime": time_text(content.ended),
        **_status(content.status, content.error),
        "object": _links(inputs) or None,
        "result": _links(outputs) or None,
        "resourceUsage": _links(figures) or None,
    }
    yield without_none(action)
    yield from (*tools, *inputs, *figures)


def _agent_actions(content: RecordContent) -> Iterator[JsonObject]:
    for number, agent in enumerate(content.agents):
        own, status = agent["instance_id"], text(agent.get("status"))
        tools = [_model(model) for model in agent_models(agent)] or [_program(None)]
        figures = [*_figures(f"agent-{number + 1}", agent_usage(agent))]
        made = [file for file in content.outputs if file.path.startswith(f"instances/{own}/")]
        error = text(agent.get("error_message")) or text(agent.get("error"))
        role = text(agent.get("role_title")) or text(agent.get("role"))
        action: JsonObject = {
            "@id": f"#agent-{number + 1}",
            "@type": "CreateAction",
            "name": text(agent.get("name")) or own,
            "description": role and f"Role: {role}",
            "identifier": own,
            "instrument": _links(tools),
            "startTime": time_text(moment(agent.get("created_at"))),
            "endTime": time_text(moment(agent.get("terminated_at"))),
            **_status(status, error),
            "result": _links(_file(content, file) for file in made) or None,
            "resourceUsage": _links(figures) or None,
        }
        yield without_none(action)
        yield from (*tools, *figures)


def _status(status: str | None, error: str | None) -> JsonObject:
    if status == "completed":
        return {"actionStatus": "http://schema.org/CompletedActionStatus"}
    if status in _FAILED:
        return {"actionStatus": "http://schema.org/FailedActionStatus", "error": error or status}
    return {}


def _model(model: ModelName) -> JsonObject:
    provider = {"description": f"A model of {model.provider}"} if model.provider else {}
    return {
        "@id": f"#model-{quote(model.key, safe='')}",
        "@type": "SoftwareApplication",
        "name": model.name,
        **provider,
    }


def _program(command: object) -> JsonObject:
    name = text(command)
    known = {"name": name} if name else {"name": "unknown", "description": "The record does not name it"}
    return {"@id": "#program", "@type": "SoftwareApplication", **known}


def _inputs(content: RecordContent) -> Iterator[JsonObject]:
    """The inputs: they are not part of the crate, so they are no files of it."""
    files = section(content.document, "data_sources").get("files")
    for number, entry in enumerate(files if isinstance(files, list) else ()):
        fields = entry if isinstance(entry, dict) else {"path": entry}
        path, digest, size = fields.get("path"), fields.get("sha256"), fields.get("bytes")
        is_known = isinstance(digest, str) and len(digest) == 64 and set(digest) <= _SAFE_HEX
        if isinstance(path, str):
            yield {
                "@id": f"#input-{number + 1}",
                "@type": "CreativeWork",
                "name": path,
                **({"contentSize": str(size)} if isinstance(size, int) else {}),
                **({"sha256": digest} if is_known else {}),
            }


def _figures(own: str, usage: UsageFigures) -> Iterator[JsonObject]:
    for name, value in usage.known_figures().items():
        yield {
            "@id": f"#{own}-{name}",
            "@type": "PropertyValue",
            "name": name,
            "value": str(value),
            "propertyID": f"{_ID}{name}",
        }
