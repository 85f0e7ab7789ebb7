"""Collect a session: store the work of a team of agents as one record.

The session is assembled in a separate directory and gets its final name when it is complete. Workspaces are not changed,
and nothing is written outside the store.
"""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from runcard import settings as known
from runcard.accounting import Prices
from runcard.documents.findings import Finding
from runcard.documents.kinds import TEAM
from runcard.documents.session.team import Team
from runcard.encoding import JsonObject
from runcard.errors import RuncardError, StoreError, UsageError
from runcard.files import printable
from runcard.observe.clock import Clock
from runcard.operations.checks.load import STDIN
from runcard.operations.sessions.assembly import Progress, SessionAssembler
from runcard.operations.sessions.earlier_sessions import SameContentError
from runcard.operations.sessions.instance_usage import UsageReader
from runcard.operations.sessions.spec_file import CheckedSpec, InvalidSpec, read_spec, session_id_of
from runcard.recording.record_signature import sign_at_closing
from runcard.settings import Settings, read_settings
from runcard.settings.apply import use_masking_settings
from runcard.store.sessions.collect_options import CollectOptions
from runcard.store.sessions.directory import SessionDirectory
from runcard.store.sessions.instance_copies import Confine
from runcard.store.sessions.recovery import recover_sessions

# The fields that the tool `collect_team_artifacts` returns.
_INSTANCE_FIELDS = (
    *("instance_id", "name", "role", "model", "status", "created_at", "terminated_at"),
    *("execution_time_seconds", "tokens_used", "cost", "parent_instance_id", "children_count"),
)
_SUMMARY_FIELDS = (
    *("total_instances", "total_tokens", "total_cost", "execution_start", "execution_end"),
    *("total_execution_time_seconds", "all_completed"),
)
_TOOL_MESSAGES = {"count.instances", "schema.min-length"}  # rules whose messages are those of the tool

_SETTINGS_USED = tuple(setting for setting in known.ALL if setting is not known.OUTPUTS)


class CollectingIsOffError(RuncardError):
    """Collecting is disabled by the settings."""


@dataclass(frozen=True, slots=True)
class CollectedSession:
    """A session that was collected."""

    path: Path
    document: Team
    findings: tuple[Finding, ...]  # warnings about the SPEC
    omissions: tuple[str, ...]  # a message for each file that was not stored, or not completely
    remarks: tuple[str, ...]  # other warnings: about settings, the ledger, interrupted collections
    excluded: dict[str, int]  # files and directories by the pattern that excludes them
    masked: dict[str, int]  # secrets by file
    is_new: bool = True  # false if the same content was collected before: `path` is that session

    @property
    def is_whole(self) -> bool:
        """Whether there are no warnings."""
        return not (self.findings or self.omissions or self.remarks)

    def to_dict(self) -> JsonObject:
        """The result of the tool `collect_team_artifacts`; unknown values are null."""
        data = self.document.to_dict()
        figures = data["execution_summary"]
        result: JsonObject = {
            "status": "success",
            "team_session_id": data["team_session_id"],
            "artifacts_path": printable(str(self.path)),
            "instances_count": data["total_instances"],
            "instances": [
                {name: entry.get(name) for name in _INSTANCE_FIELDS} for entry in data["instances"]
            ],
            "summary": {name: figures.get(name) for name in _SUMMARY_FIELDS} | {"errors": data["errors"]},
        }
        return result if self.is_new else result | {"already_collected": True}


def failure_dict(error: RuncardError, spec: str | os.PathLike[str] | Mapping[str, Any]) -> JsonObject:
    """An error as the tool `collect_team_artifacts` returns it; with all findings for an invalid SPEC."""
    result: JsonObject = {
        "status": "error",
        "team_session_id": error.session_id if isinstance(error, InvalidSpec) else session_id_of(spec),
        "artifacts_path": None,
        "instances_count": 0,
        "error": error.message,
    }
    if isinstance(error, InvalidSpec):
        errors = error.report.errors
        result["error"] = next(
            (each.message for each in errors if each.rule in _TOOL_MESSAGES), error.message
        )
        result["findings"] = [each.to_dict() for each in errors]
    return result


def collect(  # noqa: PLR0913 - one for each option of the command
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
    again: bool = False,
    prices: Prices | None = None,
    progress: Progress | None = None,
    confine: Confine | None = None,
) -> CollectedSession:
    """Collect the session that a SPEC describes, a file or plain data.

    Defaults are those of the settings. Raises InvalidDocument with all errors in the SPEC. A file that cannot be stored
    is an omission, not an error. If the same content was collected before, the result is that session, with `is_new`
    false; `again` stores it once more. `confine` gets each path of the SPEC, and returns the one to copy instead.
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
    check_allowed(settings, schema)
    use_masking_settings(settings)
    options = CollectOptions(settings, schema, keep_secrets=keep_secrets)
    check_quota(options.store, settings[known.ARTIFACTS_MAX_SIZE_GB])
    clock = Clock()
    try:
        checked = read_spec(
            spec, clock.started, UsageReader(prices), limits=settings.limits, keep_secrets=keep_secrets
        )
    except RuncardError:
        _check_no_transcript(spec)
        raise
    if confine is not None:
        checked = replace(
            checked, paths={own: paths.confined(confine) for own, paths in checked.paths.items()}
        )
    remarks = [f"{message}; {hint}" for message, hint in settings.warnings(*_SETTINGS_USED)]
    remarks += recover_sessions(options.store, Clock().timestamp)
    collected = _assemble(checked, options, clock, progress, again=again)
    remarks += collected.remarks
    path = collected.path
    if collected.is_new:
        remarks += sign_at_closing(str(path), settings)
    if settings[known.ARTIFACTS_COMPRESS] and collected.is_new:
        path = _archive(path, remarks)
    return replace(collected, path=path, remarks=tuple(remarks))


def check_allowed(settings: Settings, schema: str) -> None:
    """Raise an error if the settings disable collecting, or there is no such version of documents."""
    if schema not in TEAM.versions:
        raise UsageError(
            f"there is no version {schema} of sessions", hint=f"use one of {', '.join(TEAM.versions)}"
        )
    if not settings[known.ARTIFACTS_ENABLED]:
        origin = settings.find(known.ARTIFACTS_ENABLED).origin
        raise CollectingIsOffError(
            f"nothing was collected: disabled by {printable(str(origin))}", hint="set it to true"
        )


def _assemble(
    checked: CheckedSpec, options: CollectOptions, clock: Clock, progress: Progress | None, *, again: bool
) -> CollectedSession:
    """Store the session, or find the earlier one with the same content."""
    with SessionDirectory(
        options.store, checked.session.session_id, clock.started, options.modes
    ) as directory:
        assembler = SessionAssembler(directory, checked, options, clock)
        try:
            document = assembler.run(progress, again=again)
        except SameContentError as same:
            return CollectedSession(
                Path(same.path), same.document, checked.findings, (), (same.message,), {}, {}, is_new=False
            )
    return CollectedSession(
        Path(directory.final),
        document,
        checked.findings,
        assembler.omissions,
        assembler.remarks,
        assembler.excluded,
        assembler.masked,
    )


def _check_no_transcript(spec: str | os.PathLike[str] | Mapping[str, Any]) -> None:
    """Raise the error that names the command for a session file of an agent tool, or for a folder of them."""
    if isinstance(spec, Mapping) or os.fspath(spec) == STDIN:
        return
    from runcard.operations.sessions.transcript_paths import transcript_error  # noqa: PLC0415 - only for a wrong SPEC

    if (error := transcript_error(os.fspath(spec))) is not None:
        raise error from None


def check_quota(store: str, gigabytes: float | None) -> None:
    """Raise StoreError if a store has as many bytes as it may have."""
    if gigabytes is None:
        return
    from runcard.operations.archives.candidates import store_size  # noqa: PLC0415 - few have a quota

    if store_size(store) >= gigabytes * 1_000_000_000:
        raise StoreError(
            "Artifacts storage limit exceeded",
            hint=f"run `runcard prune` or `runcard archive`, or allow more than {gigabytes:g} GB",
        )


def _archive(path: Path, remarks: list[str]) -> Path:
    """Archive a session that was just collected. It is complete, so that a failure is only a remark."""
    from runcard.operations.archives.archive import archive  # noqa: PLC0415 - slow to import, and rarely used

    try:
        return archive(path).archive
    except RuncardError as error:
        remarks.append(f"the session was not archived: {error.message}")
        return path
