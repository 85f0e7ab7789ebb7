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
import re
import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from runcard import checksums
from runcard.checksums.unstable_directory import GONE_ERRNOS, snapshot, walk_unstable, walked_entries
from runcard.digests import Digest, sha256_bytes
from runcard.documents import chain
from runcard.documents.run import fold
from runcard.documents.run.events import RUN_HEARTBEAT, WARNING_ADDED
from runcard.documents.run.fields import RunFields
from runcard.documents.run.size_limit import is_too_large
from runcard.documents.symlinks import symlink_entry
from runcard.encoding import JsonObject, canonical_json, decode_json, encode_json
from runcard.errors import StoreError
from runcard.files import (
    FileKind,
    Sync,
    WalkEntry,
    failure,
    json_name,
    printable,
    sizes,
    sync_tree,
)
from runcard.observe.clock import timestamp
from runcard.recording.journal_facts import FoldedEvents, JournalFacts, WrittenEvents
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
from runcard.store.runs.heartbeat import read_heartbeat
from runcard.store.runs.open_journals import OpenJournals, OwnJournal, find_run_id
from runcard.store.runs.run_files import move_user_files, user_file_moves, write_run_file
from runcard.views.run_readme import MAX_ROWS, is_readme_of, readme

CHANGING = "changing-files"  # the type of the warning about files that a process still writes to

_FILES_IN_WARNING = 20

_OWN_NAMES = {*layout.NOT_LISTED, layout.README, layout.OTHER_README}
_LEFTOVER = re.compile(
    r"\.(metadata\.json|SHA256SUMS|README\.md|RUNCARD\.md|experiment(\.w-[0-9a-f]+)?\.jsonl)\.[0-9a-f]{8}\.tmp"
)


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
        self._journals = OpenJournals(run, run_id, on_line, own=state.journal if state else None)
        self._has_added_events = False  # by the closing itself
        start = state.start if state else self._find_start(document if open_id is not None else None)
        if start is None:
            raise StoreError(
                f"{printable(run)} cannot be closed: neither its metadata.json nor its journal tells how it started",
                hint="restore one of them; the files in it are kept as they are",
            )
        self.start: JsonObject = start
        self._run_id = str(run_id_in(start))
        self._writer = f"w-{sha256_bytes(f'runcard-closing-1:{self._run_id}'.encode()).hex[:8]}"
        self._metadata_is_ours = document is start or document == start
        self._journal_is_ours = False  # whether this process wrote, and so checked, every event
        self._readme_name = layout.README
        self._newest_file: str | None = None  # when it was written, of a run that died
        self._list_kinds()

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
        others = ((path, kind) for path, kind in self._walked() if path not in {layout.METADATA, *own})
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

    def _list_kinds(self) -> None:
        """List the contents of the directory: once, and again when something has moved."""
        self._contents = walk_unstable(self.run)
        self._removed: set[str] = set()  # since then
        self._kinds = {path: kind for path, kind in self._walked() if _is_own_name(path)}

    def _walked(self) -> Iterator[WalkEntry]:
        """The contents of the directory, in order."""
        return (entry for entry in walked_entries(self._contents) if entry.path not in self._removed)

    def _find_start(self, document: JsonObject | None) -> JsonObject | None:
        """The start document, from the journal or from metadata.json."""
        start = fold.start_document_in(self._journals.lines) or document
        return start if isinstance(start, dict) and generation_class().check(start).valid else None

    def _add_warning(self, kind: str, message: str, **more: str) -> None:
        payload = {"type": kind, "message": message, **more}
        self._add_event(WARNING_ADDED, payload, self._last_time(), "warning")

    def _add_last_heartbeat(self) -> None:
        """Add the last sign of life of a run whose end no event tells; the future does not count."""
        heartbeat, now = read_heartbeat(self.run, self._run_id), timestamp(datetime.now(UTC))
        if heartbeat is None or self._journal_facts().has_ended:
            return
        if self._last_time() < heartbeat <= now:
            self._add_event(RUN_HEARTBEAT, {}, heartbeat, "info")

    def _add_event(self, event: str, payload: JsonObject, timestamp: str, level: str) -> None:
        """Add an event of the closing itself; it is the same whichever process closes the run."""
        own_lines = [entry.line for entry in self._journals.of_writer(self._writer)]
        if payload in [line.get("payload") for line in own_lines]:
            return  # added by an earlier closing that was killed
        prev = own_lines[-1]["hash"] if own_lines else chain.first_link(self._run_id, self._writer)
        fields = {
            "seq": len(own_lines) + 1,
            "timestamp": timestamp,
            "level": level,
            "event": event,
            "experiment_id": self.start["generation"]["experiment_id"],
            "run_id": self._run_id,
            "elapsed": None,
            "writer": self._writer,
        }
        salt = sha256_bytes(prev.encode() + canonical_json(payload)).hex[:32]
        raw = chain.write_line(fields, payload, salt, prev).raw.rstrip(b"\n")
        entry = chain.JournalEntry(0, raw, decode_json(raw))
        facts = self._journal_facts()
        if self._journals.add(entry):
            facts.add(entry)
        self._has_added_events = True

    def _last_time(self) -> str:
        last: str = self._journal_facts().last_time or self.start["generation"]["timestamp_start"]
        return last

    def _journal_facts(self) -> JournalFacts:
        """What all events tell; of the own journal it is rarely needed."""
        if self._facts is None or self._facts.run_id != self._run_id:
            self._facts = JournalFacts(self._run_id)
            for entry in self._journals.of_each_writer():
                self._facts.add(entry)
        return self._facts

    def _settle_files(self) -> None:
        """Move user files that have runcard's names, and merge the journals into one.

        Warnings are written, with all lines, before anything moves: so nothing is lost to a `kill -9`.
        """
        self._remove_leftovers()
        if self._state is None:
            self._add_last_heartbeat()
        moves = user_file_moves(self.run, list(self._clashing_names()))
        for name, path in moves.items():
            self._add_warning(
                "name-taken", f"{name} is a name of runcard's own files: the user's was moved to {path}"
            )
        self._warn_about_journals()
        self._warn_about_special_files(moves)
        if self._state is None:
            self._newest_file = self._newest_file_time(moves)
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

    def _remove_leftovers(self) -> None:
        """Remove temporary files of processes that were killed."""
        leftovers = [name for name, kind in self._kinds.items() if kind is FileKind.FILE]
        for name in filter(_LEFTOVER.fullmatch, leftovers):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(os.path.join(self.run, name))
            self._removed.add(name)
            del self._kinds[name]

    def _fold_events(self) -> None:
        """Fold the events in the order of time: that in which one writer's lines were found, if none were added."""
        folded, self._first_fold = self._first_fold, None
        if folded is None or self._has_added_events or not self._journals.has_one_writer:
            folded = FoldedEvents()
            for entry in self._journals:
                folded.add(entry.line)
        folded.events.count_once(self._journals.lines)
        self._folded = folded.events.document(self.start, self._newest_file)
        self._chains = chain.heads(folded.last_lines.values())

    def _newest_file_time(self, moves: Collection[str]) -> str | None:
        """When the newest file was written, besides those that closing writes itself; the future does not count."""
        own = {*layout.NOT_LISTED, *layout.journal_names(self._kinds), self._readme_name} - {*moves}
        now, newest = time.time(), 0.0
        for path, kind in self._walked():
            if kind is FileKind.FILE and path not in own:
                with contextlib.suppress(OSError):  # removed meanwhile
                    written = os.lstat(os.path.join(self.run, path)).st_mtime
                    newest = max(newest, written if written <= now else 0.0)
        return timestamp(datetime.fromtimestamp(newest, UTC)) if newest else None

    def _is_merged(self) -> bool:
        """Whether the journal holds all lines, each of them once, and no other file does."""
        journals = self._journals
        if self._has_added_events or [file.path for file in journals.files] != [self._journal_path]:
            return False
        is_in_order = journals.has_one_writer or _sha256(journals.blocks()) == journals.sha256.hexdigest()
        return is_in_order and not journals.files[0].has_repeated_lines

    def _merge_journals(self, moves: dict[str, str]) -> None:
        """Write all lines to one journal, move user files, and remove the other journals."""
        name = layout.other_journal(self._writer)
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
        self._list_kinds()

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
        if not self._metadata_is_ours and layout.METADATA in self._kinds:
            yield layout.METADATA
        foreign = {file.name for file in self._journals.files if file.has_foreign_lines}
        for name in layout.journal_names(self._kinds):
            if name in foreign or self._kinds[name] is not FileKind.FILE:
                yield name
        yield from (name for name in (layout.AMENDMENTS, layout.SIGNATURE) if name in self._kinds)
        if self._is_user_readme(layout.README):
            self._readme_name = layout.OTHER_README
            if self._is_user_readme(layout.OTHER_README):
                yield layout.OTHER_README
        if layout.CHECKSUMS in self._kinds and not self._is_our_listing():
            yield layout.CHECKSUMS

    def _is_user_readme(self, name: str) -> bool:
        if name not in self._kinds:
            return False
        data = read_bytes(os.path.join(self.run, name))
        return data is None or not is_readme_of(data, self._run_id)

    def _is_our_listing(self) -> bool:
        """Whether SHA256SUMS was written by a closing that was killed: then it matches the files."""
        listing = snapshot(self.run, self._walked(), layout.NOT_LISTED).contents.listing
        return file_digest(os.path.join(self.run, layout.CHECKSUMS)) == listing.digest

    def _warn_about_journals(self) -> None:
        """Warn about torn, lost and changed lines."""
        for file in self._journals.files:
            if file.torn:
                torn = f"the last line was torn, {len(file.torn)} bytes were dropped"
                self._add_warning("torn-tail", f"{file.name}: {torn}")
        if self._state and not self._has_added_events and self._journals.has_one_writer:
            self._journal_is_ours = self._journals.sha256.hexdigest() == self._state.journal.sha256
        if self._journal_is_ours and self._state:
            self._first_fold = self._state.events.take(self._state.journal.head.count)
            return
        for writer, fault in sorted(self._journal_facts().first_faults.items()):
            self._add_warning(
                layout.DAMAGED, f"events of writer {writer} were lost or changed: {fault.reason}"
            )

    def _warn_about_special_files(self, moves: dict[str, str]) -> None:
        """Warn about FIFOs, sockets and devices, under the path that they will have."""
        for path, kind in self._walked():
            if kind is FileKind.OTHER:
                top, slash, rest = path.partition("/")
                name = json_name(moves.get(top, top) + slash + rest).text
                message = f"{name} is neither a file nor a link: it is left out of the record"
                self._add_warning(layout.SPECIAL, message, path=name)

    def _write_readme(self) -> None:
        own = {*layout.NOT_LISTED, layout.JOURNAL, self._readme_name}
        outputs = (path for path, kind in self._walked() if kind is FileKind.FILE and path not in own)
        files = sizes(self.run, outputs)
        first, more = list(itertools.islice(files, MAX_ROWS)), sum(1 for _ in files)
        page = readme(self._folded, first, more).encode()
        if is_too_large(page):
            page = readme(fold.cut_to_size(self._folded), first, more).encode()
        write_run_file(self.run, self._readme_name, page, sync=Sync.LATER)
        self._kinds[self._readme_name] = self._contents[self._readme_name] = FileKind.FILE
        self._readme_data = page

    def _write_checksums(self) -> checksums.DirectoryContents:
        """Fix every file by its digest in SHA256SUMS."""
        listed = snapshot(self.run, self._walked(), layout.NOT_LISTED)
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
            self._journals = OpenJournals(self.run, self._run_id)  # merged by now
        self._add_warning(CHANGING, f"files kept changing while the run was closed: {shown}")
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


def _sha256(blocks: Iterable[bytes]) -> str:
    digest = hashlib.sha256()
    for block in blocks:
        digest.update(block)
    return digest.hexdigest()


def _is_own_name(path: str) -> bool:
    """Whether a path in the directory of a run is one of runcard's own names."""
    if "/" in path:
        return False
    return path in _OWN_NAMES or bool(layout.journal_names([path]) or _LEFTOVER.fullmatch(path))


def ledger_entry(run: str, document: JsonObject, data: bytes) -> JsonObject:
    fields, digest = RunFields(document), sha256_bytes(data).hex
    return entry_payload("run", fields.run_id, os.path.basename(run), digest, fields.timestamp_end)
