"""The user's program is at home in the run's directory: whatever it puts there is kept, and cannot harm the record.

And it may be somebody who may not do much: read-only and missing directories, records of others.
"""

import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import runcard
from needs import skip_without
from runs.harness import (
    assert_closed,
    assert_one_story,
    assert_tidy,
    close_all,
    document_of,
    environment,
    findings,
    lines_of,
    python,
    runs_of,
    status_of,
    warnings_of,
)

NOBODY = 65534


# Names that runcard takes

TAKEN = (
    *("README.md", "RUNCARD.md", "SHA256SUMS", "metadata.json", "amendments.jsonl", "metadata.json.sig"),
    *("experiment.jsonl", "experiment.w-0.jsonl"),
)


def as_file(path: Path, _: Path) -> None:
    path.unlink(missing_ok=True)
    path.write_text(f"the user's own {path.name}\n")


def as_overwritten(path: Path, _: Path) -> None:
    """Truncated and written to, as `open(path, "w")` does: the same file, with other contents."""
    path.write_text(f"the user's own {path.name}\n")


def as_replaced(path: Path, _: Path) -> None:
    """As programs do that write atomically: another file takes the name."""
    other = path.with_name("temporary")
    other.write_text(f"the user's own {path.name}\n")
    other.rename(path)


def as_directory(path: Path, _: Path) -> None:
    path.unlink(missing_ok=True)
    path.mkdir()
    (path / "inner").write_text(f"the user's own {path.name}\n")


def as_link(path: Path, outside: Path) -> None:
    path.unlink(missing_ok=True)
    path.symlink_to(outside)


def as_broken_link(path: Path, outside: Path) -> None:
    path.unlink(missing_ok=True)
    path.symlink_to(outside.with_name("nowhere"))


def as_link_to_directory(path: Path, outside: Path) -> None:
    path.unlink(missing_ok=True)
    path.symlink_to(outside.parent)


def as_fifo(path: Path, _: Path) -> None:
    path.unlink(missing_ok=True)
    os.mkfifo(path)


Harm = Callable[[Path, Path], None]
HARMS: tuple[Harm, ...] = (
    *(as_file, as_overwritten, as_replaced, as_directory, as_link, as_broken_link, as_link_to_directory),
    as_fifo,
)

# Each harm in a store of its own, by a recorder that is killed then.
DIES = """
import os, signal, sys
from pathlib import Path
import runcard
from runs import test_survival_user
place, outside = Path(sys.argv[1]), Path(sys.argv[2])
for harm in test_survival_user.HARMS:
    if os.fork() == 0:
        with runcard.record(place / harm.__name__, strict=True) as run:
            run.log("before")
            for name in test_survival_user.names_for(harm):
                harm(run.path / name, outside)
            run.log("after")
            os.kill(os.getpid(), signal.SIGKILL)
    os.wait()
"""


def names_for(harm: Harm) -> tuple[str, ...]:
    """What can be harmed at once: where both are overwritten, nothing tells any more how a dead run began."""
    return tuple(name for name in TAKEN if not (name == "metadata.json" and harm is as_overwritten))


def outside_of(place: Path) -> Path:
    folder = place / "outside"
    folder.mkdir()
    (folder / "precious").write_text("precious")
    return folder / "precious"


def assert_nothing_outside_changed(place: Path) -> None:
    assert [path.name for path in (place / "outside").iterdir()] == ["precious"]
    assert (place / "outside" / "precious").read_text() == "precious"


def assert_kept(run: Path, name: str, harm: Harm) -> None:
    """What the user put there is there: a README under its own name, everything else below `user/`."""
    kept = run / name if name == "README.md" else run / "user" / name
    if harm in (as_file, as_overwritten, as_replaced):
        own = f"the user's own {name}\n"
        assert own in kept.read_text() if name == "experiment.jsonl" else own == kept.read_text()
    elif harm is as_directory:
        assert (kept / "inner").read_text() == f"the user's own {name}\n"
    elif harm is as_fifo:
        assert kept.is_fifo()
    else:
        assert kept.is_symlink()


@pytest.mark.parametrize("name", [*TAKEN, TAKEN], ids=[*TAKEN, "all"])
@pytest.mark.parametrize("harm", HARMS, ids=lambda harm: harm.__name__)
def test_a_users_file_under_a_name_of_runcards_is_kept(
    place: Path, name: str | tuple[str, ...], harm: Harm
) -> None:
    names = (name,) if isinstance(name, str) else name
    outside = outside_of(place)
    with runcard.record(place / "outputs", strict=True) as run:
        run.log("before")
        for each in names:
            harm(run.path / each, outside)
        run.log("after")
    assert document_of(run.path)["generation"]["status"] == "completed"
    assert "after" in [line["event"] for line in lines_of(run.path)]
    check(place, run.path, names, harm)


def test_so_it_is_when_the_recorder_was_killed(place: Path) -> None:
    outside = outside_of(place)
    assert python(DIES, place, outside).returncode == 0
    for harm in HARMS:
        print(harm.__name__)  # noqa: T201 - pytest shows it for the one that fails
        (run,) = runs_of(place / harm.__name__)
        (closing,) = close_all(run)
        assert closing.closed
        check(place, run, names_for(harm), harm)


def check(place: Path, run: Path, names: tuple[str, ...], harm: Harm) -> None:
    assert_nothing_outside_changed(place)
    lost = harm is as_overwritten and "experiment.jsonl" in names  # what was overwritten is gone
    assert [found for found in findings(run) if not (lost and found.startswith("limits"))] == []
    subprocess.run(["sha256sum", "--check", "--strict", "--quiet", "SHA256SUMS"], cwd=run, check=True)
    ours = "RUNCARD.md" if "README.md" in names else "README.md"
    assert (run / ours).read_text().startswith("<!-- runcard")
    moved = [
        name for name in names if name != "README.md" and (name, names) != ("RUNCARD.md", ("RUNCARD.md",))
    ]
    for name in {*moved, *({"README.md"} & set(names))}:
        assert_kept(run, name, harm)
    messages = [warning["message"] for warning in document_of(run)["warnings"]]
    for name in moved:
        assert any(message.startswith(f"{name} is a name of runcard's own files") for message in messages), (
            messages
        )
    if not lost:
        assert_one_story(run)
        assert "before" in [line["event"] for line in lines_of(run)]
        assert_closed(run.parent, runs=1)
    else:
        assert "damaged-journal" in warnings_of(run)
    assert_tidy(run.parent)


def test_all_of_an_older_run_copied_into_the_new_one_is_kept(place: Path) -> None:
    """As a program does that goes on with what another run has made."""
    with runcard.record(place / "outputs", strict=True) as old:
        (old.path / "made.txt").write_text("made")
    with runcard.record(place / "outputs", strict=True) as new:
        new.log("before")
        shutil.copytree(old.path, new.path, dirs_exist_ok=True)
        new.log("after")
    assert [found for found in findings(place / "outputs") if not found.startswith("limits")] == []
    assert document_of(new.path)["generation"]["run_id"] == new.id
    assert {line["run_id"] for line in lines_of(new.path)} == {new.id}
    assert (new.path / "README.md").read_bytes() == (old.path / "README.md").read_bytes()
    assert (new.path / "user" / "metadata.json").read_bytes() == (old.path / "metadata.json").read_bytes()
    assert (new.path / "user" / "SHA256SUMS").read_bytes() == (old.path / "SHA256SUMS").read_bytes()
    assert (old.path / "experiment.jsonl").read_bytes() in (
        new.path / "user" / "experiment.jsonl"
    ).read_bytes()
    assert "damaged-journal" in warnings_of(new.path)


def test_a_folder_with_the_name_of_a_temporary_file_is_kept(place: Path) -> None:
    with runcard.record(place / "outputs", strict=True) as run:
        (run.path / ".metadata.json.0123abcd.tmp").mkdir()
        (run.path / ".metadata.json.0123abcd.tmp" / "made.txt").write_text("made")
    assert (run.path / ".metadata.json.0123abcd.tmp" / "made.txt").read_text() == "made"
    assert_closed(place / "outputs", runs=1)


def test_a_line_that_the_users_program_repeats_counts_once(place: Path) -> None:
    with runcard.record(place / "outputs", strict=True) as run:
        run.log("said")
        journal = run.path / "experiment.jsonl"
        with journal.open("ab") as file:
            file.write(journal.read_bytes().splitlines(keepends=True)[-1])
    assert_one_story(run.path)
    assert_closed(place / "outputs", runs=1)


def test_a_document_that_the_users_program_adds_to_is_kept_beside_ours(place: Path) -> None:
    with runcard.record(place / "outputs", config={"a": 1}, strict=True) as run:
        document = document_of(run.path)
        document["generation"]["status"] = "completed"
        document["configuration"]["a"] = 2
        (run.path / "metadata.json").write_text(json.dumps(document))
    assert document_of(run.path)["configuration"]["a"] == 1
    assert json.loads((run.path / "user" / "metadata.json").read_text()) == document
    assert_closed(place / "outputs", runs=1)


def test_a_dead_run_is_not_closed_because_its_program_wrote_that_it_was(place: Path) -> None:
    code = """
import json, os, sys
import runcard
with runcard.record(sys.argv[1], strict=True) as run:
    path = run.path / "metadata.json"
    document = json.loads(path.read_text())
    document["generation"]["status"] = "completed"
    path.write_text(json.dumps(document))
    os._exit(0)
"""
    assert python(code, place / "outputs").returncode == 0
    (run,) = runs_of(place / "outputs")
    (closing,) = close_all(run)
    assert closing.closed
    assert document_of(run)["generation"]["status"] == "interrupted"
    assert_closed(place / "outputs", runs=1)


@pytest.mark.parametrize("kind", ["file", "link", "full"])
def test_a_folder_user_of_the_users_own_is_respected(place: Path, kind: str) -> None:
    outside = outside_of(place)
    with runcard.record(place / "outputs", strict=True) as run:
        user = run.path / "user"
        if kind == "file":
            user.write_text("mine")
        elif kind == "link":
            user.symlink_to(outside.parent)
        else:
            user.mkdir()
            (user / "amendments.jsonl").write_text("mine")
        (run.path / "amendments.jsonl").write_text("moved")
    assert_nothing_outside_changed(place)
    if kind == "full":
        assert (user / "amendments.jsonl").read_text() == "mine"
        assert (user / "amendments.jsonl.2").read_text() == "moved"
    else:
        assert (run.path / "user-2" / "amendments.jsonl").read_text() == "moved"
    assert_closed(place / "outputs", runs=1)


def test_what_is_neither_file_nor_link_is_noted_and_does_not_spoil_the_record(place: Path) -> None:
    with runcard.record(place / "outputs", strict=True) as run:
        os.mkfifo(run.path / "pipe")
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(str(run.path / "socket"))
    assert warnings_of(run.path) == ["special-file", "special-file"]
    assert_closed(place / "outputs", runs=1)
    os.mkfifo(run.path / "later")
    assert [found.split()[0] for found in findings(run.path)] == ["unexpected"]


def test_amendments_that_are_a_link_or_a_fifo_do_not_stop_verify(place: Path) -> None:
    outside = outside_of(place)
    with runcard.record(place / "outputs", strict=True) as run:
        pass
    for harm in (as_link, as_fifo, as_directory):
        harm(run.path / "amendments.jsonl", outside)
        assert findings(run.path) != []
        shutil.rmtree(run.path / "amendments.jsonl") if harm is as_directory else (
            run.path / "amendments.jsonl"
        ).unlink()


def test_a_damaged_ledger_does_not_stop_recording_and_is_told(place: Path) -> None:
    for _ in range(2):
        with runcard.record(place / "outputs", strict=True):
            pass
    (ledger,) = (place / "outputs" / ".runcard").glob("ledger-*.jsonl")
    ledger.write_bytes(ledger.read_bytes()[:-40] + b"garbage\n")
    with runcard.record(place / "outputs", strict=True):
        pass
    assert any(found.startswith("chain") for found in findings(place / "outputs"))


# Somebody without rights

AS_NOBODY = f"""
import contextlib, io, os, sys, warnings
from pathlib import Path
import runcard
from runcard.errors import RuncardError
from runcard.operations.runs.close import close
from runcard.operations.checks.show import show_run
from runcard.operations.checks.verify import summary, verify
place = Path(sys.argv[1])
os.chdir(place)
with runcard.record(place / "warm") as run:  # nobody may not even read the library of the Python of these tests
    show_run(run.path), summary(list(verify(run.path))), list(close(run.path))
def drop():
    os.setgroups([])
    os.setgid({NOBODY})
    os.setuid({NOBODY})
warnings.simplefilter("always")
"""


def as_nobody(place: Path, code: str) -> str:
    """What a program prints that has no rights of its own, and not those of the owner of the files here."""
    skip_without("root")
    done = python(AS_NOBODY + code, place, TMPDIR=str(place / "tmp"))
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def others(place: Path) -> Path:
    """A place with a temporary directory for everybody, and a store that belongs to somebody else."""
    place.chmod(0o755)
    (place / "tmp").mkdir()
    (place / "tmp").chmod(0o777)
    with runcard.record(place / "outputs", strict=True) as run:
        (run.path / "out.txt").write_text("made")
    return place


RECORD = """
drop()
for store in sys.argv[2:] or ["outputs", "missing/outputs", "readable", "file", "file/outputs"]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with runcard.record(place / store) as run:
            run.log("said")
            (run.path / "out.txt").write_text("made")
    (warning,) = caught
    assert issubclass(warning.category, runcard.RuncardWarning)
    assert str(warning.message).startswith("this run is not recorded: cannot "), warning
    assert run.path.parent == place / "tmp"
    assert (run.path / "out.txt").read_text() == "made"
    try:
        with runcard.record(place / store, strict=True):
            print("reached")
    except RuncardError as error:
        assert str(error).startswith("cannot "), error
        print(store)
"""


def test_where_nothing_can_be_recorded_the_program_goes_on_and_strict_raises(others: Path) -> None:
    (others / "readable").mkdir(mode=0o555)
    (others / "missing").mkdir(mode=0o555)
    (others / "file").write_text("")
    said = as_nobody(others, RECORD).splitlines()
    assert said == ["outputs", "missing/outputs", "readable", "file", "file/outputs"]
    assert_closed(others / "outputs", runs=1)


MANY_FILES = """
import contextlib, os, sys, warnings
import runcard
opened = []
with warnings.catch_warnings(record=True) as caught, runcard.record(sys.argv[1]) as run:
    with contextlib.suppress(OSError):
        while True:
            opened.append(os.open(os.devnull, os.O_RDONLY))
    run.log("said", tiny=1e-7, number={"\N{GREEK SMALL LETTER ALPHA}": 1})
for descriptor in opened:
    os.close(descriptor)
print(len(opened) > 0, [warning.category.__name__ for warning in caught])
"""


def test_too_many_open_files_do_not_stop_the_program(place: Path) -> None:
    done = python(MANY_FILES, place / "outputs")
    assert (done.stdout, done.stderr) == ("True ['RuncardWarning']\n", "")
    (run,) = runs_of(place / "outputs")
    close_all(run)
    assert "said" in [line["event"] for line in lines_of(run)]
    assert_closed(place / "outputs", runs=1)


def test_a_working_directory_that_is_gone_does_not_stop_the_program(others: Path) -> None:
    code = """
drop()
gone = place / "tmp" / "gone"
gone.mkdir()
os.chdir(gone)
gone.rmdir()
with runcard.record(place / "tmp" / "outputs", strict=True) as run:
    pass
with warnings.catch_warnings(record=True) as caught, runcard.record("outputs") as other:
    pass
print(other.path.parent, [warning.category.__name__ for warning in caught])
"""
    assert as_nobody(others, code) == f"{others / 'tmp'} ['RuncardWarning']\n"
    assert_closed(others / "tmp" / "outputs", runs=1)


# Hides one part of the record after the other, and looks at it in a child that has no rights.
LOOK = """
(run,) = [path for path in (place / "outputs").iterdir() if path.name != ".runcard"]
for hidden in (".", "metadata.json", "experiment.jsonl", "SHA256SUMS", "out.txt", "../.runcard"):
    mode = (run / hidden).stat().st_mode
    (run / hidden).chmod(0)
    sys.stdout.flush()
    if os.fork() == 0:
        drop()
        try:
            print(hidden, "shown", show_run(run).status)
        except RuncardError as error:
            print(hidden, "error", error)
        for path in (run, run.parent):
            found = summary(list(verify(path)))
            good = found["intact"] and found["complete"]
            print(hidden, "good" if good else "bad", [one["message"] for one in found["findings"]])
        sys.stdout.flush()
        os._exit(0)
    os.wait()
    (run / hidden).chmod(mode)
"""


def test_a_record_that_cannot_be_read_is_told_and_not_believed(others: Path) -> None:
    lines = as_nobody(others, LOOK).splitlines()
    assert len(lines) == 6 * 3
    for line in lines:
        hidden, verdict, *words = line.split()
        if verdict == "shown":
            assert hidden not in (".", "metadata.json")
            assert words == ["completed"]
        else:
            assert verdict in ("error", "bad")
            assert "Permission denied" in line


def test_an_open_run_of_another_user_is_no_reason_not_to_record(others: Path) -> None:
    code = """
import os, sys
import runcard
with runcard.record(sys.argv[1], strict=True):
    os._exit(0)
"""
    shared = others / "shared"
    assert python(code, shared).returncode == 0
    (dead,) = runs_of(shared)
    for path in (shared, *shared.rglob(".runcard"), shared / ".runcard" / "open"):
        path.chmod(0o777)
    code = """
drop()
with warnings.catch_warnings(record=True) as caught, runcard.record(place / "shared") as run:
    pass
print(run.path)
print(*[warning.message for warning in caught])
"""
    where, said = as_nobody(others, code).splitlines()
    assert said.startswith("an earlier run could not be closed: cannot")
    mine = Path(where)
    assert mine.parent == shared
    assert document_of(mine)["generation"]["status"] == "completed"
    assert status_of(dead) == "interrupted"
    close_all(dead)
    assert_closed(shared, runs=2)


def test_runcard_close_tells_of_one_it_cannot_close_and_closes_the_rest(others: Path) -> None:
    code = """
import os, sys
import runcard
with runcard.record(sys.argv[1], strict=True) as run:
    if len(sys.argv) > 2:
        (run.path / "experiment.jsonl").unlink()
        (run.path.parent / ".runcard" / "open" / run.path.name).unlink()
        (run.path / "metadata.json").write_text('{"status": "running"}')
    os._exit(0)
"""
    store = others / "store"
    assert python(code, store, "spoil").returncode == 0
    assert python(code, store).returncode == 0
    done = subprocess.run(
        [sys.executable, "-m", "runcard", "close", "--outputs", store],
        check=False,
        capture_output=True,
        text=True,
        env=environment(),
    )
    assert done.returncode == 1
    assert done.stderr.startswith("Error:")
    assert "closed as interrupted" in done.stdout
