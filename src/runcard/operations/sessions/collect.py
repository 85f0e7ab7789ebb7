"""Collecting a session: what a team of agents did, kept as one record.

The session is put together in a place of its own and gets its name when it is complete. Nothing in a workspace is changed,
and nothing outside the store is written.
"""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runcard import settings as known
from runcard.accounting import Prices
from runcard.documents.findings import Finding
from runcard.documents.kinds import TEAM
from runcard.documents.session.team import Team
from runcard.encoding import JsonObject
from runcard.errors import ExitCode, RuncardError, StoreError, UsageError
from runcard.files import printable
from runcard.observe.clock import Clock
from runcard.operations.sessions.assembly import Desk
from runcard.operations.sessions.copying import Progress
from runcard.operations.sessions.options import Choices
from runcard.operations.sessions.read_spec import InvalidSpec, read_spec, session_id_of
from runcard.operations.sessions.recovery import tidy
from runcard.operations.sessions.usage import Accounts
from runcard.settings import read_settings
from runcard.settings.apply import use_masking_settings
from runcard.store.sessions.directory import Collection

_TOLD = (  # of each instance, by the documented tool
    *("instance_id", "name", "role", "model", "status", "created_at", "terminated_at"),
    *("execution_time_seconds", "tokens_used", "cost", "parent_instance_id", "children_count"),
)
_SUMMED = (
    *("total_instances", "total_tokens", "total_cost", "execution_start", "execution_end"),
    *("total_execution_time_seconds", "all_completed"),
)


_SAID_ALONE = {"count.instances", "schema.min-length"}  # findings that the documented tool has words for

_ASKED = tuple(setting for setting in known.ALL if setting is not known.OUTPUTS)


class CollectingIsOffError(RuncardError):
    """The settings say that no sessions are collected."""

    exit_code = ExitCode.WARNINGS


@dataclass(frozen=True, slots=True)
class CollectedSession:
    """A session that was collected."""

    path: Path
    document: Team
    findings: tuple[Finding, ...]  # warnings about the SPEC
    omissions: tuple[str, ...]  # what was not stored, and why, in a sentence each
    remarks: tuple[str, ...]  # what else there is to know: about settings, the ledger, leftovers of others

    @property
    def is_whole(self) -> bool:
        """Whether there is nothing to warn of."""
        return not (self.findings or self.omissions or self.remarks)

    def to_dict(self) -> JsonObject:
        """As the tool `collect_team_artifacts` returns it; what is not known is null."""
        data = self.document.to_dict()
        figures = data["execution_summary"]
        return {
            "status": "success",
            "team_session_id": data["team_session_id"],
            "artifacts_path": printable(str(self.path)),
            "instances_count": data["total_instances"],
            "instances": [{name: entry.get(name) for name in _TOLD} for entry in data["instances"]],
            "summary": {name: figures.get(name) for name in _SUMMED} | {"errors": data["errors"]},
        }


def failure_dict(error: RuncardError, spec: str | os.PathLike[str] | Mapping[str, Any]) -> JsonObject:
    """A failure as the tool `collect_team_artifacts` returns it, and all findings where it is the SPEC that is wrong."""
    told: JsonObject = {
        "status": "error",
        "team_session_id": error.session_id if isinstance(error, InvalidSpec) else session_id_of(spec),
        "artifacts_path": None,
        "instances_count": 0,
        "error": error.message,
    }
    if isinstance(error, InvalidSpec):
        errors = error.report.errors
        told["error"] = next((found.message for found in errors if found.rule in _SAID_ALONE), error.message)
        told["findings"] = [found.to_dict() for found in errors]
    return told


def collect(  # noqa: PLR0913 - the library's front door: each is a thing to decide about a collection
    spec: str | os.PathLike[str] | Mapping[str, Any],
    *,
    artifacts: str | os.PathLike[str] | None = None,
    schema: str = TEAM.latest,
    include: Iterable[str] = (),
    exclude: Iterable[str] = (),
    gitignore: bool | None = None,
    max_file_size: int | str | None = None,
    max_size: int | str | None = None,
    mask_workspaces: bool | None = None,
    no_transcripts: bool | None = None,
    metadata_only: bool | None = None,
    keep_secrets: bool = False,
    prices: Prices | None = None,
    progress: Progress | None = None,
) -> CollectedSession:
    """Collect the session that a SPEC tells of, a file or plain data, and return where it lies.

    What is not given is as the settings say. Raises InvalidDocument with everything that is wrong with the SPEC; what
    could not be stored of a session is an omission, and no error.
    """
    settings = read_settings(
        {
            known.ARTIFACTS_DIR: None if artifacts is None else os.fspath(artifacts),
            known.ARTIFACTS_PATTERNS: tuple(include),
            known.ARTIFACTS_EXCLUDE_PATTERNS: tuple(exclude),
            known.ARTIFACTS_GITIGNORE: gitignore,
            known.ARTIFACTS_MAX_FILE_SIZE: max_file_size,
            known.ARTIFACTS_MAX_SIZE: max_size,
            known.ARTIFACTS_MASK_WORKSPACES: mask_workspaces,
            known.ARTIFACTS_NO_TRANSCRIPTS: no_transcripts,
            known.ARTIFACTS_METADATA_ONLY: metadata_only,
        }
    )
    if schema not in TEAM.versions:
        raise UsageError(f"no session has version {schema}", hint=f"one of {', '.join(TEAM.versions)}")
    if not settings[known.ARTIFACTS_ENABLED]:
        origin = settings.find(known.ARTIFACTS_ENABLED).origin
        raise CollectingIsOffError(
            f"nothing was collected: {printable(str(origin))} switches it off", hint="set it to true"
        )
    use_masking_settings(settings)
    choices = Choices(settings, schema, keep_secrets=keep_secrets)
    _check_quota(choices.store, settings[known.ARTIFACTS_MAX_SIZE_GB])
    clock = Clock()
    told = read_spec(
        spec,
        clock.started,
        Accounts(prices),
        limits=settings.limits,
        keep_secrets=keep_secrets,
    )
    remarks = (*(f"{message}; {hint}" for message, hint in settings.warnings(*_ASKED)), *tidy(choices.store))
    with Collection(choices.store, told.session.session_id, clock.started, choices.modes) as place:
        desk = Desk(place, told, choices, clock)
        document = desk.seal(progress)
    path, more = place.final, desk.remarks
    if settings[known.ARTIFACTS_COMPRESS]:
        path, more = _archived(path, more)
    return CollectedSession(Path(path), document, told.findings, desk.omissions, (*remarks, *more))


def _check_quota(store: str, gigabytes: float | None) -> None:
    if gigabytes is None:
        return
    from runcard.operations.archives.prune import store_size  # noqa: PLC0415 - few have a quota

    if store_size(store) >= gigabytes * 1_000_000_000:
        raise StoreError(
            "Artifacts storage limit exceeded",
            hint=f"`runcard prune` deletes the oldest sessions, `runcard archive` packs them; or allow more than {gigabytes:g} GB",
        )


def _archived(path: str, remarks: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
    """The archive of a session that was just collected; it is whole, so that a failure here is only a remark."""
    from runcard.operations.archives.archive import archive  # noqa: PLC0415 - it takes long to load, and few want it

    try:
        return str(archive(path).archive), remarks
    except RuncardError as error:
        return path, (*remarks, f"the session was not archived: {error.message}")
