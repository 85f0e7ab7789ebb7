"""An archive from a stranger, with an index that says where its record belongs: nothing is written there."""

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

import runcard as library
from attacks.archive_parts import foreign_archive
from attacks.command_server import runcard
from attacks.victims import contents, precious
from runcard.operations.archives.archive import archive
from runcard.operations.archives.restore import restore
from runcard.store.find_record import open_archive
from whole_ledgers import ledgers

Index = dict[str, Any]

REDACT = ("--file", "a.txt", "--reason", "x", "--yes")
COMMANDS = {
    "restore": ("restore", "{}"),
    "redact": ("redact", "{}", *REDACT),
    "amend": ("amend", "{}", "note", "x"),
    "migrate": ("migrate", "{}", "--to", "1.0"),
}


@pytest.fixture
def stranger(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of archives that a stranger made, with one archive in it."""
    folder = tmp_path_factory.mktemp("stranger")
    with library.record(folder / "outputs", strict=True) as run:
        (run.path / "a.txt").write_text("import evil\n")
    archive(run.path, to=folder / "sent")
    return folder / "sent"


def packed_in(folder: Path) -> Path:
    (found,) = folder.glob("*/*.tar.gz")
    return found


def change_index(folder: Path, **fields: object) -> None:
    path = folder / "archive_index.json"
    data: Index = json.loads(path.read_bytes())
    data["archived_runs"][0] |= fields
    path.write_text(json.dumps(data))


def run_on(here: Path, command: str, word: object) -> Any:
    return runcard(here, *(part.format(word) for part in COMMANDS[command]))


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("target", ["../site-packages", "../site-packages/deeper", "..", "."])
def test_the_index_decides_no_target(here: Path, stranger: Path, command: str, target: str) -> None:
    precious(here / "site-packages", "sitecustomize.py")
    shutil.copytree(stranger, here / "sent")
    change_index(here / "sent", store=target)
    before = contents(here)
    done = run_on(here, command, packed_in(here / "sent"))
    assert (done.returncode, "is not in a store" in done.stderr) == (64, True)
    assert "--to" in done.stderr
    assert contents(here) == before


@pytest.mark.parametrize("command", COMMANDS)
def test_a_store_that_does_not_know_the_archive_is_left_alone(
    here: Path, stranger: Path, command: str
) -> None:
    """A store of one's own, with a ledger; the stranger only knows where it lies."""
    with library.record(here / "outputs", strict=True):
        pass
    shutil.copytree(stranger, here / "sent")
    change_index(here / "sent", store="../outputs")
    before = contents(here)
    assert run_on(here, command, packed_in(here / "sent")).returncode == 64
    assert contents(here) == before


def test_an_archive_that_was_replaced_does_not_go_back_by_itself(here: Path, stranger: Path) -> None:
    """The ledger knows the place; the digest is another one."""
    with library.record(here / "outputs", strict=True) as run:
        pass
    ours = Path(archive(run.path, to=here / "archives").archive)
    shutil.copyfile(packed_in(stranger), ours)
    change_index(here / "archives", sha256=None)
    done = runcard(here, "restore", ours)
    assert done.returncode == 64
    assert not list((here / "outputs").glob("2*"))


def test_restore_goes_to_the_store_that_the_archive_lies_in_whatever_the_index_says(
    here: Path, stranger: Path
) -> None:
    precious(here / "site-packages", "sitecustomize.py")
    before = contents(here / "site-packages")
    shutil.copytree(stranger, here / "cloned/archive")
    change_index(here / "cloned/archive", store="../../site-packages")
    packed = packed_in(here / "cloned/archive")
    restored = Path(restore(packed).path)
    assert restored == here / "cloned" / packed.name.removesuffix(".tar.gz")
    assert contents(here / "site-packages") == before


@pytest.mark.parametrize("store", ["nested/outputs", "outputs"])
def test_an_archive_elsewhere_goes_back_to_the_store_whose_ledger_has_it(here: Path, store: str) -> None:
    with library.record(here / store, strict=True) as run:
        (run.path / "a.txt").write_text("a")
    packed = archive(run.path, to=here / "archives").archive
    assert Path(restore(packed).path) == run.path
    shutil.rmtree(run.path)
    (here / "archives/archive_index.json").unlink()  # by its ledger alone
    assert open_archive(run.path).store == str(run.path.parent)
    assert Path(restore(run.path).path) == run.path
    assert runcard(here, "redact", run.path, *REDACT).returncode in {0, 2}


def test_a_strangers_ledger_does_not_hand_over_an_archive_of_another_store(here: Path) -> None:
    """The ledger in a cloned repository names an archive of the user's."""
    with library.record(here / "mine/outputs", strict=True) as run:
        (run.path / "a.txt").write_text("a")
    mine = Path(archive(run.path).archive)
    before = contents(here / "mine")
    with library.record(here / "cloned/outputs", strict=True) as other:
        pass
    archive(other.path)
    ((ledger, _, _),) = ledgers(str(here / "cloned/outputs"))
    text = Path(ledger).read_text()
    old = f"archive/{other.path.name[:7]}/{other.path.name}.tar.gz"
    Path(ledger).write_text(text.replace(old, os.path.relpath(mine, here / "cloned/outputs")))
    shutil.rmtree(here / "cloned/outputs/archive")
    for command in COMMANDS:
        done = run_on(here / "cloned", command, other.path.name)
        assert done.returncode in {1, 64}, done
    assert contents(here / "mine") == before


# The name of the file in the index


@pytest.mark.parametrize(
    "file", ["../home/x.tar.gz", "/etc/x.tar.gz", "a/../../home/x.tar.gz", "a\0b.tar.gz"]
)
def test_an_index_that_names_a_file_outside_is_refused(here: Path, file: str) -> None:
    with library.record(here / "outputs", strict=True) as run:
        pass
    packed = Path(archive(run.path).archive)
    (here / "home").mkdir()
    shutil.copyfile(packed, here / "home/x.tar.gz")
    change_index(here / "outputs/archive", archive_file=file)
    before = contents(here / "home")
    for command in COMMANDS:
        assert run_on(here, command, run.path.name).returncode == 1
    runcard(here, "prune", "--older-than", "0s", "--yes")
    assert contents(here / "home") == before


@pytest.mark.parametrize("how", ["folder", "file"])
def test_an_index_that_names_a_file_through_a_link_is_refused(here: Path, how: str) -> None:
    with library.record(here / "outputs", strict=True) as run:
        pass
    packed = Path(archive(run.path).archive)
    (here / "home").mkdir()
    for path in packed.parent.iterdir():
        shutil.copyfile(path, here / "home" / path.name)
    folder = here / "outputs/archive"
    if how == "folder":
        (folder / "elsewhere").symlink_to(here / "home")
        change_index(folder, archive_file=f"elsewhere/{packed.name}")
    else:
        packed.unlink()
        packed.symlink_to(here / "home" / packed.name)
    (here / "home" / packed.name.replace(".tar.gz", ".index.json")).unlink()
    before = contents(here / "home")
    for command in COMMANDS:
        assert run_on(here, command, run.path.name).returncode in {1, 64}
    done = runcard(here, "extract", run.path.name, "metadata.json", "--output", here / "out")
    assert (done.returncode, "symbolic link" in done.stderr) == (1, True)
    runcard(here, "prune", "--older-than", "0s", "--yes")
    assert contents(here / "home") == before


def test_prune_writes_its_tombstone_into_the_store_that_it_prunes(here: Path) -> None:
    with library.record(here / "outputs", strict=True) as run:
        pass
    archive(run.path)
    change_index(here / "outputs/archive", store="../../home")
    done = runcard(here, "prune", "--older-than", "0s", "--yes")
    assert done.returncode == 0
    assert not (here / "home").exists()
    assert runcard(here, "verify", "outputs").returncode == 0


def test_a_record_takes_no_other_name_than_its_archive_has(here: Path, stranger: Path) -> None:
    packed = packed_in(stranger)
    target = here / "project/archive/2026-01/notes.tar.gz"
    target.parent.mkdir(parents=True)
    shutil.copyfile(packed, target)
    done = runcard(here, "restore", target)
    assert (done.returncode, "of another name" in done.stderr) == (1, True)
    assert os.listdir(here / "project") == ["archive"]
    assert runcard(here, "restore", target, "--to", here / "out").returncode == 0
    shutil.copytree(stranger, here / "cloned/archive")
    change_index(here / "cloned/archive", run="src")
    for command in COMMANDS:
        assert run_on(here, command, packed_in(here / "cloned/archive")).returncode == 1
    assert os.listdir(here / "cloned") == ["archive"]


@pytest.mark.parametrize("name", ["node_modules", "requests", ".git", "\u200b.git"])
def test_a_named_directory_gets_no_folder_that_programs_look_into(here: Path, name: str) -> None:
    """The archive is called like a run, and holds a folder that its author named."""
    with library.record(here / "elsewhere", strict=True) as run:
        (run.path / "__init__.py").write_text("import evil\n")
    renamed = run.path.rename(here / name)
    (here / "project").mkdir()
    for file in ("2026-01-01_000000", "other" if name == "requests" else name):
        sent = foreign_archive(renamed, here / f"{file}.tar.gz")
        done = runcard(here, "restore", sent, "--to", "project")
        assert (done.returncode, os.listdir(here / "project")) == (1, []), done.stdout


def test_extract_follows_no_link_that_lies_in_the_output(here: Path) -> None:
    with library.record(here / "outputs", strict=True) as run:
        (run.path / "notes").mkdir()
        (run.path / "notes/a.txt").write_text("a")
    archive(run.path)
    precious(here / "home", "thesis.txt")
    (here / "out").mkdir()
    (here / "out/notes").symlink_to(here / "home")
    before = contents(here / "home")
    done = runcard(here, "extract", run.path.name, "notes/a.txt", "--output", here / "out")
    assert (done.returncode, "is a symbolic link" in done.stderr) == (1, True)
    assert contents(here / "home") == before


# Links in the record


def test_a_link_out_of_the_record_is_refused_when_only_an_index_beside_it_knows_the_archive(
    here: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("stranger")
    with library.record(folder / "outputs", strict=True) as run:
        (run.path / "way out").symlink_to("/etc")
    archive(run.path, to=folder / "sent", force=True)
    shutil.copytree(folder / "sent", here / "sent")
    done = runcard(here, "restore", packed_in(here / "sent"), "--to", here / "out", "--force")
    assert (done.returncode, "leads out" in done.stderr) == (1, True)
    assert not (here / "out").exists() or not list((here / "out").glob("2*"))


def test_a_record_directory_that_is_a_link_is_not_changed_for_an_archived_one(here: Path) -> None:
    with library.record(here / "outputs", strict=True) as run:
        (run.path / "a.txt").write_text("a")
    packed = archive(run.path).archive
    restore(packed)
    run.path.rename(here / "home")
    before = contents(here / "home")
    run.path.symlink_to(here / "home")
    for command in ("redact", "amend"):
        done = run_on(here, command, packed)
        assert (done.returncode, "another record" in done.stderr) == (1, True)
    assert contents(here / "home") == before


def test_a_stranger_cannot_vouch_for_an_archive_with_a_ledger(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Links that lead out, and the size that an index states, count only for archives of one's own."""
    with library.record(here / "outputs", strict=True) as run:
        (run.path / "evil").symlink_to("/etc")
    packed = archive(run.path).archive
    monkeypatch.setenv("XDG_STATE_HOME", str(here / "victim"))
    done = runcard(here, "restore", packed, "--to", here / "target")
    assert done.returncode == 1
    assert "evil leads out" in done.stderr
    assert not (here / "target" / run.path.name).exists()


def test_an_archive_of_ones_own_comes_back_with_its_links(here: Path) -> None:
    with library.record(here / "outputs", strict=True) as run:
        (run.path / "etc").symlink_to("/etc")
    packed = archive(run.path).archive
    assert runcard(here, "restore", packed).returncode == 0
    assert os.readlink(run.path / "etc") == "/etc"


def test_prune_does_not_turn_a_stolen_archive_into_a_deletion(here: Path) -> None:
    with library.record(here / "outputs", strict=True) as run:
        run.log("x")
    os.unlink(archive(run.path).archive)
    assert runcard(here, "verify", "outputs").returncode == 1
    done = runcard(here, "prune", "--older-than", "0d", "--yes")
    assert "the ledger has no entry that it was deleted" in done.stderr
    assert runcard(here, "verify", "outputs").returncode == 1
