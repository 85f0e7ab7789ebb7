"""Secrets in transcripts, and in the text files of workspaces: masked before they reach the disk, and counted."""

import hashlib
import os
import subprocess
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from runcard.errors import MachineError, StoreError
from runcard.masking import Masker
from runcard.parallel.helper_pool import HelperProcess
from runcard.store.sessions.copying import (
    CopiedLog,
    CopyRules,
    Omission,
    Redaction,
    copy_log,
    file_transfer,
    large_files,
)
from sessions.copying.workspaces import copy, make, paths, target_of

KEY = b"sk-ant-api03-" + b"Zq7" * 30
LINE = b"export ANTHROPIC_API_KEY=" + KEY + b"\n"
MASKED = b"export ANTHROPIC_API_KEY=[masked:anthropic-key]\n"


def log(data: bytes, folder: Path, **rules: Any) -> CopiedLog:
    (folder / "in.log").write_bytes(data)
    return copy_log(folder / "in.log", folder / "output.log", rules=CopyRules(**rules))


class TestWorkspaces:
    def test_nothing_is_masked_unless_asked_for(self, tmp_path: Path) -> None:
        source = make(tmp_path / "ws", {"a.txt": LINE})
        copied = copy(source, scan=False)
        assert (target_of(source) / "a.txt").read_bytes() == LINE
        assert copied.redactions == ()

    def test_a_text_with_a_secret_is_left_out_unless_asked_otherwise(self, tmp_path: Path) -> None:
        source = make(tmp_path / "ws", {"a.txt": LINE, "b.txt": b"password=hunter2\n"})
        copied = copy(source)
        assert paths(copied) == ["b.txt"]
        assert copied.omissions == (Omission("a.txt", "contains a secret (anthropic-key)"),)
        assert not (target_of(source) / "a.txt").exists()

    def test_text_is_masked_and_counted_and_both_digests_are_told(self, tmp_path: Path) -> None:
        source = make(tmp_path / "ws", {"a.txt": LINE * 2, "b.txt": "harmless", "empty": b""})
        copied = copy(source, mask=True)
        assert (target_of(source) / "a.txt").read_bytes() == MASKED * 2
        a, b, empty = copied.files
        assert (a.size, a.sha256) == (len(MASKED) * 2, hashlib.sha256(MASKED * 2).hexdigest())
        assert a.source_sha256 == hashlib.sha256(LINE * 2).hexdigest()
        assert (b.source_sha256, empty.source_sha256) == (None, None)
        assert copied.redactions == (Redaction("anthropic-key", "a.txt", 2),)

    def test_a_file_with_a_nul_at_its_beginning_is_binary_and_left_alone(self, tmp_path: Path) -> None:
        files = {
            "binary": b"\0" + LINE,
            "late": b"x" * 8192 + b"\0" + LINE,
            "last": b"x" * 8191 + b"\0" + LINE,
        }
        source = make(tmp_path / "ws", files)
        copied = copy(source, mask=True)
        assert (target_of(source) / "binary").read_bytes() == files["binary"]
        assert (target_of(source) / "last").read_bytes() == files["last"]
        assert [redaction.path for redaction in copied.redactions] == ["late"]

    def test_a_secret_on_the_border_of_two_blocks_is_found(self, tmp_path: Path) -> None:
        files = {
            f"{cut}": b"x\n" * ((file_transfer.BLOCK - cut) // 2) + LINE + b"y\n" * 10
            for cut in range(0, len(LINE) + 4, 2)
        }
        source = make(tmp_path / "ws", files)
        copied = copy(source, mask=True)
        assert paths(copied) == [redaction.path for redaction in copied.redactions]
        assert all(KEY not in path.read_bytes() for path in target_of(source).iterdir())

    def test_holes_in_text_stay_holes(self, tmp_path: Path) -> None:
        source = make(tmp_path / "ws", {"sparse": LINE * 400})
        os.truncate(source / "sparse", 8 << 20)
        copied = copy(source, mask=True)
        copy_ = target_of(source) / "sparse"
        assert copy_.stat().st_blocks * 512 < 1 << 20
        assert hashlib.sha256(copy_.read_bytes()).hexdigest() == next(iter(copied.files)).sha256
        assert next(iter(copied.files)).size == copy_.stat().st_size


class TestTranscripts:
    @pytest.mark.parametrize(
        ("data", "lines"), [(b"", 0), (b"a", 1), (b"a\n", 1), (b"a\nb", 2), (b"\n\n", 2), (b"\0\n\0", 2)]
    )
    def test_lines_are_counted_with_an_unfinished_last_one(
        self, tmp_path: Path, data: bytes, lines: int
    ) -> None:
        copied = log(data, tmp_path)
        assert copied.lines == lines
        assert (tmp_path / "output.log").read_bytes() == data
        assert copied.file is not None
        assert (copied.file.size, copied.file.source_sha256) == (len(data), None)

    def test_it_is_masked_whatever_it_looks_like(self, tmp_path: Path) -> None:
        copied = log(b"\0binary?\n" + LINE + b"end", tmp_path)
        assert (tmp_path / "output.log").read_bytes() == b"\0binary?\n" + MASKED + b"end"
        assert copied.lines == 3
        assert copied.redactions == (Redaction("anthropic-key", "output.log", 1),)
        assert copied.file is not None
        assert copied.file.source_sha256 == hashlib.sha256(b"\0binary?\n" + LINE + b"end").hexdigest()
        assert (tmp_path / "output.log").stat().st_mode & 0o777 == 0o600

    def test_it_is_kept_as_it_is_on_request(self, tmp_path: Path) -> None:
        (tmp_path / "in.log").write_bytes(LINE)
        copied = copy_log(tmp_path / "in.log", tmp_path / "output.log", rules=CopyRules(), mask=False)
        assert (tmp_path / "output.log").read_bytes() == LINE
        assert (copied.lines, copied.redactions) == (1, ())

    def test_memory_does_not_grow_with_it(self, tmp_path: Path) -> None:
        tracemalloc.start()
        copied = log(b"a line of a transcript\n" * 400_000, tmp_path)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert copied.lines == 400_000
        assert peak < 9_200_000 + 4_000_000  # the test's own bytes, and some blocks

    def test_one_that_is_missing_is_an_omission(self, tmp_path: Path) -> None:
        copied = copy_log(tmp_path / "nothing", tmp_path / "output.log", rules=CopyRules())
        assert (copied.file, copied.lines) == (None, 0)
        assert [omission.reason for omission in copied.omissions] == ["the file does not exist"]
        assert not (tmp_path / "output.log").exists()

    def test_one_that_is_no_file_is_not_read(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "pipe")
        for source, kind in (("pipe", "FIFO"), (".", "directory"), ("/dev/zero", "device")):
            copied = copy_log(tmp_path / source, tmp_path / "output.log", rules=CopyRules())
            assert [omission.reason for omission in copied.omissions] == [f"a {kind}, not a file: not read"]

    def test_the_limits_count(self, tmp_path: Path) -> None:
        assert log(b"x" * 11, tmp_path, max_file_size=10).omissions[0].reason == "larger than 10 bytes"
        reason = log(b"x" * 11, tmp_path, max_size=20, used=10).omissions[0].reason
        assert reason == "beyond the limit of 20 bytes in all"

    def test_nothing_is_written_over(self, tmp_path: Path) -> None:
        (tmp_path / "output.log").write_bytes(b"mine")
        with pytest.raises(StoreError):
            log(b"theirs", tmp_path)
        assert (tmp_path / "output.log").read_bytes() == b"mine"

    def test_a_full_disk_is_an_error(self, tmp_path: Path) -> None:
        (tmp_path / "in.log").write_bytes(LINE)
        source, full = os.open(tmp_path / "in.log", os.O_RDONLY), os.open("/dev/full", os.O_WRONLY)
        try:
            with pytest.raises(MachineError, match="space"):
                file_transfer.FileTransfer(source, full, "output.log", lambda _: None).copy_masked(
                    len(LINE), Masker()
                )
        finally:
            os.close(source)
            os.close(full)


@pytest.mark.needs("two cores")
class TestSearchHelpers:
    """Large texts are searched in processes of their own."""

    @pytest.fixture
    def source(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        monkeypatch.setattr(large_files, "_SEARCHED_HERE", 1 << 20)
        lines = b"nothing to see here\n" * 100_000
        files = {f"{number}": lines for number in range(6)}
        return make(tmp_path / "ws", files | {"leak": lines + LINE + lines})

    def test_they_find_what_is_there(self, source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        helpers = self.started(monkeypatch)
        copied = copy(source)
        assert copied.omissions == (Omission("leak", "contains a secret (anthropic-key)"),)
        assert len(copied.files) == 6
        assert helpers
        assert all(helper.poll() is not None for helper in helpers), "a helper was left behind"

    def test_one_that_is_killed_changes_nothing(self, source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        helpers = self.started(monkeypatch, kill=True)
        copied = copy(source)
        assert copied.omissions == (Omission("leak", "contains a secret (anthropic-key)"),)
        assert len(copied.files) == 6
        assert helpers

    @staticmethod
    def started(monkeypatch: pytest.MonkeyPatch, *, kill: bool = False) -> list[subprocess.Popen[bytes]]:
        """The helpers that are asked; with `kill`, each dies before its first answer."""
        asked: list[subprocess.Popen[bytes]] = []
        ask = HelperProcess.ask

        def watch(self: HelperProcess, text: bytes, reply_size: int) -> bytes | None:
            asked.append(self._process)
            if kill:
                self.kill()
            return ask(self, text, reply_size)

        monkeypatch.setattr(HelperProcess, "ask", watch)
        return asked
