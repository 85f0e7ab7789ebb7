"""A folder of archives in a bucket: what is in it, by one listing. It can have other folders of archives below it."""

from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from functools import cached_property, partial

from runcard.errors import RuncardError
from runcard.parallel.calls import CallThreads
from runcard.store.ledger import DELETED, LedgerEntry, in_order
from runcard.store.remote.bucket import ObjectState, bucket_of
from runcard.store.remote.ledger import ReadLedger, read_ledgers
from runcard.store.remote.urls import (
    ObjectUrl,
    archive_beside,
    has_plain_name,
    is_archive_place,
    is_own,
    ledgers,
    objects_of,
    upload_aside,
)

_READERS = 16  # requests at a time


def _mark_of(url: ObjectUrl) -> str | None:
    with suppress(RuncardError):  # an empty object, or one of a program whose objects others may not read
        return bucket_of(url).upload_id(url)
    return None


class RemoteFolder:
    """The objects of a folder, as they were when it was listed."""

    def __init__(self, url: str) -> None:
        self.url = ObjectUrl.parse(url)

    @cached_property
    def objects(self) -> dict[str, ObjectState]:
        """All objects, by their URLs."""
        listed = bucket_of(self.url).list(self.url)
        return {str(state.url): state for state in sorted(listed, key=lambda state: state.url.key)}

    @cached_property
    def archives(self) -> list[str]:
        """The URLs of the archives."""
        return [str(url) for url in self._archive_urls() if has_plain_name(url)]

    @cached_property
    def misnamed(self) -> list[str]:
        """The same for those that no URL can name, because it would mean something else."""
        return [str(url) for url in self._archive_urls() if not has_plain_name(url)]

    def _archive_urls(self) -> Iterator[ObjectUrl]:
        urls = (state.url for state in self.objects.values())
        return (url for url in urls if url.is_archive and not is_own(url.key))

    @cached_property
    def ledgers(self) -> list[ReadLedger]:
        """The ledgers of all hosts: those in this folder and below it, and those of the folder that it is a part of."""
        outside = {ObjectUrl.parse(url).folder for url in self.archives} - {self.url}
        more = [
            state
            for home in sorted(outside)
            if not self.has(str(home))
            for state in bucket_of(home).list(ledgers(home))
        ]
        return read_ledgers([*self.objects.values(), *more])

    @cached_property
    def latest(self) -> dict[str, LedgerEntry]:
        """The last entry of all ledgers about each archive of this folder, by its URL."""
        entries = in_order(ledger.entries for ledger in self.ledgers)
        return {entry.archive: entry for entry in entries if entry.archive and self.has(entry.archive)}

    def has(self, url: str) -> bool:
        """Whether a URL is below this folder."""
        return url.startswith(f"{self.url}/")

    def size_of(self, archive: str) -> int:
        """The bytes of an archive and of what is beside it."""
        return sum(self.objects[url].size for url in objects_of(archive) if url in self.objects)

    @cached_property
    def of_deleted(self) -> list[ObjectState]:
        """What is beside archives that are gone, and that a ledger says were deleted: a process was killed meanwhile."""
        deleted = (url for url, entry in self.latest.items() if entry.event == DELETED)
        return [
            state
            for url in deleted
            if url not in self.objects and is_archive_place(url)
            for state in self._beside(url)
        ]

    @cached_property
    def of_uploads(self) -> list[ObjectState]:
        """What uploads left that were not finished, by the mark that runcard gives each object: a name says nothing.

        What is left of an archive that a ledger has is not among them: somebody removed that one.
        """
        states = self.objects.values()
        return self._marked([state for state in states if self._may_be_of_upload(state.url)])

    def is_upload(self, archive: ObjectUrl) -> bool:
        """Whether runcard uploaded something for an archive, be it finished or not."""
        return bool(self._marked(self._beside(str(archive))))

    def _may_be_of_upload(self, url: ObjectUrl) -> bool:
        if is_own(url.key):
            return upload_aside(url) is not None
        archive = archive_beside(str(url)) if has_plain_name(url) else None
        return archive is not None and archive not in self.objects and archive not in self.latest

    def _beside(self, archive: str) -> list[ObjectState]:
        return [self.objects[name] for name in objects_of(archive)[1:] if name in self.objects]

    def _marked(self, states: Sequence[ObjectState]) -> list[ObjectState]:
        """Those of some objects that have the mark of an upload of runcard; one that cannot be read has none."""
        with closing(CallThreads(_READERS)) as threads:
            calls = [threads.submit(partial(_mark_of, state.url)) for state in states]
            marks = [call.result() for call in calls]
        found = zip(states, marks, strict=True)
        return [state for state, mark in found if mark and upload_aside(state.url) in {None, mark}]
