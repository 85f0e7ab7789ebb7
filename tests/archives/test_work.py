"""How much work archiving and restoring do for each file: what is read, synced and started, counted without a clock."""

import os
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import runcard
from archives.records import archives, state
from runcard.files import sync_filesystem
from runcard.operations.archives import restore as restoring
from runcard.operations.archives.archive import archive
from runcard.operations.archives.restore import restore
from runcard.store.archives.scan import scan

COUNTED = ("fsync", "fdatasync", "ftruncate", "fchmod", "utime", "write")


def make_run(store: Path, files: int, size: int = 100) -> Path:
    with runcard.record(store, model="m", provider="p", strict=True) as run:
        for number in range(files):
            path = run.path / f"{number // 100}" / f"{number}.txt"
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(b"%d\n" % number * (size // 2))
    return Path(run.path)


@contextmanager
def counted(*names: str) -> Iterator[Counter[str]]:
    """Count the calls of functions of `os`, in all threads."""
    counts: Counter[str] = Counter()

    def watched(name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            counts[name] += 1
            return real(*arguments, **options)

        return call

    with pytest.MonkeyPatch.context() as patch:
        for name in names:
            patch.setattr(os, name, watched(name, getattr(os, name)))
        patch.setattr(restoring, "sync_filesystem", watched("sync_filesystem", sync_filesystem))
        yield counts


def bytes_read() -> int:
    """How many bytes this process has read, from files in memory as well."""
    fields = dict(line.split(": ") for line in Path("/proc/self/io").read_text().splitlines())
    return int(fields["rchar"])


def test_restoring_syncs_once_however_many_files_there_are(here: Path) -> None:
    syncs = []
    for files in (3, 300):
        record = make_run(here / f"outputs{files}", files)
        packed = archive(record).archive
        with counted(*COUNTED) as counts:
            restore(packed)
        syncs.append((counts["fsync"] + counts["fdatasync"], counts["sync_filesystem"]))
    assert syncs[0] == syncs[1]
    assert syncs[0][1] == 1


def test_archiving_syncs_no_directory_more_often_than_needed(here: Path) -> None:
    record = make_run(here / "outputs", 300)
    with counted("fsync", "fdatasync") as counts:
        archive(record)
    # Four files (archive, copy, member index, index) and the ledger; and the directories with their names.
    assert counts["fsync"] + counts["fdatasync"] <= 9


def test_a_restored_file_is_written_once_and_needs_no_second_look(here: Path) -> None:
    record = make_run(here / "outputs", 300)
    (record / "0" / "0.txt").chmod(0o600)
    before = state(record)
    packed = archive(record, force=True).archive
    mask = os.umask(0o022)
    try:
        with counted(*COUNTED) as counts:
            restore(packed)
    finally:
        os.umask(mask)
    assert counts["ftruncate"] == 0
    assert counts["fchmod"] < 10
    assert counts["write"] < 320
    assert state(record) == before


def test_modes_that_the_umask_forbids_come_back(here: Path) -> None:
    record = make_run(here / "outputs", 3)
    modes = {"0.txt": 0o666, "1.txt": 0o444, "2.txt": 0o777}
    for name, mode in modes.items():
        (record / "0" / name).chmod(mode)
    packed = archive(record, force=True).archive
    mask = os.umask(0o077)
    try:
        restore(packed)
    finally:
        os.umask(mask)
    assert {name: (record / "0" / name).stat().st_mode & 0o777 for name in modes} == modes


def test_an_archive_is_read_once(here: Path) -> None:
    with runcard.record(here / "outputs", model="m", provider="p", strict=True) as run:
        (run.path / "large.bin").write_bytes(os.urandom(5 << 20))
    packed = archive(run.path).archive
    size = packed.stat().st_size
    before = bytes_read()
    contents = scan(str(packed))
    assert bytes_read() - before < 1.1 * size
    assert contents.file_bytes == size


def test_each_file_is_opened_once_to_be_packed(here: Path) -> None:
    record = make_run(here / "outputs", 50)
    opened: Counter[str] = Counter()
    real = os.open

    def watched(path: Any, *arguments: Any, **options: Any) -> int:
        opened[os.path.basename(os.fsdecode(path))] += 1
        return real(path, *arguments, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "open", watched)
        archive(record)
    assert {opened[f"{number}.txt"] for number in range(50)} == {1}


def test_a_small_record_is_archived_and_restored_without_threads(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = make_run(here / "outputs", 50)
    started: list[threading.Thread] = []
    real = threading.Thread.start

    def start(thread: threading.Thread) -> None:
        started.append(thread)
        real(thread)

    monkeypatch.setattr(threading.Thread, "start", start)
    archive(record)
    restore(*archives(record.parent))
    assert started == []


def test_archiving_imports_no_thread_pool() -> None:
    modules = "runcard.operations.archives.archive, runcard.operations.archives.restore"
    program = f"import sys, {modules}; print('concurrent.futures' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.strip() == "False"
