"""Archives of a store that was tampered with: what lies there is read, whatever the index says about it."""

import json
import os
from pathlib import Path

import pytest

import runcard
from attacks.edited import kinds, ledger_of, messages, session, small_run, verify
from runcard.operations.archives.archive import archive
from runcard.operations.archives.restore import restore
from runcard.operations.checks.verify import summary


@pytest.fixture
def store(here: Path) -> Path:
    """A store with two archived runs and one that is not."""
    outputs = here / "outputs"
    for _ in range(2):
        archive(small_run(outputs))
    small_run(outputs)
    return outputs


def archives(store: Path) -> list[Path]:
    return sorted((store / "archive").glob("*/*.tar.gz"))


def index(store: Path) -> Path:
    return store / "archive" / "archive_index.json"


def change_index(store: Path, fields: dict[str, object]) -> None:
    data = json.loads(index(store).read_bytes())
    data["archived_runs"][0] |= fields
    index(store).write_text(json.dumps(data))


def drop_from_index(store: Path) -> None:
    data = json.loads(index(store).read_bytes())
    del data["archived_runs"][0]
    index(store).write_text(json.dumps(data))


def test_a_store_that_is_well(store: Path) -> None:
    code, report = verify(store)
    assert (code, len(report["records"]), report["findings"]) == (0, 3, [])


def test_an_index_entry_removed_and_garbage_in_its_archive(store: Path) -> None:
    name = json.loads(index(store).read_bytes())["archived_runs"][0]["archive_file"]
    drop_from_index(store)
    (store / "archive" / name).write_bytes(b"garbage")
    code, report = verify(store)
    assert code == 1
    assert any("not an archive of a record" in one for one in messages(report, "missing"))


def test_an_index_entry_removed(store: Path) -> None:
    drop_from_index(store)
    code, report = verify(store)
    assert (code, len(report["records"]), report["intact"]) == (1, 3, False)
    assert any("the index lacks the archive 20" in one for one in messages(report, "document"))


def test_one_flipped_bit_anywhere_in_the_index(store: Path) -> None:
    """What it says of an archive is compared with the archive; a bit elsewhere loses nothing."""
    data = index(store).read_bytes()
    told = 0
    places = range(0, len(data), 37)
    for place in places:
        index(store).write_bytes(data[:place] + bytes([data[place] ^ 1 << place % 7]) + data[place + 1 :])
        results = list(runcard.verify(store))
        assert len(summary(results)["records"]) == 3, place
        told += any(one.verdict.exit_code for one in results)
    assert told > len(places) / 2


@pytest.mark.parametrize("name", ["archived_rUns", "archived_runs "])
def test_a_flipped_bit_that_empties_the_index(store: Path, name: str) -> None:
    index(store).write_bytes(index(store).read_bytes().replace(b"archived_runs", name.encode()))
    code, report = verify(store)
    assert (code, len(report["records"])) == (1, 3)


def test_an_index_that_cannot_be_read(store: Path) -> None:
    index(store).write_bytes(b"{")
    code, report = verify(store)
    assert (code, len(report["records"]), report["intact"]) == (1, 3, False)
    assert any("is damaged" in one for one in messages(report, "document"))
    code, report = verify(archives(store)[0])
    assert (code, len(report["records"]), kinds(report)) == (1, 1, {"document"})


def test_an_index_that_is_a_fifo_or_a_link(store: Path) -> None:
    data = index(store).read_bytes()
    index(store).unlink()
    os.mkfifo(index(store))
    assert verify(store)[0] == 1
    index(store).unlink()
    (store.parent / "elsewhere.json").write_bytes(data)
    index(store).symlink_to(store.parent / "elsewhere.json")
    assert verify(store)[0] == 1


def test_an_index_that_is_gone(store: Path) -> None:
    index(store).unlink()
    code, report = verify(store)
    assert (code, len(report["records"]), report["complete"]) == (1, 3, False)
    assert messages(report, "missing") == ["the index of archives is missing"]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("run_id", "run-0000000000000000"),
        ("run", "another"),
        ("bytes", 1),
        ("total_cost", 7),
        ("tar_sha256", "0" * 64),
        ("sha256", "0" * 64),
    ],
)
def test_an_index_entry_that_is_not_true(store: Path, field: str, value: object) -> None:
    change_index(store, {field: value})
    code, report = verify(store)
    assert (code, report["intact"]) == (1, False), report


def test_an_archive_that_is_gone(store: Path) -> None:
    archives(store)[0].unlink()
    code, report = verify(store)
    assert (code, report["complete"]) == (1, False)
    assert any("its archive" in one for one in messages(report, "ledger"))


def test_an_archive_that_is_gone_while_its_record_is_back(store: Path) -> None:
    first = archives(store)[0]
    restore(first)
    assert verify(store)[0] == 0
    first.unlink()
    code, report = verify(store)
    assert (code, report["complete"]) == (1, False)
    assert messages(report, "missing") == ["the index has this archive, and it is not there"]


def test_an_archive_that_is_gone_without_a_ledger(store: Path) -> None:
    ledger_of(store).unlink()
    archives(store)[0].unlink()
    code, report = verify(store)
    assert (code, report["complete"]) == (1, False)


def test_an_archive_and_its_index_entry_replaced_together(store: Path, here: Path) -> None:
    """Another archive with the same name, and an index that agrees: the ledger knows the digest."""
    first = archives(store)[0]
    record = restore(first, to=here / "elsewhere").path
    (record / "notes.txt").write_text("forged\n")
    forged = archive(record, force=True).archive
    entry = json.loads((here / "elsewhere/archive/archive_index.json").read_bytes())["archived_runs"][0]
    for suffix in (".tar.gz", ".metadata.json", ".index.json"):
        name = forged.name.replace(".tar.gz", suffix)
        (first.parent / name).write_bytes((forged.parent / name).read_bytes())
    change_index(store, entry)
    code, report = verify(store)
    assert (code, report["intact"]) == (1, False)
    assert "the ledger knows this archive with another digest" in messages(report, "ledger")


def test_an_archive_that_nobody_knows(store: Path, here: Path) -> None:
    strange = archive(small_run(here / "elsewhere")).archive
    (store / "archive" / "2020-01").mkdir()
    for place in ("2020-01/strange.tar.gz", "strange.tar.gz"):
        (store / "archive" / place).write_bytes(strange.read_bytes())
    code, report = verify(store)
    assert (code, len(report["records"]), report["intact"]) == (1, 5, False)
    assert messages(report, "unexpected").count("neither the index nor the ledger has this archive") == 2
    assert any("does not know this run" in one for one in messages(report, "ledger"))


def test_archives_that_are_no_regular_files(store: Path) -> None:
    os.mkfifo(store / "archive" / "pipe.tar.gz")
    (store / "archive" / "link.tar.gz").symlink_to(archives(store)[0])
    code, report = verify(store)
    assert (code, report["intact"], len(report["records"])) == (1, False, 3)
    assert len(messages(report, "link")) == 2


def test_a_link_in_the_way_of_an_archive(store: Path, here: Path) -> None:
    """The ledger names archives in a folder; the folder became a link to somewhere else."""
    month = archives(store)[0].parent
    month.rename(here / "outside")
    month.symlink_to(here / "outside")
    code, report = verify(store)
    assert (code, len(report["records"])) == (1, 1)
    assert len(messages(report, "link")) == 2


def test_an_archive_elsewhere_in_the_store_is_read(here: Path) -> None:
    outputs = here / "outputs"
    packed = archive(small_run(outputs), to=outputs / "older").archive
    code, report = verify(outputs)
    assert (code, len(report["records"]), report["findings"]) == (0, 1, [])
    packed.write_bytes(b"garbage")
    assert verify(outputs)[0] == 1


def test_an_archive_outside_of_the_store_is_not_opened_because_a_ledger_says_so(here: Path) -> None:
    outputs = here / "outputs"
    packed = archive(small_run(outputs), to=here / "elsewhere").archive
    packed.write_bytes(b"garbage")
    code, report = verify(outputs)
    assert (code, len(report["records"]), kinds(report)) == (0, 0, {"limits"})
    assert "is outside of the store" in messages(report, "limits")[0]
    assert verify(packed)[0] == 1


def test_the_folder_of_archives_alone(store: Path) -> None:
    code, report = verify(store / "archive")
    assert (code, len(report["records"]), report["findings"]) == (0, 2, [])
    drop_from_index(store)
    code, report = verify("archive", cwd=store)
    assert (code, len(report["records"])) == (1, 2)


def test_sessions_as_well(here: Path) -> None:
    artifacts = here / "artifacts"
    archive(session(here))
    assert verify(artifacts)[0] == 0
    data = json.loads(index(artifacts).read_bytes())
    data["archived_sessions"][0]["instances_count"] = 7
    index(artifacts).write_text(json.dumps(data))
    code, report = verify(artifacts)
    assert (code, messages(report, "document")) == (1, ["instances_count is not that of the archive"])
