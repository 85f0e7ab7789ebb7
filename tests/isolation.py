"""Each test has its own home and temporary folder, and fails if it leaves something behind.

Compared before and after are: processes, threads, open files, the environment, the working directory, and the files in the
working directory. What a session or module fixture started before the test, as a server for all tests of a worker, is not
counted. Such fixtures are requested as arguments: `request.getfixturevalue` would start them inside the test.
"""

import gc
import itertools
import os
import resource
import shutil
import signal
import tempfile
import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import suppress
from multiprocessing import resource_tracker
from pathlib import Path
from typing import Any, TypeVar

import pytest

from runcard.cli.verbosity import reset_verbosity
from runcard.masking.user_patterns import use_patterns
from runcard.recording.heartbeat import HEARTBEAT
from runcard.store.runs import config_file
from waiting import is_true_within

_GRACE = 10.0  # seconds for what is ending when a test ends
_MEMORY = "/dev/shm"  # noqa: S108 - a file system in memory, on Linux
_ENOUGH_MEMORY = 4 << 30  # bytes; a run of all tests uses less than a tenth
_PROC = Path("/proc")
_WORKING_DIRECTORY = "cwd"
_Left = TypeVar("_Left")


_NUMBERS = itertools.count()
_UNUSED: list[Path] = []  # folders that are as new
_HAS_FAILED = pytest.StashKey[bool]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--on-disk", action="store_true", help="make temporary files on disk, not in memory")


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """Temporary files are in memory if there is room: on disk, the tests take a fifth longer. Workers get their folder later."""
    is_chosen = config.option.basetemp or config.getoption("--on-disk")
    if not is_chosen and _has_room(_MEMORY):
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("PYTEST_DEBUG_TEMPROOT", _MEMORY)
            config._tmp_path_factory.getbasetemp()  # type: ignore[attr-defined]


def _has_room(folder: str) -> bool:
    """Whether programs can be stored and run there. In a container, such a folder may be small, and for data only."""
    try:
        found = os.statvfs(folder)
    except OSError:
        return False
    return not found.f_flag & os.ST_NOEXEC and found.f_bavail * found.f_frsize >= _ENOUGH_MEMORY


@pytest.fixture(scope="session", autouse=True)
def _folders_of_worker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """No session fixture, and no process that one starts, reads or writes the files of whoever runs the tests.

    Each worker has a working directory of its own. What is found there was left by its own tests. It also has the one process
    that multiprocessing starts with the first semaphore and keeps to the end.
    """
    resource_tracker.ensure_running()
    root = tmp_path_factory.getbasetemp()
    with pytest.MonkeyPatch.context() as patch:
        set_user_folders(patch, tmp_path_factory.mktemp("home"))
        set_temporary_folder(patch, tmp_path_factory.mktemp("tmp"))
        (root / _WORKING_DIRECTORY).mkdir()
        patch.chdir(root / _WORKING_DIRECTORY)
        yield root


@pytest.fixture(autouse=True)
def _own_folder(_folders_of_worker: Path, request: pytest.FixtureRequest) -> Iterator[Path]:
    """The folder of one test. It is kept if the test fails.

    This is the first fixture of each test, so all others of the test have ended when it looks what was left behind.
    """
    before = Snapshot()
    folder = _UNUSED.pop() if _UNUSED else _new_folder(_folders_of_worker)
    temporary = folder / "tmp"
    with pytest.MonkeyPatch.context() as patch:
        set_temporary_folder(patch, temporary)
        # What somebody's killed runs left in the folders of the machine is not looked at.
        patch.setattr(config_file, "_TEMPORARY", (str(temporary),))
        yield folder
    reset_verbosity()  # of a command in this process
    use_patterns(())
    left = [*before.left_behind(str(temporary)), *_files_left_in(_folders_of_worker / _WORKING_DIRECTORY)]
    if _is_unused(folder):
        _UNUSED.append(folder)
    elif not request.node.stash.get(_HAS_FAILED, False):
        shutil.rmtree(folder, ignore_errors=True)
    if left:
        pytest.fail("left behind: " + "; ".join(left), pytrace=False)


def _new_folder(root: Path) -> Path:
    folder = root / str(next(_NUMBERS))  # short: paths of sockets are limited to 108 bytes
    for name in ("home", "tmp"):
        (folder / name).mkdir(parents=True)
    return folder


def _is_unused(folder: Path) -> bool:
    """Most tests need no files: making folders for each would take longer than many tests."""
    return sorted(os.listdir(folder)) == ["home", "tmp"] and not any(
        os.listdir(folder / name) for name in ("home", "tmp")
    )


@pytest.fixture(autouse=True)
def home(_own_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home of a user who has never used runcard."""
    folder = _own_folder / "home"
    set_user_folders(monkeypatch, folder)
    return folder


@pytest.fixture
def tmp_path(_own_folder: Path) -> Path:
    """Like pytest's, which takes longer to make the more tests there are, and keeps the files of all."""
    folder = _own_folder / "work"
    folder.mkdir()
    return folder


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.failed:
        item.stash[_HAS_FAILED] = True
    return report


def set_user_folders(patch: pytest.MonkeyPatch, home: Path) -> None:
    patch.setenv("HOME", str(home))
    patch.setenv("XDG_CONFIG_HOME", str(home / ".config"))
    patch.setenv("XDG_STATE_HOME", str(home / ".local" / "state"))
    patch.setenv("XDG_DATA_HOME", str(home / ".local" / "share"))
    patch.setenv("XDG_RUNTIME_DIR", str(home))


def set_temporary_folder(patch: pytest.MonkeyPatch, folder: Path) -> None:
    patch.setenv("TMPDIR", str(folder))
    patch.setattr(tempfile, "tempdir", str(folder))


class Snapshot:
    """What this process has at one moment."""

    def __init__(self) -> None:
        self.files = _open_files()
        self.threads = frozenset(threading.enumerate())
        self.children = _children()
        self.ended_children = _page_faults_of_ended_children()
        self.environment = _environment()
        self.signals = _signals()
        self.directory = os.getcwd()

    def left_behind(self, temporary_folder: str) -> list[str]:
        return [
            *self._changed_directory(),
            *self._changed_environment(),
            *self._changed_signals(),
            *self._processes(temporary_folder),
            *self._threads(),
            *self._files(),
        ]

    def _changed_directory(self) -> Iterator[str]:
        if (now := _working_directory()) != self.directory:
            yield f"the working directory {now}"
            os.chdir(self.directory)

    def _changed_environment(self) -> Iterator[str]:
        now = _environment()
        for name in sorted(self.environment.keys() | now.keys()):
            if self.environment.get(name) != now.get(name):
                yield f"the environment variable {name}={now.get(name)}"
                os.environ.pop(name, None)
        os.environ.update(self.environment)

    def _changed_signals(self) -> Iterator[str]:
        """Programs inherit which signals are ignored or blocked."""
        for number, now in _signals().items():
            handler, is_blocked = before = self.signals[number]
            if now != before:
                yield f"the signal {signal.Signals(number).name}: {now}, not {before}"
                signal.pthread_sigmask(signal.SIG_BLOCK if is_blocked else signal.SIG_UNBLOCK, {number})
                if handler is not None:  # else it was not set by Python
                    signal.signal(number, handler)

    def _processes(self, temporary_folder: str) -> Iterator[str]:
        """Children, and what these started: it has the temporary folder of the test in its environment."""

        def left() -> frozenset[int]:
            children = _children() - self.children
            has_started_some = children or _page_faults_of_ended_children() != self.ended_children
            return children | _processes_with(temporary_folder) if has_started_some else frozenset()

        for number in sorted(_unless_ending(left)):
            yield f"the process {number}: {_command(number)}"
            with suppress(ProcessLookupError):
                os.kill(number, signal.SIGKILL)
            with suppress(ChildProcessError):
                os.waitpid(number, 0)

    def _threads(self) -> Iterator[str]:
        """The heartbeat thread waits for the next run of the process: without an open run, it may stay."""
        if not HEARTBEAT._beats:
            HEARTBEAT.pause()
        for thread in _unless_ending(lambda: frozenset(threading.enumerate()) - self.threads):
            yield f"the thread {thread.name}"

    def _files(self) -> Iterator[str]:
        if not _open_files() - self.files:
            return
        gc.collect()
        for number in sorted(_unless_ending(lambda: _open_files() - self.files)):
            yield f"the open file {_target(number)}"


def _files_left_in(folder: Path) -> Iterator[str]:
    for path in sorted(folder.iterdir()):
        yield f"{path.name} in the working directory"
        shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()


def _unless_ending(left: Callable[[], frozenset[_Left]]) -> frozenset[_Left]:
    return frozenset() if is_true_within(_GRACE, lambda: not left()) else left()


def _environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name != "PYTEST_CURRENT_TEST"}


def _signals() -> dict[signal.Signals, tuple[Any, bool]]:
    """The handler of each signal, and whether it is blocked in this thread. SIGALRM is that of pytest-timeout."""
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    numbers = set(signal.Signals) - {signal.SIGALRM}
    return {number: (signal.getsignal(number), number in blocked) for number in numbers}


def _working_directory() -> str:
    try:
        return os.getcwd()
    except FileNotFoundError:
        return "that was removed"


def _open_files() -> frozenset[int]:
    """Listing them opens one more, which is closed again."""
    return frozenset(number for number in map(int, os.listdir("/dev/fd")) if _is_open(number))


def _is_open(number: int) -> bool:
    try:
        os.fstat(number)
    except OSError:
        return False
    return True


def _target(number: int) -> str:
    try:
        return f"{number}: {os.readlink(f'/dev/fd/{number}')}"
    except OSError:  # not every system has links there
        return str(number)


def _children() -> frozenset[int]:
    """The processes that were started here and not waited for; none are seen where there is no /proc."""
    found: set[int] = set()
    for file in _PROC.glob("self/task/*/children"):
        with suppress(OSError):  # a thread that has just ended
            found.update(map(int, file.read_text().split()))
    return frozenset(found)


def _page_faults_of_ended_children() -> int:
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_minflt


def _processes_with(temporary_folder: str) -> frozenset[int]:
    variable = f"TMPDIR={temporary_folder}".encode()
    return frozenset(
        int(process.name) for process in _PROC.glob("[1-9]*") if variable in _environment_of(process)
    )


def _environment_of(process: Path) -> list[bytes]:
    """The environment of a process; it is empty for an instant while a program is started."""
    with suppress(OSError):
        if not (data := (process / "environ").read_bytes()):
            is_true_within(1, lambda: not _is_starting(process))
            data = (process / "environ").read_bytes()
        return data.split(b"\0")
    return []


def _is_starting(process: Path) -> bool:
    """Whether it has no program yet; not if it has ended, or is a thread of the kernel."""
    state, parent, *_ = (process / "stat").read_text().rpartition(")")[2].split()
    return state != "Z" and parent not in {"0", "2"} and not (process / "cmdline").read_bytes()


def _command(number: int) -> str:
    try:
        return (
            (_PROC / str(number) / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")[:200]
        )
    except OSError:
        return "ended"
