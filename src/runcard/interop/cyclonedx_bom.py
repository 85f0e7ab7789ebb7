"""A bill of materials in CycloneDX 1.6: the models, packages, inputs and outputs of a record, and the work that led to them."""

from collections.abc import Iterator
from typing import Final
from urllib.parse import quote
from uuid import NAMESPACE_URL, uuid5

from runcard.encoding import JsonObject
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
from runcard.version import __version__

VERSION: Final = "1.6"

_SAFE_HEX = frozenset("0123456789abcdef")
_RECORD = "record"


def cyclonedx_bom(content: RecordContent) -> JsonObject:
    """The bill of materials of a record; the same record gives the same."""
    inputs, outputs = [*_inputs(content)], [_output(file) for file in content.outputs]
    models, packages = [_model(model) for model in content.models], [*_packages(content)]
    parts = [*models, *inputs]
    return {
        "$schema": f"http://cyclonedx.org/schema/bom-{VERSION}.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": VERSION,
        "serialNumber": uuid5(NAMESPACE_URL, f"urn:runcard:{content.metadata.sha256}").urn,
        "version": 1,
        "metadata": {
            **without_none(
                {"timestamp": time_text(content.ended)}
            ),  # when its facts were gathered: the same each time
            "tools": {
                "components": [
                    {"type": "application", "name": "runcard", "version": __version__},
                ]
            },
            "component": _record(content),
        },
        "components": [*models, *inputs, *outputs, *packages],
        "dependencies": [
            {"ref": _RECORD, "dependsOn": _refs([*parts, *packages])},
            *({"ref": output["bom-ref"], "dependsOn": _refs(parts)} for output in outputs),
        ],
        "formulation": [{"bom-ref": "formula", "workflows": [*_workflows(content, inputs, outputs)]}],
    }


def _refs(components: list[JsonObject]) -> list[str]:
    return [component["bom-ref"] for component in components]


def _record(content: RecordContent) -> JsonObject:
    return {
        "type": "data",
        "bom-ref": _RECORD,
        "name": content.title,
        "hashes": _hashes(content.metadata.sha256),
        "properties": _properties(
            {
                "runcard:kind": content.kind,
                "runcard:id": content.id,
                "runcard:directory": content.name,
                "runcard:status": content.status,
            }
        ),
    }


def _model(model: ModelName) -> JsonObject:
    publisher = {"publisher": model.provider} if model.provider else {}
    return {
        "type": "machine-learning-model",
        "bom-ref": f"model:{model.key}",
        **publisher,
        "name": model.name,
    }


def _inputs(content: RecordContent) -> Iterator[JsonObject]:
    files = section(content.document, "data_sources").get("files")
    for number, entry in enumerate(files if isinstance(files, list) else ()):
        path = entry.get("path") if isinstance(entry, dict) else entry
        if not isinstance(path, str):
            continue
        digest = entry.get("sha256") if isinstance(entry, dict) else None
        is_known = isinstance(digest, str) and len(digest) == 64 and set(digest) <= _SAFE_HEX
        yield {
            "type": "file",
            "bom-ref": f"input:{number}",
            "name": path,
            **({"hashes": _hashes(str(digest))} if is_known else {}),
        }


def _output(file: RecordFile) -> JsonObject:
    return {
        "type": "file",
        "bom-ref": f"output:{file.text}",
        "name": file.text,
        "hashes": _hashes(file.sha256),
    }


def _hashes(digest: str) -> list[JsonObject]:
    return [{"alg": "SHA-256", "content": digest}]


def _packages(content: RecordContent) -> Iterator[JsonObject]:
    for name, version in section(section(content.document, "environment"), "packages").items():
        known = text(version)
        purl = f"pkg:pypi/{quote(name, safe='')}" + (f"@{quote(known, safe='')}" if known else "")
        yield {
            "type": "library",
            "bom-ref": f"package:{name}",
            "name": name,
            **({"version": known} if known else {}),
            "purl": purl,
        }


def _workflows(
    content: RecordContent, inputs: list[JsonObject], outputs: list[JsonObject]
) -> Iterator[JsonObject]:
    """The run; or the work of each agent of a session."""
    if content.is_run:
        generation = section(content.document, "generation")
        command = generation.get("command")
        facts = {
            "runcard:status": content.status,
            "runcard:experiment": content.experiment,
            "runcard:command": " ".join(map(str, command)) if isinstance(command, list) else None,
            "runcard:commit": section(section(content.document, "environment"), "git").get("commit"),
        }
        times = content.started, content.ended
        refs = _refs([*map(_model, content.models), *inputs]), _refs(outputs)
        yield _workflow(content.id, content.title, times, refs, {**facts, **_figures(content.usage)})
        return
    for agent in content.agents:
        own = agent["instance_id"]
        made = [name for name in _refs(outputs) if name.startswith(f"output:instances/{own}/")]
        facts = {
            "runcard:status": agent.get("status"),
            "runcard:role": text(agent.get("role_title")) or agent.get("role"),
            "runcard:parent": agent.get("parent_instance_id"),
        }
        times = moment(agent.get("created_at")), moment(agent.get("terminated_at"))
        refs = _refs([*map(_model, agent_models(agent))]), made
        name = text(agent.get("name")) or own
        yield _workflow(own, name, times, refs, {**facts, **_figures(agent_usage(agent))})


def _workflow(
    own: str,
    name: str,
    times: tuple[object, ...],
    refs: tuple[list[str], list[str]],
    facts: JsonObject,
) -> JsonObject:
    start, end = (time_text(time) for time in times)  # type: ignore[arg-type]
    used, made = refs
    return without_none(
        {
            "bom-ref": f"workflow:{own}",
            "uid": own,
            "name": name,
            "taskTypes": ["build"],
            "timeStart": start,
            "timeEnd": end,
            "inputs": [{"resource": {"ref": ref}} for ref in used] or None,
            "outputs": [{"type": "artifact", "resource": {"ref": ref}} for ref in made] or None,
            "properties": _properties(facts) or None,
        }
    )


def _figures(usage: UsageFigures) -> JsonObject:
    return {f"runcard:{name}": value for name, value in usage.known_figures().items()}


def _properties(facts: JsonObject) -> list[JsonObject]:
    """Facts that CycloneDX has no field for; numbers as they are in the document."""
    return [{"name": name, "value": str(value)} for name, value in facts.items() if value is not None]
