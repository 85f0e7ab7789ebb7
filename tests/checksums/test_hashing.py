"""Hashing many files: the digests are right whoever computes them, and nothing that is swapped in can do harm."""

import contextlib
import hashlib
import io
import os
import runpy
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest

from files.unprivileged import as_nobody, everybodys_directory
from runcard.checksums import hash_files, hashing, large_files
from runcard.checksums.file_errors import NotRegularError, UnsteadyError, VanishedError
from runcard.digests import sha256_bytes
from runcard.errors import MachineError, RuncardError, StoreError
from runcard.files import FileKind
from runcard.parallel import chunks, cores, helper_pool, worker
from runcard.parallel.helper_pool import HelperProcess, HelperThread
from runcard.parallel.progress import ProgressCounter

LARGE = worker.SMALL_FILE


@pytest.fixture(autouse=True)
def _nothing_is_left_behind() -> Iterator[None]:
    """No open file, no thread and no process outlives a test."""
    before, children = (len(os.listdir("/proc/self/fd")), threading.active_count()), _children()
    yield
    files, threads = before  # the garbage collector may close a file of an earlier test meanwhile
    assert len(os.listdir("/proc/self/fd")) <= files
    assert threading.active_count() == threads
    assert _children() <= children


def _children() -> set[str]:
    """The processes that were started here and not yet waited for; another test may have left some."""
    found: set[str] = set()
    for file in Path("/proc/self/task").glob("*/children"):
        with contextlib.suppress(FileNotFoundError):  # a thread that has just ended
            found.update(file.read_text().split())
    return found


class Many(NamedTuple):
    root: Path
    files: dict[str, bytes]


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Many:
    """Some hundred small files in a few directories, and others."""
    root = tmp_path_factory.mktemp("many")
    files = {f"{number % 7}/sub/{number}": b"%d " % number * (number % 50 + 1) for number in range(400)}
    files |= {"empty": b"", "1/large": os.urandom(LARGE + 1), "1/limit": os.urandom(LARGE)}
    for name, data in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(data)
    return Many(root, files)


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> list[HelperThread]:
    """Helpers are started at once, on two cores, for small chunks, and noted."""
    started: list[HelperThread] = []

    class Counted(HelperThread):
        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments)
            started.append(self)

    monkeypatch.setattr(helper_pool, "START_AFTER", 0)
    monkeypatch.setattr(chunks, "CHUNK_FILES", 16)
    monkeypatch.setattr(chunks, "cores", lambda: 2)
    monkeypatch.setattr(helper_pool, "HelperThread", Counted)
    return started


def assert_right(root: Path, files: dict[str, bytes]) -> None:
    listing = hash_files(root, files)
    assert dict(listing) == {path: sha256_bytes(data) for path, data in files.items()}


class TestDigests:
    def test_files_of_any_size_are_hashed(self, tmp_path: Path) -> None:
        sizes = [0, 1, 4096, LARGE - 1, LARGE, LARGE + 1, 3 * LARGE, 5_000_000]
        files = {str(size): os.urandom(size) for size in sizes}
        for name, data in files.items():
            (tmp_path / name).write_bytes(data)
        assert_right(tmp_path, files)

    def test_no_files_give_an_empty_listing(self, tmp_path: Path) -> None:
        assert len(hash_files(tmp_path, [])) == 0

    def test_directories_are_entered_and_left_in_any_order(self, tmp_path: Path) -> None:
        files = {"a/b/c/d/e": b"1", "top": b"2", "a/x": b"3", "a/b/y": b"4", "b/y": b"5"}
        for name, data in files.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_bytes(data)
        assert_right(tmp_path, files)

    def test_a_short_job_starts_no_helper(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(
            helper_pool.HelperPool, "_start_helper", lambda _: pytest.fail("a helper was started")
        )
        (tmp_path / "file").write_bytes(b"x")
        assert_right(tmp_path, {"file": b"x"})

    def test_one_core_starts_no_helper(
        self,
        many: Many,
        eager: list[HelperThread],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setattr(chunks, "cores", lambda: 1)
        assert_right(*many)
        assert eager == []

    def test_the_cores_are_counted_where_the_system_cannot_say_which_are_ours(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        assert cores() == len(os.sched_getaffinity(0))
        monkeypatch.delattr(os, "sched_getaffinity")
        monkeypatch.setattr(os, "cpu_count", lambda: None)
        assert cores() == 1


class TestHelpers:
    def test_they_share_the_work(
        self,
        many: Many,
        eager: list[HelperThread],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        answers: list[object] = []
        ask = HelperProcess.ask

        def noted(self: HelperProcess, names: bytes, length: int) -> bytes | None:
            answer = ask(self, names, length)
            answers.append(answer)
            return answer

        monkeypatch.setattr(HelperProcess, "ask", noted)
        assert_right(*many)
        assert len(eager) == 1
        assert answers
        assert None not in answers

    def test_more_cores_get_more_of_them(
        self,
        many: Many,
        eager: list[HelperThread],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setattr(chunks, "cores", lambda: 4)
        assert_right(*many)
        assert len(eager) == 3

    @pytest.mark.parametrize(
        "script",
        [
            None,
            "exit 1",
            "head -c 8 > /dev/null",
            "head -c 8 > /dev/null; echo short",
            "exec 0<&-; sleep 0.2",
        ],
    )
    def test_one_that_cannot_be_started_or_dies_loses_no_work(
        self,
        tmp_path: Path,
        many: Many,
        eager: list[HelperThread],
        monkeypatch: pytest.MonkeyPatch,
        script: str | None,
    ) -> None:
        program = tmp_path / "program"
        if script is not None:
            program.write_text(f"#!/bin/sh\n{script}\n")
            program.chmod(0o755)
        monkeypatch.setattr(helper_pool, "sys", SimpleNamespace(executable=str(program)))
        assert_right(*many)
        assert len(eager) == (script is not None)

    def test_one_that_is_killed_loses_no_work(
        self,
        many: Many,
        eager: list[HelperThread],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        ask = HelperProcess.ask

        def kill_first(self: HelperProcess, names: bytes, length: int) -> bytes | None:
            self.kill()
            self._process.wait()
            return ask(self, names, length)

        monkeypatch.setattr(HelperProcess, "ask", kill_first)
        assert_right(*many)
        assert len(eager) == 1

    @pytest.fixture
    def sleeper(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Instead of a helper there is a program that never answers."""
        program = tmp_path / "program"
        program.write_text("#!/bin/sh\nexec sleep 60\n")
        program.chmod(0o755)
        monkeypatch.setattr(helper_pool, "sys", SimpleNamespace(executable=str(program)))

    @pytest.mark.usefixtures("sleeper")
    def test_one_that_hangs_is_not_waited_for_forever(
        self, many: Many, eager: list[HelperThread], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(helper_pool, "_LAST_CHUNK_TIMEOUT", 0.1)
        start = time.monotonic()
        assert_right(*many)
        assert len(eager) == 1
        assert time.monotonic() - start < 30

    @pytest.mark.usefixtures("sleeper")
    def test_an_interrupt_waits_for_none(
        self, many: Many, eager: list[HelperThread], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def interrupt(_: object) -> None:
            if eager:
                raise KeyboardInterrupt

        monkeypatch.setattr(ProgressCounter, "report", interrupt)
        start = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            hash_files(*many)
        assert len(eager) == 1
        assert time.monotonic() - start < 30

    def test_a_frozen_program_does_not_start_itself(
        self,
        many: Many,
        eager: list[HelperThread],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setattr(sys, "frozen", True, raising=False)
        assert_right(*many)
        assert eager == []


class TestWithoutThreads:
    """A program that ends can start no more threads, and still may have a record to close."""

    def test_everything_is_hashed_without_them(
        self,
        many: Many,
        eager: list[HelperThread],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        def refuse(_: object) -> None:
            raise RuntimeError("can't start new thread")

        monkeypatch.setattr(threading.Thread, "start", refuse)
        assert_right(*many)
        assert eager == []

    def test_a_program_can_hash_in_its_last_breath(self, many: Many) -> None:
        code = (
            "import atexit, sys\n"
            "from runcard import checksums\n"
            "from runcard.parallel import chunks, helper_pool\n"
            "helper_pool.START_AFTER, chunks.CHUNK_FILES = 0, 16\n"
            "atexit.register(lambda: print(checksums.make(sys.argv[1]).listing.digest))\n"
        )
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        done = subprocess.run(
            [sys.executable, "-c", code, str(many.root)],
            env=environment,
            check=True,
            capture_output=True,
            text=True,
        )
        assert done.stdout.strip() == str(hash_files(*many).digest)
        assert done.stderr == ""


class TestWorker:
    def test_it_answers_until_its_input_ends(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / "a").write_bytes(b"aa")
        (tmp_path / "b").write_bytes(b"b")
        questions = b"".join(worker.QUESTION.pack(len(names)) + names for names in (b"a\0b\0nothing", b"b"))
        answers = io.BytesIO()
        top = os.open(tmp_path, os.O_RDONLY)
        monkeypatch.setattr(sys, "argv", ["worker", "hash", str(top)])
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(questions)))
        monkeypatch.setattr(sys, "stdout", SimpleNamespace(buffer=answers))
        runpy.run_path(worker.__file__, run_name="__main__")
        os.close(top)
        a, b = hashlib.sha256(b"aa").digest(), hashlib.sha256(b"b").digest()
        assert answers.getvalue() == (
            worker.HASH_TOTALS.pack(2, 3) + a + b + worker.NOT_HASHED + worker.HASH_TOTALS.pack(1, 1) + b
        )

    def test_it_needs_nothing_but_the_standard_library(self) -> None:
        command = [sys.executable, "-I", "-S", worker.__file__, "hash", "0"]
        subprocess.run(command, stdin=subprocess.DEVNULL, check=True, cwd="/")

    def test_a_file_that_grows_in_passing_is_looked_at_closely(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "file").write_bytes(b"grown")
        monkeypatch.setattr(os, "lseek", lambda *_: 3)
        assert_right(tmp_path, {"file": b"grown"})

    def test_a_directory_that_cannot_be_entered_is_forgotten(self, tmp_path: Path) -> None:
        """After a failure on the way, the next file is not opened in a directory half-way."""
        (tmp_path / "a").mkdir()
        (tmp_path / "a" / "file").write_bytes(b"wrong")
        (tmp_path / "file").write_bytes(b"right")
        errors: list[str] = []
        listing = hash_files(tmp_path, ["a/b/file", "file"], on_error=lambda path, _: errors.append(path))
        assert errors == ["a/b/file"]
        assert dict(listing) == {"file": sha256_bytes(b"right")}


def make_fifo(path: Path) -> None:
    os.mkfifo(path)


def make_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))


class TestOddFiles:
    @pytest.mark.parametrize(
        ("make", "kind"),
        [
            (make_fifo, FileKind.OTHER),
            (make_socket, FileKind.OTHER),
            (lambda path: path.symlink_to("/etc/passwd"), FileKind.SYMLINK),
            (lambda path: path.symlink_to("nothing"), FileKind.SYMLINK),
            (lambda path: path.mkdir(), FileKind.DIRECTORY),
        ],
    )
    def test_what_is_no_regular_file_neither_blocks_nor_leads_away(
        self, tmp_path: Path, make: Callable[[Path], None], kind: FileKind
    ) -> None:
        make(tmp_path / "odd")
        with pytest.raises(NotRegularError, match="odd") as caught:
            hash_files(tmp_path, ["odd"])
        assert caught.value.kind is kind
        assert caught.value.hint

    def test_a_fifo_that_somebody_writes_to_keeps_its_data(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "pipe")
        both = os.open(tmp_path / "pipe", os.O_RDWR)
        os.write(both, b"for somebody else")
        with pytest.raises(NotRegularError):
            hash_files(tmp_path, ["pipe"])
        assert os.read(both, 100) == b"for somebody else"
        os.close(both)

    @pytest.mark.parametrize("device", ["null", "zero", "tty"])
    def test_a_device_is_not_hashed(self, device: str) -> None:
        with pytest.raises(RuncardError, match=device):
            hash_files("/dev", [device])

    def test_a_directory_that_was_swapped_for_a_link_is_not_entered(self, tmp_path: Path) -> None:
        (tmp_path / "outside").mkdir()
        (tmp_path / "outside" / "file").write_bytes(b"secret")
        (tmp_path / "root" / "a").mkdir(parents=True)
        (tmp_path / "root" / "a" / "link").symlink_to("../../outside")
        with pytest.raises(VanishedError, match="a/link/file"):
            hash_files(tmp_path / "root", ["a/link/file"])

    def test_a_file_that_vanished_is_named(self, tmp_path: Path) -> None:
        with pytest.raises(VanishedError, match=r"no\\nsuch is gone") as caught:
            hash_files(tmp_path, ["no\nsuch"])
        assert caught.value.hint

    def test_a_root_that_is_not_there_is_named(self, tmp_path: Path) -> None:
        with pytest.raises(StoreError, match="nowhere"):
            hash_files(tmp_path / "nowhere", [])

    def test_a_file_without_permission_is_named(self) -> None:
        with everybodys_directory() as root:
            (root / "secret").write_bytes(b"x")
            (root / "secret").chmod(0)
            said = as_nobody(
                root,
                "try: checksums.hash_files(root, ['secret'])\n"
                "except errors.MachineError as error: print(error, '|', error.hint)",
            )
            assert said.startswith(
                "cannot read the file secret: Permission denied | give yourself permission"
            )

    def test_a_failing_disk_is_named(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / "file").write_bytes(b"x")

        def fail(*_: object, **__: object) -> None:
            raise OSError(5, os.strerror(5))

        monkeypatch.setattr(large_files, "sha256_descriptor", fail)
        monkeypatch.setattr(os, "pread", fail)
        with pytest.raises(MachineError, match="cannot read the file file: Input/output error"):
            hash_files(tmp_path, ["file"])

    def test_with_a_listener_all_errors_are_told_and_the_rest_is_hashed(self, tmp_path: Path) -> None:
        for name in ("a", "c"):
            (tmp_path / name).write_bytes(name.encode())
        os.mkfifo(tmp_path / "b")
        told: dict[str, type] = {}
        listing = hash_files(
            tmp_path, ["a", "b", "c", "d"], on_error=lambda path, error: told.update({path: type(error)})
        )
        assert told == {"b": NotRegularError, "d": VanishedError}
        assert dict(listing) == {"a": sha256_bytes(b"a"), "c": sha256_bytes(b"c")}

    def test_without_one_the_first_error_stops_the_work(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(hashing, "cores", lambda: 1)
        (tmp_path / "large").write_bytes(bytes(LARGE + 1))
        os.mkfifo(tmp_path / "pipe")
        calls: list[tuple[int, int]] = []
        monkeypatch.setattr(ProgressCounter, "add", lambda _, *counts: calls.append(counts))
        with pytest.raises(NotRegularError):
            hash_files(tmp_path, ["large", "pipe"])
        assert calls == [(0, 0)]


class TestFilesInMotion:
    @pytest.mark.parametrize("size", [0, 100, 10 * LARGE])
    def test_a_file_that_is_cut_or_grows_while_it_is_read_is_named(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int
    ) -> None:
        path = tmp_path / "file"
        path.write_bytes(bytes(5 * LARGE))

        def disturb(_: ProgressCounter, files: int, read: int) -> None:
            if read:
                os.truncate(path, size + files)

        monkeypatch.setattr(ProgressCounter, "add", disturb)
        with pytest.raises(UnsteadyError, match="file changed while it was read") as caught:
            hash_files(tmp_path, ["file"])
        assert caught.value.hint

    def test_a_file_that_is_rewritten_in_its_place_is_named(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path = tmp_path / "file"
        path.write_bytes(bytes(5 * LARGE))
        os.utime(path, (1, 1))

        def rewrite(*_: object) -> None:
            with path.open("r+b") as file:
                file.write(b"other")

        monkeypatch.setattr(ProgressCounter, "add", rewrite)
        with pytest.raises(UnsteadyError):
            hash_files(tmp_path, ["file"])

    def test_files_that_never_rest_give_digests_or_errors_and_nothing_else(self, tmp_path: Path) -> None:
        stop = threading.Event()
        paths = [tmp_path / str(number) for number in range(20)]
        for path in paths:
            path.write_bytes(bytes(LARGE))

        def disturb() -> None:
            number = 0
            while not stop.is_set():
                path = paths[number % len(paths)]
                number += 1
                path.unlink(missing_ok=True)
                path.write_bytes(bytes(number % 5 * LARGE // 2))
                os.truncate(path, number % 3 * LARGE)

        thread = threading.Thread(target=disturb)
        thread.start()
        try:
            names = [path.name for path in paths]
            for _ in range(30):
                failed: set[str] = set()

                def note(path: str, _: RuncardError, failed: set[str] = failed) -> None:
                    failed.add(path)

                listing = hash_files(tmp_path, names, on_error=note)
                assert set(listing) | failed == set(names)
        finally:
            stop.set()
            thread.join()

    def test_an_interrupt_stops_the_hashing_of_a_huge_file(self, tmp_path: Path) -> None:
        with (tmp_path / "huge").open("wb") as file:
            file.truncate(200 << 30)  # minutes of work

        def interrupt(_: int, size: int) -> None:
            if size:
                raise KeyboardInterrupt

        start = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            hash_files(tmp_path, ["huge"], progress=interrupt)
        assert time.monotonic() - start < 60


class TestProgress:
    def test_the_last_call_has_everything(self, many: Many) -> None:
        calls: list[tuple[int, int]] = []
        hash_files(*many, progress=lambda *so_far: calls.append(so_far))
        assert calls[-1] == (len(many.files), sum(map(len, many.files.values())))
        assert calls == sorted(calls)

    def test_it_is_called_now_and_then_by_the_thread_that_asked(
        self,
        many: Many,
        eager: list[HelperThread],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setattr("runcard.parallel.progress.PERIOD", 0)
        callers: list[int] = []
        hash_files(*many, progress=lambda *_: callers.append(threading.get_ident()))
        assert len(callers) > 5
        assert set(callers) == {threading.get_ident()}
        assert len(eager) == 1

    def test_it_is_not_called_all_the_time(self, many: Many) -> None:
        calls: list[float] = []
        start = time.monotonic()
        hash_files(*many, progress=lambda *_: calls.append(time.monotonic()))
        assert len(calls) <= (time.monotonic() - start) * 10 + 1
