"""What a killed command leaves behind is removed by the next one that passes; what somebody is at work on never is."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import runcard as library
from attacks.victims import contents, runcard
from plans.projects import RubyProject
from runcard.files.temporary_files import HOUR
from runcard.operations.archives.archive import archive
from runcard.operations.archives.restore import restore

LONG_AGO = time.time() - HOUR - 60
DIES = """
import os, signal, sys
from runcard.files import atomic, write_atomic
atomic._rename = lambda *args, **more: os.kill(os.getpid(), signal.SIGKILL)
write_atomic(sys.argv[1], b"half")
"""


def leave(path: Path, *, old: bool = True) -> Path:
    """A temporary file of somebody who was killed while writing `path`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    before = set(os.listdir(path.parent))
    done = subprocess.run([sys.executable, "-c", DIES, path], check=False)
    assert done.returncode == -signal.SIGKILL
    (name,) = set(os.listdir(path.parent)) - before
    assert re.fullmatch(rf"\.{re.escape(path.name)}\.[0-9a-f]{{8}}\.tmp", name)
    left = path.parent / name
    if old:
        os.utime(left, (LONG_AGO, LONG_AGO))
    return left


def start(folder: Path, *arguments: str | Path) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-m", "runcard", *map(str, arguments)]
    return subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def stopped_at(process: "subprocess.Popen[bytes]", find: Callable[[], list[Path]]) -> Path:
    """Stop a process as soon as something is there; what it is."""
    deadline = time.monotonic() + 60
    while not (found := find()) and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.0005)
    process.send_signal(signal.SIGSTOP)
    assert found, "it was too quick"
    return found[0]


def killed(process: "subprocess.Popen[bytes]") -> None:
    process.kill()
    process.wait()


def finished(process: "subprocess.Popen[bytes]") -> int:
    process.send_signal(signal.SIGCONT)
    return process.wait(60)


def record(store: Path, size: int = 0) -> Path:
    with library.record(store, strict=True) as run:
        (run.path / "a.bin").write_bytes(os.urandom(size))
    return Path(run.path)


# Bundles

RECORDS = """
import os, runcard, sys
with runcard.record(sys.argv[1], strict=True) as run:
    (run.path / "a.bin").write_bytes(os.urandom(30 << 20))
print(run.path)
"""


def places(folder: Path) -> list[Path]:
    """Where bundles are made; only those that were locked, since something is in them."""
    return [path for path in folder.glob(".runcard-bundle-*") if holds_something(path)]


def holds_something(path: Path) -> bool:
    return any(path.iterdir()) if path.is_dir() else path.stat().st_size > 0


@pytest.fixture
def bundle(here: Path) -> Path:
    program = [
        sys.executable,
        "-c",
        RECORDS,
        str(here / "outputs"),
    ]  # it names no file that the bundle would lack
    run = subprocess.run(program, capture_output=True, text=True, check=True).stdout.strip()
    assert runcard(here, "export", run, "--to", "bundle", "--output", here / "run.tar.gz").returncode == 0
    (here / "new").mkdir()
    return here / "run.tar.gz"


def test_the_folder_of_a_killed_import_is_removed_by_the_next_and_that_of_a_living_one_is_not(
    here: Path, bundle: Path
) -> None:
    folder = here / "new"
    left = stopped_at(dead := start(folder, "import-bundle", bundle, "a"), lambda: places(folder))
    killed(dead)
    living = start(folder, "import-bundle", bundle, "b")
    place = stopped_at(living, lambda: [path for path in places(folder) if path != left])
    done = runcard(folder, "import-bundle", bundle, "c")
    assert (done.returncode, left.exists(), place.exists()) == (0, False, True)
    assert finished(living) == 0
    assert sorted(path.name for path in folder.iterdir()) == ["b", "c"]


def test_the_file_of_a_killed_export_is_removed_by_the_next(here: Path) -> None:
    run = record(here / "outputs", 30 << 20)
    folder = here / "new"
    folder.mkdir()
    arguments = ("export", run, "--to", "bundle", "--output")
    left = stopped_at(dead := start(here, *arguments, folder / "a.tar.gz"), lambda: places(folder))
    killed(dead)
    living = start(here, *arguments, folder / "b.tar.gz")
    place = stopped_at(living, lambda: [path for path in places(folder) if path != left])
    assert runcard(here, *arguments, folder / "c.tar.gz").returncode == 0
    assert (left.exists(), place.exists()) == (False, True)
    assert finished(living) == 0
    assert sorted(path.name for path in folder.iterdir()) == ["b.tar.gz", "c.tar.gz"]


def test_what_only_looks_like_a_folder_of_ours_stays(here: Path, bundle: Path) -> None:
    folder = here / "new"
    (here / "home").mkdir()
    (here / "home/thesis.txt").write_text("precious")
    (folder / ".runcard-bundle-notes").mkdir()
    (folder / ".runcard-bundle-0123abcd").symlink_to(here / "home")
    os.mkfifo(folder / ".runcard-bundle-0123abce")
    before = set(folder.glob(".runcard-bundle-*"))
    assert runcard(folder, "import-bundle", bundle, "a", timeout=30).returncode == 0
    assert set(folder.glob(".runcard-bundle-*")) == before
    assert (here / "home/thesis.txt").exists()


# Archives


def test_the_draft_of_a_killed_archiver_is_removed_and_that_of_a_living_one_is_not(here: Path) -> None:
    store = here / "outputs"
    first, second, third = (record(store, 20 << 20) for _ in range(3))

    def drafts(run: Path) -> list[Path]:
        found = store.glob(f"archive/*/.{run.name}.tar.gz.*.tmp")
        return [path for path in found if path.stat().st_size]  # then it was locked before

    left = stopped_at(dead := start(here, "archive", first), lambda: drafts(first))
    killed(dead)
    place = stopped_at(living := start(here, "archive", second), lambda: drafts(second))
    for path in (left, place):
        os.utime(path, (LONG_AGO, LONG_AGO))
    assert runcard(here, "archive", third).returncode == 0
    assert (left.exists(), place.exists()) == (False, True)
    assert finished(living) == 0
    assert runcard(here, "archive", first).returncode == 0
    assert not list(store.glob("archive/*/.*"))
    assert runcard(here, "verify", "outputs").returncode == 0


def test_a_record_that_is_archived_again_leaves_no_draft_however_young(here: Path) -> None:
    run = record(here / "outputs", 20 << 20)
    drafts = here / "outputs/archive"
    stopped_at(dead := start(here, "archive", run), lambda: list(drafts.glob("*/.*.tmp")))
    killed(dead)
    assert runcard(here, "archive", run).returncode == 0
    assert not list(drafts.glob("*/.*"))


def test_temporary_files_beside_archives_are_removed(here: Path) -> None:
    first, second = record(here / "outputs"), record(here / "outputs")
    packed = Path(archive(first).archive)
    index = leave(here / "outputs/archive/archive_index.json", old=False)
    copy = leave(packed.parent / "x.metadata.json")
    young = leave(packed.parent / "y.metadata.json", old=False)
    archive(second)
    assert (index.exists(), copy.exists(), young.exists()) == (False, False, True)
    os.utime(young, (LONG_AGO, LONG_AGO))
    assert runcard(here, "prune", "--older-than", "1d", "--yes").returncode == 0
    assert not young.exists()


def test_what_a_killed_restorer_unpacked_is_removed_by_the_next_archiver(here: Path) -> None:
    run, other = record(here / "outputs", 30 << 20), record(here / "outputs")
    packed = archive(run).archive
    aside = here / "outputs/.runcard" / f"restoring-{run.name}"
    stopped_at(dead := start(here, "restore", packed), lambda: [aside] if (aside / "a.bin").exists() else [])
    killed(dead)
    assert aside.is_dir()
    assert runcard(here, "archive", other).returncode == 0
    assert not aside.exists()


def test_what_a_living_restorer_unpacks_stays(here: Path) -> None:
    run, other = record(here / "outputs", 30 << 20), record(here / "outputs")
    packed = archive(run).archive
    aside = here / "outputs/.runcard" / f"restoring-{run.name}"
    living = start(here, "restore", packed)
    stopped_at(living, lambda: [aside] if (aside / "a.bin").exists() else [])
    assert runcard(here, "archive", other).returncode == 0
    assert aside.is_dir()
    assert finished(living) == 0
    assert (run / "a.bin").exists()


# Other places


def test_a_store_and_an_experiment_are_tidied(here: Path) -> None:
    run = record(here / "outputs")
    own = leave(here / "outputs/.runcard/experiment", old=False)
    kept = leave(here / "outputs/.runcard/originals/0123")
    assert runcard(here, "run", "--", "true").returncode == 0
    assert not own.exists()
    assert runcard(here, "migrate", run, "--to", "1.0").returncode in {0, 2}
    assert kept.exists()  # nothing was written there
    (here / "experiments/x").mkdir(parents=True)
    config = leave(here / "experiments/x/config.yaml")
    assert runcard(here, "run", "--experiment", "x", "--", "true").returncode == 0
    assert not config.exists()


def test_a_plan_folder_is_tidied(tmp_path: Path) -> None:
    project = RubyProject(tmp_path / "shop")
    project.write(project.plan_of())
    old, young = leave(project.folder / "metadata_x.yml"), leave(project.folder / "metadata_y.yml", old=False)
    library.open_plan(project.source).mark("architect", completed=True)
    assert (old.exists(), young.exists()) == (False, True)


def test_beside_a_document_of_the_users_only_its_own_temporary_files_go(here: Path) -> None:
    document = here / "team.json"
    document.write_bytes((Path(__file__).parents[2] / "examples/team.json").read_bytes())
    ours, theirs = leave(document), leave(here / "notes.txt")
    assert runcard(here, "migrate", "--to", "2.0.0", document).returncode == 0
    assert (ours.exists(), theirs.exists()) == (False, True)


def test_files_of_a_run_that_look_like_ours_are_the_users(here: Path) -> None:
    with library.record(here / "outputs", strict=True) as run:
        (run.path / "sub").mkdir()
        for name in (
            ".notes.0123abcd.tmp",
            "sub/.metadata.json.0123abcd.tmp",
            "sub/.runcard-bundle-0123abcd",
        ):
            (run.path / name).write_text("mine")
            os.utime(run.path / name, (LONG_AGO, LONG_AGO))
    names = {name for name in contents(Path(run.path)) if "0123abc" in name}
    assert len(names) == 3
    restore(archive(run.path).archive)
    assert runcard(here, "amend", run.path, "note", "x").returncode == 0
    assert runcard(here, "close").returncode in {0, 1}
    assert names <= set(contents(Path(run.path)))
