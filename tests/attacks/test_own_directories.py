"""A cloned repository has a symbolic link where runcard keeps its own things: what lies behind it is not touched."""

import os
import shutil
import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import runcard as library
from attacks.command_server import runcard
from attacks.victims import contents, precious
from plans.projects import RubyProject
from runcard.errors import StoreError
from runcard.operations.archives.archive import archive
from runcard.store import layout
from runcard.store.ledger import Ledger, host_name
from runcard.store.own_directories import open_own
from runcard.store.remove_tree import remove_tree
from runs.runs import verdict
from sessions.collecting.teams import lay_out

if TYPE_CHECKING:
    from subprocess import CompletedProcess

HOME = "home"


@pytest.fixture
def home(here: Path) -> Path:
    """The victim's own folder; its names are those that runcard would clean up."""
    precious(here / HOME, "thesis.txt", "new-x/experiment.jsonl", "archived-x/data.txt", "deleted-x/data.txt")
    precious(here / HOME, "amending-x/data.txt", ".notes.0123abcd.tmp", "originals/data.txt", "open/data.txt")
    return here / HOME


@pytest.fixture
def run(here: Path) -> Path:
    with library.record(here / "outputs", strict=True) as run:
        (run.path / "a.txt").write_text("a\n")
    return Path(run.path)


def link(path: Path, target: Path) -> None:
    """Put a link in the place of a file or directory, as a repository can hold one."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(os.path.relpath(target, path.parent))


def assert_refused(done: "CompletedProcess[str]", place: str, code: int = 1) -> None:
    assert done.returncode == code, done
    assert f"{place} is a symbolic link, not a directory" in done.stderr


@pytest.mark.parametrize("place", [".runcard", ".runcard/open"])
def test_run_in_a_clone_deletes_nothing_behind_a_link(here: Path, home: Path, place: str) -> None:
    before = contents(home)
    link(here / "outputs" / place, home)
    done = runcard(here, "run", "--", "true")
    assert contents(home) == before
    assert_refused(done, f"outputs/{place}", 125)


@pytest.mark.parametrize("place", [".runcard", ".runcard/open"])
def test_a_recording_warns_and_the_users_code_goes_on(here: Path, home: Path, place: str) -> None:
    before = contents(home)
    link(here / "outputs" / place, home)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with library.record(here / "outputs") as run:
            reached = run.path.is_dir()
    assert reached
    assert [warning.category for warning in caught] == [library.RuncardWarning]
    assert "is a symbolic link" in str(caught[0].message)
    with pytest.raises(StoreError, match="is a symbolic link"), library.record(here / "outputs", strict=True):
        pass
    assert contents(home) == before


def test_a_new_run_of_somebody_who_was_killed_is_not_looked_for_behind_a_link(here: Path, home: Path) -> None:
    before = contents(home)
    link(here / "outputs/.runcard/new-run-x", home / "new-x")
    done = runcard(here, "run", "--", "true")
    assert (done.returncode, contents(home)) == (0, before)


def test_the_store_itself_may_be_a_link(here: Path) -> None:
    (here / "big disk").mkdir()
    link(here / "outputs", here / "big disk")
    assert runcard(here, "run", "--", "true").returncode == 0
    (run,) = layout.records(str(here / "big disk"))
    assert verdict(Path(run))["intact"]
    assert runcard(here, "archive", run).returncode == 0
    assert runcard(here, "restore", os.path.basename(run)).returncode == 0


@pytest.mark.parametrize("place", [".runcard", ".runcard/open"])
def test_close_stops_at_a_link(here: Path, home: Path, run: Path, place: str) -> None:
    before = contents(home)
    link(here / "outputs" / place, home)
    assert_refused(runcard(here, "close", run), f"outputs/{place}")
    assert contents(home) == before


@pytest.mark.parametrize("place", ["archive", "archive/{month}", ".runcard"])
def test_archive_writes_nothing_behind_a_link(here: Path, home: Path, run: Path, place: str) -> None:
    before = contents(home)
    place = place.format(month=run.name[:7])
    link(here / "outputs" / place, home)
    assert_refused(runcard(here, "archive", run), f"outputs/{place}")
    assert contents(home) == before
    assert (run / "a.txt").exists()


@pytest.mark.parametrize(
    "name", ["{month}/{run}.metadata.json", "{month}/{run}.index.json", "archive_index.json"]
)
def test_archive_writes_no_file_through_a_link(here: Path, home: Path, run: Path, name: str) -> None:
    before = contents(home)
    place = name.format(month=run.name[:7], run=run.name)
    link(here / "outputs/archive" / place, home / "thesis.txt")
    done = runcard(here, "archive", run)
    assert (done.returncode, os.path.basename(place) in done.stderr) == (1, True)
    assert contents(home) == before
    assert (run / "a.txt").exists()


@pytest.mark.parametrize("name", ["archived-x", "pruned-x", "restoring-x"])
def test_the_rest_of_a_removal_is_not_looked_for_behind_a_link(
    here: Path, home: Path, run: Path, name: str
) -> None:
    before = contents(home)
    link(here / "outputs/.runcard" / name, home)
    assert runcard(here, "archive", run).returncode == 0
    assert contents(home) == before
    assert not (here / "outputs/.runcard" / name).is_symlink()


@pytest.mark.parametrize("place", ["archive", "archive/{month}", ".runcard"])
def test_prune_deletes_nothing_behind_a_link(here: Path, home: Path, run: Path, place: str) -> None:
    archive(run)
    place = place.format(month=run.name[:7])
    folder = here / "outputs" / place
    shutil.copytree(folder, home / "copy")
    before = contents(home)
    link(folder, home / "copy")
    done = runcard(here, "prune", "--older-than", "0s", "--yes")
    assert contents(home) == before
    assert "deleted 1" not in done.stdout
    if not place.startswith("archive/"):  # there, nothing is left to delete
        assert_refused(done, f"outputs/{place}")


@pytest.mark.parametrize("place", [".runcard", ".runcard/amending-{run}", ".runcard/originals"])
@pytest.mark.parametrize("command", ["redact", "amend"])
def test_amending_stops_at_a_link(here: Path, home: Path, run: Path, place: str, command: str) -> None:
    before = contents(home)
    place = place.format(run=run.name)
    link(here / "outputs" / place, home)
    more = ("--file", "a.txt", "--reason", "x", "--yes") if command == "redact" else ("note", "x")
    assert_refused(runcard(here, command, run, *more), f"outputs/{place}")
    assert contents(home) == before


@pytest.mark.parametrize("place", [".runcard", ".open"])
def test_collect_stops_at_a_link(here: Path, home: Path, place: str) -> None:
    spec = lay_out(here / "team")
    before = contents(home)
    link(here / "artifacts" / place, home)
    assert_refused(runcard(here, "collect", spec), f"artifacts/{place}")
    assert contents(home) == before


def test_restore_unpacks_nothing_behind_a_link(here: Path, home: Path, run: Path) -> None:
    packed = archive(run).archive
    before = contents(home)
    link(here / "outputs/.runcard", home)
    done = runcard(here, "restore", packed, "--to", here / "outputs")
    assert_refused(done, "outputs/.runcard")
    assert contents(home) == before


def test_deleting_an_experiment_stops_at_a_link(here: Path, home: Path) -> None:
    assert runcard(here, "experiment", "create", "x").returncode == 0
    before = contents(home)
    link(here / "experiments/.runcard", home)
    assert_refused(runcard(here, "experiment", "delete", "x", "--yes"), "experiments/.runcard")
    assert contents(home) == before


def test_the_outputs_of_a_deleted_experiment_stay_when_they_are_a_link(here: Path, home: Path) -> None:
    assert runcard(here, "experiment", "create", "x").returncode == 0
    before = contents(home)
    link(here / "experiments/x/outputs", home)
    assert runcard(here, "experiment", "delete", "x", "--yes").returncode == 0
    assert contents(home) == before


@pytest.mark.usefixtures("run")
def test_verify_says_that_a_ledger_lies_behind_a_link(here: Path, home: Path) -> None:
    link(here / "outputs/.runcard", home)
    done = runcard(here, "verify", "outputs")
    assert done.returncode == 1
    assert "is a symbolic link" in done.stdout


# Files of ours that are something else


def special(kind: str) -> Callable[[Path, Path], None]:
    def fifo(path: Path, _: Path) -> None:
        os.mkfifo(path)

    def symlink(path: Path, target: Path) -> None:
        path.symlink_to(target)

    return {"fifo": fifo, "link": symlink}[kind]


@pytest.mark.usefixtures("run")
@pytest.mark.parametrize("kind", ["fifo", "link"])
@pytest.mark.parametrize("name", ["ledger", "experiment"])
def test_a_special_file_in_the_place_of_ours_blocks_nobody(
    here: Path, home: Path, name: str, kind: str
) -> None:
    before = contents(home)
    path = here / "outputs/.runcard" / (f"ledger-{host_name()}.jsonl" if name == "ledger" else name)
    path.unlink()
    special(kind)(path, home / "thesis.txt")
    done = runcard(here, "run", "--", "true")
    assert done.returncode == (125 if name == "ledger" else 0)
    assert os.path.basename(path) in done.stderr
    assert runcard(here, "verify", "outputs").returncode in {0, 1, 2}
    assert contents(home) == before


@pytest.mark.parametrize("name", ["archived-x", "new-run-x", "open/x", "restoring-x"])
def test_a_fifo_in_the_place_of_a_folder_blocks_nobody(here: Path, run: Path, name: str) -> None:
    os.mkfifo(here / "outputs/.runcard" / name)
    assert runcard(here, "run", "--", "true").returncode == 0
    assert runcard(here, "archive", run).returncode == 0


@pytest.mark.usefixtures("run")
def test_a_hard_link_in_the_list_of_open_runs_loses_only_its_name(here: Path, home: Path) -> None:
    before = contents(home)
    os.link(home / "thesis.txt", here / "outputs/.runcard/open/2020-01-01_000000")
    assert runcard(here, "run", "--", "true").returncode == 0
    assert contents(home) == before


# Plans


@pytest.mark.parametrize("place", ["tmp", "tmp/rspec_claude_metadata"])
def test_a_plan_is_not_written_through_a_link_out_of_the_project(here: Path, home: Path, place: str) -> None:
    root = here / "shop"
    (root / "app").mkdir(parents=True)
    (root / "Gemfile").write_text("")
    (root / "app/pay.rb").write_text("class Pay\n  def call(x)\n    x ? 1 : 2\n  end\nend\n")
    before = contents(home)
    link(root / place, home)
    done = runcard(root, "plan", "analyze", "app/pay.rb", "--method", "call", "--write")
    assert done.returncode == 1
    assert "leads out of the project through a symbolic link" in done.stderr
    assert contents(home) == before


def test_a_plan_that_is_a_link_out_of_the_project_is_not_written(home: Path, project: RubyProject) -> None:
    (home / "plan.yml").write_bytes(b"automation: {}\n")
    before = contents(home)
    project.folder.mkdir(parents=True)
    project.plan.symlink_to(home / "plan.yml")
    with pytest.raises(library.RuncardError):
        library.open_plan(project.source).mark("architect", completed=True)
    assert contents(home) == before


@pytest.fixture
def project(tmp_path: Path) -> RubyProject:
    return RubyProject(tmp_path / "shop")


def test_a_skeleton_is_not_written_through_a_link_out_of_the_project(here: Path, home: Path) -> None:
    root = here / "shop"
    (root / "app").mkdir(parents=True)
    (root / "Gemfile").write_text("")
    (root / "app/pay.rb").write_text("class Pay\n  def call(x)\n    x ? 1 : 2\n  end\nend\n")
    assert runcard(root, "plan", "analyze", "app/pay.rb", "--method", "call", "--write").returncode == 0
    link(root / "spec", home)
    before = contents(home)
    for agent in ("factory_optimizer", "architect"):
        runcard(root, "plan", "mark", "app/pay.rb", agent, "--completed")
    done = runcard(root, "plan", "skeleton", "app/pay.rb")
    assert done.returncode == 1
    assert "leads out of the project" in done.stderr
    assert contents(home) == before


# Somebody swaps a directory for a link while it is worked on


class Swapper(threading.Thread):
    """Swaps a directory for a link and back, as fast as it can."""

    def __init__(self, path: Path, target: Path) -> None:
        super().__init__(daemon=True)
        self._path, self._target, self._done = path, target, False

    def run(self) -> None:
        aside = self._path.with_name("aside")
        while not self._done:
            try:
                self._path.rename(aside)
                self._path.symlink_to(self._target)
                self._path.unlink()
                aside.rename(self._path)
            except OSError:
                continue

    def stop(self) -> None:
        self._done = True
        self.join()


def test_a_directory_that_is_swapped_for_a_link_is_not_deleted_through(here: Path, home: Path) -> None:
    """The descriptor stays in the directory that was checked."""
    store = here / "outputs"
    before = contents(home)
    (store / ".runcard").mkdir(parents=True)
    swapper = Swapper(store / ".runcard", home)
    swapper.start()
    removed = 0
    try:
        while removed < 50:
            try:
                with open_own(str(store), layout.own_folder(str(store))) as own:
                    os.mkdir("deleted-x", dir_fd=own)
                    os.close(os.open("deleted-x/f", os.O_CREAT | os.O_WRONLY, dir_fd=own))
                    remove_tree("deleted-x", dir_fd=own)
                    removed += 1
            except (StoreError, FileNotFoundError):
                continue
    finally:
        swapper.stop()
    assert contents(home) == before


def test_the_ledger_is_not_appended_to_behind_a_link(here: Path, home: Path) -> None:
    store = here / "outputs"
    name = f"ledger-{host_name()}.jsonl"
    (home / name).write_text("")
    before = contents(home)
    with Ledger(str(store)) as ledger:
        (store / ".runcard").rename(store / "aside")
        link(store / ".runcard", home)
        ledger.append("record.closed", "2026-01-01T00:00:00.000Z", {})
    assert contents(home) == before
    assert (store / "aside" / name).read_bytes()


def test_prune_deletes_nothing_where_a_link_with_the_default_name_leads(here: Path) -> None:
    with library.record(here / "victim", strict=True) as run:
        run.log("mine")
    (clone := here / "clone").mkdir()
    (clone / "outputs").symlink_to(here / "victim")
    done = runcard(clone, "prune", "--older-than", "0d", "--yes")
    assert done.returncode == 1
    assert "outputs is a symbolic link to" in done.stderr
    assert run.path.exists()
    assert runcard(clone, "prune", "--older-than", "0d", "--yes", "--outputs", "outputs").returncode == 0
    assert not run.path.exists()


def test_no_experiment_is_deleted_where_a_link_leads(here: Path) -> None:
    (mine := here / "mine").mkdir()
    assert runcard(mine, "experiment", "create", "e").returncode == 0
    (clone := here / "clone").mkdir()
    (clone / "experiments").symlink_to(mine / "experiments")
    done = runcard(clone, "experiment", "delete", "e", "--yes")
    assert done.returncode == 1
    assert "experiments is a symbolic link to" in done.stderr
    assert (mine / "experiments" / "e").is_dir()
