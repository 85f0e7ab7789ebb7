"""Runs of the test vectors that are not signed: good ones, and one for each manipulation."""

import json
from collections.abc import Callable, Iterator
from typing import Any

from vector_cases import Case, changed, lost, replaced, without
from vector_run import (
    AMENDMENTS,
    CALL,
    END,
    EVENTS,
    JOURNAL,
    LISTING,
    METADATA,
    NOTE,
    NOTES,
    PAGE,
    PERSONAS,
    RUN_ID,
    Event,
    Fields,
    Files,
    amend,
    amendments,
    close,
    digest,
    journal,
    listing,
    open_run,
    redaction,
    run,
    start,
)

from runcard.checksums import Symlink
from runcard.documents import chain
from runcard.encoding import COMPACT, encode_json

GOOD = run()
LINKED = run(links=[Symlink("latest", "notes.txt")])
WITHHELD = without(amend(GOOD, redaction("notes.txt", NOTES, None)), "notes.txt")
SHORTER = b"Anna wants [removed].\n"
REPLACED = {**amend(GOOD, redaction("notes.txt", NOTES, SHORTER)), "notes.txt": SHORTER}
REMARKED = amend(GOOD, NOTE)
ODD_NAMES = {"a\nb.txt": b"newline\n", "c\\d.txt": b"backslash\n", "-": b"dash\n"}
LARGE = {"model": None, "provider": None, "seed": 2**63, "least": -(2**53), "last": 2**53 - 1, "tiny": 1e-7}


def document(files: Files, edit: Callable[[Fields], Any]) -> Files:
    """The metadata document changed, in the layout that runcard writes."""
    data = json.loads(files[METADATA])
    edit(data)
    return {**files, METADATA: encode_json(data)}


def lines(files: Files, edit: Callable[[list[bytes]], Any], path: str = JOURNAL) -> Files:
    """The lines of a file changed, removed or moved."""
    parts = files[path].splitlines(keepends=True)
    edit(parts)
    return {**files, path: b"".join(parts)}


def listed(files: Files) -> Files:
    """The list of checksums made again, by somebody who does not change the document."""
    return {**files, LISTING: listing(files)}


def resealed(files: Files) -> Files:
    """The list of checksums made again, and its digest in the document."""
    files = listed(files)
    stated = f"sha256:{digest(files[LISTING])}"
    return document(files, lambda data: data["checksums"].update(output=stated))


def event(files: Files, number: int, edit: Callable[[Fields], Any], *, rehash: bool = False) -> Files:
    """One event changed; `rehash` computes its own hash again."""

    def change(parts: list[bytes]) -> None:
        data = json.loads(parts[number])
        edit(data)
        if rehash:
            data["payload_sha256"] = chain.payload_digest(data["salt"], data["payload"])
            data["hash"] = chain.line_hash(data)
        parts[number] = encode_json(data, COMPACT)

    return lines(files, change)


def half_character(files: Files) -> Files:
    """The second event with half of a surrogate pair in a text, and all digests as a lax program computes them."""

    def change(parts: list[bytes]) -> None:
        data = json.loads(parts[1])
        text = data["salt"] + '{"text":"\\ud800"}'
        data |= {"payload": {"text": "@"}, "payload_sha256": digest(text.encode())}
        rest = [data, *map(json.loads, parts[2:])]
        for before, after in zip([json.loads(parts[0]), *rest], rest, strict=False):
            after["prev"] = before["hash"]
            after["hash"] = chain.line_hash(after)
        parts[1:] = [encode_json(each, COMPACT).replace(b'"@"', b'"\\ud800"') for each in rest]

    forged = resealed(lines(files, change))
    head = json.loads(forged[JOURNAL].splitlines()[-1])["hash"]
    return document(forged, lambda data: data["event_chains"][0].update(head=head))


def withhold(files: Files, number: int) -> Files:
    """An event without its payload, which an amendment explains."""
    before = files[JOURNAL]
    after = event(files, number, lambda data: (data.pop("payload"), data.pop("salt")))
    place = f"w-00000001:{number + 1}"
    return amend(after, redaction(JOURNAL, before, after[JOURNAL], events=[place]))


def good() -> Iterator[Case]:
    yield Case("good", "nothing", GOOD)
    yield Case("good-no-outputs", "nothing; the run wrote no files", run(outputs={}))
    yield Case(
        "good-many-folders",
        "nothing; outputs in folders have the names of files that are not listed at the top",
        run(outputs={"a/metadata.json": b"{}\n", "a/b/SHA256SUMS": b"", "a/b/c/empty": b""}),
    )
    failed = END._replace(payload={**END.payload, "status": "failed", "exit_code": 3})
    problem = Event("error.added", {"type": "RateLimitError", "message": "429: too many requests"})
    yield Case("good-failed-run", "nothing; the run itself failed", run([PAGE, problem, failed]))
    yield Case("good-killed-run", "nothing; the run was killed, so its end is estimated", run([PAGE, CALL]))
    second = Event("page.read", {"number": 2}, "w-00000002")
    yield Case(
        "good-two-writers", "nothing; two processes wrote events", run([PAGE, second, CALL, second, END])
    )
    yield Case(
        "good-large-integers",
        "nothing; integers from 2^53 up are hashed as text, small fractions as in RFC 8785",
        run(configuration=LARGE),
    )
    text = Event(
        "page.read", {"é": "\u2028", "\U0001f600": 1, "\ufb33": 2, "nul": "\u0000", "n": 1e21, "z": -0.0}
    )
    yield Case(
        "good-unusual-text",
        "nothing; keys are sorted by UTF-16 units, and control characters are escaped",
        run([text, END]),
    )
    yield Case(
        "good-link", "nothing; the run has a symbolic link", LINKED, made=(link("latest", "notes.txt"),)
    )
    yield Case(
        "good-odd-names",
        "nothing; names with a newline, a backslash, and a single dash",
        without(run(outputs=ODD_NAMES), *ODD_NAMES),
        made=tuple(file(path, data) for path, data in ODD_NAMES.items()),
    )
    unknown = document(GOOD, lambda data: data["generation"].update(ledger_note=None))
    yield Case("good-null-is-absent", "a field that is null was added to the document", unknown)
    yield Case("open-run", "nothing; the run is not closed", open_run(), "open", complete=False)


def link(path: str, target: str) -> Fields:
    return {"link": path, "target": target}


def file(path: str, data: bytes) -> Fields:
    return {"file": path, "content": data.decode()}


def amended() -> Iterator[Case]:
    yield Case("amended-withheld-file", "a file was removed, by an amendment", WITHHELD, "withheld")
    yield Case("amended-replaced-file", "a file was replaced, by an amendment", REPLACED, "amended")
    yield Case("amended-note", "a note was added, by an amendment", REMARKED)
    yield Case(
        "amended-withheld-event",
        "the payload of an event was removed, by an amendment",
        withhold(GOOD, 1),
        "amended withheld",
    )
    again = redaction("notes.txt", SHORTER, None)
    twice = without(amend(GOOD, redaction("notes.txt", NOTES, SHORTER), NOTE, again), "notes.txt")
    yield Case("amended-twice", "a file was replaced, and later removed", twice, "withheld")
    yield Case(
        "amendment-note-removed",
        "a note, the only amendment, was removed. Without a ledger or a signature this is not detected",
        GOOD,
    )
    yield changed(
        "amendment-file-back", "a removed file has its content back", {**WITHHELD, "notes.txt": NOTES}
    )
    yield changed(
        "amendment-other-content",
        "a replaced file has another content than the amendment names",
        {**REPLACED, "notes.txt": b"better\n"},
    )
    yield lost(
        "amendment-removed",
        "the amendment that explains a removed file was removed",
        without(WITHHELD, AMENDMENTS),
    )
    edited = replaced(WITHHELD, AMENDMENTS, b"not to be shared", b"by agreement")
    yield changed("amendment-changed", "the reason in an amendment was changed", edited, "chain withheld")
    torn = {**REMARKED, AMENDMENTS: REMARKED[AMENDMENTS][:-30]}
    yield changed("amendment-torn", "the last amendment is half a line", torn, "chain")
    yield changed(
        "amendment-empty-file",
        "there is a file of amendments without any",
        {**GOOD, AMENDMENTS: b""},
        "unexpected",
    )
    other = {**GOOD, AMENDMENTS: amendments("0" * 64, NOTE)}
    yield changed("amendment-of-another-record", "the amendments are those of another record", other, "chain")
    swapped = lines(amend(GOOD, NOTE, NOTE), lambda parts: parts.reverse(), AMENDMENTS)
    yield changed("amendment-order", "two amendments were swapped", swapped, "chain")
    second = amendments(digest(GOOD[METADATA]), redaction("notes.txt", NOTES, SHORTER), writer="m")
    beside = {**REMARKED, AMENDMENTS: second + REMARKED[AMENDMENTS], "notes.txt": SHORTER}
    yield changed("amendment-second-writer", "an amendment of a second writer", beside, "amended chain")


def _migrated_output() -> Case:
    """An amendment can only migrate a document; for a program that does not repeat migrations, any file will do."""
    forged = ("migration", {**redaction("notes.txt", NOTES, b"better\n")[1]})
    original = {f"../.runcard/originals/{digest(NOTES)}": NOTES}
    files = {**amend(GOOD, forged), "notes.txt": b"better\n", **original}
    return changed(
        "amendment-migrates-output", "an amendment calls other content of an output a migration", files
    )


def files() -> Iterator[Case]:
    yield changed("file-changed", "one byte of a file was changed", {**GOOD, "notes.txt": b"B" + NOTES[1:]})
    yield changed("file-emptied", "a file was emptied", {**GOOD, "notes.txt": b""})
    yield changed("file-extended", "a line was added to a file", {**GOOD, "notes.txt": NOTES + b"more\n"})
    yield changed(
        "file-line-ends",
        "the line ends of a file were converted",
        {**GOOD, "notes.txt": NOTES.replace(b"\n", b"\r\n")},
    )
    swapped = {**GOOD, "notes.txt": PERSONAS, "personas/1.json": NOTES}
    yield changed("files-swapped", "two files have each other's content", swapped)
    yield lost("file-missing", "a file was removed", without(GOOD, "notes.txt"))
    yield changed("file-added", "a file was added", {**GOOD, "better.txt": b"better\n"}, "unexpected")
    hidden = {**GOOD, "personas/.hidden": b"x\n"}
    yield changed("file-added-hidden", "a file was added whose name begins with a dot", hidden, "unexpected")
    renamed = without(GOOD, "notes.txt") | {"Notes.txt": NOTES}
    yield changed("file-renamed", "a file was renamed", renamed, "missing unexpected")._replace(
        complete=False
    )
    yield changed(
        "file-became-link", "a file was replaced by a link to a copy", without(GOOD, "notes.txt"), "link"
    )._replace(made=(link("notes.txt", "../notes.txt"),))
    yield changed("link-added", "a symbolic link was added", GOOD, "link")._replace(
        made=(link("new", "notes.txt"),)
    )
    yield changed("link-elsewhere", "a symbolic link points elsewhere", LINKED, "link")._replace(
        made=(link("latest", "personas/1.json"),)
    )
    yield changed("link-removed", "a symbolic link was removed", LINKED, "link")
    yield changed(
        "link-became-file",
        "a symbolic link was replaced by a file",
        {**LINKED, "latest": NOTES},
        "link unexpected",
    )


def checksum_list() -> Iterator[Case]:
    forged = {**GOOD, "notes.txt": b"better\n"}
    yield lost("list-missing", "the list of checksums was removed", without(GOOD, LISTING))
    yield changed("list-remade", "a file was changed, and the list of checksums made again", listed(forged))
    fewer = without(GOOD, "notes.txt")
    yield changed("list-shortened", "a file was removed, together with its line in the list", listed(fewer))
    yield changed(
        "list-comment",
        "a line that cannot be read was added to the list",
        {**GOOD, LISTING: b"# by hand\n" + GOOD[LISTING]},
    )
    upper = {**GOOD, LISTING: GOOD[LISTING].split(b" ")[0].upper() + GOOD[LISTING][64:]}
    yield changed("list-upper-case", "a digest in the list is in upper case", upper)
    yield changed(
        "list-line-end", "the last line of the list has no end", {**GOOD, LISTING: GOOD[LISTING][:-1]}
    )
    twice = lines(GOOD, lambda parts: parts.append(parts[-1]), LISTING)
    yield changed("list-duplicate", "a line of the list is there twice", twice)
    outside = {**GOOD, LISTING: GOOD[LISTING] + digest(b"").encode() + b"  ../outside\n"}
    yield changed("list-path-outside", "the list names a file outside of the record", outside)
    yield Case(
        "list-resealed-journal-untouched",
        "a file was changed, the list made again, and its digest in the document too. Nothing else names the file: "
        "without a ledger or a signature this is not detected",
        resealed(forged),
    )


def documents() -> Iterator[Case]:
    yield lost("document-missing", "the metadata document was removed", without(GOOD, METADATA))
    yield changed(
        "document-cut", "the metadata document was cut", {**GOOD, METADATA: GOOD[METADATA][:900]}, "document"
    )
    yield changed("document-empty", "the metadata document was emptied", {**GOOD, METADATA: b""}, "document")
    yield changed(
        "document-not-an-object", "the metadata document is a list", {**GOOD, METADATA: b"[]\n"}, "document"
    )
    doubled = replaced(
        GOOD, METADATA, b'"status": "completed"', b'"status": "completed", "status": "completed"'
    )
    yield changed("document-duplicate-key", "a key is there twice", doubled, "document")
    for name, what, edit in _DOCUMENT_EDITS:
        yield changed(
            f"document-{name}", f"in the document, {what} was changed", document(GOOD, edit), "document"
        )
    compact = {**GOOD, METADATA: encode_json(json.loads(GOOD[METADATA]), COMPACT)}
    yield Case(
        "document-other-layout",
        "the document was written again with the same content. Without a ledger or a signature this is not detected",
        compact,
    )
    newer = document(GOOD, lambda data: data.update(metadata_version="1.1"))
    yield Case(
        "document-newer-minor", "the document has a newer minor version, which a reader may not know", newer
    )
    future = document(GOOD, lambda data: data.update(metadata_version="2.0"))
    yield changed("document-newer-major", "the document has a newer major version", future, "document")


_DOCUMENT_EDITS: tuple[tuple[str, str, Callable[[Fields], Any]], ...] = (
    ("status", "the status", lambda data: data["generation"].update(status="failed")),
    (
        "start",
        "the start",
        lambda data: data["generation"].update(timestamp_start="2026-01-02T03:04:06Z", duration_seconds=9),
    ),
    (
        "end",
        "the end",
        lambda data: data["generation"].update(timestamp_end="2026-01-02T03:04:16Z", duration_seconds=11),
    ),
    ("command", "the command", lambda data: data["generation"].update(command=["python", "other.py"])),
    ("label", "a label", lambda data: data["generation"]["labels"].update(team="sales")),
    (
        "tokens",
        "the number of tokens",
        lambda data: (
            data["costs"].update(input_tokens=12),
            data["token_usage"].update(total_input_tokens=12, total_tokens=312),
            data["token_usage"]["breakdown_by_step"][0].update(input=12),
            data["token_usage"]["breakdown_by_model"][0].update(input=12),
        ),
    ),
    ("cost", "the cost", lambda data: data["costs"].update(total_cost_usd=0.001)),
    ("configuration", "the configuration", lambda data: data["configuration"].update(persona_count=30)),
    (
        "environment",
        "the version of Python",
        lambda data: data["environment"].update(python_version="3.11.0"),
    ),
    (
        "error-added",
        "an error",
        lambda data: data["errors"].append({"type": None, "message": "x", "timestamp": None}),
    ),
    (
        "inputs-digest",
        "the digest of the inputs",
        lambda data: data["checksums"].update(data="sha256:" + "0" * 64),
    ),
)


def _lists() -> Iterator[Case]:
    """Documents that a program could take for those of a run without chains or links."""
    for name, what, edit, kinds in (
        ("no-chains", "the ends of the chains were replaced by null", {"event_chains": None}, "document"),
        ("link", "a link without a target was added", {"symlinks": [{"path": "latest"}]}, "document link"),
        ("version", "the version is half of one", {"metadata_version": "1."}, "document"),
    ):
        edited = encode_json({**json.loads(GOOD[METADATA]), **edit})
        yield changed(f"document-{name}", what, {**GOOD, METADATA: edited}, kinds)


def journals() -> Iterator[Case]:
    more = "changed chain"
    bent = event(GOOD, 1, lambda data: data["payload"].update(number=2))
    yield changed("event-payload", "the payload of an event was changed", bent, more)
    yield changed(
        "event-payload-listed", "the same, and the list of checksums made again", listed(bent), more
    )
    yield changed(
        "event-payload-resealed",
        "the same, and the digest of the list in the document too",
        resealed(bent),
        "chain",
    )
    late = event(GOOD, 1, lambda data: data.update(timestamp="2026-01-02T03:04:06.5Z"))
    yield changed("event-time", "the time of an event was changed", late, more)
    rehashed = event(GOOD, 1, lambda data: data["payload"].update(number=2), rehash=True)
    yield changed("event-rehashed", "an event was changed, and its hash computed again", rehashed, more)
    yield changed(
        "event-removed", "an event in the middle was removed", lines(GOOD, lambda parts: parts.pop(1)), more
    )
    yield changed(
        "events-swapped",
        "two events were swapped",
        lines(GOOD, lambda parts: parts.insert(1, parts.pop(2))),
        more,
    )
    yield changed(
        "event-repeated",
        "an event is there twice",
        lines(GOOD, lambda parts: parts.insert(1, parts[1])),
        more,
    )
    yield changed(
        "event-not-json",
        "a line of the journal is not JSON",
        lines(GOOD, lambda parts: parts.insert(2, b"{\n")),
        more,
    )
    yield from _lax_events()
    yield changed(
        "event-salt", "the salt of an event was removed", event(GOOD, 1, lambda data: data.pop("salt")), more
    )
    yield changed(
        "event-withheld-silently",
        "the payload of an event was removed without an amendment",
        event(GOOD, 1, lambda data: (data.pop("payload"), data.pop("salt"))),
        "changed withheld",
    )
    last = lines(GOOD, lambda parts: parts.pop())
    yield changed("journal-cut", "the last event was removed", last, "changed document tail")._replace(
        complete=False
    )
    half = {**GOOD, JOURNAL: GOOD[JOURNAL][:-40]}
    yield changed(
        "journal-torn", "the last event is half a line", half, "changed chain document tail"
    )._replace(complete=False)
    longer = {**GOOD, JOURNAL: journal([Event("run.started", start()), *EVENTS, PAGE])}
    yield changed("journal-extended", "an event was added at the end, with the right hash", longer, more)
    stranger = {
        **GOOD,
        JOURNAL: journal([Event("run.started", start()), *EVENTS, Event("page.read", {}, "w-00000009")]),
    }
    yield changed("journal-writer-added", "an event of another process was added at the end", stranger, more)
    yield lost("journal-missing", "the journal was removed", without(GOOD, JOURNAL))
    yield lost(
        "journal-missing-resealed",
        "the journal was removed from the record, the list and its digest in the document",
        resealed(without(GOOD, JOURNAL)),
    )
    better = Event(CALL.name, {**CALL.payload, "tokens": {"input": 12, "output": 3}})
    afresh = {**GOOD, JOURNAL: journal([Event("run.started", start()), PAGE, better, END])}
    yield changed(
        "journal-afresh", "the journal was written afresh with fewer tokens", afresh, "changed chain document"
    )
    elsewhere = journal([Event("run.started", start()), *EVENTS], RUN_ID.replace("run-01k", "run-01m"))
    yield changed(
        "journal-of-another-run", "the journal is that of another run", {**GOOD, JOURNAL: elsewhere}, more
    )
    yield changed(
        "journal-head-changed",
        "in the document, the hash of the last event was changed",
        document(GOOD, lambda data: data["event_chains"][0].update(head="0" * 64)),
        "chain",
    )
    yield lost(
        "journal-count-changed",
        "in the document, the number of events was changed",
        document(GOOD, lambda data: data["event_chains"][0].update(count=5)),
        "tail",
    )
    document_start = start()
    whole = close(
        document_start,
        {"notes.txt": b"better\n"},
        journal([Event("run.started", document_start), better, END]),
    )
    yield Case(
        "forged-as-a-whole",
        "the whole record was made by somebody else. Only a signature or a ledger shows this",
        whole,
    )


def _lax_events() -> Iterator[Case]:
    """Lines that are right for a program that reads JSON laxly; the list of checksums was made again."""
    for name, what, old, new in (
        ("duplicate-key", "a key is there twice in an event", b'{"seq":2,', b'{"seq":9,"seq":2,'),
        (
            "number-with-fraction",
            "the number of an event is written with a fraction",
            b'"seq":2,',
            b'"seq":2.0,',
        ),
    ):
        yield changed(f"event-{name}", what, resealed(replaced(GOOD, JOURNAL, old, new)), "chain")
    half = "a text of an event has half of a surrogate pair, and the digests were computed again"
    yield changed("event-half-character", half, half_character(GOOD), "chain")


def run_cases() -> Iterator[Case]:
    """All runs that are not signed."""
    yield from good()
    yield from amended()
    yield _migrated_output()
    yield from files()
    yield from checksum_list()
    yield from documents()
    yield from _lists()
    yield from journals()
