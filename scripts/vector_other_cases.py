"""Sessions, archives and stores of the test vectors. They begin with records that runcard wrote: `vectors/sources`."""

import gzip
import io
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from vector_cases import Case, replaced, without
from vector_run import Files, amend, digest, listing, redaction

from runcard.encoding import Limits
from runcard.operations.amendments.document_migration import prepare_migration

SOURCES = Path(__file__).resolve().parents[1] / "vectors" / "sources"
STORE = "artifacts"
FIRST, SECOND = (path.name for path in sorted((SOURCES / STORE).iterdir()) if path.name[0] != ".")
(ARCHIVE,) = SOURCES.glob("*.tar.gz")
OUTPUT, PLAN = "instances/lead-1/output.log", "instances/lead-1/workspace/plan.md"
AUDIT, INSTANCE, TEAM = "audit.jsonl", "instances/lead-1/metadata.json", "metadata.json"


def files_of(folder: Path) -> Files:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }


def session_cases() -> Iterator[Case]:
    good = files_of(SOURCES / STORE / FIRST)

    def case(name: str, done: str, files: Files, kinds: str, *, complete: bool = True) -> Case:
        intact = not set(kinds.split()) - {"missing", "tail"}
        return Case(
            f"session-{name}",
            done,
            files,
            kinds,
            intact=intact,
            complete=complete,
            kind="session",
            record=FIRST,
        )

    yield case("good", "nothing", good, "")
    yield case(
        "output-changed", "the output of an agent was changed", {**good, OUTPUT: b"better\n"}, "changed"
    )
    listed = {**good, OUTPUT: b"better\n"}
    yield case(
        "list-remade",
        "the same, and the list of checksums made again",
        {**listed, "SHA256SUMS": listing(listed)},
        "changed document",
    )
    yield case(
        "workspace-missing",
        "a file of a workspace was removed",
        without(good, PLAN),
        "missing",
        complete=False,
    )
    yield case("file-added", "a file was added to a workspace", {**good, f"{PLAN}.new": b"x\n"}, "unexpected")
    yield case("link-added", "a symbolic link was added to a workspace", good, "link")._replace(
        made=({"link": "instances/lead-1/workspace/new", "target": "plan.md"},)
    )
    fewer = replaced(good, TEAM, b'"total_tokens": 1500', b'"total_tokens": 15')
    yield case("tokens", "in the team document, the number of tokens was changed", fewer, "document")
    other = replaced(good, TEAM, b'"hostname": "example"', b'"hostname": "another"')
    yield case("host", "in the team document, the name of the host was changed", other, "document")
    instance = replaced(good, INSTANCE, b'"model": "example-model-1"', b'"model": "example-model-2"')
    yield case("instance", "the document of an agent names another model", instance, "changed document")
    lines = good[AUDIT].splitlines(keepends=True)
    yield case(
        "event-removed",
        "an event was removed from the journal",
        {**good, AUDIT: b"".join(lines[:1] + lines[2:])},
        "chain changed",
    )
    yield case(
        "journal-cut",
        "the last event was removed",
        {**good, AUDIT: b"".join(lines[:-1])},
        "changed tail",
        complete=False,
    )
    yield case("renamed", "the directory was renamed", good, "chain")._replace(record=f"{FIRST}-better")


def packed(edit: Callable[[dict[str, tarfile.TarInfo], dict[str, bytes]], Any]) -> bytes:
    """The archive with other members, not compressed, so that the bytes do not depend on a library."""
    with tarfile.open(ARCHIVE) as source:
        members = {member.name: member for member in source}
        contents = {
            name: file.read() for name, member in members.items() if (file := source.extractfile(member))
        }
    edit(members, contents)
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w", format=tarfile.PAX_FORMAT) as target:
        for name, member in members.items():
            member.name = name
            member.size = len(contents.get(name, b""))
            member.pax_headers = {}
            target.addfile(member, io.BytesIO(contents.get(name, b"")))
    return gzip.compress(raw.getvalue(), 0, mtime=0)


def archive_cases() -> Iterator[Case]:
    data, top = ARCHIVE.read_bytes(), ARCHIVE.name.removesuffix(".tar.gz")

    def case(
        name: str, done: str, archive: bytes, kinds: str, *, intact: bool, complete: bool = True
    ) -> Case:
        return Case(
            f"archive-{name}",
            done,
            {ARCHIVE.name: archive},
            kinds,
            intact,
            complete,
            kind="archive",
            record=ARCHIVE.name,
        )

    def member(name: str, kind: bytes = tarfile.REGTYPE, target: str = "") -> tarfile.TarInfo:
        info = tarfile.TarInfo(name)
        info.type, info.linkname = kind, target
        return info

    yield case("good", "nothing", data, "", intact=True)
    yield case("packed-again", "the same files were packed again", packed(lambda *_: None), "", intact=True)
    yield case(
        "file-changed",
        "a file in it was changed",
        packed(lambda _, files: files.update({f"{top}/{OUTPUT}": b"better\n"})),
        "changed",
        intact=False,
    )
    yield case(
        "file-missing",
        "a file in it was left out",
        packed(lambda members, _: members.pop(f"{top}/{PLAN}")),
        "missing",
        intact=True,
        complete=False,
    )
    added = f"{top}/new.txt"
    yield case(
        "file-added",
        "a file was added to it",
        packed(lambda members, _: members.update({added: member(added)})),
        "unexpected",
        intact=False,
    )
    link = f"{top}/new"
    yield case(
        "link-added",
        "a symbolic link was added to it",
        packed(lambda members, _: members.update({link: member(link, tarfile.SYMTYPE, "/etc/passwd")})),
        "link",
        intact=False,
    )
    yield case(
        "path-outside",
        "it has a file outside of the record",
        packed(lambda members, _: members.update({"../outside": member("../outside")})),
        "unexpected",
        intact=False,
    )
    yield case(
        "cut",
        "the second half of it is missing",
        data[: len(data) // 2],
        "missing",
        intact=True,
        complete=False,
    )
    yield case("not-an-archive", "it is not an archive", b"garbage\n", "missing", intact=True, complete=False)


def store_cases() -> Iterator[Case]:
    good = files_of(SOURCES / STORE)
    (ledger,) = (path for path in good if path.startswith(".runcard/ledger-"))
    lines = good[ledger].splitlines(keepends=True)

    def case(
        name: str, done: str, files: Files, kinds: str, *, intact: bool = True, complete: bool = True
    ) -> Case:
        return Case(f"store-{name}", done, files, kinds, intact, complete, kind="store", record=STORE)

    def only(*names: str) -> Files:
        return {path: data for path, data in good.items() if path.split("/")[0] in names}

    yield case("good", "nothing", good, "")
    yield case("record-removed", "a record was removed", only(".runcard", FIRST), "ledger", complete=False)
    yield case(
        "last-record-removed",
        "the last record was removed with its entry in the ledger. Only a signature or a pin shows this",
        {**only(".runcard", FIRST), ledger: lines[0]},
        "",
    )
    first = {**only(".runcard", SECOND), ledger: lines[1]}
    yield case(
        "first-record-removed",
        "the first record was removed with its entry in the ledger",
        first,
        "ledger chain",
        intact=False,
        complete=False,
    )
    edited = replaced(good, f"{FIRST}/{TEAM}", b'"total_tokens": 1500', b'"total_tokens": 15')
    yield case(
        "document-changed",
        "in the document of a record, a number was changed",
        edited,
        "document ledger",
        intact=False,
    )
    changed = replaced(good, ledger, b"record.closed", b"record.opened")
    yield case("ledger-changed", "an entry of the ledger was changed", changed, "chain", intact=False)


def migrated_cases() -> Iterator[Case]:
    """A session of which one document was migrated: what it was before is needed to check that."""
    good, place = files_of(SOURCES / STORE / FIRST), str(SOURCES / STORE / FIRST / INSTANCE)
    old = good[INSTANCE]
    new = prepare_migration(place, "1.0.0", None, None, Limits()).after
    original = f".runcard/originals/{digest(old)}"

    def case(name: str, done: str, files: Files, kinds: str, **verdict: bool) -> Case:
        return Case(f"session-{name}", done, files, kinds, kind="session", record=FIRST, **verdict)  # type: ignore[arg-type]

    def migrated(after: bytes) -> Files:
        return {**amend(good, ("migration", redaction(INSTANCE, old, after)[1])), INSTANCE: after}

    yield case(
        "migrated",
        "a document was migrated, and an archive that had the document from before was unpacked",
        {**migrated(new), original: old},
        "amended",
    )
    yield case(
        "migrated-alone",
        "a document was migrated, and the document from before is not there",
        migrated(new),
        "missing",
        complete=False,
    )
    other = new.replace(b'"example-model-1"', b'"example-model-2"')
    yield case(
        "migrated-otherwise",
        "what an amendment calls a migration gave a document another model",
        {**migrated(other), original: old},
        "changed document",
        intact=False,
    )
    yield case(
        "original-changed",
        "a document was migrated, and the document from before was replaced",
        {**migrated(new), original: old + b" "},
        "missing unexpected",
        intact=False,
        complete=False,
    )


def other_cases() -> Iterator[Case]:
    """All records that are no runs."""
    yield from session_cases()
    yield from migrated_cases()
    yield from archive_cases()
    yield from store_cases()
