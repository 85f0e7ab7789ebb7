"""A disk or a network file system that fails while a session is collected: no file is lost in silence.

Each system call that copying uses fails once, at several places. Afterwards every file of the workspace is stored with
its bytes or named in the document, or the command has failed and left nothing behind.
"""

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from attacks.collect_faults import (
    COMMAND,
    STORED,
    Ended,
    Fault,
    assert_accounted,
    collect,
    injected,
    lay_out,
    positions,
    spread,
)
from waiting import wait_until

CALLS = {
    "openat": "EIO",
    "read": "EIO",
    "readv": "ESTALE",
    "pread64": "EIO",
    "lseek": "EIO",
    "write": "EIO",
    "pwrite64": "EIO",
    "ftruncate": "EIO",
    "newfstatat": "ESTALE",
    "utimensat": "ENOTSUP",
    "fchmod": "EPERM",
    "fchmodat": "EPERM",
    "close": "EIO",
    "mkdirat": "EIO",
    "symlinkat": "EPERM",
    "readlinkat": "EIO",
    "getdents64": "EIO",
    "unlinkat": "EIO",
    "syncfs": "EIO",
    "fsync": "EIO",
    "renameat2": "EIO",
}
GROUP_MAY_READ = {"RUNCARD_FILE_MODE": "0640", "RUNCARD_DIRECTORY_MODE": "0750"}

pytestmark = pytest.mark.needs("strace")


@pytest.fixture(scope="module")
def numbers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[int]]:
    """Where each call can fail."""
    folder = tmp_path_factory.mktemp("positions")
    return positions(lay_out(folder), folder / "store", CALLS, GROUP_MAY_READ)


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    return lay_out(tmp_path)


def omissions(ended: Ended) -> dict[str, str]:
    assert ended.session is not None, ended.stderr
    document = json.loads((ended.session / "metadata.json").read_bytes())
    return {entry["path"]: entry["reason"] for entry in document["audit"]["omissions"]}


@pytest.mark.parametrize(
    "call", [call if call == "pwrite64" else pytest.param(call, marks=pytest.mark.long) for call in CALLS]
)
def test_no_file_is_lost_when_a_call_fails(spec: Path, numbers: dict[str, list[int]], call: str) -> None:
    assert numbers[call], f"the copy does not use {call} any more: take it from the list"
    for number in spread(numbers[call], 3):
        fault = Fault(call, CALLS[call], number)
        ended = collect(spec, spec.parent / str(fault), *injected(fault), environment=GROUP_MAY_READ)
        assert_accounted(spec, ended)


class TestInACopyingThread:
    def test_a_file_whose_times_cannot_be_set_is_kept_and_named(self, spec: Path) -> None:
        ended = collect(spec, spec.parent / "store", *injected(Fault("utimensat", "EIO", 1)))
        assert ended.code == 2, ended.stderr
        named = omissions(ended)
        assert named["sparse.bin"] == "is stored without its times: Input/output error"
        assert ended.session is not None
        assert (ended.session / STORED / "sparse.bin").stat().st_size == 1 << 20
        assert_accounted(spec, ended)

    def test_a_file_that_cannot_be_looked_at_is_named(self, spec: Path) -> None:
        ended = collect(spec, spec.parent / "store", *injected(Fault("newfstatat", "ESTALE", 1)))
        assert ended.code == 2, ended.stderr
        assert omissions(ended) == {"sparse.bin": "cannot be read: Stale file handle"}
        assert "sparse.bin was not stored" in ended.stderr
        assert "Traceback" not in ended.stderr

    def test_a_copy_that_fails_when_it_is_closed_does_not_count_as_stored(self, spec: Path) -> None:
        # The thread closes a copy and then its source, so that its odd calls are those that matter.
        ended = collect(spec, spec.parent / "store", *injected(Fault("close", "EIO", 9)))
        assert ended.code == 2, ended.stderr
        ((path, reason),) = omissions(ended).items()
        assert path.startswith("large")
        assert reason == "cannot be written to the store: Input/output error"
        assert ended.session is not None
        assert not (ended.session / STORED / path).exists()
        assert_accounted(spec, ended)

    def test_half_a_copy_that_cannot_be_removed_ends_the_collection(self, spec: Path) -> None:
        faults = Fault("pwrite64", "EIO", 2), Fault("unlinkat", "EIO", 1)
        ended = collect(spec, spec.parent / "store", *injected(*faults))
        assert ended.code == 1, ended.stderr
        assert "cannot remove the incomplete copy of large" in ended.stderr
        assert ended.session is None

    def test_a_full_disk_ends_the_collection(self, spec: Path) -> None:
        ended = collect(spec, spec.parent / "store", *injected(Fault("pwrite64", "ENOSPC", 2)))
        assert ended.code == 1, ended.stderr
        assert "No space left on device" in ended.stderr
        assert ended.session is None


def test_a_session_whose_mark_cannot_be_removed_is_complete_with_a_warning(spec: Path) -> None:
    ended = collect(spec, spec.parent / "store", *injected(Fault("unlinkat", "EIO", 1)))
    assert (ended.code, omissions(ended)) == (2, {}), ended.stderr
    assert "Warning: a mark in .open/ could not be removed" in ended.stderr


class TestHelpers:
    @pytest.fixture
    def crowded(self, spec: Path) -> Path:
        """A workspace with so many small files that helper processes are started."""
        for number in range(15_000):
            path = spec.parent / "ws" / f"many{number // 500}" / f"{number}.txt"
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(b"%d\n" % number * 100)
        return spec

    @pytest.mark.long
    @pytest.mark.needs("two cores")
    def test_a_helper_that_is_killed_loses_no_file(self, crowded: Path) -> None:
        store = crowded.parent / "store"
        store.mkdir()
        command: list[Any] = [*COMMAND, "collect", crowded, "--artifacts", store]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
            killed = kill_helpers(process)
            _, stderr = process.communicate(timeout=120)
        assert killed > 0, "no helper was started"
        assert process.returncode == 0, stderr
        assert_accounted(crowded, Ended(process.returncode, stderr, store))


def kill_helpers(process: "subprocess.Popen[str]") -> int:
    """Kill each helper as soon as it has begun to work; how many there were."""
    killed: set[str] = set()

    def has_ended() -> bool:
        killed.update(kill_helpers_at_work(process.pid))
        return process.poll() is not None

    wait_until(has_ended, "the end of the collection", limit=240)
    return len(killed)


def kill_helpers_at_work(pid: int) -> Iterator[str]:
    for helper in children(pid):
        if is_at_work(helper):
            os.kill(int(helper), signal.SIGKILL)
            yield helper


def is_at_work(helper: str) -> bool:
    """Whether it has a file or folder of the workspace open."""
    with suppress(OSError):
        return any("/ws" in os.readlink(file) for file in Path(f"/proc/{helper}/fd").iterdir())
    return False


def children(pid: int) -> set[str]:
    """The helpers of a process: those of its children that run the script of the helpers."""
    found: set[str] = set()
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            found |= set(task.read_text().split())
        except OSError:
            continue
    return {child for child in found if "parallel/worker.py" in command_line(child)}


def command_line(pid: str) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return ""
