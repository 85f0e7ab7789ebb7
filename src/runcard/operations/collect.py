"""Collecting a session: what a team of agents did, kept as one record.

The session is put together in a place of its own and gets its name when it is complete. The order is that of closing a run:
the last event, the pages and documents, SHA256SUMS, all of it on the disk, then the team document, which fixes SHA256SUMS,
then the name, then the ledger. Nothing in a workspace is changed, and nothing outside the store is written.
"""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runcard import settings as known
from runcard.accounting import Prices
from runcard.checksums import Listing
from runcard.digests import sha256_bytes
from runcard.documents import session as assembly
from runcard.documents.findings import Finding
from runcard.documents.instance import Instance
from runcard.documents.kinds import TEAM
from runcard.documents.manifest import Manifest
from runcard.documents.session import Collected, Kept, Member
from runcard.documents.team import Team
from runcard.documents.times import written_briefly
from runcard.errors import ExitCode, RuncardError, UsageError
from runcard.files import failure, printable, sync_filesystem
from runcard.observe.clock import Clock
from runcard.observe.machine import locality, system_info, user_and_host
from runcard.operations.accounts import Accounts
from runcard.operations.keeping import Advance, Keeper, Progress, Wanted
from runcard.operations.load import load
from runcard.operations.prices import configured_prices
from runcard.operations.spec import InvalidSpec, Spec, read_spec, session_id_of
from runcard.redaction import mask_data
from runcard.settings import Settings, read_settings
from runcard.store import layout
from runcard.store.copying import Amount, CopyRules, check_patterns
from runcard.store.ledger import CLOSED, Ledger, entries, ledgers
from runcard.store.sessions import STARTED, Abandoned, Collection, Modes, abandoned, clear_mark, remove
from runcard.version import __version__
from runcard.views.summary import Figures, summary

Fields = dict[str, Any]

PRODUCER = {"name": "runcard", "version": __version__}

_TOLD = (  # of each instance, by the documented tool
    *("instance_id", "name", "role", "model", "status", "created_at", "terminated_at"),
    *("execution_time_seconds", "tokens_used", "cost", "parent_instance_id", "children_count"),
)
_SUMMED = (
    *("total_instances", "total_tokens", "total_cost", "execution_start", "execution_end"),
    *("total_execution_time_seconds", "all_completed"),
)


_SAID_ALONE = {"count.instances", "schema.min-length"}  # findings that the documented tool has words for


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
    remarks: tuple[str, ...]  # what else there is to know: leftovers of other collections

    @property
    def is_whole(self) -> bool:
        """Whether there is nothing to warn of."""
        return not (self.findings or self.omissions or self.remarks)

    def to_dict(self) -> Fields:
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


def failure_dict(error: RuncardError, spec: str | os.PathLike[str] | Mapping[str, Any]) -> Fields:
    """A failure as the tool `collect_team_artifacts` returns it, and all findings where it is the SPEC that is wrong."""
    told: Fields = {
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
    choice = _Choice(settings, schema, keep_secrets=keep_secrets)
    clock = Clock()
    told = read_spec(
        spec,
        clock.started,
        Accounts(prices or configured_prices()),
        limits=settings.limits,
        keep_secrets=keep_secrets,
    )
    remarks = (*(f"{message}; {hint}" for message, hint in settings.warnings()), *tidy(choice.store))
    with Collection(choice.store, told.session.session_id, clock.started, choice.modes) as place:
        return _Desk(place, told, choice, clock).collected(remarks, progress)


class _Choice:
    """What was decided about a collection, by options and settings."""

    def __init__(self, settings: Settings, schema: str, *, keep_secrets: bool) -> None:
        self.store = os.path.abspath(settings[known.ARTIFACTS_DIR])
        self.schema = schema
        self.modes = Modes(settings[known.ARTIFACTS_DIRECTORY_MODE], settings[known.ARTIFACTS_FILE_MODE])
        self._metadata_only = settings[known.ARTIFACTS_METADATA_ONLY]
        self._no_transcripts = settings[known.ARTIFACTS_NO_TRANSCRIPTS]
        self._keep_secrets = keep_secrets
        self.rules = CopyRules(
            include=settings[known.ARTIFACTS_PATTERNS],
            exclude=settings[known.ARTIFACTS_EXCLUDE_PATTERNS],
            gitignore=settings[known.ARTIFACTS_GITIGNORE],
            max_file_size=settings[known.ARTIFACTS_MAX_FILE_SIZE],
            max_size=settings[known.ARTIFACTS_MAX_SIZE],
            mask=settings[known.ARTIFACTS_MASK_WORKSPACES] and not keep_secrets,
            kept_mode=0o700 | self.modes.folder | self.modes.file,
            skip=(self.store,),
        )
        check_patterns((*self.rules.include, *self.rules.exclude))

    @property
    def wanted(self) -> Wanted:
        return Wanted(
            workspaces=not self._metadata_only,
            transcripts=not (self._metadata_only or self._no_transcripts),
            rules=self.rules,
            keep_secrets=self._keep_secrets,
        )

    def to_dict(self) -> Fields:
        """The options as the record tells of them."""
        said = {
            "schema": self.schema,
            "include": list(self.rules.include),
            "exclude": list(self.rules.exclude),
            "gitignore": self.rules.gitignore,
            "max_file_size": self.rules.max_file_size,
            "max_size": self.rules.max_size,
            "mask_workspaces": self.rules.mask,
            "no_transcripts": self._no_transcripts,
            "metadata_only": self._metadata_only,
            "keep_secrets": self._keep_secrets,
        }
        return self.masked(said)

    def masked(self, said: Fields) -> Fields:
        """What may be written down."""
        without: Fields = said if self._keep_secrets else mask_data(said).value
        return without


class _Desk:
    """The session on the desk of the one who collects it."""

    def __init__(self, place: Collection, spec: Spec, choice: _Choice, clock: Clock) -> None:
        self._place, self._spec, self._choice, self._clock = place, spec, choice, clock
        self._collected_by = user_and_host()
        self._keeper = Keeper(place, choice.wanted, self._note)

    def collected(self, remarks: tuple[str, ...], progress: Progress | None) -> CollectedSession:
        self._begin()
        members = self._members(progress)
        facts = self._facts()
        hexes = self._keeper.hexes | self._write_documents(members, facts)
        listing = Listing.from_hex(hexes).to_bytes()
        self._place.write(layout.CHECKSUMS, listing)
        try:
            sync_filesystem(self._place.path)
        except OSError as error:
            raise failure(error, self._place.path, "make durable") from error
        document = self._seal(members, facts, listing)
        return CollectedSession(
            Path(self._place.final),
            document,
            self._spec.findings,
            tuple(self._keeper.sentences),
            remarks,
        )

    def _note(self, event: str, payload: Fields) -> None:
        now = self._clock.read()
        line = {
            "timestamp": now.timestamp,
            "level": "warning" if event == "file.omitted" else "info",
            "event": event,
            "team_session_id": self._spec.session.session_id,
            "elapsed": now.elapsed,
        }
        self._place.journal.append(line, payload)

    def _begin(self) -> None:
        started = {
            "collected_by": self._collected_by,
            "producer": PRODUCER,
            "options": self._choice.to_dict(),
            "spec": self._spec.source,
            "findings": [found.to_dict() for found in self._spec.findings],
        }
        self._note(STARTED, self._choice.masked(started))

    def _members(self, progress: Progress | None) -> list[Member]:
        instances, here = self._spec.session.instances, locality(os.environ)
        members = []
        for number, instance in enumerate(instances, 1):

            def tell(amount: Amount, name: str = instance.given["name"], number: int = number) -> None:
                if progress is not None:
                    progress(Advance(name, number, len(instances), amount))

            kept = self._keeper.keep(instance, self._spec.places[instance.instance_id], tell)
            stated = instance.given.get("environment", {})
            environment = here | {name: value for name, value in stated.items() if value is not None}
            members.append(Member(instance, self._spec.accounts[instance.instance_id], kept, environment))
        return members

    def _facts(self) -> Collected:
        """What the collection knows; with its last event, so that nothing is added to its journal any more."""
        keeper = self._keeper
        spec = [
            {"rule": rule, "where": "SPEC", "count": count} for rule, count in self._spec.redactions.items()
        ]
        audit = {
            "collected_at": written_briefly(self._place.created),
            "collected_by": self._collected_by,
            "options": self._choice.to_dict(),
            "redactions": [*spec, *keeper.redactions],
            "omissions": keeper.omissions,
            "excluded": [
                {"pattern": pattern, "count": count} for pattern, count in sorted(keeper.excluded.items())
            ],
        }
        counts = {name: len(audit[name]) for name in ("omissions", "excluded")}
        self._note(
            "collection.ended", {**counts, "redactions": audit["redactions"], "files": len(keeper.hexes)}
        )
        return Collected(self._place.created, PRODUCER, system_info(), audit, keeper.sentences)

    def _write_documents(self, members: list[Member], facts: Collected) -> dict[str, str]:
        """All documents but the team's; the digests of what was written, by path."""
        version = self._choice.schema
        team = assembly.team_document(self._spec.session, members, facts, {}, version)
        children = assembly.children_of(members)
        paths = {own: layout.instance_file(own, layout.METADATA) for own in children}
        documents = {}
        for member in members:
            own = member.spec.instance_id
            document = assembly.instance_document(member, children[own], facts, version)
            documents[paths[own]] = Instance.from_dict(document).to_bytes()
        producer = PRODUCER if version == TEAM.latest else None
        documents[layout.MANIFEST] = Manifest.from_dict(assembly.manifest(team, producer, paths)).to_bytes()
        documents[layout.SUMMARY] = summary(
            team, self._figures([one.kept for one in members]), PRODUCER
        ).encode()
        for path, data in documents.items():
            self._place.write(path, data)
        hexes = {path: sha256_bytes(data).hex for path, data in documents.items()}
        return hexes | {layout.AUDIT: _digest(self._place.journal.path)}

    def _figures(self, kept: list[Kept]) -> Figures:
        keeper = self._keeper
        return Figures(
            self._place.final, sum(one.size for one in kept), keeper.files, keeper.lines, keeper.notable
        )

    def _seal(self, members: list[Member], facts: Collected, listing: bytes) -> Team:
        """Fix everything by the team document, give the session its name, and enter it in the ledger."""
        with Ledger(self._place.store, self._place.modes.file) as ledger:
            seal = {
                "symlinks": self._keeper.symlinks,
                "event_chains": [self._place.journal.head.to_dict()],
                "ledger_head": ledger.head,
                "checksums": {"session": str(sha256_bytes(listing))},
            }
            document = Team.from_dict(
                assembly.team_document(self._spec.session, members, facts, seal, self._choice.schema)
            )
            self._place.write(layout.METADATA, document.to_bytes(), durable=True)
            self._place.place()
            _enter(ledger, self._place.name, document)
        self._place.conclude()
        return document


def _enter(ledger: Ledger, name: str, document: Team) -> None:
    created = document.to_dict()["created_at"]
    entry = {
        "kind": "session",
        "id": document.session_id,
        "path": name,
        "sha256": sha256_bytes(document.to_bytes()).hex,
        "time": created,
    }
    ledger.append(CLOSED, created, entry)


def _digest(path: str) -> str:
    try:
        with open(path, "rb") as file:
            return sha256_bytes(file.read()).hex
    except OSError as error:
        raise failure(error, path, "read") from error


def tidy(store: str) -> Iterable[str]:
    """Finish or remove what killed collections left in a store; what was done, in a sentence each."""
    with abandoned(store) as found:
        for one in found:
            try:
                yield _finished(store, one) if one.mark is not None else _removed(one)
            except RuncardError as error:  # another user's, for one: it is in nobody's way
                yield f"an interrupted collection left something behind: {error.message}"


def _removed(one: Abandoned) -> str:
    remove(one)
    return f"removed what an interrupted collection left behind: {printable(one.path)}"


def _finished(store: str, one: Abandoned) -> str:
    """Enter a session in the ledger whose collector was killed between its name and its entry."""
    document = load(os.path.join(one.path, layout.METADATA), kind=TEAM.name)
    digest = sha256_bytes(document.to_bytes()).hex
    with Ledger(store) as ledger:
        listed = {entry.sha256 for _, journal, _ in ledgers(store) for entry in entries(journal)}
        if digest not in listed and isinstance(document, Team):
            _enter(ledger, one.name, document)
    clear_mark(str(one.mark))
    return f"finished an interrupted collection: {printable(one.path)}"
