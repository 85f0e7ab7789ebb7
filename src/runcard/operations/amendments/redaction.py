"""Redacting a record in its directory: files, payloads of events, or matches of masking rules are removed.

This module decides what to remove; `store.amendments.change` removes it, so that a kill leaves nothing half done for
good. The metadata document and SHA256SUMS stay as they were sealed.
"""

import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import NamedTuple

from runcard.digests import sha256_bytes
from runcard.documents import chain
from runcard.encoding import COMPACT, JsonObject, encode_json
from runcard.errors import StoreError, UsageError
from runcard.files import check_relative, failure, json_name, printable, shell_word
from runcard.files.globs import path_matches
from runcard.masking import Masker, mask_data, mask_text, rule_names
from runcard.observe.clock import Clock
from runcard.observe.user_and_host import user_and_host
from runcard.recording.record_signature import sign_amended
from runcard.store import layout
from runcard.store.amendments.change import Amender, Author, Edit, amending
from runcard.store.amendments.read import REDACTION

Progress = Callable[[int, int], object]

_BLOCK = 1 << 20
_EVENT = re.compile(r"(?:(.+):)?([0-9]+)")


@dataclass(frozen=True, slots=True)
class RedactedFile:
    """A file that is redacted: some of its events, the secrets in it, or all of it."""

    path: str
    events: tuple[str, ...] = ()
    counts: dict[str, int] | None = None

    def to_dict(self) -> JsonObject:
        what = "events" if self.events else "secrets" if self.counts else "file"
        fields: JsonObject = {"path": json_name(self.path).text, "what": what}
        if self.events:
            fields["events"] = list(self.events)
        if self.counts:
            fields["counts"] = self.counts
        return fields


@dataclass(frozen=True, slots=True)
class Redacted:
    """The result of a redaction, done or planned."""

    path: str
    taken: tuple[RedactedFile, ...]
    already: tuple[str, ...]  # files and events that were redacted before
    finished: tuple[str, ...]  # files of an earlier amendment that was killed
    warnings: tuple[str, ...]
    is_done: bool

    def to_dict(self) -> JsonObject:
        return {
            "record": printable(self.path),
            "redacted": [file.to_dict() for file in self.taken],
            "already": [json_name(path).text for path in self.already],
            "finished": [json_name(path).text for path in self.finished],
            "warnings": list(self.warnings),
            "done": self.is_done,
        }


class Request(NamedTuple):
    """What to redact, and why."""

    files: Sequence[str]
    events: Sequence[str]
    rules: Sequence[str]
    reason: str
    by: str | None


def redact_directory(
    record: str | os.PathLike[str],
    request: Request,
    *,
    dry_run: bool = False,
    progress: Progress | None = None,
) -> Redacted:
    """Redact a closed record in its directory; the request was checked before."""
    by, reason = request.by or user_and_host(), request.reason
    author = Author(mask_text(by).value, Clock().timestamp(), mask_text(reason).value)
    with amending(os.fspath(record), look=dry_run) as amender:
        redactor = _Redactor(amender, progress, dry_run=dry_run)
        if request.files:
            redactor.withhold_files(request.files)
        elif request.events:
            redactor.withhold_events(request.events)
        else:
            redactor.mask(request.rules)
        if redactor.edits and not dry_run:
            amender.change(REDACTION, redactor.edits, author)
        finished = amender.unfinished if dry_run else amender.finished
        warnings = (*redactor.warnings, *amender.remarks)
    if redactor.edits and not dry_run:
        warnings = (*warnings, *sign_amended(os.fspath(record), amender.added))
    return Redacted(
        os.fspath(record), tuple(redactor.taken), tuple(redactor.already), finished, warnings, not dry_run
    )


def check_request(request: Request) -> None:
    """Raise UsageError for a redaction that makes no sense, whatever the record."""
    files, events, rules, reason, _ = request
    if sum(map(bool, (files, events, rules))) != 1:
        raise UsageError(
            "nothing to redact: name files, events or rules", hint="one of --file, --event and --rule"
        )
    if not reason.strip():
        raise UsageError("a redaction needs a reason", hint="say why with --reason")
    for pattern in files:
        if problem := check_relative(pattern.rstrip("/")):
            raise UsageError(
                f"the pattern {printable(pattern)!r} is refused: {problem}",
                hint="name files as the record's SHA256SUMS does",
            )
    for rule in rules:
        if rule not in (names := rule_names()):
            near = get_close_matches(rule[:100], names, 1, 0.5)
            question = f"did you mean {near[0]}? " if near else ""
            raise UsageError(
                f"no such masking rule: {printable(rule)}", hint=f"{question}all rules: docs/masking.md"
            )
    for event in events:
        if not _EVENT.fullmatch(event):
            raise UsageError(f"{printable(event)!r} is not an event", hint="an event is SEQ or WRITER:SEQ")


class _Redactor:
    """Decides what goes from one record; with `dry_run` nothing is staged."""

    def __init__(self, amender: Amender, progress: Progress | None, *, dry_run: bool) -> None:
        self._amender, self._progress, self._dry_run = amender, progress, dry_run
        self._journal = layout.AUDIT if amender.is_session else layout.JOURNAL
        self.edits: list[Edit] = []
        self.taken: list[RedactedFile] = []
        self.already: list[str] = []
        self.warnings: list[str] = []

    def withhold_files(self, patterns: Sequence[str]) -> None:
        for path in self._matching(patterns):
            expected, now = self._amender.expected(path), self._amender.files.digest(path)
            if expected is None:
                self.already.append(path)
            elif now not in self._amender.all_digests(path):
                raise self._changed(path, now)
            else:
                self.edits.append(Edit(path, expected, None, {}))
                self.taken.append(RedactedFile(path))

    def _matching(self, patterns: Sequence[str]) -> list[str]:
        """The listed files that patterns mean; each pattern must mean one."""
        paths: dict[str, None] = {}
        for pattern in patterns:
            name = pattern.rstrip("/")
            matches = [name] if name in self._amender.listing else self._paths_matching(name)
            if not matches and name in layout.NOT_LISTED:
                raise StoreError(
                    f"{name} seals the record: it cannot be redacted",
                    hint="redact other files, or delete the whole record",
                )
            if not matches:
                raise StoreError(
                    f"no file of the record matches {printable(pattern)!r}",
                    hint=f"name files as {layout.CHECKSUMS} does, or as patterns with *, ? and **",
                )
            paths |= dict.fromkeys(matches)
        return list(paths)

    def _paths_matching(self, pattern: str) -> list[str]:
        parts = pattern.split("/")
        return [path for path in self._amender.listing if path_matches(parts, path.split("/"))]

    def _changed(self, path: str, now: str | None) -> StoreError:
        reason = "is missing" if now is None else "was changed since the record was closed"
        return StoreError(
            f"{printable(path)} {reason}",
            hint=f"nothing was redacted; see all of it: runcard verify {shell_word(self._amender.path)}",
        )

    def _read(self, path: str) -> bytes:
        """The bytes of a file that is what it should be."""
        with self._amender.files.opened(path) as descriptor, open(descriptor, "rb", closefd=False) as file:
            data = file.read()
        if (now := sha256_bytes(data).hex) != self._amender.expected(path):
            raise self._changed(path, now)
        return data

    def withhold_events(self, events: Sequence[str]) -> None:
        path = self._journal
        if path not in self._amender.listing or self._amender.files.digest(path) is None:
            raise StoreError(f"the record has no {path}", hint="it was taken out, or never recorded")
        data = self._read(path)
        lines = {_event_name(entry): entry for entry in chain.parse(data).entries}
        chosen = dict.fromkeys(self._find_event(event, lines) for event in events)
        self.already += [f"{path} event {place}" for place in chosen if "payload" not in lines[place].line]
        self._withhold(data, [lines[place] for place in chosen if "payload" in lines[place].line])

    def _find_event(self, event: str, lines: dict[str, chain.JournalEntry]) -> str:
        match = _EVENT.fullmatch(event)
        writer, seq = (match[1], int(match[2])) if match else (None, 0)
        matches = [
            place
            for place, entry in lines.items()
            if entry.line["seq"] == seq and writer in {None, entry.line["writer"]}
        ]
        if len(matches) > 1:
            raise UsageError(
                f"{len(matches)} writers have an event {seq}",
                hint=f"name one: {', '.join(map(printable, matches))}",
            )
        if not matches:
            raise StoreError(
                f"there is no event {printable(event)} in {self._journal}",
                hint="each line there has its seq and its writer",
            )
        return matches[0]

    def _withhold(self, data: bytes, chosen: Sequence[chain.JournalEntry], **fields: object) -> None:
        if not chosen:
            return
        lines, path = data.split(b"\n"), self._journal
        for entry in chosen:
            rest = {key: value for key, value in entry.line.items() if key not in {"payload", "salt"}}
            lines[entry.number - 1] = encode_json(rest, COMPACT).rstrip(b"\n")
        events = tuple(_event_name(entry) for entry in chosen)
        new = b"\n".join(lines)
        digest = sha256_bytes(new).hex if self._dry_run else self._amender.files.stage(path, [new])
        self.edits.append(Edit(path, sha256_bytes(data).hex, digest, {"events": list(events), **fields}))
        self.taken.append(RedactedFile(path, events))

    def mask(self, rules: Sequence[str]) -> None:
        """Mask what rules find in the texts of the record; in its journal, whole payloads go."""
        files = size = 0
        for path in self._amender.listing:
            expected = self._amender.expected(path)
            if expected is None:
                continue
            try:
                size += self._size(path)
                self._mask_events(rules) if path == self._journal else self._mask_file(path, rules, expected)
            except StoreError as error:
                self.warnings.append(f"{error.message}: it was left as it is")
            files += 1
            if self._progress:
                self._progress(files, size)
        self._warn_of_sealed(rules)

    def _size(self, path: str) -> int:
        """The size of a file that can be read."""
        try:
            with self._amender.files.opened(path) as descriptor:
                return os.fstat(descriptor).st_size
        except OSError as error:
            raise StoreError(failure(error, path, "read").message) from error

    def _mask_events(self, rules: Sequence[str]) -> None:
        data = self._read(self._journal)
        chosen, outside = [], 0
        for entry in chain.parse(data).entries:
            rest = {key: value for key, value in entry.line.items() if key not in {"payload", "salt"}}
            if "payload" in entry.line and _has_secret(entry.line["payload"], rules):
                chosen.append(entry)
            outside += _has_secret(rest, rules)
        if outside:
            self.warnings.append(
                f"{self._journal}: {outside} lines match a rule outside of their payload: this stays"
            )
        self._withhold(data, chosen, rules=list(rules))

    def _mask_file(self, path: str, rules: Sequence[str], expected: str) -> None:
        """Mask one file, if it is a text that has something to be masked."""
        masker = Masker(rules)
        with self._amender.files.opened(path) as descriptor:
            if b"\0" in os.pread(descriptor, _BLOCK, 0):
                return  # no text
            for _ in _masked(descriptor, masker):
                pass
        if not masker.counts:
            return
        if (now := self._amender.files.digest(path)) != expected:
            raise self._changed(path, now)
        with self._amender.files.opened(path) as descriptor:
            blocks = _masked(descriptor, Masker(rules))
            new = "" if self._dry_run else self._amender.files.stage(path, blocks)
        self.edits.append(Edit(path, expected, new, {"rules": masker.counts}))
        self.taken.append(RedactedFile(path, (), masker.counts))

    def _warn_of_sealed(self, rules: Sequence[str]) -> None:
        masker = Masker(rules)
        masker.feed(self._amender.metadata)
        masker.flush()
        if masker.counts:
            self.warnings.append(
                f"{layout.METADATA} matches a rule as well: it seals the record and stays as it is"
            )


def _masked(descriptor: int, masker: Masker) -> Iterator[bytes]:
    at = 0
    while block := os.pread(descriptor, _BLOCK, at):
        at += len(block)
        yield masker.feed(block)
    yield masker.flush()


def _has_secret(data: object, rules: Sequence[str]) -> bool:
    """Whether rules find something in a value: by what it is made of, or by the name it stands under."""
    masker = Masker(rules)
    masker.feed(encode_json(data, COMPACT))
    masker.flush()
    return bool(masker.counts) or any(rule in rules for rule in mask_data(data).counts)


def _event_name(entry: chain.JournalEntry) -> str:
    return f"{entry.line['writer']}:{entry.line['seq']}"
