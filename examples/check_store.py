"""Check the ledgers and anchors of a store with nothing but Python: python check_store.py STORE [AUTHORITIES.pem]

Each ledger is a chain of what was closed, changed, archived and deleted; an anchor is the root of a Merkle tree over all records at one
time. Compared are the chains, the records and archives that they name, and the trees. With the certificates of time-stamping
authorities, `openssl` checks the time-stamps of the anchors. Not checked: the signatures of the ledgers, the files of the records
(see verify-run), and archives in object storage.
"""  # noqa: INP001

import subprocess
import sys
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

from check_journal import Wrong, chain, parse, read

Fields = dict[str, Any]
PLACES = {"record.closed", "record.restored", "record.redacted", "record.migrated", "record.amended"}


def hexdigest(data: bytes) -> str:
    return sha256(data).hexdigest()


def below(store: Path, name: object) -> Path:
    """A path that a ledger names; raises Wrong if it leads out of the store, or through a link."""
    parts = name.split("/") if isinstance(name, str) else [""]
    if any(part in {"", ".", ".."} or "\0" in part for part in parts):
        raise Wrong(f"{name!r} is not a path in the store")
    for count in range(1, len(parts) + 1):
        if store.joinpath(*parts[:count]).is_symlink():
            raise Wrong(f"{name!r} is, or leads through, a symbolic link")
    return store.joinpath(*parts)


def read_record(record: Path) -> tuple[str, list[str]]:
    """The digest of the metadata document as it was closed (migrations are amendments), and the hashes of the amendments."""
    now = hexdigest(read(record / "metadata.json"))
    if not (record / "amendments.jsonl").exists():
        return now, []
    data = read(record / "amendments.jsonl")
    for line in reversed(data.splitlines()):
        payload = parse(line)["payload"]
        if payload.get("path") == "metadata.json" and payload.get("new_sha256") == now:
            now = payload["old_sha256"]
    return now, [line["hash"] for line in chain(data, "", now)]


class Store:
    """A store, and what is wrong with it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.own = folder / ".runcard"
        self.problems: list[str] = []
        self.warnings: list[str] = []
        self.ledgers: dict[str, list[Fields]] = {}
        self.records: dict[tuple[str, str], list[Fields]] = {}  # the entries about each, in their order

    def read_ledgers(self) -> None:
        for path in sorted(self.own.glob("ledger-*.jsonl")):
            lines = self.ledgers[path.name] = []
            try:
                lines.extend(chain(read(path), path.stem))
            except Wrong as error:
                self.problems.append(f"{path.name}: {error}")
        if not self.ledgers:
            self.problems.append("there is no ledger")
        entries = [line for lines in self.ledgers.values() for line in lines]
        for line in sorted(entries, key=lambda line: str(line.get("timestamp"))):
            payload = line.get("payload")
            if not isinstance(payload, dict):
                self.problems.append(f"an entry of {line['writer']} has no content")
            elif line.get("event") != "record.reimported" and payload.get("kind") in {"run", "session"}:
                name = payload.get("id") if payload["kind"] == "run" else payload.get("path")
                self.records.setdefault((payload["kind"], str(name)), []).append(line)

    def check_records(self) -> None:
        for entries in self.records.values():
            places = [line for line in entries if line["event"] != "archive.deleted"]
            if not places or places[-1]["event"] == "record.deleted":
                continue
            last = places[-1]["payload"]
            try:
                self.check_place(places[-1]["event"], entries, last)
            except (Wrong, OSError, ValueError, KeyError, TypeError, AttributeError) as error:
                self.problems.append(f"{last.get('path')}: {error}")
        known = {
            Path(str(line["payload"].get("path"))).name for lines in self.records.values() for line in lines
        }
        for path in sorted(self.folder.glob("*/SHA256SUMS")):
            if path.parent.name not in known and path.parent.name != "archive":
                self.warnings.append(f"{path.parent.name}: no ledger knows it")

    def check_place(self, event: str, entries: list[Fields], last: Fields) -> None:
        if event == "record.archived":
            if (
                "://" not in last["archive"]
                and hexdigest(read(below(self.folder, last["archive"]))) != last["archive_sha256"]
            ):
                raise Wrong("its archive is another one")
            return
        if event not in PLACES:
            raise Wrong(f"the ledger has an entry that is not known here: {event}")
        record = below(self.folder, last["path"])
        if not record.is_dir():
            raise Wrong("the ledger has it, the store does not: it was removed")
        closed = [line["payload"]["sha256"] for line in entries if line["event"] == "record.closed"] or [
            last["sha256"]
        ]
        sealed, amendments = read_record(record)
        if sealed not in closed:
            raise Wrong("the ledger knows it with another metadata document")
        ends = [line["payload"]["amendments"] for line in entries if "amendments" in line["payload"]]
        count = ends[-1]["count"] if ends else 0
        if count and amendments[count - 1 : count] != [ends[-1]["head"]]:
            raise Wrong("the amendments are not those that the ledger knows")
        if len(amendments) > count:
            self.warnings.append(f"{last['path']}: the ledger does not know its last amendments")

    def check_anchors(self, authorities: str | None) -> int:
        anchors = sorted((self.own / "anchors").glob("*.json"))
        for path in anchors:
            try:
                self.check_anchor(path)
                if authorities is not None:
                    check_time(path, authorities)
            except (Wrong, OSError, ValueError, KeyError, TypeError, AttributeError) as error:
                self.problems.append(f"anchor {path.stem}: {error}")
        return len(anchors)

    def check_anchor(self, path: Path) -> None:
        document = parse(read(path))
        data = read(path.with_name(f"{path.stem}.leaves.jsonl"))
        leaves = data.split(b"\n")
        if (
            leaves.pop()
            or len(leaves) != document["tree"]["size"]
            or root(leaves).hex() != document["tree"]["root"]
        ):
            raise Wrong("its leaves are not those of its tree")
        for leaf in map(parse, leaves):
            try:
                self.check_leaf(leaf)
            except (Wrong, OSError) as error:
                self.problems.append(f"anchor {path.stem}: {leaf['name']}: {error}")

    def check_leaf(self, leaf: Fields) -> None:
        if leaf["kind"] == "ledger":
            lines = self.ledgers.get(leaf["name"], [])
            if len(lines) < leaf["count"] or (
                leaf["count"] and lines[leaf["count"] - 1]["hash"] != leaf["head"]
            ):
                raise Wrong("the ledger was shortened or rewritten since")
        elif leaf["kind"] == "anchor":
            if hexdigest(read(below(self.own / "anchors", f"{leaf['name']}.json"))) != leaf["sha256"]:
                raise Wrong("the anchor before was changed")
        else:
            self.check_anchored(leaf)

    def check_anchored(self, leaf: Fields) -> None:
        entries = self.records.get((leaf["kind"], leaf["id"] if leaf["kind"] == "run" else leaf["name"]), [])
        last: Fields = entries[-1] if entries else {"event": None}
        if last["event"] == "record.deleted":
            self.warnings.append(f"{leaf['name']}: it was deleted since, says the ledger")
            return
        if last["event"] == "record.archived" and last["payload"]["sha256"] == leaf["metadata_sha256"]:
            return
        record = below(self.folder, leaf["name"])
        if read_record(record)[0] != leaf["metadata_sha256"]:
            raise Wrong("another record is in its place")
        if signatures := leaf.get("signatures"):
            lines = read(record / "metadata.json.sig").splitlines(keepends=True)[: signatures["count"]]
            if len(lines) < signatures["count"] or hexdigest(b"".join(lines)) != signatures["sha256"]:
                raise Wrong("signatures were removed or changed")


def root(leaves: list[bytes]) -> bytes:
    """The root of the Merkle tree of RFC 6962."""
    if len(leaves) < 2:
        return sha256(b"\0" + leaves[0] if leaves else b"").digest()
    half = 1 << ((len(leaves) - 1).bit_length() - 1)
    return sha256(b"\1" + root(leaves[:half]) + root(leaves[half:])).digest()


def check_time(anchor: Path, authorities: str) -> None:
    """The (first) time-stamp of an anchor, by `openssl`."""
    reply = anchor.with_suffix(".tsr")
    read(reply)
    command = ["openssl", "ts", "-verify", "-data", str(anchor), "-in", str(reply), "-CAfile", authorities]
    done = subprocess.run(command, check=False, capture_output=True, text=True)  # noqa: S603 - paths of the store
    if done.returncode != 0 or "Verification: OK" not in done.stdout:
        raise Wrong("its time-stamp is wrong, or not by an authority that you trust")


def report(store: Store, authorities: str | None) -> Iterator[str]:
    """The lines about a store."""
    store.read_ledgers()
    store.check_records()
    anchors = store.check_anchors(authorities)
    yield from (f"Error: {text}" for text in store.problems)
    yield from (f"Warning: {text}" for text in store.warnings)
    entries = sum(map(len, store.ledgers.values()))
    times = "" if authorities or not anchors else ", whose time-stamps are not checked"
    about = f"{counted(entries, 'entry', 'entries')} about {counted(len(store.records), 'record', 'records')}"
    yield f"{about}, {counted(anchors, 'anchor', 'anchors')}{times}"


def counted(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"


if __name__ == "__main__":
    if len(sys.argv) not in {2, 3} or not Path(sys.argv[1]).is_dir():
        sys.exit("usage: python check_store.py STORE [AUTHORITIES.pem]")
    checked = Store(Path(sys.argv[1]))
    for said in report(checked, sys.argv[2] if len(sys.argv) == 3 else None):
        sys.stdout.write("".join(each if each.isprintable() else ascii(each)[1:-1] for each in said) + "\n")
    sys.exit(1 if checked.problems else 2 if checked.warnings else 0)
