"""A folder of archives in a bucket: what is in it, by one listing."""

from functools import cached_property

from runcard.store import layout
from runcard.store.remote.bucket import ObjectState, bucket_of
from runcard.store.remote.ledger import ReadLedger, read_ledgers
from runcard.store.remote.urls import ObjectUrl, ledgers, objects_of


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
        own = f"{ledgers(self.url)}/"
        return [url for url in self.objects if layout.is_archive(url) and not url.startswith(own)]

    @cached_property
    def ledgers(self) -> list[ReadLedger]:
        """The ledgers of all hosts."""
        return read_ledgers(self.url, self.objects.values())

    def size_of(self, archive: str) -> int:
        """The bytes of an archive and of what is beside it."""
        return sum(self.objects[url].size for url in objects_of(archive) if url in self.objects)

    def interrupted(self) -> list[str]:
        """The objects that belong to an archive which is not there."""
        own = f"{ledgers(self.url)}/"
        complete = {url for archive in self.archives for url in objects_of(archive)}
        ends = tuple(url.removeprefix("x") for url in objects_of(f"x{layout.PACKED}")[1:])
        others = (url for url in self.objects if url not in complete and not url.startswith(own))
        return [url for url in others if url.endswith(ends)]
