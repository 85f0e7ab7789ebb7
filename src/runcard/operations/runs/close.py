"""Closing a run: its events become its final document, and nothing in it changes unseen any more.

The order is what makes it safe: the journals are merged, with what the closing itself has to say; files of the user's that
are in the way go aside; README.md is written, SHA256SUMS fixes every file, all of it reaches the disk, and only then the
metadata document, which fixes SHA256SUMS, takes its place; the ledger comes last. Killed anywhere in between, the run is
still open, and closing it again gives the same result.
"""

import contextlib
import errno
import os
import re
import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from runcard import checksums
from runcard.checksums.unstable_directory import GONE_ERRNOS, is_concurrent_change, snapshot, walk_unstable
from runcard.digests import sha256_bytes
from runcard.documents import chain
from runcard.documents.run import events, fold
from runcard.documents.run.size_limit import is_too_large
from runcard.documents.symlinks import symlink_entry
from runcard.encoding import JsonObject, canonical_json, decode_json, encode_json
from runcard.errors import EncodingError, RuncardError, StoreError
from runcard.files import FileKind, Sync, failure, json_name, printable, read_regular, sizes
from runcard.observe.process import is_alive
from runcard.operations.runs.write_files import write
from runcard.store import layout
from runcard.store.ledger import CLOSED, Ledger, entries, ledgers
from runcard.store.own_directories import check_own
from runcard.store.ownership import own_mac
from runcard.store.runs import name_clashes
from runcard.store.runs.directory import alone, claimed, mark_closed, open_runs
from runcard.store.runs.open_journals import read_lines
from runcard.views.run_readme import is_readme_of, readme

if TYPE_CHECKING:
    from runcard.documents.run.generation import Generation


CHANGING = "changing-files"  # the type of the warning about files that something still writes to

_PAUSES = (0.005,) * 4 + (0.05,) * 6  # seconds before each try with a directory that was removed
_SHOWN = 20  # files that the warning names
_PATIENCE = 0.5  # seconds that a lock may outlive its holder

_LEFTOVER = re.compile(
    r"\.(metadata\.json|SHA256SUMS|README\.md|RUNCARD\.md|experiment(\.w-[0-9a-f]+)?\.jsonl)\.[0-9a-f]{8}\.tmp"
)


class Closing(NamedTuple):
    """What became of one run."""

    path: str
    status: str  # as it stands now
    closed: bool  # whether this closing closed it
    reason: str | None = None  # why it was left alone


def close(*runs: str | os.PathLike[str], store: str | os.PathLike[str] | None = None) -> Iterator[Closing]:
    """Close the runs whose process is gone: those that are named, or all that a store knows to be open."""
    if store is not None:
        runs = (*runs, *open_runs(os.fspath(store)))
    for run in runs:
        yield close_dead(os.path.abspath(os.fspath(run)))


def dead_runs(store: str) -> list[str]:
    """The runs of a store that say they are running: those on its list, and those that the list has lost."""
    if not os.path.isdir(store):
        return []
    listed = set(open_runs(store))
    for entry in os.scandir(store):
        if entry.is_dir(follow_symlinks=False) and _says_running(entry.path):
            listed.add(entry.path)
    return sorted(listed)


def _says_running(run: str) -> bool:
    """Also of one that cannot be read: closing it tells why."""
    try:
        return b'"running"' in (_bytes_of(os.path.join(run, layout.METADATA)) or b"")
    except RuncardError:
        return True


def close_dead(run: str) -> Closing:
    """Close a run, unless it is closed already or somebody is still at work on it."""
    store = layout.store_of(run)
    check_own(store, layout.open_folder(store))
    is_dead = _is_dead(run)
    with claimed(run, exclusive=True, patience=_PATIENCE if is_dead else 0) as gone:
        if gone is False:
            who = "another process is closing it" if is_dead else "its process is at work"
            return Closing(run, "running", closed=False, reason=who)
        document = _read(os.path.join(run, layout.METADATA))
        if gone is None and document is not None and _is_at_work(run, document):
            return Closing(run, "running", closed=False, reason="its process is at work")
        closed = _closed_already(run, document)
        if closed is not None:
            return closed
        if _status(document) is None and not read_lines(run).run_id:
            mark_closed(run)
            raise StoreError(
                f"{printable(run)} is no run", hint="name the directory of a run, with its metadata.json"
            )
        with _at_work(run):
            return _close_alone(run, locks_work=gone is not None)


def _close_alone(run: str, *, locks_work: bool) -> Closing:
    """Close a run whose lock is held, unless it lives, or another process closed it before it was locked."""
    closed = None if locks_work else _closed_already(run, _read(os.path.join(run, layout.METADATA)))
    if closed is not None:
        return closed
    desk = _Desk(run)
    reason = _why_alive(desk.start, locks_work=locks_work)
    if reason is not None:
        return Closing(run, "running", closed=False, reason=reason)
    return Closing(run, _seal(desk)["generation"]["status"], closed=True)


def _is_at_work(run: str, document: JsonObject) -> bool:
    """Whether the process of a run lives and is not done: its entry in the ledger comes last."""
    return os.path.lexists(layout.open_mark(run)) and is_alive(_process(document)) is True


def _closed_already(run: str, document: JsonObject | None) -> Closing | None:
    status = _status(document)
    if document is None or status in {None, "running"} or not _is_sealed(run, document):
        return None
    _enter_late(run, document)
    return Closing(run, str(status), closed=False, reason="it is closed already")


def _is_dead(run: str) -> bool:
    """Whether the process of a run is surely gone. Its lock may not be free yet: a child holds it until it has begun."""
    try:
        document = decode_json(_bytes_of(os.path.join(run, layout.METADATA)) or b"")
        return is_alive(document["generation"]["process"]) is False
    except (RuncardError, KeyError, TypeError, AttributeError):
        return False  # whatever it is, it is told where it matters


def _why_alive(document: JsonObject, *, locks_work: bool) -> str | None:
    """A free lock tells only about this host; without locks the process must be seen to be gone."""
    process = _process(document)
    host = process.get("host")
    if host not in {None, os.uname().nodename}:
        return f"it was recorded on another host, {printable(str(host))}"
    if locks_work or is_alive(process) is False:
        return None
    return "its process is at work, as far as can be told"


def _process(document: JsonObject) -> JsonObject:
    return document["generation"].get("process") or {}


def _is_sealed(run: str, document: JsonObject) -> bool:
    """Whether a document with a final status was written by a closing, and not by the user's program."""
    if not os.path.lexists(layout.open_mark(run)):
        return True
    listed = _bytes_of(os.path.join(run, layout.CHECKSUMS))
    return listed is not None and document["checksums"]["output"] == str(sha256_bytes(listed))


class Own(NamedTuple):
    """What a recorder knows of its own run, so that nobody has to find it out."""

    start: JsonObject  # the document that it began with
    first: bytes  # the same as it was written
    journal_sha256: str  # of the journal as the recorder wrote it


def seal(run: str, own: Own) -> JsonObject:
    """Close a run that its own recorder is done with; returns its final document.

    A process that was left behind may remove the directory again and again: it is made again, a fixed number of times.
    """
    for pause in _PAUSES:
        try:
            return _seal_once(run, own)
        except RuncardError as error:
            if (
                not is_concurrent_change(error)
                or os.path.isdir(run)
                or not os.path.lexists(layout.open_mark(run))
            ):
                raise  # without its second name the journal is lost
        time.sleep(pause)
        with contextlib.suppress(FileExistsError):
            os.mkdir(run)
    return _seal_once(run, own)


def _seal_once(run: str, own: Own) -> JsonObject:
    with _at_work(run):
        return _seal(_Desk(run, own), is_own=True)


@contextlib.contextmanager
def _at_work(run: str) -> Iterator[None]:
    """Nobody joins the run meanwhile; what the system refuses is an error that says so."""
    try:
        with alone(run):
            yield
    except OSError as error:
        raise failure(error, str(error.filename or run), "close") from error


def _seal(desk: "_Desk", *, is_own: bool = False) -> JsonObject:
    """Close a run; `is_own` says that this process recorded it, which a run found open in a store never is."""
    run, ledger = desk.run, Ledger(layout.store_of(desk.run))
    desk.settle()
    desk.write_readme()
    document = desk.sealed(desk.list_files(), ledger.head)
    data = _encoded(document, checked=desk.is_told_by_us)
    if is_too_large(data):
        document = fold.cut_to_size(document)
        data = _encoded(document, checked=desk.is_told_by_us)
    write(run, layout.METADATA, data, sync=Sync.FILE_SYSTEM)
    entry = _ledger_entry(run, document, data)
    if is_own and (mac := own_mac(run, entry["id"], entry["sha256"])) is not None:
        entry["mac"] = mac
    with ledger:
        ledger.append(CLOSED, document["generation"]["timestamp_end"], entry)
    mark_closed(run)
    return document


def _encoded(document: JsonObject, *, checked: bool) -> bytes:
    return encode_json(document) if checked else _generation().from_dict(document).to_bytes()


class _Desk:
    """The run on the desk of the one who closes it."""

    def __init__(self, run: str, own: Own | None = None) -> None:
        self.run = run
        self._own = own
        start = own.start if own else None
        written = _written(run, own)
        open_id = _run_id(written) if written is not None and _status(written) == "running" else None
        self.lines = read_lines(run, _run_id(start) if start else None, open_id)
        self.notes: list[chain.JournalEntry] = []
        self.entries = self.lines.merged()
        began = start or self._beginning(written if open_id is not None else None)
        if began is None:
            raise StoreError(
                f"{printable(run)} cannot be closed: neither its metadata.json nor its journal tells how it began",
                hint="the files in it are kept as they are",
            )
        self.start: JsonObject = began
        self.run_id = str(_run_id(began))
        self.writer = f"w-{sha256_bytes(f'runcard-closing-1:{self.run_id}'.encode()).hex[:8]}"
        self.metadata_is_ours = written is began or written == began
        self.is_told_by_us = False  # whether every event was checked by this process, when it was told
        self.readme = layout.README
        self._look()

    def _look(self) -> None:
        """See what lies in the directory: once, and again when something has moved."""
        self._kinds: dict[str, FileKind] = walk_unstable(self.run)

    def _beginning(self, written: JsonObject | None) -> JsonObject | None:
        """How the run began, by its journal or by its first document."""
        began = fold.start_document_in(entry.line for entry in self.entries) or written
        return began if isinstance(began, dict) and _generation().judge(began).valid else None

    def note(self, kind: str, message: str, **more: str) -> None:
        """Write down what was odd about the run: as an event, and the same one whoever closes it."""
        payload = {"type": kind, "message": message, **more}
        mine = [entry.line for entry in self.entries if entry.line["writer"] == self.writer]
        if payload in [line.get("payload") for line in mine]:
            return  # by a closing that was killed
        prev = mine[-1]["hash"] if mine else chain.first_link(self.run_id, self.writer)
        fields = {
            "seq": len(mine) + 1,
            "timestamp": self._last_time(),
            "level": "warning",
            "event": events.WARNING_ADDED,
            "experiment_id": self.start["generation"]["experiment_id"],
            "run_id": self.run_id,
            "elapsed": None,
            "writer": self.writer,
        }
        salt = sha256_bytes(prev.encode() + canonical_json(payload)).hex[:32]
        raw = chain.write_line(fields, payload, salt, prev).raw.rstrip(b"\n")
        self.notes.append(chain.JournalEntry(0, raw, decode_json(raw)))
        self.entries = self.lines.merged(self.notes)

    def _last_time(self) -> str:
        times = (entry.line.get("timestamp") for entry in self.entries)
        return max(
            (time for time in times if isinstance(time, str)),
            default=self.start["generation"]["timestamp_start"],
        )

    def settle(self) -> None:
        """Give the names that runcard takes to runcard, and its lines their place.

        What is odd is written down, with all lines, before anything moves: so nothing is lost to a `kill -9`.
        """
        files = (name for name, kind in self._kinds.items() if kind is FileKind.FILE)
        for name in list(filter(_LEFTOVER.fullmatch, files)):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(os.path.join(self.run, name))
            del self._kinds[name]
        moves = name_clashes.places(self.run, list(self._taken()))
        for name, place in moves.items():
            self.note("name-taken", f"{name} is a name that runcard takes: what had it is kept as {place}")
        self._note_damage()
        self._note_special(moves)
        if moves or not self._is_merged():
            self._put_in_place(moves)
        self.told = fold.fold_events(self.start, (entry.line for entry in self.entries))

    def _is_merged(self) -> bool:
        """Whether the journal holds all lines, each of them once, and nothing else does."""
        found = [(source.path, source.journal.entries) for source in self.lines.sources]
        return not self.notes and found == [(os.path.join(self.run, layout.JOURNAL), self.entries)]

    def _put_in_place(self, moves: dict[str, str]) -> None:
        journal, ours = (
            os.path.join(self.run, name) for name in (layout.JOURNAL, layout.other_journal(self.writer))
        )
        merged = self._merged()
        is_merged = layout.JOURNAL not in moves and _bytes_of(journal) == merged
        if not is_merged:
            write(self.run, os.path.basename(ours), merged, sync=Sync.FILE)
        name_clashes.put_aside(self.run, moves)
        if not is_merged:
            try:
                os.rename(ours, journal)
            except OSError as error:
                if error.errno not in GONE_ERRNOS:
                    raise
                write(self.run, layout.JOURNAL, merged, sync=Sync.FILE)
        for source in self.lines.sources:
            if source.name not in {layout.JOURNAL, *moves}:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(source.path)
        self._look()

    def _taken(self) -> Iterator[str]:
        """Names of ours that something else has."""
        if not self.metadata_is_ours and layout.METADATA in self._kinds:
            yield layout.METADATA
        foreign = {source.name for source in self.lines.sources if source.foreign}
        for name in layout.journal_names(self._kinds):
            if name in foreign or self._kinds[name] is not FileKind.FILE:
                yield name
        yield from (name for name in (layout.AMENDMENTS, layout.SIGNATURE) if name in self._kinds)
        if self._is_users_readme(layout.README):
            self.readme = layout.OTHER_README
            if self._is_users_readme(layout.OTHER_README):
                yield layout.OTHER_README
        if layout.CHECKSUMS in self._kinds and not self._is_our_listing():
            yield layout.CHECKSUMS

    def _is_users_readme(self, name: str) -> bool:
        if name not in self._kinds:
            return False
        data = _bytes_of(os.path.join(self.run, name))
        return data is None or not is_readme_of(data, self.run_id)

    def _is_our_listing(self) -> bool:
        """Whether SHA256SUMS is that of a closing that was killed: then it is true of what lies there now."""
        return _bytes_of(os.path.join(self.run, layout.CHECKSUMS)) == self._contents().listing.to_bytes()

    def _note_damage(self) -> None:
        for source in self.lines.sources:
            if source.journal.torn:
                torn = f"the last line was torn, {len(source.journal.torn)} bytes were dropped"
                self.note("torn-tail", f"{source.name}: {torn}")
        if self._own and not self.notes and sha256_bytes(self._merged()).hex == self._own.journal_sha256:
            self.is_told_by_us = True  # nobody else has written or touched a line
            return
        checked = chain.check(chain.Journal(self.entries), self.run_id)
        faults = {fault.writer: fault for fault in reversed(checked.faults)}
        for writer, fault in sorted(faults.items()):
            self.note(layout.DAMAGED, f"events of writer {writer} were lost or changed: {fault.reason}")

    def _note_special(self, moves: dict[str, str]) -> None:
        """Note what is neither a file nor a link, under the name that it will have."""
        for path, kind in self._kinds.items():
            if kind is FileKind.OTHER:
                top, slash, rest = path.partition("/")
                name = json_name(moves.get(top, top) + slash + rest).text
                message = f"{name} is neither a file nor a link: it is left out of the record"
                self.note(layout.SPECIAL, message, path=name)

    def _merged(self) -> bytes:
        return b"".join(entry.raw + b"\n" for entry in self.entries)

    def write_readme(self) -> None:
        ours = {*layout.NOT_LISTED, layout.JOURNAL, self.readme}
        made = [path for path, kind in self._kinds.items() if kind is FileKind.FILE and path not in ours]
        files = list(sizes(self.run, made))
        page = readme(self.told, files).encode()
        if is_too_large(page):
            page = readme(fold.cut_to_size(self.told), files).encode()
        write(self.run, self.readme, page, sync=Sync.LATER)
        self._kinds[self.readme] = FileKind.FILE
        self._page = page

    def list_files(self) -> checksums.DirectoryContents:
        """Fix every file by its digest in SHA256SUMS."""
        found = snapshot(self.run, self._kinds, layout.NOT_LISTED)
        contents = found.contents
        if found.changing:
            self._note_changing(found.changing)
            contents = self._with_own_files(contents)
        elif not {layout.JOURNAL, self.readme} <= contents.listing.keys():
            contents = self._with_own_files(contents)  # something removes them
        write(self.run, layout.CHECKSUMS, contents.listing.to_bytes(), sync=Sync.LATER)
        return contents

    def _note_changing(self, paths: Sequence[str]) -> None:
        """Say which files did not stop changing: in the journal, and so in all that is made of it."""
        names = [json_name(path).text for path in paths]
        shown = ", ".join(names[:_SHOWN]) + (f" and {len(names) - _SHOWN} more" if names[_SHOWN:] else "")
        self.note(CHANGING, f"files kept changing while the run was closed: {shown}")
        self._put_in_place({})
        self.told = fold.fold_events(self.start, (entry.line for entry in self.entries))
        self.write_readme()

    def _with_own_files(self, contents: checksums.DirectoryContents) -> checksums.DirectoryContents:
        """The same with the digests of the journal and the page as they were written, whatever became of them."""
        written = {layout.JOURNAL: self._merged(), self.readme: self._page}
        own = {name: sha256_bytes(data) for name, data in written.items()}
        return contents._replace(listing=checksums.Listing({**contents.listing, **own}))

    def _contents(self) -> checksums.DirectoryContents:
        return snapshot(self.run, self._kinds, layout.NOT_LISTED).contents

    def sealed(self, contents: checksums.DirectoryContents, ledger_head: str | None) -> JsonObject:
        files = fold.FileFacts(
            output=str(contents.listing.digest),
            symlinks=[symlink_entry(link) for link in contents.symlinks],
            chains=chain.heads(self.entries),
            ledger_head=ledger_head,
        )
        return fold.add_file_facts(self.told, files)


def _generation() -> "type[Generation]":
    """Who judges documents. A run that only its own recorder has written needs nobody to."""
    from runcard.documents.run.generation import Generation  # noqa: PLC0415 - long to load

    return Generation


def _ledger_entry(run: str, document: JsonObject, data: bytes) -> JsonObject:
    return {
        "kind": "run",
        "id": document["generation"]["run_id"],
        "path": os.path.basename(run),
        "sha256": sha256_bytes(data).hex,
        "time": document["generation"]["timestamp_end"],
    }


def _enter_late(run: str, document: JsonObject) -> None:
    """Enter a closed run in the ledger whose recorder was killed between the two; nothing when it is there."""
    if not os.path.lexists(layout.open_mark(run)):
        return
    store, data = layout.store_of(run), _bytes_of(os.path.join(run, layout.METADATA)) or b""
    digest = sha256_bytes(data).hex
    with Ledger(store) as ledger:
        known = {entry.sha256 for _, journal, _ in ledgers(store) for entry in entries(journal)}
        if digest not in known:
            ledger.append(CLOSED, document["generation"]["timestamp_end"], _ledger_entry(run, document, data))
    mark_closed(run)


def _written(run: str, own: Own | None) -> JsonObject | None:
    """The document of a run as it lies there."""
    path = os.path.join(run, layout.METADATA)
    return own.start if own is not None and _bytes_of(path) == own.first else _read(path)


def _read(path: str) -> JsonObject | None:
    """A generation document that is well enough to be worked with."""
    data = _bytes_of(path)
    if data is None:
        return None
    try:
        document = decode_json(data)
    except EncodingError:
        return None
    if not isinstance(document, dict) or not _generation().judge(document).valid:
        return None
    return document


def _bytes_of(path: str) -> bytes | None:
    """The bytes of a file that is one: a link, which may lead anywhere, is none of ours."""
    try:
        return read_regular(path)
    except OSError as error:
        if error.errno in {errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENXIO}:
            return None
        raise failure(error, path, "read") from error


def _status(document: JsonObject | None) -> str | None:
    return None if document is None else document["generation"].get("status")


def _run_id(document: JsonObject) -> str | None:
    run_id: str | None = document["generation"]["run_id"]
    return run_id
