"""Finding archives by what people call them, and looking into them."""

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from runcard.checksums import Symlink
from runcard.checksums.progress import Progress
from runcard.digests import sha256_bytes
from runcard.encoding import Limits
from runcard.errors import StoreError, UsageError
from runcard.files import printable, read_regular
from runcard.operations.archives.archive import verdict_on
from runcard.operations.archives.archive_stores import check_place, is_own, store_around, store_that_lists
from runcard.settings import ARTIFACTS_DIR, ARTIFACTS_MAX_SIZE, OUTPUTS, Settings, read_settings
from runcard.store import layout
from runcard.store.archives.escaping_links import escaping_link
from runcard.store.archives.index import Shelf, Shelved
from runcard.store.archives.scan import Contents, Fault, scan
from runcard.store.ledger import entries, in_order, ledgers
from runcard.store.verification import Verdict


@dataclass(frozen=True, slots=True)
class FoundArchive:
    """An archive, and what the index of its folder says about it, if anything."""

    path: str
    shelved: Shelved | None
    listed_by: str | None = None  # the store by whose ledger it was found

    @property
    def name(self) -> str:
        return self.shelved.name if self.shelved else layout.archived_name(self.path)

    @property
    def index_sha256(self) -> str | None:
        """The digest of the index of places beside it, where that is known."""
        return self.shelved.fields.get("index_sha256") if self.shelved else None

    def store(self, digest: str | None = None) -> str | None:
        """The store that the record belongs to: the one that the archive lies in, or one whose ledger has it.

        The `digest` of the archive, where it is known, saves reading it. None when there is no such store.
        """
        if self.listed_by is None and (around := store_around(self.path)) is not None:
            return around
        claimed = self.listed_by or (self.shelved.claimed_store if self.shelved else None)
        return claimed and store_that_lists(claimed, self.path, digest)

    @property
    def is_ours(self) -> bool:
        """Whether what the index says counts: this user made the archive that it names."""
        digest = self.shelved.fields.get("sha256") if self.shelved else None
        return digest is not None and is_own(self.store(digest), self.path, digest)


def find_archive(word: str | os.PathLike[str], settings: Settings | None = None) -> FoundArchive:
    """An archive by its path, by the path that the record had, or by the record's name or id in one of our stores."""
    given = os.fspath(word)
    if (found := archive_at(given)) is not None:
        return found
    above, name = os.path.split(os.path.normpath(given))
    stores = [above] if above else _stores(settings or read_settings())
    shelves = [shelf for store in dict.fromkeys(stores) for shelf in (Shelf.of_store(store), Shelf(store))]
    shelved = [one for shelf in shelves for one in shelf.find(name)]
    places = {os.path.abspath(one.path): one for one in shelved}
    for store in stores if not places else ():
        if (elsewhere := _by_ledger(store, name)) is not None:
            return elsewhere
    if not places:
        raise StoreError(
            f"there is no archive {printable(given)}",
            hint="name a .tar.gz, or a record as it was called before it was archived",
        )
    if len(places) > 1:
        raise UsageError(
            f"there are {len(places)} archives of {printable(name)}",
            hint="name one by its path: " + ", ".join(map(printable, sorted(places))),
        )
    (one,) = places.values()
    check_place(one)
    return FoundArchive(one.path, one)


def _stores(settings: Settings) -> list[str]:
    return [".", settings[OUTPUTS], settings[ARTIFACTS_DIR]]


def _by_ledger(store: str, word: str) -> FoundArchive | None:
    """The archive of a record that went to another folder: the ledger of its store knows which."""
    known = in_order(entries(journal) for _, journal, _ in ledgers(store))
    paths = [
        os.path.join(store, entry.archive)
        for entry in known
        if entry.archive and word in (entry.path, entry.id)
    ]
    found = map(archive_at, reversed(list(map(os.path.normpath, paths))))
    return next((replace(one, listed_by=store) for one in found if one is not None), None)


def archive_at(path: str) -> FoundArchive | None:
    """The archive that has this path; None when it is none."""
    if not layout.is_archive(path) or not os.path.lexists(path) or os.path.isdir(path):
        return None
    shelved = Shelf(layout.folder_of_archive(path)).at(path)
    check_place(shelved)
    return FoundArchive(path, shelved)


def look_into(
    found: FoundArchive,
    *,
    limits: Limits | None = None,
    progress: Progress | None = None,
    settings: Settings | None = None,
) -> tuple[Contents, Verdict]:
    """Read an archive from end to end; what is in it, and whether that is what was closed and archived."""
    said = found.shelved.fields if found.shelved is not None else {}
    most = _most(found, said.get("uncompressed_bytes"), settings)
    name = found.shelved.name if found.shelved is not None else ""
    contents = scan(found.path, name=name, max_size=most, progress=progress)
    contents.store = found.store(contents.sha256)
    kind = found.shelved.kind if found.shelved is not None else kind_of(contents)
    contents.beside = tuple(_beside(found, contents))
    contents.faults += [*_changed(found, contents, said.get("sha256")), *contents.beside]
    return contents, verdict_on(contents, kind, limits)


def _most(found: FoundArchive, known: int | None, settings: Settings | None) -> int | None:
    """How many bytes an archive may hold: what the index says, where that is ours, else as many as are allowed."""
    if known is not None and found.is_ours:
        return known
    allowed = (settings or read_settings())[ARTIFACTS_MAX_SIZE]
    return min((size for size in (known, allowed) if size is not None), default=None)


def kind_of(contents: Contents) -> str:
    """Whether an archive holds a session or a run, by what lies in it."""
    is_session = contents.has(layout.AUDIT) or contents.has(layout.INSTANCES)
    return "session" if is_session and not contents.has(layout.JOURNAL) else "run"


def _changed(found: FoundArchive, contents: Contents, expected: str | None) -> Iterator[Fault]:
    if expected is not None and expected != contents.sha256:
        message = f"the archive is not the one that was made: its digest is {contents.sha256}"
        yield Fault("changed", os.path.basename(found.path), message)


def _beside(found: FoundArchive, contents: Contents) -> Iterator[Fault]:
    """What is wrong with the copy that lies beside an archive of ours; the record itself needs none."""
    if found.shelved is None or "sha256" not in found.shelved.fields:
        return
    copy = layout.metadata_copy(found.path)
    data = read_regular(copy) if layout.may_be_file(copy) else None
    inside = contents.read(layout.METADATA)
    if data is None:
        yield Fault("missing", os.path.basename(copy), "the copy of the metadata document is gone")
    elif inside is not None and sha256_bytes(data) != sha256_bytes(inside):
        message = "the copy beside the archive is not the document in it"
        yield Fault("changed", os.path.basename(copy), message)


def check_links(found: FoundArchive, links: Iterable[Symlink]) -> None:
    """Refuse links that lead out of the record, unless the archive is one of ours: whoever follows one would be misled."""
    if not found.is_ours and (link := escaping_link(links)) is not None:
        raise leads_out(found, link.path)


def leads_out(found: FoundArchive, link: str) -> StoreError:
    return StoreError(
        f"the archive is refused: the link {printable(link)} leads out of the record, or nowhere",
        hint=f"`tar tvzf {printable(found.path)}` lists the links and their targets",
    )
