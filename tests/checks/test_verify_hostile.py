"""`runcard verify` where somebody put something else in the place of a record's own files, and below folders."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from checks import samples
from conftest import Cli, Put
from runcard.digests import sha256_bytes
from runcard.documents.chain import make_line
from runcard.encoding import COMPACT, encode_json
from runs.runs import copy_store, kinds, read, record_one, verdict

Swap = Callable[[Path], object]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    outputs = tmp_path_factory.mktemp("hostile") / "outputs"
    record_one(outputs)
    return outputs


@pytest.fixture
def run(made: Path, tmp_path: Path) -> Path:
    store = copy_store(made, tmp_path / "outputs")
    (run,) = (path for path in store.iterdir() if path.name != ".runcard")
    return run


def huge(path: Path) -> None:
    """20 GiB that take no room on the disk."""
    path.touch()
    os.truncate(path, 20 << 30)


def to_zeros(path: Path) -> None:
    path.symlink_to("/dev/zero")


SWAPS: dict[str, Swap] = {"FIFO": os.mkfifo, "directory": Path.mkdir, "link": to_zeros, "huge": huge}
OWN = ("metadata.json", "SHA256SUMS", "amendments.jsonl", "metadata.json.sig")


@pytest.mark.parametrize("swap", SWAPS)
@pytest.mark.parametrize("name", OWN)
def test_nothing_in_the_place_of_a_file_of_ours_stops_or_hides_the_rest(
    run: Path, name: str, swap: str
) -> None:
    (run / name).unlink(missing_ok=True)
    SWAPS[swap](run / name)
    (run / "notes.txt").write_text("changed")
    said = verdict(run)
    found = kinds(said)
    if swap != "huge":
        assert ("link", name) in found
    elif name == "metadata.json.sig":
        assert ("signature", name) in found
    else:
        assert found & {("document", name), ("changed", name), ("chain", name)}
    assert ("changed", "notes.txt") in found or name == "SHA256SUMS"  # without a list nobody can tell
    assert not said["intact"]


def test_without_its_document_nothing_is_said_that_only_the_document_could_tell(run: Path) -> None:
    (run / "metadata.json").unlink()
    for path in (run, run.parent):
        said = verdict(path)
        assert (said["intact"], said["complete"]) == (True, False)
        assert {found["kind"] for found in said["findings"]} == {"missing", "limits"}


def test_a_document_of_a_newer_major_version_is_refused_and_the_files_are_still_checked(run: Path) -> None:
    (run.parent / ".runcard").rename(run.parent.parent / "elsewhere")
    document = (
        (run / "metadata.json").read_text().replace('"metadata_version": "1.0"', '"metadata_version": "2.0"')
    )
    (run / "metadata.json").write_text(document)
    assert {kind for kind, _ in kinds(verdict(run))} == {"document", "limits"}
    (run / "notes.txt").unlink()
    assert ("missing", "notes.txt") in kinds(verdict(run))


def test_a_document_of_a_newer_minor_version_is_read_and_that_is_said(cli: Cli, run: Path) -> None:
    (run.parent / ".runcard").rename(run.parent.parent / "elsewhere")
    metadata = run / "metadata.json"
    metadata.write_text(
        metadata.read_text().replace('"metadata_version": "1.0"', '"metadata_version": "1.7"')
    )
    done = cli("verify", run)
    assert done.code == 0
    assert "generation version 1.7 is newer than 1.0; it was read as 1.0 [limits]" in done.out


def test_two_links_whose_names_look_the_same_when_escaped_are_two(tmp_path: Path) -> None:
    outputs = tmp_path / "outputs"
    run = record_one(outputs)
    here = os.fsencode(run)
    os.symlink("a", os.path.join(here, b"l\xff"))
    (told,) = verdict(run)["findings"]
    assert (told["kind"], told["path"]) == ("link", "l\\xff")
    os.unlink(os.path.join(here, b"l\xff"))
    # A link whose name is the text that stands for the byte, beside one that the document lists.
    document = read(run)
    assert [link["path"] for link in document["symlinks"]] == ["latest"]
    os.symlink("personas", os.path.join(here, b"l\\xff"))
    assert kinds(verdict(run)) == {("link", "l\\xff")}


def test_an_amendment_cannot_name_a_file_elsewhere_as_the_bytes_of_before(run: Path) -> None:
    now = sha256_bytes((run / "metadata.json").read_bytes()).hex
    payload = {
        "path": "metadata.json",
        "old_sha256": "../../secret",
        "new_sha256": now,
        "who": "m",
        "why": "x",
    }
    fields = {"seq": 1, "timestamp": "2026-01-01T00:00:00Z", "event": "migration", "writer": "amendments"}
    line = make_line(fields, payload, "0" * 32, now)
    (run / "amendments.jsonl").write_bytes(encode_json(line, COMPACT))
    said = verdict(run)
    assert said["intact"]
    assert "amended" not in {found["kind"] for found in said["findings"]}


def test_a_run_of_another_program_that_never_had_a_list_has_lost_none(cli: Cli, put: Put) -> None:
    document = samples.VALID["generation"]()
    document["checksums"]["output"] = None
    run = put("run/metadata.json", document).parent
    done = cli("verify", run)
    assert (done.code, done.err) == (0, "")
    assert "SHA256SUMS: there is no list of checksums" in done.out
    (run / "experiment.jsonl").touch()  # runcard never writes the one without the other
    assert ("missing", "SHA256SUMS") in kinds(verdict(run))


def test_all_records_below_a_folder_are_verified(
    cli: Cli, run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(run.parent.parent)
    folder = Path("experiments/personas")
    folder.mkdir(parents=True)
    outputs = copy_store(run.parent, folder / "outputs")
    for path in (folder, Path("experiments"), folder / "outputs"):
        done = cli("verify", path)
        assert (done.code, done.err) == (0, "")
        assert done.out.splitlines()[:1] == [
            f"{outputs / run.name}: intact, complete, not signed, not time-stamped"
        ]
    assert len(verdict(Path())["records"]) == 2
    (outputs / run.name / "notes.txt").unlink()
    done = cli("verify", folder)
    assert (done.code, done.err) == (1, "")
    assert done.out.startswith(
        f"Error: {outputs / run.name}: INCOMPLETE (nothing changed)\n  notes.txt: the file is missing"
    )


def test_a_folder_that_is_called_archive_hides_no_records(cli: Cli, run: Path, tmp_path: Path) -> None:
    project = tmp_path / "project"
    (project / "archive").mkdir(parents=True)
    assert cli("verify", project).err.startswith(f"Error: {project} holds no records\n")
    outputs = copy_store(run.parent, project / "archive" / "outputs")
    (outputs / run.name / "notes.txt").write_text("changed")
    for folder in (project, tmp_path):
        assert ("changed", "notes.txt") in kinds(verdict(folder))


def test_what_only_looks_like_a_record_far_below_is_passed_over(cli: Cli, run: Path) -> None:
    """A mirror has lists of checksums and a package its own metadata."""
    project = run.parent.parent
    for name, text in (("mirror/iso/SHA256SUMS", "junk"), ("node_modules/x/metadata.json", "{}")):
        (project / name).parent.mkdir(parents=True)
        (project / name).write_text(text)
    done = cli("verify", project)
    assert (done.code, done.err) == (0, "")
    done = cli("verify", project / "node_modules")  # named by the user: what lies there is looked at
    assert done.code == 1


@pytest.mark.parametrize("swap", ["FIFO", "directory", "link"])
def test_a_ledger_that_cannot_be_read_hides_nothing_of_a_run(run: Path, swap: str) -> None:
    (ledger,) = (run.parent / ".runcard").glob("ledger-*.jsonl")
    ledger.unlink()
    SWAPS[swap](ledger)
    (run / "notes.txt").write_text("changed")
    said = verdict(run)
    assert kinds(said) == {("changed", "notes.txt"), ("ledger", "metadata.json")}
    assert (said["intact"], said["complete"]) == (False, False)


def test_a_ledger_that_is_gone_is_missed_by_those_who_saw_it(tmp_path: Path) -> None:
    outputs = tmp_path / "outputs"
    first, second = record_one(outputs), record_one(outputs)
    (ledger,) = (outputs / ".runcard").glob("ledger-*.jsonl")
    ledger.unlink()
    assert verdict(first)["findings"] == []  # it was the first that the ledger was to know
    (told,) = verdict(second)["findings"]
    assert (told["kind"], told["path"]) == ("ledger", "metadata.json")
    assert told["message"].startswith("the ledger of the store is missing, or ")
    assert verdict(outputs)["complete"]  # nobody can tell which of the two it is
    elsewhere = tmp_path / "elsewhere" / second.name
    elsewhere.parent.mkdir()
    second.rename(elsewhere)
    (note,) = verdict(elsewhere)["findings"]  # there never was one here
    assert note["kind"] == "limits"


def test_a_run_that_went_from_a_store_far_below_is_missed(cli: Cli, run: Path) -> None:
    for path in sorted(run.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()
    run.rmdir()
    done = cli("verify", run.parent.parent)
    assert done.code == 1
    assert "it was removed [ledger]" in done.out
