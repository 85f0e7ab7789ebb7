"""A folder of archives in a bucket: what is in it, by one listing. It can have other folders of archives below it."""

from collections.abc import Iterator
from functools import cached_property

from runcard.store.ledger import LedgerEntry, in_order
from runcard.store.remote.bucket import ObjectState, bucket_of
from runcard.store.remote.ledger import ReadLedger, read_ledgers
from runcard.store.remote.urls import ObjectUrl, archive_beside, has_plain_name, is_own, ledgers, objects_of


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

    def leftovers(self) -> dict[str, str]:
        """The objects whose archive is not there, each with the URL of that archive."""
        found = {url: archive_beside(url) for url, state in self.objects.items() if not is_own(state.url.key)}
        return {url: archive for url, archive in found.items() if archive and archive not in self.objects}
