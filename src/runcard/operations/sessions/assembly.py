"""Putting a session together, and sealing it.

The order is that of closing a run: the last event, the pages and documents, SHA256SUMS, all of it on the disk, then the
team document, which fixes SHA256SUMS, then the name, then the ledger.
"""

import os

from runcard.checksums import Listing
from runcard.digests import sha256_bytes
from runcard.documents.kinds import TEAM
from runcard.documents.session import build as assembly
from runcard.documents.session.build import CollectionFacts, StoredSections, TeamMember
from runcard.documents.session.events import COLLECTION_ENDED, COLLECTION_STARTED, FILE_OMITTED
from runcard.documents.session.instance import Instance
from runcard.documents.session.journal_check import section_digests
from runcard.documents.session.manifest import Manifest
from runcard.documents.session.team import Team
from runcard.documents.times import format_time_ms
from runcard.encoding import JsonObject
from runcard.errors import RuncardError
from runcard.files import Sync, failure, open_regular, sync_filesystem
from runcard.observe.clock import Clock
from runcard.observe.machine import locality, system_info, user_and_host
from runcard.observe.process import this_process
from runcard.operations.sessions.copying import Advance, Keeper, Progress
from runcard.operations.sessions.options import Choices
from runcard.operations.sessions.read_spec import Spec
from runcard.parallel.progress import Amount
from runcard.store import layout
from runcard.store.ledger import CLOSED, Ledger
from runcard.store.sessions.directory import Collection
from runcard.version import __version__
from runcard.views.session_summary import SummaryFigures, summary

PRODUCER = {"name": "runcard", "version": __version__}


class Desk:
    """The session on the desk of the one who collects it."""

    def __init__(self, place: Collection, spec: Spec, choice: Choices, clock: Clock) -> None:
        self._place, self._spec, self._choice, self._clock = place, spec, choice, clock
        self._collected_by = user_and_host()
        self._keeper = Keeper(place, choice.wanted, self._note)
        self.remarks: tuple[str, ...] = ()

    def seal(self, progress: Progress | None) -> Team:
        """Keep everything, fix it, and give the session its name; the team document."""
        self._begin()
        members = self._members(progress)
        facts = self._facts(members)
        hexes = self._keeper.hexes | self._write_documents(members, facts)
        listing = Listing.from_hex(hexes).to_bytes()
        self._place.write(layout.CHECKSUMS, listing)
        try:
            sync_filesystem(self._place.path)
        except OSError as error:
            raise failure(error, self._place.path, "make durable") from error
        return self._close(members, facts, listing)

    @property
    def omissions(self) -> tuple[str, ...]:
        """What was not stored, in a sentence each."""
        return tuple(self._keeper.sentences)

    def _note(self, event: str, payload: JsonObject) -> None:
        now = self._clock.read()
        line = {
            "timestamp": now.timestamp,
            "level": "warning" if event == FILE_OMITTED else "info",
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
            "process": this_process(),
        }
        self._note(COLLECTION_STARTED, self._choice.masked(started))

    def _members(self, progress: Progress | None) -> list[TeamMember]:
        instances, here = self._spec.session.instances, locality(os.environ)
        members = []
        for number, instance in enumerate(instances, 1):

            def tell(amount: Amount, name: str = instance.given["name"], number: int = number) -> None:
                if progress is not None:
                    progress(Advance(name, number, len(instances), amount))

            kept = self._keeper.keep(instance, self._spec.places[instance.instance_id], tell)
            stated = instance.given.get("environment", {})
            environment = here | {name: value for name, value in stated.items() if value is not None}
            members.append(TeamMember(instance, self._spec.accounts[instance.instance_id], kept, environment))
        return members

    def _facts(self, members: list[TeamMember]) -> CollectionFacts:
        """What the collection knows; with its last event, so that nothing is added to its journal any more."""
        keeper = self._keeper
        spec = [
            {"rule": rule, "where": "SPEC", "count": count} for rule, count in self._spec.redactions.items()
        ]
        audit = {
            "collected_at": format_time_ms(self._place.created),
            "collected_by": self._collected_by,
            "options": self._choice.to_dict(),
            "redactions": [*spec, *keeper.redactions],
            "omissions": keeper.omissions,
            "excluded": [
                {"pattern": pattern, "count": count} for pattern, count in sorted(keeper.excluded.items())
            ],
        }
        facts = CollectionFacts(self._place.created, PRODUCER, system_info(), audit, keeper.sentences)
        team = assembly.team_document(self._spec.session, members, facts, {}, self._choice.schema)
        counts = {name: len(audit[name]) for name in ("omissions", "excluded")}
        ended = {**counts, "redactions": audit["redactions"], "files": len(keeper.hexes)}
        self._note(COLLECTION_ENDED, ended | {"sections": section_digests(team)})
        return facts

    def _write_documents(self, members: list[TeamMember], facts: CollectionFacts) -> dict[str, str]:
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

    def _figures(self, kept: list[StoredSections]) -> SummaryFigures:
        keeper = self._keeper
        return SummaryFigures(
            self._place.final, sum(one.size for one in kept), keeper.files, keeper.lines, keeper.notable
        )

    def _close(self, members: list[TeamMember], facts: CollectionFacts, listing: bytes) -> Team:
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
            self._place.write(layout.METADATA, document.to_bytes(), sync=Sync.FILE)
            self._place.place()
            self._enter(ledger, document)
        return document

    def _enter(self, ledger: Ledger, document: Team) -> None:
        """Enter the session in the ledger; it is complete, so that a failure here is only a remark."""
        try:
            enter(ledger, self._place.name, document)
        except RuncardError as error:
            self.remarks = (
                f"the session is not in the ledger, the next collection enters it: {error.message}",
            )
        else:
            self._conclude()

    def _conclude(self) -> None:
        try:
            self._place.conclude()
        except OSError as error:
            reason = os.strerror(error.errno or 0)
            self.remarks = (f"a mark in .open/ was not removed, the next collection removes it: {reason}",)


def enter(ledger: Ledger, name: str, document: Team) -> None:
    """Enter a session in the ledger: now, since the second in its name may be yet to come."""
    entry = {
        "kind": "session",
        "id": document.session_id,
        "path": name,
        "sha256": sha256_bytes(document.to_bytes()).hex,
        "time": document.to_dict()["created_at"],
    }
    ledger.append(CLOSED, Clock().timestamp(), entry)


def _digest(path: str) -> str:
    try:
        with open(open_regular(path), "rb") as file:
            return sha256_bytes(file.read()).hex
    except OSError as error:
        raise failure(error, path, "read") from error
