"""How a run is closed: its events become its final document, and checksums seal it.

The order makes it safe: the journals are merged, with the warnings of the closing itself; user files that have one of runcard's
names are moved; README.md is written; SHA256SUMS fixes every file; the new metadata document, which fixes SHA256SUMS, is written
under a temporary name; all of it is synced; then the document takes its place; the ledger entry comes last. A process that is
killed anywhere in between leaves an open run, and closing it again gives the same result. Who may close a run is decided in
`closing.py`.
"""

import contextlib
import hashlib
import itertools
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from runcard import checksums
from runcard.checksums.unstable_directory import GONE_ERRNOS, snapshot
from runcard.digests import Digest, sha256_bytes
from runcard.documents import chain
from runcard.documents.run import fold
from runcard.documents.run.fields import RunFields
from runcard.documents.run.size_limit import is_too_large
from runcard.documents.symlinks import symlink_entry
from runcard.encoding import JsonObject, encode_json
from runcard.errors import StoreError
from runcard.files import (
    FileKind,
    Sync,
    failure,
    json_name,
    printable,
    sizes,
    sync_tree,
)
from runcard.recording.closing_events import ClosingEvents
from runcard.recording.journal_facts import FoldedEvents, JournalFacts, WrittenEvents
from runcard.recording.run_contents import RunContents
from runcard.recording.run_documents import (
    file_digest,
    generation_class,
    read_bytes,
    read_document,
    run_id_in,
    status_in,
)
from runcard.store import layout
from runcard.store.journal import read_blocks
from runcard.store.ledger import CLOSED, Ledger, entry_payload
from runcard.store.ownership import own_mac
from runcard.store.runs.directory import remove_open_mark
from runcard.store.runs.open_journals import OpenJournals, OwnJournal, find_run_id
from runcard.store.runs.run_files import move_user_files, user_file_moves, write_run_file
from runcard.views.run_readme import MAX_ROWS, is_readme_of, readme

CHANGING = "changing-files"  # the type of the warning about files that a process still writes to

_FILES_IN_WARNING = 20


class RecorderState(NamedTuple):
    """What a recorder knows about its own run, so that closing it need not find out."""

    start: JsonObject  # the start document
    written_document: bytes  # the same as it was written
    journal: OwnJournal  # as the recorder wrote it
    events: WrittenEvents


class RunCloser:
    """Closes one run whose lock is held. `state` is given by the recorder of the run, when it closes its own."""

    def __init__(self, run: str, state: RecorderState | None = None) -> None:
        self.run = run
        self._state = state
        document = self._current_document()
        open_id = run_id_in(document) if document is not None and status_in(document) == "running" else None
        run_id = run_id_in(state.start) if state else find_run_id(run) or open_id
        self._facts = None if state else JournalFacts(run_id)
        # Of the lines in the order in which they are found; a recorder has folded its own.
        self._first_fold: FoldedEvents | None = None if state else FoldedEvents()
        on_line = None if state else self._read_line
        journals = OpenJournals(run, run_id, on_line, own=state.journal if state else None)
        start = state.start if state else _find_start(journals, document if open_id is not None else None)
        if start is None:
            raise StoreError(
                f"{printable(run)} cannot be closed: neither its metadata.json nor its journal tells how it started",
                hint="restore one of them; the files in it are kept as they are",
            )
        self.start: JsonObject = start
        self._events = ClosingEvents(start, journals, self._facts)
        self._metadata_is_ours = document is start or document == start
        self._journal_is_ours = False  # whether this process wrote, and so checked, every event
        self._readme_name = layout.README
        self._newest_file: str | None = None  # when it was written, of a run that died
        self._contents = RunContents(run)

    def close(self) -> JsonObject:
        """Close the run; returns its final document."""
        ledger = Ledger(layout.store_of(self.run))
        self._settle_files()
        self._write_readme()
        document = self._final_document(self._write_checksums(), ledger.head)
        data = self._encode(document)
        if is_too_large(data):
            document = fold.cut_to_size(document)
            data = self._encode(document)
        write_run_file(self.run, layout.METADATA, data, sync=self._sync_files)
        entry = ledger_entry(self.run, document, data)
        # Only a process that closes its own run knows that this user recorded it.
        if self._state is not None and (mac := own_mac(self.run, entry["id"], entry["sha256"])) is not None:
            entry["mac"] = mac
        with ledger:
            ledger.append(CLOSED, document["generation"]["timestamp_end"], entry, sync=False)
        remove_open_mark(self.run)
        return document

    def _sync_files(self, new_document: str) -> None:
        """Make all files durable, with the one that replaces metadata.json next."""
        own = (new_document, layout.CHECKSUMS)
        others = (
            (path, kind) for path, kind in self._contents.walked() if path not in {layout.METADATA, *own}
        )
        try:
            sync_tree(self.run, itertools.chain(((name, FileKind.FILE) for name in own), others))
        except OSError as error:
            if error.errno in GONE_ERRNOS:
                raise  # see write_run_file
            raise failure(error, str(error.filename or self.run), "close") from error  # not the document's

    def _encode(self, document: JsonObject) -> bytes:
        """The bytes of a document; it is validated unless this process wrote every event."""
        return (
            encode_json(document)
            if self._journal_is_ours
            else generation_class().from_dict(document).to_bytes()
        )

    def _current_document(self) -> JsonObject | None:
        """The document of the run as it is on disk."""
        path = os.path.join(self.run, layout.METADATA)
        state = self._state
        if state is not None and read_bytes(path) == state.written_document:
            return state.start
        return read_document(path)

    def _settle_files(self) -> None:
        """Move user files that have runcard's names, and merge the journals into one.

        Warnings are written, with all lines, before anything moves: so nothing is lost to a `kill -9`.
        """
        self._contents.remove_leftovers()
        if self._state is None:
            self._events.add_last_heartbeat(self.run)
        moves = user_file_moves(self.run, list(self._clashing_names()))
        for name, path in moves.items():
            self._events.add_warning(
                "name-taken", f"{name} is a name of runcard's own files: the user's was moved to {path}"
            )
        self._warn_about_journals()
        self._warn_about_special_files(moves)
        if self._state is None:
            own = {*layout.NOT_LISTED, *layout.journal_names(self._contents.kinds), self._readme_name}
            self._newest_file = self._contents.newest_file_time(own - {*moves})
        self._fold_events()
        if moves or not self._is_merged():
            self._merge_journals(moves)

    def _read_line(self, entry: chain.JournalEntry) -> None:
        if self._facts is not None:
            self._facts.add(entry)
        if self._first_fold is not None:
            self._first_fold.add(entry.line)
            if len(self._first_fold.last_lines) > 1:
                self._first_fold = None  # the lines are to be merged first

    def _fold_events(self) -> None:
        """Fold the events in the order of time: that in which one writer's lines were found, if none were added."""
        folded, self._first_fold = self._first_fold, None
        if folded is None or self._events.has_added or not self._journals.has_one_writer:
            folded = FoldedEvents()
            for entry in self._journals:
                folded.add(entry.line)
        folded.events.count_once(self._journals.lines)
        self._folded = folded.events.document(self.start, self._newest_file)
        self._chains = chain.heads(folded.last_lines.values())

    def _is_merged(self) -> bool:
        """Whether the journal holds all lines, each of them once, and no other file does."""
        journals = self._journals
        if self._events.has_added or [file.path for file in journals.files] != [self._journal_path]:
            return False
        is_in_order = journals.has_one_writer or _sha256(journals.blocks()) == journals.sha256.hexdigest()
        return is_in_order and not journals.files[0].has_repeated_lines

    def _merge_journals(self, moves: dict[str, str]) -> None:
        """Write all lines to one journal, move user files, and remove the other journals."""
        name = layout.other_journal(self._events.writer)
        is_merged = layout.JOURNAL not in moves and self._is_journal_merged()
        if not is_merged:
            write_run_file(self.run, name, self._journals.blocks, sync=Sync.FILE)
        move_user_files(self.run, moves)
        if not is_merged:
            try:
                os.rename(os.path.join(self.run, name), self._journal_path)
            except OSError as error:
                if error.errno not in GONE_ERRNOS:
                    raise
                write_run_file(self.run, layout.JOURNAL, self._journals.blocks, sync=Sync.FILE)
        for file in self._journals.files:
            if file.name not in {layout.JOURNAL, *moves}:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(file.path)
        self._contents.list()

    @property
    def _journals(self) -> OpenJournals:
        return self._events.journals

    @property
    def _journal_path(self) -> str:
        return os.path.join(self.run, layout.JOURNAL)

    def _is_journal_merged(self) -> bool:
        """Whether the journal already has the bytes of all lines."""
        try:
            if os.lstat(self._journal_path).st_size != self._journals.size:
                return False
            return _sha256(read_blocks(self._journal_path)) == _sha256(self._journals.blocks())
        except (OSError, StoreError):
            return False  # it is missing, or is not a file

    def _clashing_names(self) -> Iterator[str]:
        """Names of runcard that files of the user have."""
        if not self._metadata_is_ours and layout.METADATA in self._contents.kinds:
            yield layout.METADATA
        foreign = {file.name for file in self._journals.files if file.has_foreign_lines}
        for name in layout.journal_names(self._contents.kinds):
            if name in foreign or self._contents.kinds[name] is not FileKind.FILE:
                yield name
        added_later = (layout.AMENDMENTS, layout.SIGNATURE, layout.TIMESTAMPS)
        yield from (name for name in added_later if name in self._contents.kinds)
        if self._is_user_readme(layout.README):
            self._readme_name = layout.OTHER_README
            if self._is_user_readme(layout.OTHER_README):
                yield layout.OTHER_README
        if layout.CHECKSUMS in self._contents.kinds and not self._is_our_listing():
            yield layout.CHECKSUMS

    def _is_user_readme(self, name: str) -> bool:
        if name not in self._contents.kinds:
            return False
        data = read_bytes(os.path.join(self.run, name))
        return data is None or not is_readme_of(data, self._events.run_id)

    def _is_our_listing(self) -> bool:
        """Whether SHA256SUMS was written by a closing that was killed: then it matches the files."""
        listing = snapshot(self.run, self._contents.walked(), layout.NOT_LISTED).contents.listing
        return file_digest(os.path.join(self.run, layout.CHECKSUMS)) == listing.digest

    def _warn_about_journals(self) -> None:
        """Warn about torn, lost and changed lines."""
        for file in self._journals.files:
            if file.torn:
                torn = f"the last line was torn, {len(file.torn)} bytes were dropped"
                self._events.add_warning("torn-tail", f"{file.name}: {torn}")
        if self._state and not self._events.has_added and self._journals.has_one_writer:
            self._journal_is_ours = self._journals.sha256.hexdigest() == self._state.journal.sha256
        if self._journal_is_ours and self._state:
            self._first_fold = self._state.events.take(self._state.journal.head.count)
            return
        for writer, fault in sorted(self._events.facts.first_faults.items()):
            self._events.add_warning(
                layout.DAMAGED, f"events of writer {writer} were lost or changed: {fault.reason}"
            )

    def _warn_about_special_files(self, moves: dict[str, str]) -> None:
        """Warn about FIFOs, sockets and devices, under the path that they will have."""
        for path, kind in self._contents.walked():
            if kind is FileKind.OTHER:
                top, slash, rest = path.partition("/")
                name = json_name(moves.get(top, top) + slash + rest).text
                message = f"{name} is neither a file nor a link: it is left out of the record"
                self._events.add_warning(layout.SPECIAL, message, path=name)

    def _write_readme(self) -> None:
        own = {*layout.NOT_LISTED, layout.JOURNAL, self._readme_name}
        outputs = (
            path for path, kind in self._contents.walked() if kind is FileKind.FILE and path not in own
        )
        files = sizes(self.run, outputs)
        first, more = list(itertools.islice(files, MAX_ROWS)), sum(1 for _ in files)
        page = readme(self._folded, first, more).encode()
        if is_too_large(page):
            page = readme(fold.cut_to_size(self._folded), first, more).encode()
        write_run_file(self.run, self._readme_name, page, sync=Sync.LATER)
        self._contents.add_file(self._readme_name)
        self._readme_data = page

    def _write_checksums(self) -> checksums.DirectoryContents:
        """Fix every file by its digest in SHA256SUMS."""
        listed = snapshot(self.run, self._contents.walked(), layout.NOT_LISTED)
        contents = listed.contents
        if listed.changing:
            self._warn_about_changing_files(listed.changing)
            contents = self._with_own_files(contents)
        elif layout.JOURNAL not in contents.listing or self._readme_name not in contents.listing:
            contents = self._with_own_files(contents)  # another process removes them
        write_run_file(self.run, layout.CHECKSUMS, contents.listing.blocks, sync=Sync.LATER)
        return contents

    def _warn_about_changing_files(self, paths: Sequence[str]) -> None:
        """Add a warning to the journal, and write everything that is made from it again."""
        names = [json_name(path).text for path in paths]
        more = f" and {len(names) - _FILES_IN_WARNING} more" if names[_FILES_IN_WARNING:] else ""
        shown = ", ".join(names[:_FILES_IN_WARNING]) + more
        if not self._journals.stays_readable:
            self._events.journals = OpenJournals(self.run, self._events.run_id)  # merged by now
        self._events.add_warning(CHANGING, f"files kept changing while the run was closed: {shown}")
        self._fold_events()
        self._merge_journals({})
        self._write_readme()

    def _with_own_files(self, contents: checksums.DirectoryContents) -> checksums.DirectoryContents:
        """The listing with the digests of the journal and the README as they were written."""
        own = {
            layout.JOURNAL: Digest("sha256", _sha256(self._journals.blocks())),
            self._readme_name: sha256_bytes(self._readme_data),
        }
        return contents._replace(listing=contents.listing.with_digests(own))

    def _final_document(self, contents: checksums.DirectoryContents, ledger_head: str | None) -> JsonObject:
        files = fold.FileFacts(
            output=str(contents.listing.digest),
            symlinks=[symlink_entry(link) for link in contents.symlinks],
            chains=self._chains,
            ledger_head=ledger_head,
        )
        return fold.add_file_facts(self._folded, files)


def _find_start(journals: OpenJournals, document: JsonObject | None) -> JsonObject | None:
    """The start document, from the journal or from metadata.json."""
    start = fold.start_document_in(journals.lines) or document
    return start if isinstance(start, dict) and generation_class().check(start).valid else None


def _sha256(blocks: Iterable[bytes]) -> str:
    digest = hashlib.sha256()
    for block in blocks:
        digest.update(block)
    return digest.hexdigest()


def ledger_entry(run: str, document: JsonObject, data: bytes) -> JsonObject:
    fields, digest = RunFields(document), sha256_bytes(data).hex
    return entry_payload("run", fields.run_id, os.path.basename(run), digest, fields.timestamp_end)
