"""Running `runcard collect` while the kernel refuses single system calls, and an account of every file afterwards.

strace injects the failures into the real command, its threads and its helper processes. What must hold does not depend
on runcard's own figures: the workspace and the session are walked again here.
"""

import hashlib
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

SPEC = {
    "team_session_id": "faulty",
    "instances": [
        {
            "name": "a",
            "instance_id": "a-1",
            "status": "completed",
            "created_at": "2025-11-06T14:00:00Z",
            "terminated_at": "2025-11-06T14:10:00Z",
            "workspace": "ws",
            "output": "a.log",
        }
    ],
}
STORED = "instances/a-1/workspace"
NOT_STARTED = 127  # the interpreter itself met the failure
COMMAND = (sys.executable, "-c", "import sys; from runcard.cli.main import main; sys.exit(main())")


class Fault(NamedTuple):
    """The N-th call of a kind fails, counted in each thread and process on its own."""

    call: str
    error: str
    when: int

    def __str__(self) -> str:
        return f"{self.call}-{self.error}-{self.when}"


class Ended(NamedTuple):
    """How a collection ended."""

    code: int
    stderr: str
    store: Path

    @property
    def session(self) -> Path | None:
        found = [path for path in self.store.iterdir() if not path.name.startswith(".")]
        assert len(found) <= 1, found
        return found[0] if found else None


def lay_out(folder: Path) -> Path:
    """A workspace with files of every kind that is copied in a way of its own; the path of the SPEC."""
    workspace = folder / "ws"
    for number in range(12):
        path = workspace / f"dir{number % 3}" / f"small{number}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"file {number}\n" * 50)
    for number in range(4):
        (workspace / f"large{number}.txt").write_text(f"line of file {number}\n" * 20_000)
    with (workspace / "sparse.bin").open("wb") as file:
        file.write(b"begin")
        file.truncate(1 << 20)
    (workspace / "empty").touch()
    (workspace / "link").symlink_to("empty")
    (workspace / ".env").write_text("LEFT=out\n")
    (folder / "a.log").write_text("hello\n")
    spec = folder / "spec.json"
    spec.write_text(json.dumps(SPEC))
    return spec


def collect(spec: Path, store: Path, *strace: str, environment: dict[str, str] | None = None) -> Ended:
    """Run the command on one core, so that the same call has the same number each time; strace has these options."""
    store.mkdir()
    core = str(min(os.sched_getaffinity(0)))
    traced = ("strace", "-f", "--seccomp-bpf", "-qq", "-o", str(store.with_suffix(".trace")), *strace)
    ended = subprocess.run(
        ["taskset", "-c", core, *traced, *COMMAND, "collect", str(spec), "--artifacts", str(store)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env=os.environ | (environment or {}),
    )
    return Ended(ended.returncode, ended.stderr, store)


def injected(*faults: Fault) -> list[str]:
    """The options of strace for these faults."""
    calls = ",".join(sorted({fault.call for fault in faults}))
    return [
        *("-e", f"trace={calls}"),
        *(
            part
            for fault in faults
            for part in ("-e", f"inject={fault.call}:error={fault.error}:when={fault.when}")
        ),
    ]


def positions(
    spec: Path, store: Path, calls: Iterable[str], environment: dict[str, str] | None = None
) -> dict[str, list[int]]:
    """Which calls of each kind, counted in each thread, are about the workspace, its copy or the store."""
    collect(spec, store, "-y", "-e", f"trace={','.join(calls)}", environment=environment)
    counts: Counter[tuple[str, str]] = Counter()
    found: dict[str, set[int]] = {call: set() for call in calls}
    for line in store.with_suffix(".trace").read_text(errors="replace").splitlines():
        thread, _, rest = line.partition(" ")
        call = rest.strip().partition("(")[0]
        if call in found:
            counts[thread, call] += 1
            if str(spec.parent) in rest:
                found[call].add(counts[thread, call])
    return {call: sorted(numbers) for call, numbers in found.items()}


def spread(places: list[int], most: int) -> list[int]:
    """Some of the places: the first, the last, and others in equal distances."""
    if len(places) <= most:
        return places
    return sorted({places[round(number * (len(places) - 1) / (most - 1))] for number in range(most)})


def assert_accounted(spec: Path, ended: Ended) -> None:
    """Every file of the workspace is stored with its bytes, or named; a failure leaves no half session."""
    said = f"exit {ended.code}: {ended.stderr}"
    assert ended.code in {0, 1, 2, NOT_STARTED}, said
    if ended.session is None:
        assert ended.code not in {0, 2}, said
        return
    document = json.loads((ended.session / "metadata.json").read_bytes())
    omitted = {entry["path"] for entry in document["audit"]["omissions"]}
    assert not omitted or ended.code != 0, said
    listed = _listed(ended.session)
    source = files(spec.parent / "ws")
    del source[".env"]  # left out by its name
    lost = [
        path for path, digest in source.items() if listed.get(path) != digest and not _named(path, omitted)
    ]
    assert not lost, f"lost {lost}, {said}"
    assert files(ended.session / STORED) == listed, said


def files(folder: Path) -> dict[str, str]:
    """The digest of each regular file below a folder; a link has that of its text."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(
            os.readlink(path).encode() if path.is_symlink() else path.read_bytes()
        ).hexdigest()
        for path in folder.rglob("*")
        if path.is_symlink() or path.is_file()
    }


def _listed(session: Path) -> dict[str, str]:
    """What the session claims to hold of the workspace: files by SHA256SUMS, links by the document."""
    listed = {}
    for line in (session / "SHA256SUMS").read_text().splitlines():
        digest, _, path = line.partition("  ")
        if path.startswith(f"{STORED}/"):
            listed[path.removeprefix(f"{STORED}/")] = digest
    for link in json.loads((session / "metadata.json").read_bytes())["symlinks"]:
        text = link["target"].encode()
        listed[link["path"].removeprefix(f"{STORED}/")] = hashlib.sha256(text).hexdigest()
    return listed


def _named(path: str, omitted: set[str]) -> bool:
    """Whether a path, or a directory above it, is among what the document names as not stored."""
    above = [str(parent) for parent in Path(path).parents]
    return any(each in omitted for each in (path, *above))
