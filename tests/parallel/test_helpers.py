"""Helper processes: they share the work, and whatever happens to them, none of it is lost."""

import hashlib
import io
import os
import runpy
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from queue import SimpleQueue
from types import SimpleNamespace

import pytest

from parallel.directories import ManyFiles, assert_right
from runcard.checksums import hash_files
from runcard.parallel import chunks, cores, helper_pool, worker
from runcard.parallel.chunks import FileChunk, HelperTask
from runcard.parallel.helper_pool import HelperPool, HelperProcess, HelperThread
from runcard.parallel.progress import ProgressCounter
from waiting import LIMIT


def is_killed(helper: HelperThread) -> bool:
    return helper.process._process.returncode == -signal.SIGKILL


class TestNumber:
    def test_a_short_job_starts_no_helper(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(
            helper_pool.HelperPool, "_start_helper", lambda _: pytest.fail("a helper was started")
        )
        (tmp_path / "file").write_bytes(b"x")
        assert_right(tmp_path, {"file": b"x"})

    def test_one_core_starts_no_helper(
        self,
        many: ManyFiles,
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


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Nothing is taken back from the helpers until one of them was asked something."""
    event, ask, take_back = threading.Event(), HelperProcess.ask, HelperPool.take_back

    def noted(self: HelperProcess, names: bytes, length: int) -> bytes | None:
        event.set()
        return ask(self, names, length)

    def later(self: HelperPool) -> FileChunk | None:
        assert event.wait(LIMIT)
        return take_back(self)

    monkeypatch.setattr(HelperProcess, "ask", noted)
    monkeypatch.setattr(HelperPool, "take_back", later)
    yield event
    assert event.is_set()


class TestHelpers:
    @pytest.mark.usefixtures("asked")
    def test_they_share_the_work(
        self,
        many: ManyFiles,
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
        many: ManyFiles,
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
        many: ManyFiles,
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

    @pytest.mark.usefixtures("asked")
    def test_one_that_is_killed_loses_no_work(
        self,
        many: ManyFiles,
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
        program.write_text("#!/bin/sh\nexec sleep 600\n")
        program.chmod(0o755)
        monkeypatch.setattr(helper_pool, "sys", SimpleNamespace(executable=str(program)))

    @pytest.mark.usefixtures("sleeper", "asked")
    def test_one_that_hangs_is_not_waited_for_forever(
        self, many: ManyFiles, eager: list[HelperThread], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(helper_pool, "_LAST_CHUNK_TIMEOUT", 0.1)
        assert_right(*many)
        assert is_killed(*eager)

    @pytest.mark.usefixtures("sleeper")
    def test_one_that_hangs_before_it_is_asked_is_not_waited_for_forever(self) -> None:
        waiting: SimpleQueue[FileChunk | None] = SimpleQueue()
        waiting.put(None)
        helper = HelperThread(HelperTask("hash", ("0",)), waiting)
        helper.end()
        assert is_killed(helper)

    @pytest.mark.usefixtures("sleeper")
    def test_an_interrupt_waits_for_none(
        self, many: ManyFiles, eager: list[HelperThread], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def interrupt(_: object) -> None:
            if eager:
                raise KeyboardInterrupt

        monkeypatch.setattr(ProgressCounter, "report", interrupt)
        monkeypatch.setattr(helper_pool, "_LAST_CHUNK_TIMEOUT", 600)
        start = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            hash_files(*many)
        assert is_killed(*eager)
        assert time.monotonic() - start < 300

    def test_a_frozen_program_does_not_start_itself(
        self,
        many: ManyFiles,
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
        many: ManyFiles,
        eager: list[HelperThread],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        def refuse(_: object) -> None:
            raise RuntimeError("can't start new thread")

        monkeypatch.setattr(threading.Thread, "start", refuse)
        assert_right(*many)
        assert eager == []

    def test_a_program_can_hash_in_its_last_breath(self, many: ManyFiles) -> None:
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
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, check=False, capture_output=True, cwd="/", timeout=60
        )
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
