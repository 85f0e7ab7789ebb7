"""Reading the SPEC of a session: YAML or JSON, with everything that is wrong with it, and where.

Secrets in it are masked here, so that nothing that is written from a SPEC holds one. The places of files are kept as they
are given, beside the rest: a path that looks like a secret is still where the files lie.
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
from runcard.documents.session.session_spec import InstanceSpec, SessionSpec
from runcard.encoding import BOM, JsonObject, Limits, as_text, decode_json, encode_json, locate
from runcard.errors import EncodingError, RuncardError
from runcard.files import printable
from runcard.masking import mask_data
from runcard.operations.checks.load import STDIN, read_document
from runcard.operations.sessions.usage import Accounts, usage_findings

_YAML = (".yaml", ".yml")


@dataclass(frozen=True, slots=True)
class Places:
    """Where the files of an instance lie; None for what the SPEC does not name."""

    workspace: str | None
    output: str | None


@dataclass(frozen=True, slots=True)
class Spec:
    """A SPEC that can be collected."""

    session: SessionSpec  # without secrets
    places: dict[str, Places]  # by instance
    accounts: Accounts
    findings: tuple[Finding, ...]  # warnings
    redactions: dict[str, int]  # by rule
    source: JsonObject  # which file it was, with its digest


@dataclass(frozen=True, slots=True)
class _Text:
    """A SPEC as it was read: the data, and how to find a pointer in the text."""

    data: object
    text: str | None = None
    is_yaml: bool = False

    def report(self, findings: list[Finding]) -> Report:
        return Report(self._located(findings), SESSION_SPEC.name, SESSION_SPEC.latest)

    def _located(self, findings: list[Finding]) -> tuple[Finding, ...]:
        if self.text is None:
            return tuple(findings)
        pointers = {found.path for found in findings}
        places: dict[str, tuple[int, int]]
        if self.is_yaml:
            from runcard.encoding.yaml import locate_yaml  # noqa: PLC0415 - JSON needs none of it

            places = {pointer: place[:2] for pointer, place in locate_yaml(self.text, pointers).items()}
        else:
            places = {
                pointer: (place.line, place.column) for pointer, place in locate(self.text, pointers).items()
            }
        return sorted_findings(
            replace(found, line=places[found.path][0], column=places[found.path][1]) for found in findings
        )


class InvalidSpec(InvalidDocument):
    """A SPEC with something wrong in it; `session_id` is the session it is about, where that can be told."""

    def __init__(self, report: Report, name: str, data: object) -> None:
        super().__init__(report, printable(name))
        self.session_id = _session_id(data)


def read_spec(
    spec: str | os.PathLike[str] | Mapping[str, Any],
    collected: datetime,
    accounts: Accounts,
    *,
    limits: Limits,
    keep_secrets: bool = False,
) -> Spec:
    """The session that a SPEC tells of; raises InvalidDocument with everything that is wrong with it."""
    name, data, base = _bytes(spec, limits)
    text = _decoded(name, data, limits)
    findings, session = rules.check_spec(text.data, collected, lambda: str(uuid.uuid4()), usage_findings)
    if session is None:
        raise InvalidSpec(text.report(findings), name, text.data)
    findings += accounts.settle(session)
    masked, redactions = (session, {}) if keep_secrets else _masked(session)
    report = text.report([*findings, *_secret_ids(session, masked)])
    if not report.valid:
        raise InvalidSpec(report, name, text.data)
    return Spec(
        masked,
        {one.instance_id: _places(one, base) for one in session.instances},
        accounts,
        report.findings,
        redactions,
        {"path": name if base is None else os.path.abspath(name), "sha256": sha256_bytes(data).hex},
    )


def session_id_of(spec: str | os.PathLike[str] | Mapping[str, Any]) -> str | None:
    """The id of the session that a SPEC is about; None for standard input, which can be read only once."""
    try:
        name, data, _ = _bytes(spec, Limits()) if spec != STDIN else ("", b"", None)
        return _session_id(_decoded(name, data, Limits()).data)
    except RuncardError:
        return None


def _session_id(data: object) -> str | None:
    found = data.get("team_session_id") if isinstance(data, dict) else None
    return found if isinstance(found, str) else None


def _bytes(spec: str | os.PathLike[str] | Mapping[str, Any], limits: Limits) -> tuple[str, bytes, str | None]:
    """The name of a SPEC, its bytes, and the directory that its paths are relative to; None: the current one."""
    if isinstance(spec, Mapping):
        return "SPEC", encode_json(dict(spec)), None
    name = os.fspath(spec)
    data = read_document(name, limits)
    return name, data, None if name == STDIN else os.path.dirname(os.path.abspath(name))


def _decoded(name: str, data: bytes, limits: Limits) -> _Text:
    is_yaml = name.lower().endswith(_YAML) or not data.removeprefix(BOM).lstrip().startswith(b"{")
    try:
        if not is_yaml:
            return _Text(decode_json(data, limits), as_text(data, limits))
        from runcard.encoding.yaml import decode_yaml  # noqa: PLC0415

        return _Text(decode_yaml(data, limits), as_text(data, limits), is_yaml=True)
    except EncodingError as error:
        found = finding(error.rule, "", error.message, hint=error.hint)
        found = replace(found, line=error.line, column=error.column)
        raise InvalidSpec(Report((found,), SESSION_SPEC.name), name, None) from error


def _places(instance: InstanceSpec, base: str | None) -> Places:
    given = instance.given
    return Places(*(_place(given.get(key), base) for key in ("workspace", "output")))


def _place(path: str | None, base: str | None) -> str | None:
    return None if path is None else os.path.abspath(os.path.join(base or "", os.path.expanduser(path)))


def _masked(session: SessionSpec) -> tuple[SessionSpec, dict[str, int]]:
    """The session without its secrets, and how many there were by rule."""
    instances = [
        {"given": one.given, "instance_id": one.instance_id, "parent_id": one.parent_id}
        for one in session.instances
    ]
    masked = mask_data({"given": session.given, "instances": instances, "session_id": session.session_id})
    told = masked.value
    without = [replace(one, **said) for one, said in zip(session.instances, told["instances"], strict=True)]
    return SessionSpec(told["session_id"], tuple(without), told["given"]), masked.counts


def _secret_ids(session: SessionSpec, masked: SessionSpec) -> list[Finding]:
    """An id becomes a name and cannot be masked, so one that looks like a secret is refused."""
    ids = [("/team_session_id", session.session_id, masked.session_id)]
    for index, (one, without) in enumerate(zip(session.instances, masked.instances, strict=True)):
        ids.append((f"/instances/{index}/instance_id", one.instance_id, without.instance_id))
    return [
        finding("spec.secret", pointer, "the id looks like a secret", hint="give it another id")
        for pointer, plain, hidden in ids
        if plain != hidden
    ]
