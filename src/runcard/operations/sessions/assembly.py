"""Assemble a session from its SPEC, and seal it.

The order is that of closing a run: the last event, the summary and the documents, SHA256SUMS, all of it durable, then the
team document with the digest of SHA256SUMS, then the final name, then the entry in the ledger.
"""

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import sha256
from heapq import merge
from typing import NamedTuple, Protocol

from runcard.checksums import Listing, listing_blocks, listing_digest
from runcard.digests import Digest, sha256_bytes, sha256_stream
from runcard.documents.kinds import TEAM
from runcard.documents.session import build
from runcard.documents.session.build import CollectionFacts, TeamMember
from runcard.documents.session.content import content_of
from runcard.documents.session.events import CALLS_LISTED, COLLECTION_ENDED, COLLECTION_STARTED, FILE_OMITTED
from runcard.documents.session.instance import Instance
from runcard.documents.session.journal_check import section_digests
from runcard.documents.session.manifest import Manifest
from runcard.documents.session.team import Team
from runcard.documents.times import format_time_ms
from runcard.encoding import JsonObject
from runcard.errors import RuncardError
from runcard.files import Sync, encode_name, failure, open_regular, sync_filesystem
from runcard.observe.clock import Clock
from runcard.observe.process import this_process
from runcard.observe.user_and_host import locality, system_info, user_and_host
from runcard.operations.sessions.earlier_sessions import EarlierSessions
from runcard.operations.sessions.spec_file import CheckedSpec
from runcard.operations.sessions.summary_page import PRODUCER, summary_page
from runcard.parallel.progress import Amount
from runcard.store import layout
from runcard.store.ledger import Ledger
from runcard.store.sessions.collect_options import CollectOptions
from runcard.store.sessions.directory import SessionDirectory
from runcard.store.sessions.instance_copies import InstanceCopier
from runcard.store.sessions.recovery import append_closed_entry


class CollectionProgress(NamedTuple):
    """How far a collection is."""

    instance: str  # the name of the instance that is copied
    number: int  # of this instance
    total: int  # of instances
    amount: Amount  # of its workspace


Progress = Callable[[CollectionProgress], object]


class EarlierCheck(Protocol):
    """Whether a session is stored already."""

    def check(self) -> None:
        """Raise SameContentError if another process was faster; called under the lock of the ledger."""


class SessionAssembler:
    """Assembles one session in its directory."""

    def __init__(
        self,
        directory: SessionDirectory,
        spec: CheckedSpec,
        options: CollectOptions,
        clock: Clock,
        *,
        live_chains: Sequence[JsonObject] = (),
        calls: Iterable[JsonObject] = (),
    ) -> None:
        """`live_chains` are the ends of the chains of a session that was recorded while it worked.

        `calls` are the payloads of events that list the calls of a session.
        """
        self._directory, self._spec, self._options, self._clock = directory, spec, options, clock
        self._collected_by = user_and_host()
        self._copier = InstanceCopier(directory, options, self._add_event)
        self._spec_redactions = [
            {"rule": rule, "where": "SPEC", "count": count} for rule, count in spec.redactions.items()
        ] + list(spec.more_redactions)
        self._live_chains, self._calls = live_chains, calls
        self._earlier: EarlierCheck | None = None
        self.remarks: tuple[str, ...] = ()

    def run(
        self, progress: Progress | None, *, again: bool = False, earlier: EarlierCheck | None = None
    ) -> Team:
        """Copy all files, write all documents, and give the session its final name; returns the team document.

        Unless `again` is given, raises SameContentError if the same content was collected before; `earlier` is another
        check for that.
        """
        self._add_start_event()
        for calls in self._calls:
            self._add_event(CALLS_LISTED, calls)
        members = self._copy_instances(progress)
        facts = self._end_collection(members)
        instances = self._instance_documents(members, facts)
        if earlier is None and not again:
            earlier = self._find_earlier(members, facts, instances)
        self._earlier = earlier
        digest = self._write_listing(self._write_documents(members, facts, instances))
        try:
            sync_filesystem(self._directory.path)
        except OSError as error:
            raise failure(error, self._directory.path, "make durable") from error
        return self._close(members, facts, digest)

    def _write_listing(self, documents: dict[str, str]) -> Digest:
        """Write SHA256SUMS, for the stored files and the documents; returns its digest."""
        hasher = sha256()

        def blocks() -> Iterator[bytes]:
            for block in listing_blocks(
                merge(self._copier.digests, Listing.from_hex(documents).hex_items(), key=_key)
            ):
                hasher.update(block)
                yield block

        self._directory.write(layout.CHECKSUMS, blocks())
        return Digest("sha256", hasher.hexdigest())

    @property
    def omissions(self) -> tuple[str, ...]:
        """A message for each file that was not stored, or not completely."""
        return tuple(self._copier.omission_messages)

    @property
    def excluded(self) -> dict[str, int]:
        """The number of excluded files and directories, by pattern."""
        return dict(sorted(self._copier.excluded.items()))

    @property
    def masked(self) -> dict[str, int]:
        """The number of masked secrets, by file; those of the SPEC itself under `SPEC`."""
        counts: Counter[str] = Counter()
        for entry in (*self._spec_redactions, *self._copier.redactions):
            counts[entry["where"]] += entry["count"]
        return dict(counts)

    def _add_event(self, event: str, payload: JsonObject) -> None:
        now = self._clock.read()
        line = {
            "timestamp": now.timestamp,
            "level": "warning" if event == FILE_OMITTED else "info",
            "event": event,
            "team_session_id": self._spec.session.session_id,
            "elapsed": now.elapsed,
        }
        self._directory.journal.append(line, payload)

    def _add_start_event(self) -> None:
        payload = {
            "collected_by": self._collected_by,
            "producer": PRODUCER,
            "options": self._options.to_dict(),
            "spec": self._spec.source,
            "findings": [finding.to_dict() for finding in self._spec.findings],
            "process": this_process(),
        }
        self._add_event(COLLECTION_STARTED, self._options.mask(payload))

    def _copy_instances(self, progress: Progress | None) -> list[TeamMember]:
        instances, here = self._spec.session.instances, locality(os.environ)
        members = []
        for number, instance in enumerate(instances, 1):
            last: list[Amount] = []

            def report(
                amount: Amount,
                name: str = instance.fields["name"],
                number: int = number,
                last: list[Amount] = last,
            ) -> None:
                last[:] = [amount]
                if progress is not None:
                    progress(CollectionProgress(name, number, len(instances), amount))

            own = instance.instance_id
            stored = self._copier.copy(instance, self._spec.paths[own], report)
            if last:
                report(last[0])  # once more, when the instance is done: it may take too long
            given = instance.fields.get("environment", {})
            environment = here | {name: value for name, value in given.items() if value is not None}
            members.append(TeamMember(instance, self._spec.usages[own], stored, environment))
        return members

    def _end_collection(self, members: list[TeamMember]) -> CollectionFacts:
        """Add the last event to the journal; returns the facts about the collection for the documents."""
        copier = self._copier
        audit = {
            "collected_at": format_time_ms(self._directory.created),
            "collected_by": self._collected_by,
            "options": self._options.to_dict(),
            "redactions": [*self._spec_redactions, *copier.redactions],
            "omissions": copier.omissions,
            "excluded": [{"pattern": pattern, "count": count} for pattern, count in self.excluded.items()],
        }
        facts = CollectionFacts(
            self._directory.created, PRODUCER, system_info(), audit, copier.omission_messages
        )
        team = build.team_document(self._spec.session, members, facts, {}, self._options.schema)
        counts = {name: len(audit[name]) for name in ("omissions", "excluded")}
        payload = {**counts, "redactions": audit["redactions"], "files": copier.files_count}
        self._add_event(COLLECTION_ENDED, payload | {"sections": section_digests(team)})
        return facts

    def _instance_documents(self, members: list[TeamMember], facts: CollectionFacts) -> dict[str, JsonObject]:
        """The documents of the instances, by id."""
        children, version = build.children_of(members), self._options.schema
        return {
            member.spec.instance_id: build.instance_document(
                member, children[member.spec.instance_id], facts, version
            )
            for member in members
        }

    def _find_earlier(
        self, members: list[TeamMember], facts: CollectionFacts, instances: dict[str, JsonObject]
    ) -> EarlierSessions:
        """Compare the new session with earlier ones; raises SameContentError."""
        seal = {"symlinks": self._copier.symlinks}
        team = build.team_document(self._spec.session, members, facts, seal, self._options.schema)
        content = content_of(team, instances.values(), str(listing_digest(self._copier.digests)))
        earlier = EarlierSessions(
            self._directory.store, self._spec.session.session_id, content, self._spec.source["sha256"]
        )
        earlier.check()
        return earlier

    def _write_documents(
        self, members: list[TeamMember], facts: CollectionFacts, instances: dict[str, JsonObject]
    ) -> dict[str, str]:
        """Write all documents but the team document; returns the digests of the files, by path."""
        version = self._options.schema
        team = build.team_document(self._spec.session, members, facts, {}, version)
        paths = {own: layout.instance_file(own, layout.METADATA) for own in instances}
        documents = {paths[own]: Instance.from_dict(instances[own]).to_bytes() for own in instances}
        producer = PRODUCER if version == TEAM.latest else None
        documents[layout.MANIFEST] = Manifest.from_dict(build.manifest(team, producer, paths)).to_bytes()
        others = self._size_without_summary(team, documents)
        documents[layout.SUMMARY] = summary_page(
            team, self._directory, self._copier, others, masks=not self._options.keep_secrets
        )
        for path, data in documents.items():
            self._directory.write(path, data)
        hexes = {path: sha256_bytes(data).hex for path, data in documents.items()}
        return hexes | {layout.AUDIT: _digest(self._directory.journal.path)}

    def _size_without_summary(self, team: JsonObject, documents: dict[str, bytes]) -> int:
        """The size of all files of the session but `summary.md`: stored, or as they will be written."""
        written = [*documents, layout.SUMMARY, layout.AUDIT]
        digest = sha256_bytes(b"")  # any: all are of the same length
        listings = (self._copier.digests, Listing(dict.fromkeys(written, digest)).hex_items())
        ledger = Ledger(self._directory.store)
        seal = self._seal(ledger.head, digest) if self._options.schema == TEAM.latest else {}
        return (
            self._copier.stored_bytes
            + sum(map(len, documents.values()))
            + os.path.getsize(self._directory.journal.path)
            + sum(len(block) for entries in listings for block in listing_blocks(entries))
            + len(Team.encode(team | seal))
        )

    def _close(self, members: list[TeamMember], facts: CollectionFacts, listing: Digest) -> Team:
        """Write the team document, give the session its final name, and add it to the ledger."""
        with Ledger(self._directory.store, self._directory.modes.file) as ledger:
            if self._earlier is not None:
                self._earlier.check()  # another collection may have been faster
            seal = self._seal(ledger.head, listing)
            document = Team.from_dict(
                build.team_document(self._spec.session, members, facts, seal, self._options.schema)
            )
            self._directory.write(layout.METADATA, document.to_bytes(), sync=Sync.FILE)
            self._directory.publish()
            self._add_to_ledger(ledger, document)
        return document

    def _seal(self, ledger_head: str | None, listing: Digest) -> JsonObject:
        """The fields of the team document that are known only after everything else is written."""
        return {
            "symlinks": self._copier.symlinks,
            "event_chains": [*self._live_chains, self._directory.journal.head.to_dict()],
            "ledger_head": ledger_head,
            "checksums": {"session": str(listing)},
        }

    def _add_to_ledger(self, ledger: Ledger, document: Team) -> None:
        """Add the session to the ledger. It is complete, so that a failure is only a remark."""
        try:
            append_closed_entry(ledger, self._directory.name, document, Clock().timestamp())
        except RuncardError as error:
            self.remarks = (
                f"the session is not in the ledger yet; the next collection adds it: {error.message}",
            )
            return
        try:
            self._directory.clear_closing_mark()
        except OSError as error:
            reason = os.strerror(error.errno or 0)
            self.remarks = (
                f"a mark in .open/ could not be removed; the next collection removes it: {reason}",
            )


def _key(entry: tuple[str, str]) -> bytes:
    return encode_name(entry[0])


def _digest(path: str) -> str:
    try:
        with open(open_regular(path), "rb") as file:
            return sha256_stream(file).hex
    except OSError as error:
        raise failure(error, path, "read") from error
