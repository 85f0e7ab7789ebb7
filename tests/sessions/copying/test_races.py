"""A workspace that others work in while it is copied: real processes that change, cut, swap and remove files."""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest

from files.small_disk import small_disk
from runcard import checksums
from runcard.errors import RuncardError
from runcard.files import FileKind
from runcard.parallel import chunks, helper_pool
from runcard.parallel.helper_pool import HelperProcess
from runcard.parallel.progress import Amount
from runcard.parallel.worker import SMALL_FILE
from runcard.store.sessions.copying import (
    CopyRules,
    copy_log,
    copy_workspace,
    large_files,
    source_walk,
    workspace,
)
from runcard.store.sessions.copying.file_transfer import FileTransfer
from runcard.store.sessions.copying.omission_reasons import CHANGED
from sessions.copying.workspaces import copy, make, paths, reasons, target_of

Action = Callable[[], object]

# Each works in a directory until it is killed, and says when it has begun.
WRITERS = {
    "rewrites": "with open('victim', 'r+b') as f: f.write(os.urandom(1 << 20))",
    "cuts": "os.truncate('victim', 100); os.truncate('victim', 3 << 20)",
    "appends": "open('victim', 'ab').write(bytes(64))",
    "replaces": "open('new', 'wb').write(bytes(3 << 20)); os.rename('new', 'victim')",
    "removes": "os.unlink('victim'); open('victim', 'wb').write(bytes(3 << 20))",
    "swaps for a link": "os.symlink('/etc/passwd', 'l'); os.rename('l', 'victim'); open('f', 'wb').write(bytes(9)); os.rename('f', 'victim')",
    "swaps for a pipe": "os.mkfifo('p'); os.rename('p', 'victim'); open('f', 'wb').write(bytes(9)); os.rename('f', 'victim')",
    "swaps its directory": "os.rename('sub', 'away'); os.symlink('/etc', 'sub'); os.unlink('sub'); os.rename('away', 'sub')",
    "makes and removes directories": "os.makedirs('x/y/z'); open('x/y/z/f', 'w').write('1'); os.unlink('x/y/z/f'); os.removedirs('x/y/z')",
}
QUICK = {"rewrites", "swaps for a link", "swaps its directory"}


@contextlib.contextmanager
def busy(folder: Path, code: str) -> Iterator[None]:
    """A process that does this to a directory, again and again."""
    program = f"import os\nos.chdir({str(folder)!r})\nprint(flush=True)\nwhile True:\n    {code}\n"
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            process.stdout.readline()
            yield
        finally:
            process.kill()


@pytest.mark.parametrize(
    "writer",
    [writer if writer in QUICK else pytest.param(writer, marks=pytest.mark.long) for writer in WRITERS],
)
def test_whatever_others_do_what_is_stored_has_the_digest_that_is_told(tmp_path: Path, writer: str) -> None:
    source = make(
        tmp_path / "ws",
        {"victim": bytes(3 << 20), "steady": os.urandom(SMALL_FILE * 3), "sub/passwd": "ours", "sub/a": "x"},
    )
    with busy(source, WRITERS[writer]):
        for round_ in range(6):
            target = tmp_path / f"copy{round_}"
            copied = copy_workspace(source, target, rules=CopyRules())
            told = {file.path: file.sha256 for file in copied.files}
            assert told == {path: digest.hex for path, digest in checksums.make(target).listing.items()}
            assert "steady" in told
            for path in target.rglob("passwd"):
                assert path.read_bytes() == b"ours"
            assert not any(path.is_symlink() or path.is_fifo() for path in target.rglob("*"))


def append(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)


class TestWhatIsNoticed:
    """The moment between two steps of the copy, hit exactly."""

    @pytest.fixture
    def source(self, tmp_path: Path) -> Path:
        return make(tmp_path / "ws", {"victim": bytes(4 << 20), "other": b"x"})

    @pytest.mark.parametrize("change", ["grow", "cut", "rewrite", "remove"])
    def test_a_file_that_changes_while_it_is_copied_is_kept_as_read_and_recorded(
        self, source: Path, monkeypatch: pytest.MonkeyPatch, change: str
    ) -> None:
        victim = source / "victim"
        actions: dict[str, Action] = {
            "grow": lambda: append(victim, b"more"),
            "cut": lambda: os.truncate(victim, 1 << 20),
            "rewrite": lambda: victim.write_bytes(b"other" + bytes((4 << 20) - 5)),
            "remove": victim.unlink,
        }
        write = FileTransfer._write
        begun: list[bool] = []

        def meanwhile(self: FileTransfer, data: memoryview, start: int) -> None:
            if not begun:
                begun.append(True)
                actions[change]()
            write(self, data, start)

        monkeypatch.setattr(FileTransfer, "_write", meanwhile)
        copied = copy(source)
        assert reasons(copied) == {"victim": "changed while it was copied: stored as read"}
        _, file = copied.files
        stored = target_of(source) / "victim"
        assert file.size == stored.stat().st_size == {"cut": 1 << 20}.get(change, 4 << 20)
        assert file.sha256 == checksums.make(target_of(source)).listing["victim"].hex

    @pytest.mark.parametrize(
        ("swap", "reason"),
        [
            ("remove", "vanished before it was copied"),
            ("link", "was replaced by something else before it was copied: not followed"),
            ("pipe", "was replaced by a FIFO before it was copied"),
            ("folder", "was replaced by a directory before it was copied"),
        ],
    )
    def test_a_file_that_is_swapped_before_it_is_opened_is_not_followed(
        self, source: Path, monkeypatch: pytest.MonkeyPatch, swap: str, reason: str
    ) -> None:
        victim = source / "victim"
        actions: dict[str, Action] = {
            "remove": lambda: None,
            "link": lambda: victim.symlink_to("/etc/passwd"),
            "pipe": lambda: os.mkfifo(victim),
            "folder": victim.mkdir,
        }
        look = source_walk.WorkspaceWalk._enter

        def listed(
            self: source_walk.WorkspaceWalk, visit: source_walk._PendingDirectory
        ) -> Iterable[tuple[str, FileKind]]:
            kinds = look(self, visit)
            victim.unlink(missing_ok=True)
            actions[swap]()
            return kinds

        monkeypatch.setattr(source_walk.WorkspaceWalk, "_enter", listed)
        copied = copy(source)
        assert reasons(copied) == {"victim": reason}
        assert paths(copied) == ["other"]

    def test_a_directory_that_is_swapped_for_a_link_is_not_entered(
        self, source: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        make(source, {"sub/file": ""})
        look = source_walk.WorkspaceWalk._enter

        def listed(
            self: source_walk.WorkspaceWalk, visit: source_walk._PendingDirectory
        ) -> Iterable[tuple[str, FileKind]]:
            if visit.path == "sub":
                (source / "sub").rename(source / "away")
                (source / "sub").symlink_to("/etc")
            return look(self, visit)

        monkeypatch.setattr(source_walk.WorkspaceWalk, "_enter", listed)
        copied = copy(source)
        assert "not followed" in reasons(copied)["sub"]
        assert paths(copied) == ["other", "victim"]

    def test_a_file_that_grows_over_the_limit_meanwhile_is_left_out(
        self, source: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        looked = workspace._size

        def grown(*arguments: object) -> int:
            size = looked(*arguments)  # type: ignore[arg-type]
            os.truncate(source / "victim", 9 << 20)
            return size

        monkeypatch.setattr(workspace, "_size", grown)
        copied = copy(source, max_size=5 << 20)
        assert reasons(copied) == {"victim": "beyond the limit of 5 MiB in all"}

    def test_a_transcript_that_grows_is_kept_as_far_as_it_was(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        source = tmp_path / "in.log"
        source.write_bytes(b"one\ntwo\n")
        read = FileTransfer._blocks

        def grown(self: FileTransfer, start: int, end: int) -> Iterator[memoryview]:
            append(source, b"three\n")
            return read(self, start, end)

        monkeypatch.setattr(FileTransfer, "_blocks", grown)
        copied = copy_log(source, tmp_path / "output.log", rules=CopyRules())
        assert (tmp_path / "output.log").read_bytes() == b"one\ntwo\n"
        assert copied.lines == 2
        assert [omission.reason for omission in copied.omissions] == [CHANGED]


class TestHelpers:
    @pytest.fixture(autouse=True)
    def _eager(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(helper_pool, "START_AFTER", 0)
        monkeypatch.setattr(chunks, "CHUNK_FILES", 16)
        monkeypatch.setattr(chunks, "cores", lambda: 2)

    def test_one_that_is_killed_loses_nothing(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        ask = HelperProcess.ask
        killed: list[int] = []

        def kill(self: HelperProcess, question: bytes, length: int) -> bytes | None:
            answer = ask(self, question, length)
            killed.append(self._process.pid)
            os.kill(self._process.pid, signal.SIGKILL)
            return answer if answer is None or len(killed) > 1 else None

        monkeypatch.setattr(HelperProcess, "ask", kill)
        source = make(tmp_path / "ws", {f"{number % 5}/{number}": f"{number}" for number in range(500)})
        copied = copy(source)
        assert killed
        assert len(copied.files) == 500
        assert copied.omissions == ()
        assert checksums.make(target_of(source)).listing == checksums.make(source).listing

    def test_an_interrupt_ends_everything(self, tmp_path: Path) -> None:
        source = make(tmp_path / "ws", {f"{number}": bytes(SMALL_FILE + 1) for number in range(40)})

        def stop(_: Amount) -> None:
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            copy_workspace(source, target_of(source), rules=CopyRules(), progress=stop)


class TestTheDisk:
    @pytest.fixture
    def small(self, tmp_path: Path) -> Iterator[Path]:
        with small_disk(tmp_path / "small", "1m") as place:
            yield place

    @pytest.mark.parametrize("size", [20_000, SMALL_FILE * 2])
    def test_a_full_one_is_an_error_that_says_what_to_do(
        self, tmp_path: Path, small: Path, size: int
    ) -> None:
        source = make(tmp_path / "ws", {f"{number}": os.urandom(size) for number in range(3_000_000 // size)})
        with pytest.raises(RuncardError, match="No space left") as caught:
            copy_workspace(source, small / "copy", rules=CopyRules())
        assert "free some disk space" in (caught.value.hint or "")
        assert len(list(source.iterdir())) == 3_000_000 // size


class TestEveryFileHasAnOutcome:
    def test_a_file_without_one_is_named(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Nothing leads there today; if something does one day, it must show."""
        source = make(tmp_path / "ws", {"large": b"x" * 1_000_000, "small": "x"})
        monkeypatch.setattr(large_files.LargeFileCopier, "run", lambda *_: None)
        copied = copy(source)
        assert paths(copied) == ["small"]
        assert reasons(copied) == {"large": "lost by a bug in runcard: please report it"}

    def test_an_error_in_a_thread_that_nobody_expected_is_raised(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        source = make(tmp_path / "ws", {"large": b"x" * 1_000_000})

        def fail(*_: object) -> None:
            raise IndexError("unexpected")

        monkeypatch.setattr(large_files, "copy_file", fail)
        with pytest.raises(IndexError, match="unexpected"):
            copy(source)
