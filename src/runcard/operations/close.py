"""Closing a run: its events become its final document, and nothing in it changes unseen any more.

The order is what makes it safe: the journals are merged, README.md is written, SHA256SUMS fixes every file, all of it
reaches the disk, and only then the metadata document, which fixes SHA256SUMS, takes its place; the ledger comes last.
Killed anywhere in between, the run is still open, and closing it again gives the same result.
"""

import errno
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from runcard import checksums
from runcard.digests import sha256_bytes
from runcard.documents import chain, fold
from runcard.documents.generation import Generation
from runcard.encoding import COMPACT, decode_json, encode_json
from runcard.errors import EncodingError, StoreError
from runcard.files import failure, json_name, printable, sync_filesystem, write_atomic
from runcard.observe.process import is_alive
from runcard.store import layout
from runcard.store.journal import new_writer, read_journal
from runcard.store.ledger import CLOSED, Ledger, entries, ledgers
from runcard.store.runs import claimed, mark_closed, open_runs, remove_unplaced
from runcard.views.markdown import is_readme_of, readme

Fields = dict[str, Any]

_LEFTOVER = re.compile(
    r"\.(metadata\.json|SHA256SUMS|README\.md|RUNCARD\.md|experiment\.jsonl)\.[0-9a-f]{8}\.tmp"
)


@dataclass(frozen=True, slots=True)
class Closing:
    """What became of one run."""

    path: str
    status: str  # as it stands now
    closed: bool  # whether this closing closed it
    reason: str | None = None  # why it was left alone


def close(*runs: str | os.PathLike[str], store: str | os.PathLike[str] | None = None) -> Iterator[Closing]:
    """Close the runs whose process is gone: those that are named, or all that a store knows to be open."""
    if store is not None:
        runs = (*runs, *open_runs(os.fspath(store)))
        remove_unplaced(os.fspath(store))
    for run in runs:
        yield close_dead(os.path.abspath(os.fspath(run)))


def dead_runs(store: str) -> list[str]:
    """The runs of a store that say they are running: those on its list, and those that the list has lost."""
    listed = set(open_runs(store))
    if os.path.isdir(store):
        remove_unplaced(store)
        for entry in os.scandir(store):
            data = _bytes_of(os.path.join(entry.path, layout.METADATA)) if entry.is_dir() else None
            if data is not None and b'"running"' in data:
                listed.add(entry.path)
    return sorted(listed)


def close_dead(run: str) -> Closing:
    """Close a run, unless it is closed already or somebody is still at work on it."""
    document = _read(os.path.join(run, layout.METADATA))
    status = _status(document)
    if status is None and not os.path.exists(os.path.join(run, layout.JOURNAL)):
        mark_closed(run)
        raise StoreError(
            f"{printable(run)} is no run", hint="name the directory of a run, with its metadata.json"
        )
    if status not in {None, "running"}:
        _enter_late(run, document or {})
        return Closing(run, str(status), closed=False, reason="it is closed already")
    with claimed(run) as gone:
        if gone is False or not _is_gone(document or {}, locks_work=gone is not None):
            return Closing(run, "running", closed=False, reason="its process is at work, or on another host")
        final = seal(run)
    return Closing(run, final["generation"]["status"], closed=True)


def _is_gone(document: Fields, *, locks_work: bool) -> bool:
    """A free lock tells only about this host; without locks the process must be seen to be gone."""
    process = (document.get("generation") or {}).get("process") or {}
    alive = is_alive(process)
    if process.get("host") not in {None, os.uname().nodename}:
        return False
    return locks_work or alive is False


def seal(run: str) -> Fields:
    """Close a run that nobody else works on; returns its final document."""
    desk = _Desk(run)
    desk.settle_names()
    desk.note_damage()
    desk.write_journal()
    desk.write_readme()
    contents = desk.list_files()
    try:
        sync_filesystem(run)
    except OSError as error:
        raise failure(error, run, "make durable") from error
    with Ledger(layout.store_of(run)) as ledger:
        document = desk.fold(contents, ledger.head)
        data = Generation.from_dict(document).to_bytes()
        write(run, layout.METADATA, data)
        ledger.append(CLOSED, document["generation"]["timestamp_end"], _ledger_entry(run, document, data))
    mark_closed(run)
    return document


def write(run: str, name: str, data: bytes, *, durable: bool = True) -> None:
    try:
        write_atomic(os.path.join(run, name), data, durable=durable)
    except OSError as error:
        raise failure(error, os.path.join(run, name), "write") from error


class _Desk:
    """The run on the desk of the one who closes it."""

    def __init__(self, run: str) -> None:
        self.run = run
        self.journals = {path: read_journal(path) for path in layout.journals(run)}
        self.entries = chain.merge(self.journals.values())
        written = _read(os.path.join(run, layout.METADATA))
        told = fold.start_of(entry.line for entry in self.entries)
        self.metadata_is_ours = written is not None and (told is None or _run_id(written) == _run_id(told))
        start = written if self.metadata_is_ours else told
        if start is None:
            raise StoreError(
                f"{printable(run)} cannot be closed: neither its metadata.json nor its journal tells how it began",
                hint="the files in it are kept as they are",
            )
        self.start = start
        self.run_id = str(_run_id(start))
        self.own_writer = new_writer()
        self.readme = layout.README

    def note(self, kind: str, message: str) -> None:
        """Write down what was odd about the run: as an event, so that a second closing knows it as well."""
        mine = [entry.line for entry in self.entries if entry.line["writer"] == self.own_writer]
        prev = mine[-1]["hash"] if mine else chain.first_link(self.run_id, self.own_writer)
        fields = {
            "seq": len(mine) + 1,
            "timestamp": self._last_time(),
            "level": "warning",
            "event": fold.WARNING,
            "experiment_id": self.start["generation"]["experiment_id"],
            "run_id": self.run_id,
            "elapsed": None,
            "writer": self.own_writer,
        }
        line = chain.make_line(fields, {"type": kind, "message": message}, os.urandom(16).hex(), prev)
        raw = encode_json(line, COMPACT).rstrip(b"\n")
        self.entries.append(chain.Entry(0, raw, line))

    def _last_time(self) -> str:
        times = (entry.line.get("timestamp") for entry in self.entries)
        return max(
            (time for time in times if isinstance(time, str)),
            default=self.start["generation"]["timestamp_start"],
        )

    def settle_names(self) -> None:
        """Give the names that runcard takes to runcard: a user's file goes aside, and nothing is lost."""
        for name in os.listdir(self.run):
            if _LEFTOVER.fullmatch(name):
                os.unlink(os.path.join(self.run, name))
        if not self.metadata_is_ours:
            self._move_aside(layout.METADATA)
        if os.path.islink(os.path.join(self.run, layout.JOURNAL)):
            self._move_aside(layout.JOURNAL)
        for name in (layout.AMENDMENTS, layout.SIGNATURE):
            self._move_aside(name)
        if self._is_users_readme(layout.README):
            self.readme = layout.OTHER_README
            if self._is_users_readme(layout.OTHER_README):
                self._move_aside(layout.OTHER_README)

    def _is_users_readme(self, name: str) -> bool:
        path = os.path.join(self.run, name)
        if not os.path.lexists(path):
            return False
        if os.path.islink(path) or not os.path.isfile(path):
            return True
        with open(path, "rb") as file:
            return not is_readme_of(file.read(4096), self.run_id)

    def _move_aside(self, name: str) -> None:
        path = os.path.join(self.run, name)
        if not os.path.lexists(path):
            return
        folder = os.path.join(self.run, layout.USER)
        os.makedirs(folder, exist_ok=True)
        target, number = os.path.join(folder, name), 1
        while os.path.lexists(target):
            number += 1
            target = os.path.join(folder, f"{name}.{number}")
        os.rename(path, target)
        self.note(
            "name-taken",
            f"{name} is a name that runcard takes: the file is kept as user/{os.path.basename(target)}",
        )

    def note_damage(self) -> None:
        for path, journal in self.journals.items():
            name = os.path.basename(path)
            if journal.torn:
                self.note(
                    "torn-tail", f"{name}: the last line was torn, {len(journal.torn)} bytes were dropped"
                )
            if journal.damaged:
                numbers = ", ".join(map(str, journal.damaged[:10]))
                self.note("damaged-journal", f"{name}: lines that cannot be read were dropped: {numbers}")

    def write_journal(self) -> None:
        """One journal of all writers' lines, unaltered and in the order of time."""
        merged = b"".join(entry.raw + b"\n" for entry in self.entries)
        path = os.path.join(self.run, layout.JOURNAL)
        if _bytes_of(path) != merged:
            write(self.run, layout.JOURNAL, merged, durable=False)
        for other in layout.journals(self.run):
            if other != path:
                os.unlink(other)

    def write_readme(self) -> None:
        files = sorted(_outputs(self.run, {self.readme}))
        document = self.fold(None, None)
        write(self.run, self.readme, readme(document, files).encode(), durable=False)

    def list_files(self) -> checksums.Contents:
        """Fix every file by its digest in SHA256SUMS."""
        contents = checksums.make(self.run, exclude=layout.NOT_LISTED)
        listed = contents.listing.to_bytes()
        path = os.path.join(self.run, layout.CHECKSUMS)
        if os.path.lexists(path) and _bytes_of(path) != listed:
            self._move_aside(layout.CHECKSUMS)
            self.write_journal()
            self.write_readme()
            return self.list_files()
        write(self.run, layout.CHECKSUMS, listed, durable=False)
        return contents

    def fold(self, contents: checksums.Contents | None, ledger_head: str | None) -> Fields:
        lines = [entry.line for entry in self.entries]
        files = fold.Files(
            output=str(contents.listing.digest) if contents else None,
            symlinks=[_symlink(link) for link in contents.symlinks] if contents else [],
            chains=chain.heads(self.entries),
            ledger_head=ledger_head,
        )
        return fold.fold(self.start, lines, files)


def _outputs(run: str, ours: Iterable[str]) -> Iterator[tuple[str, int]]:
    """The user's files: path and size."""
    skipped = {*ours, *layout.NOT_LISTED, layout.JOURNAL}
    for folder, _, names in os.walk(run):
        for name in names:
            path = os.path.join(folder, name)
            relative = os.path.relpath(path, run)
            if relative not in skipped and os.path.isfile(path) and not os.path.islink(path):
                yield relative, os.path.getsize(path)


def _symlink(link: checksums.Symlink) -> Fields:
    path, target = json_name(link.path), json_name(link.target)
    said: Fields = {"path": path.text, "target": target.text}
    if path.base64 is not None:
        said["path_base64"] = path.base64
    if target.base64 is not None:
        said["target_base64"] = target.base64
    return said


def _ledger_entry(run: str, document: Fields, data: bytes) -> Fields:
    return {
        "kind": "run",
        "id": document["generation"]["run_id"],
        "path": os.path.basename(run),
        "sha256": sha256_bytes(data).hex,
        "time": document["generation"]["timestamp_end"],
    }


def _enter_late(run: str, document: Fields) -> None:
    """Enter a closed run in the ledger whose recorder was killed between the two; nothing when it is there."""
    store = layout.store_of(run)
    data = _bytes_of(os.path.join(run, layout.METADATA)) or b""
    if os.path.basename(run) not in {os.path.basename(path) for path in open_runs(store)}:
        return
    digest = sha256_bytes(data).hex
    with Ledger(store) as ledger:
        known = {entry.sha256 for _, journal, _ in ledgers(store) for entry in entries(journal)}
        if digest not in known:
            ledger.append(CLOSED, document["generation"]["timestamp_end"], _ledger_entry(run, document, data))
    mark_closed(run)


def _read(path: str) -> Fields | None:
    """A generation document that is well enough to be worked with."""
    data = _bytes_of(path)
    if data is None:
        return None
    try:
        document = decode_json(data)
    except EncodingError:
        return None
    if not isinstance(document, dict) or not Generation.judge(document).valid:
        return None
    return document


def _bytes_of(path: str) -> bytes | None:
    """The bytes of a file that is one: a link, which may lead anywhere, is none of ours."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(descriptor, "rb") as file:
            return file.read()
    except OSError as error:
        if error.errno in {errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.EISDIR, errno.ENXIO}:
            return None
        raise failure(error, path, "read") from error


def _status(document: Fields | None) -> str | None:
    return None if document is None else document["generation"].get("status")


def _run_id(document: Fields) -> str | None:
    run_id: str | None = document["generation"]["run_id"]
    return run_id
