"""Read and check the SPEC of a session, in YAML or JSON; all findings have their line and column.

Secrets in it are masked here, so that nothing that is written from a SPEC contains one. The paths of files are kept
unmasked beside it: a path that looks like a secret must still be found.
"""

import os
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from runcard.digests import sha256_bytes
from runcard.documents.findings import Finding, InvalidDocument, Report, finding, sorted_findings
from runcard.documents.kinds import SESSION_SPEC
from runcard.documents.session import session_spec as rules
from runcard.documents.session.build import InstanceUsage
from runcard.documents.session.session_spec import InstanceSpec, SessionSpec
from runcard.encoding import BOM, JsonObject, Limits, as_text, decode_json, encode_json, locate
from runcard.errors import EncodingError, RuncardError
from runcard.files import printable
from runcard.masking import mask_data, mask_text
from runcard.operations.checks.load import STDIN, read_document
from runcard.operations.sessions.instance_usage import UsageReader, usage_findings
from runcard.store.sessions.instance_copies import InstancePaths

_YAML = (".yaml", ".yml")
_IDS = uuid.UUID("5a9e1d3c-70bf-4c7e-9c8e-0d6f1b2a4e57")  # the namespace of ids of instances


@dataclass(frozen=True, slots=True)
class CheckedSpec:
    """A valid SPEC."""

    session: SessionSpec  # with secrets masked
    paths: dict[str, InstancePaths]  # by instance
    usages: dict[str, InstanceUsage]  # by instance
    findings: tuple[Finding, ...]  # warnings
    redactions: dict[str, int]  # by rule
    source: JsonObject  # which file it was, with its digest
    more_redactions: tuple[JsonObject, ...] = ()  # made before, with where they are


@dataclass(frozen=True, slots=True)
class _ParsedSpec:
    """The data of a SPEC, and its text, in which pointers are located."""

    data: object
    text: str | None = None
    is_yaml: bool = False

    def report(self, findings: list[Finding]) -> Report:
        return Report(self._located(findings), SESSION_SPEC.name, SESSION_SPEC.latest)

    def _located(self, findings: list[Finding]) -> tuple[Finding, ...]:
        if self.text is None:
            return tuple(findings)
        pointers = {finding.path for finding in findings}
        places: dict[str, tuple[int, int]]
        if self.is_yaml:
            from runcard.encoding.yaml import locate_yaml  # noqa: PLC0415 - JSON needs none of it

            places = {pointer: place[:2] for pointer, place in locate_yaml(self.text, pointers).items()}
        else:
            places = {
                pointer: (place.line, place.column) for pointer, place in locate(self.text, pointers).items()
            }
        return sorted_findings(
            finding._replace(line=places[finding.path][0], column=places[finding.path][1])
            for finding in findings
        )


class InvalidSpec(InvalidDocument):
    """A SPEC with errors; `session_id` is the id of its session, if it has a valid one."""

    def __init__(self, report: Report, name: str, data: object) -> None:
        super().__init__(report, printable(name))
        self.session_id = _session_id(data)


def read_spec(
    spec: str | os.PathLike[str] | Mapping[str, Any],
    collected: datetime,
    usage_reader: UsageReader,
    *,
    limits: Limits,
    keep_secrets: bool = False,
) -> CheckedSpec:
    """Read a SPEC and the usage of its instances; raises InvalidDocument with all findings."""
    name, data, base = _bytes(spec, limits)
    text = _decoded(name, data, limits)
    findings, session = rules.check_spec(text.data, collected, _made_id, usage_findings)
    if session is None:
        raise InvalidSpec(text.report(findings), name, text.data)
    usages, usage_warnings = usage_reader.read(session)
    masked, redactions = (session, {}) if keep_secrets else masked_session(session)
    report = text.report([*findings, *usage_warnings, *_secret_ids(session, masked)])
    if not report.valid:
        raise InvalidSpec(report, name, text.data)
    return CheckedSpec(
        masked,
        {instance.instance_id: _paths(instance, base) for instance in session.instances},
        usages if keep_secrets else {own: masked_usage(usage) for own, usage in usages.items()},
        report.findings,
        redactions,
        {"path": name if base is None else os.path.abspath(name), "sha256": sha256_bytes(data).hex},
    )


def masked_usage(usage: InstanceUsage) -> InstanceUsage:
    """The usage with the secrets masked in its names, which come from the SPEC; `masked_session` counts them."""
    tools = usage.server_tools and {
        mask_text(name).value: count for name, count in usage.server_tools.items()
    }
    models = [
        {name: mask_text(value).value if isinstance(value, str) else value for name, value in model.items()}
        for model in usage.models
    ]
    model = usage.model and mask_text(usage.model).value
    return replace(usage, model=model, server_tools=tools, models=tuple(models))


def _made_id(seed: str) -> str:
    return str(uuid.uuid5(_IDS, seed))


def session_id_of(spec: str | os.PathLike[str] | Mapping[str, Any]) -> str | None:
    """The id of the session in a SPEC; None for standard input, which can be read only once."""
    try:
        name, data, _ = _bytes(spec, Limits()) if spec != STDIN else ("", b"", None)
        return _session_id(_decoded(name, data, Limits()).data)
    except RuncardError:
        return None


def _session_id(data: object) -> str | None:
    value = data.get("team_session_id") if isinstance(data, dict) else None
    return value if isinstance(value, str) else None


def _bytes(spec: str | os.PathLike[str] | Mapping[str, Any], limits: Limits) -> tuple[str, bytes, str | None]:
    """The name of a SPEC, its bytes, and the directory that its paths are relative to; None for the current one."""
    if isinstance(spec, Mapping):
        return "SPEC", encode_json(dict(spec)), None
    name = os.fspath(spec)
    data = read_document(name, limits)
    return name, data, None if name == STDIN else os.path.dirname(os.path.abspath(name))


def _decoded(name: str, data: bytes, limits: Limits) -> _ParsedSpec:
    is_yaml = name.lower().endswith(_YAML) or not data.removeprefix(BOM).lstrip().startswith(b"{")
    try:
        if not is_yaml:
            return _ParsedSpec(decode_json(data, limits), as_text(data, limits))
        from runcard.encoding.yaml import decode_yaml  # noqa: PLC0415

        return _ParsedSpec(decode_yaml(data, limits), as_text(data, limits), is_yaml=True)
    except EncodingError as error:
        problem = finding(error.rule, "", error.message, hint=error.hint)
        problem = problem._replace(line=error.line, column=error.column)
        raise InvalidSpec(Report((problem,), SESSION_SPEC.name), name, None) from error


def _paths(instance: InstanceSpec, base: str | None) -> InstancePaths:
    given = instance.fields
    return InstancePaths(_absolute(given.get("workspace"), base), _absolute(given.get("output"), base))


def _absolute(path: str | None, base: str | None) -> str | None:
    return None if path is None else os.path.abspath(os.path.join(base or "", os.path.expanduser(path)))


def masked_session(session: SessionSpec) -> tuple[SessionSpec, dict[str, int]]:
    """The session with its secrets masked, and their number by rule."""
    instances = [
        {"fields": each.fields, "instance_id": each.instance_id, "parent_id": each.parent_id}
        for each in session.instances
    ]
    masked = mask_data({"fields": session.fields, "instances": instances, "session_id": session.session_id})
    value = masked.value
    pairs = zip(session.instances, value["instances"], strict=True)
    masked_instances = tuple(replace(instance, **fields) for instance, fields in pairs)
    return SessionSpec(value["session_id"], masked_instances, value["fields"]), masked.counts


def _secret_ids(session: SessionSpec, masked: SessionSpec) -> list[Finding]:
    """Errors for ids that look like a secret: an id is part of a file name and cannot be masked."""
    ids = [("/team_session_id", session.session_id, masked.session_id)]
    for index, (plain, hidden) in enumerate(zip(session.instances, masked.instances, strict=True)):
        ids.append((f"/instances/{index}/instance_id", plain.instance_id, hidden.instance_id))
    return [
        finding("spec.secret", pointer, "the id looks like a secret", hint="use another id")
        for pointer, own, masked_id in ids
        if own != masked_id
    ]
