"""What a killed command leaves behind is removed by the next one that passes; what somebody is at work on never is."""

import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

import runcard as library
from attacks.command_server import runcard
from attacks.victims import contents
from child_process.commands import state_of
from plans.projects import RubyProject
from runcard.files.temporary_files import HOUR
from runcard.operations.archives.archive import archive
from runcard.operations.archives.restore import restore
from waiting import wait_until

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


# A command that stops itself when it is about to do something and a file fits the pattern, or a folder with files in it.
STOPS = """
import glob, os, signal, sys
from runcard.cli.main import main
pattern, *others = sys.argv.pop(1).split(os.pathsep)
def look(event, _):
    global pattern
    if pattern and event.startswith(("os.", "open", "shutil.", "ctypes.")):
        wanted, pattern = pattern, ""  # looking is something to do as well
        found = [path for path in glob.glob(wanted) if path not in others]
        if any(os.listdir(path) if os.path.isdir(path) else os.stat(path).st_size for path in found):
            os.kill(os.getpid(), signal.SIGSTOP)
        else:
            pattern = wanted
sys.addaudithook(look)
sys.exit(main())
"""


@dataclass(frozen=True)
class StoppedCommand:
    process: "subprocess.Popen[bytes]"
    place: Path  # where it was at work

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def finish(self) -> int:
        self.process.send_signal(signal.SIGCONT)
        return self.process.wait(60)


def stopped_at(
    folder: Path, pattern: str, *arguments: str | Path, without: Path | None = None
) -> StoppedCommand:
    """Start a command; it stops when there is something that fits the pattern."""
    until = os.pathsep.join([f"{folder}/{pattern}", *([str(without)] if without else [])])
    command = [sys.executable, "-c", STOPS, until, *map(str, arguments)]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_until(lambda: state_of(process.pid) in "TZ", "the command to stop")
    assert process.poll() is None, "it has ended without a stop"
    (place,) = (path for path in folder.glob(pattern) if path != without)
    return StoppedCommand(process, place)


def record(store: Path, size: int = 0) -> Path:
    with library.record(store, strict=True) as run:
        (run.path / "a.bin").write_bytes(os.urandom(size))
    return Path(run.path)


# Deleting


def test_a_deletion_that_was_killed_is_seen_and_finished_by_the_same_command(here: Path) -> None:
    gone, kept = record(here / "outputs", 3000), record(here / "outputs")
    command = stopped_at(here, "outputs/.runcard/pruned-*", "rm", str(gone), "--yes")
    assert runcard(here, "verify", "outputs").returncode == 0  # it is at work
    command.kill()
    assert not gone.exists()
    seen = runcard(here, "verify", "outputs")
    assert seen.returncode == 2
    assert "the content of a deleted record is still here" in seen.stdout + seen.stderr
    assert f"`runcard rm outputs/{gone.name}`" in seen.stdout + seen.stderr
    os.utime(command.place, (LONG_AGO, LONG_AGO))
    assert f"runcard rm outputs/{gone.name}" in runcard(here, "doctor").stdout
    assert runcard(here, "rm", "outputs/2020-01-01_000000", "--yes").returncode == 1
    assert command.place.exists()  # another word
    for word, code in ((gone.name, 0), (f"outputs/{gone.name}", 1)):
        done = runcard(here, "rm", word, "--yes")
        assert done.returncode == code, done.stderr
        assert not command.place.exists()
    assert kept.exists()
    assert runcard(here, "verify", "outputs").returncode == 0


# A command that is killed when it is about to do something to a file whose name has these words.
KILLED = """
import os, signal, sys
from runcard.cli.main import main
event, words = sys.argv.pop(1), sys.argv.pop(1)
def look(name, arguments):
    if name == event and words in str(arguments[:2]):
        os.kill(os.getpid(), signal.SIGKILL)
sys.addaudithook(look)
sys.exit(main())
"""


def kill_at(folder: Path, event: str, words: str, *arguments: str | Path) -> None:
    command = [sys.executable, "-c", KILLED, event, words, *map(str, arguments)]
    done = subprocess.run(command, cwd=folder, capture_output=True, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr


@pytest.mark.parametrize(
    ("event", "words"),
    [
        ("os.remove", ".tar.gz"),
        ("os.remove", ".index.json"),
        ("os.remove", ".metadata.json"),
        ("os.rename", "archive_index.json"),
    ],
)
@pytest.mark.parametrize("again", ["rm", "prune"])
def test_the_deletion_of_an_archive_that_was_killed_is_finished(
    here: Path, event: str, words: str, again: str
) -> None:
    run = record(here / "outputs")
    archive(run)
    commands = {
        "rm": ("rm", run.name, "--yes"),
        "prune": ("prune", "--older-than", "0s", "--yes"),
    }
    kill_at(here, event, words, *commands["rm"])
    assert runcard(here, "verify", "outputs").returncode == 0
    done = runcard(here, *commands[again])
    assert done.returncode == 0, done.stderr
    assert [path.name for path in here.glob("outputs/archive/*/*")] == []
    assert runcard(here, "verify", "outputs").returncode == 0
    assert runcard(here, *commands["prune"]).stdout == "nothing to delete\n"
    (ledger,) = here.glob("outputs/.runcard/ledger-*")
    assert ledger.read_text().count("record.deleted") == (2 if words == ".tar.gz" else 1)


@pytest.mark.parametrize("words", [".metadata.json", ".index.json", "archive_index.json"])
@pytest.mark.parametrize(
    "command", ["amend {} note checked", "redact {} --file a.bin --reason x --yes"], ids=["larger", "smaller"]
)
def test_an_archive_that_was_not_replaced_to_the_end_says_what_finishes_it(
    here: Path, command: str, words: str
) -> None:
    run = record(here / "outputs", 3000)
    restore(archive(run).archive)
    assert runcard(here, *command.format(run).split()).returncode in {0, 2}
    kill_at(here, "os.rename", words, "archive", run)
    seen = runcard(here, "verify", "outputs")
    assert (seen.returncode, run.exists()) == (1, True)
    assert "if archiving was interrupted, archive the record again to finish it" in seen.stdout
    assert runcard(here, "archive", run).returncode == 0
    assert (runcard(here, "verify", "outputs").returncode, run.exists()) == (0, False)


@pytest.mark.parametrize(
    ("event", "words"),
    [("os.rename", ".amendments.jsonl."), ("os.remove", "a.bin"), ("os.rename", ".tar.gz")],
)
def test_a_redaction_in_an_archive_that_was_killed_does_not_look_finished(
    here: Path, event: str, words: str
) -> None:
    """The record is in its directory then, and in its archive, which still has what was to be removed."""
    run = record(here / "outputs", 3000)
    archive(run)
    command = ("redact", run.name, "--file", "a.bin", "--reason", "x", "--yes")
    kill_at(here, event, words, *command)
    for _ in range(2):
        again = runcard(here, *command)
        assert again.returncode == 2
        assert "still contains the removed data: archive the record again" in again.stderr
    assert runcard(here, "archive", run).returncode == 0
    assert runcard(here, *command).returncode == 0
    assert runcard(here, "verify", "outputs").returncode == 0


# Signing


def test_the_next_anchor_and_the_next_signature_of_a_store_remove_what_killed_ones_left(here: Path) -> None:
    store = here / "outputs"
    record(store)
    own = store / ".runcard"
    assert runcard(here, "keygen", "--output", "me.key").returncode == 0
    draft = own / "anchors/.2026-01-01_000000.0123abcd.tmp"
    left = [leave(own / "ledgers.sig", old=False), leave(own / "anchors/x.anchor.json")]
    draft.write_bytes(b"{}\n")
    os.utime(draft, (LONG_AGO, LONG_AGO))
    at_work = leave(own / "anchors/y.anchor.json", old=False)
    signed = runcard(here, "sign", "outputs", "--key", "me.key")
    assert signed.returncode == 0, signed.stderr
    anchored = runcard(here, "anchor", "outputs", "--request", "anchor.tsq")
    assert anchored.returncode == 0, anchored.stderr
    assert not any(path.exists() for path in [*left, draft])
    assert at_work.exists()


def test_an_anchor_that_is_killed_is_removed_by_the_next_one(here: Path) -> None:
    record(here / "outputs")
    command = stopped_at(here, "outputs/.runcard/anchors/.*", "anchor", "outputs", "--request", "a.tsq")
    command.kill()
    for path in (here / "outputs/.runcard/anchors").iterdir():
        os.utime(path, (LONG_AGO, LONG_AGO))
    assert runcard(here, "anchor", "outputs", "--request", "b.tsq").returncode == 0
    assert not list((here / "outputs/.runcard/anchors").glob(".*"))


def test_the_leaves_of_an_anchor_that_was_killed_are_removed_by_the_next_one(here: Path) -> None:
    record(here / "outputs")
    kill_at(here, "os.rename", ".json.", "anchor", "outputs", "--request", "a.tsq")
    (young,) = (here / "outputs/.runcard/anchors").glob("2*")
    assert young.name.endswith(".leaves.jsonl")
    left = young.with_name("2026-01-01_000000-01234567.leaves.jsonl")
    left.write_bytes(young.read_bytes())
    young = young.rename(young.with_name("2026-01-01_000000-01234568.leaves.jsonl"))
    os.utime(left, (LONG_AGO, LONG_AGO))
    assert runcard(here, "anchor", "outputs", "--request", "b.tsq").returncode == 0
    assert (left.exists(), young.exists()) == (False, True)


# Bundles

RECORDS = """
import os, runcard, sys
with runcard.record(sys.argv[1], strict=True) as run:
    (run.path / "a.bin").write_bytes(os.urandom(3000))
print(run.path)
"""


PLACES = ".runcard-bundle-*"  # where bundles are made


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
    dead = stopped_at(folder, PLACES, "import-bundle", bundle, "a")
    dead.kill()
    living = stopped_at(folder, PLACES, "import-bundle", bundle, "b", without=dead.place)
    done = runcard(folder, "import-bundle", bundle, "c")
    assert (done.returncode, dead.place.exists(), living.place.exists()) == (0, False, True)
    assert living.finish() == 0
    assert sorted(path.name for path in folder.iterdir()) == ["b", "c"]


def test_the_file_of_a_killed_export_is_removed_by_the_next(here: Path) -> None:
    run = record(here / "outputs", 3000)
    folder = here / "new"
    folder.mkdir()
    arguments = ("export", run, "--to", "bundle", "--output")
    dead = stopped_at(folder, PLACES, *arguments, folder / "a.tar.gz")
    dead.kill()
    living = stopped_at(folder, PLACES, *arguments, folder / "b.tar.gz", without=dead.place)
    assert runcard(here, *arguments, folder / "c.tar.gz").returncode == 0
    assert (dead.place.exists(), living.place.exists()) == (False, True)
    assert living.finish() == 0
    assert sorted(path.name for path in folder.iterdir()) == ["b.tar.gz", "c.tar.gz"]


def test_what_only_looks_like_a_folder_of_ours_stays(here: Path, bundle: Path) -> None:
    folder = here / "new"
    (here / "home").mkdir()
    (here / "home/thesis.txt").write_text("precious")
    (folder / ".runcard-bundle-notes").mkdir()
    (folder / ".runcard-bundle-0123abcd").symlink_to(here / "home")
    os.mkfifo(folder / ".runcard-bundle-0123abce")
    before = set(folder.glob(".runcard-bundle-*"))
    assert runcard(folder, "import-bundle", bundle, "a").returncode == 0
    assert set(folder.glob(".runcard-bundle-*")) == before
    assert (here / "home/thesis.txt").exists()


# Archives


def test_the_draft_of_a_killed_archiver_is_removed_and_that_of_a_living_one_is_not(here: Path) -> None:
    store = here / "outputs"
    first, second, third = (record(store, 3000) for _ in range(3))
    drafts = "outputs/archive/*/.{}.tar.gz.*.tmp"
    dead = stopped_at(here, drafts.format(first.name), "archive", first)
    dead.kill()
    living = stopped_at(here, drafts.format(second.name), "archive", second)
    for path in (dead.place, living.place):
        os.utime(path, (LONG_AGO, LONG_AGO))
    assert runcard(here, "archive", third).returncode == 0
    assert (dead.place.exists(), living.place.exists()) == (False, True)
    assert living.finish() == 0
    assert runcard(here, "archive", first).returncode == 0
    assert not list(store.glob("archive/*/.*"))
    assert runcard(here, "verify", "outputs").returncode == 0


def test_a_record_that_is_archived_again_leaves_no_draft_however_young(here: Path) -> None:
    run = record(here / "outputs", 3000)
    stopped_at(here, "outputs/archive/*/.*.tmp", "archive", run).kill()
    assert runcard(here, "archive", run).returncode == 0
    assert not list(here.glob("outputs/archive/*/.*"))


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
    run, other = record(here / "outputs", 3000), record(here / "outputs")
    packed = archive(run).archive
    dead = stopped_at(here, "outputs/.runcard/restoring-*/a.bin", "restore", packed)
    dead.kill()
    assert dead.place.exists()
    assert runcard(here, "archive", other).returncode == 0
    assert not dead.place.parent.exists()


def test_a_killed_extraction_gives_no_name_to_a_part_of_a_file(here: Path) -> None:
    run = record(here / "outputs", 3000)
    packed = archive(run).archive
    kill_at(here, "os.truncate", "", "extract", packed, "a.bin", "--output", "out")
    (left,) = (here / "out").iterdir()
    assert re.fullmatch(r"\.a\.bin\.[0-9a-f]{8}\.tmp", left.name)
    assert runcard(here, "extract", packed, "a.bin", "--output", "out").returncode == 0
    assert (here / "out/a.bin").stat().st_size == 3000


def test_what_a_living_restorer_unpacks_stays(here: Path) -> None:
    run, other = record(here / "outputs", 3000), record(here / "outputs")
    packed = archive(run).archive
    living = stopped_at(here, "outputs/.runcard/restoring-*/a.bin", "restore", packed)
    assert runcard(here, "archive", other).returncode == 0
    assert living.place.exists()
    assert living.finish() == 0
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
