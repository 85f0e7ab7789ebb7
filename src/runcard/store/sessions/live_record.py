"""A session that is being recorded, as a record: what its document would be now. Nothing is written."""

import os
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING, BinaryIO

from runcard.documents.session import build
from runcard.documents.session.build import CollectionFacts, InstanceUsage, StoredSections, TeamMember
from runcard.documents.session.live_fold import FoldedSession, fold_live
from runcard.documents.session.team import Team
from runcard.documents.times import format_time_ms, parse_time
from runcard.encoding import JsonObject, Limits, encode_json
from runcard.errors import StoreError
from runcard.files import failure, open_regular, printable
from runcard.store import layout
from runcard.store.amendments.read import Amendments
from runcard.store.record import SESSION, DirectoryRecord
from runcard.store.sessions.directory import store_of
from runcard.store.sessions.live import INTERRUPTED, LiveJournals, last_sign_of_life, live_state, log_times
from runcard.store.sessions.live_start import LiveStart, read_live_start

if TYPE_CHECKING:
    from runcard.documents.run.generation import Generation


def fold_session(
    live: str, start: LiveStart, now: datetime, *, is_over: bool, journals: LiveJournals | None = None
) -> FoldedSession:
    """What the events of an open session tell so far."""
    lines = (journals or LiveJournals(live)).lines
    alive = parse_time(last_sign_of_life(live))
    folded = fold_live(start.document, lines, end=now, is_over=is_over, alive=alive)
    if not is_over or folded.status is not None:
        return folded
    times = log_times(live, (each.instance_id for each in folded.session.instances))
    newest = max((datetime.fromtimestamp(time, UTC) for time in times.values()), default=None)
    if newest is None or (folded.last_time is not None and newest <= folded.last_time):
        return folded
    newest = newest.replace(microsecond=newest.microsecond // 1000 * 1000)
    return fold_live(start.document, lines, end=now, is_over=is_over, alive=newest)


class OpenSession(DirectoryRecord):
    """A session in `.open/`: running, or interrupted."""

    @cached_property
    def start(self) -> LiveStart:
        return read_live_start(self.path)

    @cached_property
    def state(self) -> tuple[str, str | None]:
        """Its status as it is now, and a remark about it."""
        return live_state(self.path)

    @property
    def name(self) -> str:
        """Its name while it is open."""
        return self.start.name

    @cached_property
    def store(self) -> str:
        return store_of(os.path.abspath(self.path))

    @cached_property
    def kind(self) -> str:
        return SESSION

    @cached_property
    def id(self) -> str:
        return self.start.session_id

    @cached_property
    def raw_document(self) -> JsonObject:
        """The document so far; one without instances would not be valid."""
        folded = fold_session(
            self.path,
            self.start,
            datetime.now(UTC).replace(microsecond=0),
            is_over=self.state[0] == INTERRUPTED,
        )
        return _document(self.start, folded)

    @cached_property
    def metadata(self) -> bytes | None:
        return encode_json(self.raw_document)

    def document(self, limits: Limits | None = None) -> "Team | Generation":  # noqa: ARG002 - it is made here
        if not self.raw_document["instances"]:
            raise StoreError(f"No instances found for team session '{printable(self.id)}'", hint="it is open")
        return Team.from_dict(self.raw_document)

    def amendments(self) -> Amendments:
        return Amendments()

    def instances(self) -> list[str]:
        return []

    def open_log(self, instance_id: str) -> BinaryIO | None:
        """What an agent has logged so far; None if that is nothing."""
        path = layout.live_log(self.path, instance_id)
        if not layout.may_be_file(path):
            return None
        try:
            return open(open_regular(path), "rb")
        except OSError as error:
            raise failure(error, path, "read") from error

    def sizes(self, folder: str = "") -> Iterator[tuple[str, int]]:  # noqa: ARG002 - none is stored yet
        return iter(())


def _document(start: LiveStart, folded: FoldedSession) -> JsonObject:
    producer = start.document.get("producer")
    facts = CollectionFacts(start.created, producer if isinstance(producer, dict) else {}, {}, {}, ())
    members = [
        TeamMember(spec, folded.usages.get(spec.instance_id, InstanceUsage()), StoredSections(), {})
        for spec in folded.session.instances
    ]
    if not members:
        return _empty_document(start, folded)
    document = build.team_document(folded.session, members, facts, {}, build.LATEST)
    return {name: value for name, value in document.items() if name != "audit"}


def _empty_document(start: LiveStart, folded: FoldedSession) -> JsonObject:
    moment = format_time_ms(start.created)
    return {
        "version": build.LATEST,
        "created_at": moment,
        "team_session_id": start.session_id,
        "total_instances": 0,
        "instances": [],
        "execution_summary": {
            "total_instances": 0,
            "completed_instances": 0,
            "failed_instances": 0,
            "execution_start": moment,
        },
        "errors": [],
        "labels": folded.session.fields["labels"],
        "relations": folded.session.fields["relations"],
    }
