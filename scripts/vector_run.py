"""A run for the test vectors, built without clock or chance: the same bytes each time."""

from collections.abc import Sequence
from hashlib import sha256
from typing import Any, NamedTuple

from runcard.checksums import Listing, Symlink
from runcard.digests import Digest
from runcard.documents import chain
from runcard.documents.run.fold import FileFacts, fold
from runcard.encoding import encode_json

Files = dict[str, bytes]  # the files of a record, by path
Fields = dict[str, Any]

RUN_ID, EXPERIMENT_ID = "run-01k0000000000000000000", "exp-01k0000000000000000000"
DIRECTORY = "2026-01-02_030405"
WRITER = "w-00000001"
METADATA, LISTING, JOURNAL = "metadata.json", "SHA256SUMS", "experiment.jsonl"
AMENDMENTS, SIGNATURE = "amendments.jsonl", "metadata.json.sig"
NOT_LISTED = {METADATA, LISTING, AMENDMENTS, SIGNATURE}

NOTES = b"Anna wants fewer meetings.\n"
PERSONAS = b'[{"name": "Anna"}]\n'
OUTPUTS: Files = {"notes.txt": NOTES, "personas/1.json": PERSONAS}


class Event(NamedTuple):
    """An event of a journal."""

    name: str
    payload: Fields
    writer: str = WRITER


PAGE = Event("page.read", {"number": 1})
CALL = Event(
    "model.called",
    {
        "step": "extract",
        "model": "example-model-1",
        "provider": "example",
        "response_id": "msg_01",
        "tokens": {"input": 1200, "output": 300},
        "token_source": "reported",
        "cost_usd": 0.0125,
        "cost_source": "stated",
    },
)
END = Event(
    "run.ended",
    {
        "status": "completed",
        "timestamp_end": "2026-01-02T03:04:15Z",
        "duration_seconds": 10,
        "exit_code": None,
        "resources": {"cpu_seconds": 0.5, "peak_memory_bytes": 1048576},
    },
)
EVENTS = (PAGE, CALL, END)


def digest(data: bytes) -> str:
    return sha256(data).hexdigest()


def salt(number: int) -> str:
    return digest(b"salt %d" % number)[:32]


def start(configuration: Fields | None = None, status: str = "running") -> Fields:
    """The document that a run starts with."""
    return {
        "metadata_version": "1.0",
        "producer": {"name": "runcard", "version": "0.1.0"},
        "generation": {
            "experiment_id": EXPERIMENT_ID,
            "experiment_name": None,
            "run_id": RUN_ID,
            "status": status,
            "timestamp_start": "2026-01-02T03:04:05Z",
            "timestamp_end": None,
            "duration_seconds": None,
            "command": ["python", "generate.py"],
            "exit_code": None,
            "labels": {"team": "ux"},
            "process": {"pid": 4711, "started": "2026-01-02T03:04:04Z", "host": "example", "boot_id": None},
            "estimated": [],
        },
        "configuration": configuration
        or {"model": "example-model-1", "provider": "example", "persona_count": 3},
        "data_sources": {"files": [], "total_files": 0, "total_bytes": 0, "total_tokens": None},
        "environment": {
            "runcard_version": "0.1.0",
            "python_version": "3.12.0",
            "platform": "linux",
            "timezone": "Etc/UTC",
            "git": None,
            "packages": {},
            "lockfiles": {},
            "container": None,
        },
        "costs": {"input_tokens": None, "output_tokens": None, "total_cost_usd": None},
        "relations": [],
        "trace": None,
        "checksums": {"config": None, "data": None, "output": None},
    }


def journal(events: Sequence[Event], run_id: str = RUN_ID) -> bytes:
    """A journal with a chain for each writer."""
    raw, ends = b"", dict[str, tuple[int, str]]()
    for number, event in enumerate(events):
        count, prev = ends.get(event.writer, (0, chain.first_link(run_id, event.writer)))
        fields = {
            "seq": count + 1,
            "timestamp": f"2026-01-02T03:04:{5 + number:02}Z",
            "level": "info",
            "event": event.name,
            "experiment_id": EXPERIMENT_ID,
            "run_id": run_id,
            "elapsed": number,
            "writer": event.writer,
        }
        line = chain.write_line(fields, event.payload, salt(number), prev)
        ends[event.writer] = (count + 1, line.hash)
        raw += line.raw
    return raw


def lines_of(data: bytes) -> list[Fields]:
    return [entry.line for entry in chain.parse(data).entries]


def listing(files: Files) -> bytes:
    """`SHA256SUMS` of these files."""
    listed = {path: digest(data) for path, data in files.items() if path not in NOT_LISTED}
    return Listing.from_hex(listed).to_bytes()


def close(document: Fields, files: Files, raw: bytes, links: Sequence[Symlink] = ()) -> Files:
    """A closed run with these outputs and this journal; `document` is what it started with."""
    files = {**files, JOURNAL: raw}
    sums = listing(files)
    checked = chain.check(chain.parse(raw), RUN_ID)
    symlinks = [{"path": link.path, "target": link.target} for link in links]
    facts = FileFacts(str(Digest("sha256", digest(sums))), symlinks, checked.heads, None)
    return {**files, LISTING: sums, METADATA: encode_json(fold(document, lines_of(raw), facts))}


def run(
    events: Sequence[Event] = EVENTS,
    outputs: Files | None = None,
    configuration: Fields | None = None,
    links: Sequence[Symlink] = (),
) -> Files:
    """A closed run."""
    document = start(configuration)
    raw = journal([Event("run.started", document), *events])
    return close(document, OUTPUTS if outputs is None else outputs, raw, links)


def open_run() -> Files:
    """A run that was not closed."""
    document = start()
    return {
        **OUTPUTS,
        JOURNAL: journal([Event("run.started", document), PAGE]),
        METADATA: encode_json(document),
    }


def amendments(first: str, *entries: tuple[str, Fields], writer: str = "amendments") -> bytes:
    """A chain of amendments that begins with the digest of the metadata document."""
    raw, prev = b"", first
    for number, (event, payload) in enumerate(entries, 1):
        time = f"2026-01-03T00:00:{number:02}Z"
        fields = {"seq": number, "timestamp": time, "event": event, "writer": writer}
        line = chain.write_line(fields, {**payload, "who": "ada", "when": time}, salt(100 + number), prev)
        raw, prev = raw + line.raw, line.hash
    return raw


def amend(files: Files, *entries: tuple[str, Fields]) -> Files:
    return {**files, AMENDMENTS: amendments(digest(files[METADATA]), *entries)}


def redaction(path: str, old: bytes, new: bytes | None, **facts: object) -> tuple[str, Fields]:
    """An amendment that replaced a file, or removed it."""
    after = None if new is None else digest(new)
    return "redaction", {
        "path": path,
        "old_sha256": digest(old),
        "new_sha256": after,
        "why": "not to be shared",
        **facts,
    }


NOTE: tuple[str, Fields] = ("note", {"text": "read by two people"})
