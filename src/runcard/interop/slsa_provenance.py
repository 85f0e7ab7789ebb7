"""SLSA provenance v1: how the outputs of a record were made, as an in-toto Statement.

It is not signed, and no more trustworthy than the record: the builder is the recorder on the user's own machine.
"""

from collections.abc import Iterator

from runcard.documents.run.application import program_versions
from runcard.encoding import JsonObject, canonical_json
from runcard.interop.record_content import (
    RecordContent,
    RecordFile,
    agent_models,
    items,
    section,
    text,
    time_text,
    without_none,
)
from runcard.version import __version__

STATEMENT = "https://in-toto.io/Statement/v1"
PREDICATE = "https://slsa.dev/provenance/v1"
BUILD_TYPE = "urn:runcard:build-type:{kind}:1"
BUILDER = "urn:runcard:builder:local-recorder:1"

MOST_SUBJECTS = 10_000  # outputs; of more, the list of checksums is the subject, which covers them

_DEEPEST = (
    20  # nested values; deeper ones are written as the text of their JSON: readers of protobuf stop at 100
)
_LARGEST = 2**53 - 1  # larger integers are texts, as in the canonical form
_SAFE_HEX = frozenset("0123456789abcdef")


def slsa_statement(content: RecordContent) -> JsonObject:
    """The statement about a record; its subjects are the outputs, or else the metadata document."""
    return {
        "_type": STATEMENT,
        "subject": [_resource(file) for file in _subjects(content)],
        "predicateType": PREDICATE,
        "predicate": {
            "buildDefinition": {
                "buildType": BUILD_TYPE.format(kind=content.kind),
                "externalParameters": _run_parameters(content) if content.is_run else _team(content),
                **({"internalParameters": environment} if (environment := _environment(content)) else {}),
                "resolvedDependencies": [*_dependencies(content)],
            },
            "runDetails": {
                "builder": {"id": BUILDER, "version": {"runcard": _recorder_version(content)}},
                "metadata": without_none(
                    {
                        "invocationId": content.id,
                        "startedOn": time_text(content.started),
                        "finishedOn": time_text(content.ended),
                    }
                ),
                "byproducts": [_resource(file) for file in _byproducts(content)],
            },
        },
    }


def _subjects(content: RecordContent) -> list[RecordFile]:
    outputs = content.outputs
    if len(outputs) > MOST_SUBJECTS:
        outputs = [file for file in content.files if file.path == "SHA256SUMS"]
    return outputs or [content.metadata]


def _byproducts(content: RecordContent) -> Iterator[RecordFile]:
    """What runcard wrote about it."""
    subjects = {file.path for file in _subjects(content)}
    for file in (content.metadata, *content.files):
        if not file.is_output and file.path not in subjects:
            yield file


def _resource(file: RecordFile) -> JsonObject:
    return {"name": file.text, "digest": {"sha256": file.sha256}}


def _recorder_version(content: RecordContent) -> str:
    """The version that wrote the record; of a record of another program, the one that reads it."""
    return text(section(content.document, "producer").get("version")) or __version__


def _run_parameters(content: RecordContent) -> JsonObject:
    generation = section(content.document, "generation")
    return without_none(
        {
            "command": generation.get("command"),
            "function": text(generation.get("function")),
            "notebook": text(generation.get("notebook")),
            "experiment": content.experiment,
            "labels": plain_data(generation.get("labels") or None),
            "configuration": plain_data(section(content.document, "configuration")),
            "inputsWithoutDigest": [*_unresolved(content)] or None,
        }
    )


def _team(content: RecordContent) -> JsonObject:
    agents = [
        without_none(
            {
                "id": agent["instance_id"],
                "name": text(agent.get("name")),
                "role": text(agent.get("role_title")) or text(agent.get("role")),
                "models": [model.key for model in agent_models(agent)],
                "parent": text(agent.get("parent_instance_id")),
            }
        )
        for agent in content.agents
    ]
    labels = plain_data(content.document.get("labels") or None)
    return without_none({"agents": agents, "labels": labels})


def _environment(content: RecordContent) -> JsonObject:
    if not content.is_run:
        return plain_object(section(content.document, "system_info"))
    environment = section(content.document, "environment")
    names = ("python_version", "platform", "timezone", "container", "packages")
    return plain_object(
        without_none({**program_versions(environment), **{name: environment.get(name) for name in names}})
    )


def _dependencies(content: RecordContent) -> Iterator[JsonObject]:
    """The inputs, the lock files and the commit, as far as their digests are known."""
    for file in items(section(content.document, "data_sources").get("files")):
        if digest := _hex(file.get("sha256"), 64):
            yield {"name": str(file.get("path")), "digest": {"sha256": digest}}
    environment = section(content.document, "environment")
    for path, digest in section(environment, "lockfiles").items():
        if known := _hex(digest, 64):
            yield {"name": path, "digest": {"sha256": known}}
    commit = section(environment, "git").get("commit") or section(content.document, "origin_session").get(
        "commit"
    )
    if known := _hex(commit, 40) or _hex(commit, 64):
        yield {"name": "git", "digest": {"gitCommit": known}}


def _unresolved(content: RecordContent) -> Iterator[str]:
    files = section(content.document, "data_sources").get("files")
    for file in files if isinstance(files, list) else ():
        path = file.get("path") if isinstance(file, dict) else file
        if isinstance(path, str) and not (isinstance(file, dict) and _hex(file.get("sha256"), 64)):
            yield path


def _hex(value: object, digits: int) -> str | None:
    return value if isinstance(value, str) and len(value) == digits and set(value) <= _SAFE_HEX else None


def plain_object(value: JsonObject) -> JsonObject:
    return {name: plain_data(member) for name, member in value.items()}


def plain_data(value: object, depth: int = 0) -> object:
    """Data that every reader takes: large integers are texts, and what is nested very deep is the text of its JSON."""
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > _LARGEST:
        return str(value)
    if not isinstance(value, dict | list):
        return value
    if depth == _DEEPEST:
        return canonical_json(value).decode()
    if isinstance(value, dict):
        return {name: plain_data(member, depth + 1) for name, member in value.items()}
    return [plain_data(member, depth + 1) for member in value]
