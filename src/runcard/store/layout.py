"""The names of the files that make up a record and a store: the only module that knows them.

A run is a directory with a generation document; a session is a directory with a team document, a manifest and a
directory for each instance. Everything else in them is output.
"""

import os
import re
import stat
from collections.abc import Collection
from datetime import UTC, datetime

from runcard.files import open_directory
from runcard.store.directory_names import session_name

METADATA = "metadata.json"
MANIFEST = "manifest.json"
INSTANCES = "instances"
SUMMARY = "summary.md"
AUDIT = "audit.jsonl"
WORKSPACE = "workspace"
TRANSCRIPTS = "transcripts"  # copies of the session files of an agent's own tool
CHECKSUMS = "SHA256SUMS"
JOURNAL = "experiment.jsonl"
OUTPUT = "output.log"  # the output of a command or an agent
README = "README.md"
OTHER_README = "RUNCARD.md"  # where the user's program wrote a README.md of its own
AMENDMENTS = "amendments.jsonl"
SIGNATURE = "metadata.json.sig"
LEDGER_SIGNATURES = "ledgers.sig"  # in the folder of a store's own files
TIMESTAMPS = "metadata.json.tsr"  # replies of time-stamping authorities, one after the other
USER = "user"  # where a user's file goes that has one of these names
OUTPUT_COPIES = "outputs"  # where a run keeps copies of the files that its command wrote elsewhere
ABSOLUTE_COPIES = "absolute"  # in there: copies of files that were outside of the working directory
SPECIAL = "special-file"  # the type of the warning about a FIFO, socket or device that a run leaves
DAMAGED = "damaged-journal"  # and of the one about events that were lost before a run was closed

# The files that SHA256SUMS does not cover: itself, and those that are written or may change after it.
NOT_LISTED = frozenset({CHECKSUMS, METADATA, AMENDMENTS, SIGNATURE, TIMESTAMPS})

EXPERIMENTS = "experiments"  # the folder of experiments, in the directory that the user works in
CONFIG = "config.yaml"
DATA = "data"
OUTPUTS = "outputs"

ARCHIVE = "archive"  # where a store keeps its archives
ARCHIVE_INDEX = "archive_index.json"
PACKED = ".tar.gz"
PROOF = ".proof.json"  # the end of the name of a proof that is sent beside a record

_STORE = ".runcard"
_OPEN = "open"
# Patterns are compiled when they are first used: hardly any command needs one.
_OTHER_JOURNAL = r"experiment\.(w-[0-9a-f]+)\.jsonl"
_UNSAFE = r"[^A-Za-z0-9._-]+"
_COLLECTIONS = ".open"
_COLLECTION = r"(.+)\.([0-9a-f]{8})"
_CLOSING = ".closing"
_LIVE_START = "session.json"
_LIVE_JOURNAL = "events.jsonl"
_LIVE_OTHER_JOURNAL = r"events\.(w-[0-9a-f]+)\.jsonl"
_LIVE_HEARTBEAT = "heartbeat"
_LIVE_LOG = ".log"
_NEW_LIVE = ".new-"
_COPY = ".metadata.json"
_PLACES = ".index.json"
_ANCHOR = ".json"
_LEAVES = ".leaves.jsonl"  # of an anchor
_REPLIES = ".tsr"  # of authorities, about an anchor
_MONTH = r"\d{4}-\d{2}(?=-\d{2}_)"
_DOCUMENTS = frozenset({METADATA, MANIFEST, CHECKSUMS, AMENDMENTS, SIGNATURE, TIMESTAMPS, AUDIT, JOURNAL})


def other_journal(writer: str) -> str:
    return f"experiment.{writer}.jsonl"


def journals(run: str) -> list[str]:
    """The journals of a run that is open: the owner's first."""
    paths = (os.path.join(run, name) for name in journal_names(os.listdir(run)))
    return [path for path in paths if may_be_file(path)]


def journal_names(names: Collection[str]) -> list[str]:
    """Those of the names in a run's directory that are a journal's, whatever they stand for: the owner's first."""
    others = sorted(name for name in names if re.fullmatch(_OTHER_JOURNAL, name))
    return [JOURNAL, *others] if JOURNAL in names else others


def experiment_folder(name: str) -> str:
    """The folder of an experiment."""
    return os.path.join(EXPERIMENTS, name)


def experiment_outputs() -> list[str]:
    """The stores of the experiments that have a folder."""
    folders = [os.path.join(EXPERIMENTS, name, OUTPUTS) for name in sorted(_names_in(os.curdir, EXPERIMENTS))]
    return [folder for folder in folders if _is_folder(folder)]


def collections(store: str) -> str:
    """The folder of sessions that are not complete yet."""
    return os.path.join(store, _COLLECTIONS)


def collection(store: str, session_id: str, moment: datetime) -> str:
    """Where a session is put together. Its name is taken by one collection of a second, as the final one will be."""
    return os.path.join(store, _COLLECTIONS, f"{session_id}.{int(moment.timestamp()) & 0xFFFFFFFF:08x}")


def collected_name(collection: str) -> str | None:
    """The name that a session gets which is put together in this place; None for a place of another kind."""
    match = re.fullmatch(_COLLECTION, os.path.basename(collection))
    return match and session_name(datetime.fromtimestamp(int(match[2], 16), UTC), match[1])


def closing_mark(collection: str) -> str:
    """The mark of a session that has its name, and perhaps not yet its entry in the ledger."""
    return collection + _CLOSING


def closing_of(mark: str) -> str | None:
    """The directory that a closing mark belongs to; None for another name."""
    return mark.removesuffix(_CLOSING) if mark.endswith(_CLOSING) else None


def open_collections(store: str) -> list[str]:
    """The sessions of a store that are not complete; raises OSError when it cannot be read, StoreError at a link."""
    folder = collections(store)
    names = sorted(_names_in(store, _COLLECTIONS), key=os.fsencode)
    return [path for path in (os.path.join(folder, name) for name in names) if _is_folder(path)]


def is_collection(path: str) -> bool:
    """Whether this is the directory of a session that is not complete."""
    return os.path.basename(os.path.dirname(os.path.abspath(path))) == _COLLECTIONS and _is_folder(path)


def live_session(store: str, session_id: str) -> str:
    """Where a session is while it is recorded."""
    return os.path.join(store, _COLLECTIONS, session_id)


def new_live_session(store: str, random: str) -> str:
    """Where the directory of a session is made that is to be recorded: it gets its name when it is complete."""
    return os.path.join(store, _COLLECTIONS, f"{_NEW_LIVE}{random}")


def is_new_live_session(path: str) -> bool:
    """Whether an entry of `.open/` is a directory that was not complete when its process was killed."""
    return os.path.basename(path).startswith(_NEW_LIVE) and _is_folder(path)


def live_start(live: str) -> str:
    """The start document of a session that is being recorded."""
    return os.path.join(live, _LIVE_START)


def live_journal(live: str, writer: str | None = None) -> str:
    """The journal of a session's owner, or that of another writer."""
    return os.path.join(live, _LIVE_JOURNAL if writer is None else f"events.{writer}.jsonl")


def live_heartbeat(live: str) -> str:
    """The file that says when the owner of a session was last alive."""
    return os.path.join(live, _LIVE_HEARTBEAT)


def live_log(live: str, instance_id: str) -> str:
    """What an instance has logged so far."""
    return os.path.join(live, instance_id + _LIVE_LOG)


def live_journals(live: str) -> list[str]:
    """The journals of a session that is being recorded: the owner's first."""
    names = os.listdir(live)
    others = sorted(name for name in names if re.fullmatch(_LIVE_OTHER_JOURNAL, name))
    paths = [os.path.join(live, name) for name in (_LIVE_JOURNAL, *others) if name in names]
    return [path for path in paths if may_be_file(path)]


def is_live_session(path: str) -> bool:
    """Whether this is the directory of a session that is being recorded, or was when its process died: by its content.

    An id may look like the name of a collection: `team.deadbeef`.
    """
    is_there = os.path.basename(os.path.dirname(os.path.abspath(path))) == _COLLECTIONS and _is_folder(path)
    return is_there and may_be_file(live_start(path)) and not os.path.basename(path).startswith(".")


def live_sessions(store: str) -> list[str]:
    """The sessions of a store that are being recorded; raises OSError when it cannot be read, StoreError at a link."""
    return [path for path in open_collections(store) if is_live_session(path)]


def is_session(folder: str) -> bool:
    """Whether a record is a session by its files, whatever its metadata says."""
    names = (AUDIT, INSTANCES)
    return any(os.path.lexists(os.path.join(folder, name)) for name in names) and not os.path.lexists(
        os.path.join(folder, JOURNAL)
    )


def instance_file(instance_id: str, name: str) -> str:
    """The path of an instance's file, relative to the session."""
    return f"{INSTANCES}/{instance_id}/{name}"


def is_instance_content(path: str) -> bool:
    """Whether a file of a session is from the workspace of an instance, or a transcript of it."""
    parts = path.split("/", 3)
    return parts[0] == INSTANCES and len(parts) > 2 and parts[2] in {OUTPUT, WORKSPACE, TRANSCRIPTS}


def workspace_of(path: str) -> str | None:
    """The instance whose workspace a file of a session is from."""
    parts = path.split("/", 3)
    return parts[1] if parts[0] == INSTANCES and len(parts) > 3 and parts[2] == WORKSPACE else None


def is_document(path: str) -> bool:
    """Whether a file of a record is runcard's own and is read to verify it."""
    if path.rpartition("/")[2] not in _DOCUMENTS:
        return False
    parts = path.split("/")
    return len(parts) == 1 or (len(parts) == 3 and parts[0] == INSTANCES and parts[2] == METADATA)


def archive_folder(store: str) -> str:
    return os.path.join(store, ARCHIVE)


def archive_file(name: str, moment: datetime) -> str:
    """The path of a record's archive in a folder of archives: by the month in its name, or of its start."""
    month = re.match(_MONTH, name)
    return f"{month[0] if month else f'{moment:%Y-%m}'}/{name}{PACKED}"


def is_taken(store: str, name: str, moment: datetime) -> bool:
    """Whether a record of a store has this name, or had it before it was archived."""
    if os.path.lexists(os.path.join(store, name)):
        return True
    return os.path.lexists(os.path.join(archive_folder(store), archive_file(name, moment)))


def archives_in(folder: str) -> list[str]:
    """The archives in a folder of archives, relative to it; no link is followed."""
    months = [name for name in _names_in(folder) if is_month(name) and _is_folder(os.path.join(folder, name))]
    paths = [f"{month}/{name}" for month in months for name in _names_in(folder, month) if is_archive(name)]
    return sorted(path for path in paths if not path.partition("/")[2].startswith("."))


def is_month(name: str) -> bool:
    """Whether a name in a folder of archives is that of a month."""
    return re.fullmatch(r"\d{4}-\d{2}", name, re.ASCII) is not None


def is_dated(name: str) -> bool:
    """Whether a name begins with a date, as those of runs and sessions do."""
    return re.match(r"\d{4}-\d{2}-\d{2}[_T-]", name, re.ASCII) is not None


def is_archive(path: str) -> bool:
    """Whether a path is that of an archive, by its name."""
    return path.endswith(PACKED)


def archived_name(archive: str) -> str:
    """The name of the record that an archive holds."""
    return os.path.basename(archive).removesuffix(PACKED)


def metadata_copy(archive: str) -> str:
    """Where the metadata document of an archived record can be read without opening the archive."""
    return archive.removesuffix(PACKED) + _COPY


def member_index(archive: str) -> str:
    """The index beside an archive that says at which offset each file is."""
    return archive.removesuffix(PACKED) + _PLACES


def folder_of_archive(archive: str) -> str:
    """The folder of archives that an archive is in."""
    return os.path.dirname(os.path.dirname(os.path.abspath(archive)))


def is_archive_folder(path: str) -> bool:
    """Whether a folder is one of archives, and nothing but that."""
    return may_be_file(os.path.join(path, ARCHIVE_INDEX)) and not records(path)


def is_own_archive_folder(folder: str) -> bool:
    """Whether a folder of archives is the one that a store has by default."""
    return os.path.basename(folder) == ARCHIVE


def archived_aside(store: str, name: str) -> str:
    """Where a record goes whose archive is complete, before it is removed."""
    return os.path.join(store, _STORE, f"archived-{name}")


def restored_aside(store: str, name: str) -> str:
    """Where a record is unpacked before it has its name again."""
    return os.path.join(store, _STORE, f"restoring-{name}")


def copied_aside(run: str) -> str:
    """Where files are copied that are to become outputs of a run, before they are complete."""
    return os.path.join(own_folder(store_of(run)), f"copying-{os.path.basename(run)}")


def is_aside(name: str) -> bool:
    """Whether a name in a store's own folder is that of a record on its way out, or one that is being restored."""
    return name.startswith(("archived-", "pruned-", "restoring-"))


def pruned_record(store: str, aside: str) -> str | None:
    """Where the record was that is deleted under this name, aside; None for another name."""
    name = aside.removeprefix("pruned-")
    return None if name in {"", aside} else os.path.join(store, name)


def pruned_aside(store: str, name: str) -> str:
    """Where a record goes that is to be deleted, before it is."""
    return os.path.join(store, _STORE, f"pruned-{name}")


def own_folder(store: str) -> str:
    """The folder of a store's own files."""
    return os.path.join(store, _STORE)


def ledger_signatures(store: str) -> str:
    """The signatures of the ledgers of a store, an envelope on each line."""
    return os.path.join(own_folder(store), LEDGER_SIGNATURES)


def ledger_paths(store: str) -> list[str]:
    """The ledgers of a store, one for each host; raises OSError when it cannot be read, StoreError at a link."""
    names = sorted(_names_in(store, _STORE))
    return [
        os.path.join(own_folder(store), name)
        for name in names
        if name.startswith("ledger-") and name.endswith(".jsonl")
    ]


def _names_in(store: str, *folder: str) -> list[str]:
    """The names in one of a store's own folders; none if there is no such folder."""
    try:
        with open_directory(store or ".", *folder) as descriptor:
            return os.listdir(descriptor)
    except (FileNotFoundError, NotADirectoryError):
        return []


def open_folder(store: str) -> str:
    """Where a store keeps the names of the runs that are open."""
    return os.path.join(store, _STORE, _OPEN)


def open_mark(run: str) -> str:
    """The mark of an open run: a second name of its journal, which is not removed by accident."""
    return os.path.join(open_folder(store_of(run)), os.path.basename(run))


def heartbeat(run: str) -> str:
    """The file that says when the owner of an open run was last alive."""
    return os.path.join(store_of(run), _STORE, "heartbeats", os.path.basename(run))


def originals(store: str) -> str:
    """Where a store keeps the bytes that amendments replaced."""
    return os.path.join(store, _STORE, "originals")


def original(store: str, digest: str) -> str:
    """The file with the bytes that an amendment replaced."""
    return os.path.join(originals(store), digest)


def archived_original(digest: str) -> str:
    """The path of such a file in the archive of its record."""
    return f"{_STORE}/originals/{digest}"


def is_archived_original(path: str) -> bool:
    """Whether a file of an archive is named like one of these."""
    return (
        path.startswith(archived_original(""))
        and re.fullmatch("[0-9a-f]{64}", path.rpartition("/")[2]) is not None
    )


def anchors(store: str) -> str:
    """Where a store keeps its anchors."""
    return os.path.join(store, _STORE, "anchors")


def anchor_names(store: str) -> list[str]:
    """The names of a store's anchors, oldest first; raises OSError when they cannot be listed, StoreError at a link."""
    names = _names_in(store, _STORE, "anchors")
    return sorted(name.removesuffix(_ANCHOR) for name in names if name.endswith(_ANCHOR))


def unpublished_leaves(names: set[str]) -> list[str]:
    """Those of the files in a store's folder of anchors that are leaves of no anchor: it has neither document nor reply."""
    anchors = [name.removesuffix(_LEAVES) for name in names if name.endswith(_LEAVES)]
    return [name + _LEAVES for name in anchors if names.isdisjoint({name + _ANCHOR, name + _REPLIES})]


def anchor_document(store: str, name: str) -> str:
    """The document of an anchor: the root of its tree, which is time-stamped."""
    return os.path.join(anchors(store), name + _ANCHOR)


def anchor_leaves(store: str, name: str) -> str:
    """The leaves of an anchor's tree, one on each line."""
    return os.path.join(anchors(store), name + _LEAVES)


def anchor_timestamps(store: str, name: str) -> str:
    """The replies of time-stamping authorities about an anchor."""
    return os.path.join(anchors(store), name + _REPLIES)


def amending(record: str) -> str:
    """Where files wait that an amendment puts in their place."""
    return os.path.join(own_folder(store_of(record)), f"amending-{os.path.basename(record)}")


def store_of(record: str) -> str:
    """The store that a record is in."""
    return os.path.dirname(os.path.abspath(record))


def safe_name(text: str) -> str:
    """A text as a part of a file name."""
    return re.sub(_UNSAFE, "-", text).strip("-.")


def is_record(folder: str) -> bool:
    """Whether a folder is a run or a session by its files, whatever its metadata says."""
    return any(os.path.exists(os.path.join(folder, name)) for name in (CHECKSUMS, JOURNAL, AUDIT, INSTANCES))


def has_own_files(names: Collection[str]) -> bool:
    """Whether a folder with these names is a record or a folder of archives."""
    return ARCHIVE_INDEX in names or (METADATA in names and not {CHECKSUMS, JOURNAL, AUDIT}.isdisjoint(names))


def possible_records(store: str) -> list[str]:
    """The names of a store's directories, without looking into them; links and hidden ones are left out."""
    try:
        with os.scandir(store or os.curdir) as scan:
            names = [entry.name for entry in scan if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return []
    return sorted(name for name in names if not name.startswith("."))


def has_archives(folder: str) -> bool:
    """Whether a folder has an index of archives, or folders of months that may hold some."""
    return os.path.lexists(os.path.join(folder, ARCHIVE_INDEX)) or any(
        map(is_month, possible_records(folder))
    )


def records(store: str) -> list[str]:
    """The directories of a store that have a metadata document, by name; none where there is no store."""
    own = {own_folder(store), collections(store)}
    try:
        with os.scandir(store) as scan:
            folders = sorted(entry.path for entry in scan if entry.is_dir(follow_symlinks=False))
    except (FileNotFoundError, NotADirectoryError):
        return []
    return [path for path in folders if path not in own and may_be_file(os.path.join(path, METADATA))]


def has_lost_its_document(folder: str) -> bool:
    """Whether a folder without a metadata document is a record all the same, by its other files."""
    there = {
        name
        for name in (AUDIT, JOURNAL, CHECKSUMS, MANIFEST, INSTANCES)
        if os.path.lexists(os.path.join(folder, name))
    }
    return AUDIT in there or {JOURNAL, CHECKSUMS} <= there or (INSTANCES in there and len(there) > 1)


def session_documents(session: str) -> list[str]:
    """The paths of a session's own documents besides its metadata: those that are there, links left aside.

    Raises OSError when the folder of the instances cannot be listed.
    """
    manifest = os.path.join(session, MANIFEST)
    documents = [os.path.join(session, INSTANCES, own, METADATA) for own in instances(session)]
    return [manifest, *documents] if may_be_file(manifest) else documents


def instances(session: str) -> list[str]:
    """The ids of a session's instances that have a document; raises OSError when they cannot be listed."""
    folder = os.path.join(session, INSTANCES)
    names = sorted(os.listdir(folder), key=os.fsencode) if _is_folder(folder) else []
    return [
        name
        for name in names
        if _is_folder(os.path.join(folder, name)) and may_be_file(os.path.join(folder, name, METADATA))
    ]


def _is_folder(path: str) -> bool:
    return os.path.isdir(path) and not os.path.islink(path)


def may_be_file(path: str, *, follow: bool = False) -> bool:
    """Whether this is a file; also true if that cannot be determined, so that reading it reports the error."""
    try:
        return stat.S_ISREG(os.stat(path, follow_symlinks=follow).st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True


def sealed_record(document: str) -> str | None:
    """The directory of the closed record that a document is in, if any; the target of a link counts as well."""
    for path in (os.path.abspath(document), os.path.realpath(document)):
        folder = os.path.dirname(path)
        if _has(folder, CHECKSUMS):
            return folder
        while (above := os.path.dirname(folder)) != folder:
            folder = above
            if _has(folder, CHECKSUMS) and _has(folder, METADATA):
                return folder
    return None


def _has(folder: str, name: str) -> bool:
    return os.path.isfile(os.path.join(folder, name))
