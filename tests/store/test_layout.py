"""The names of the files that make up a record."""

from datetime import UTC, datetime
from itertools import islice
from pathlib import Path

import pytest

from checks import samples
from conftest import Put
from runcard.store import directory_names, layout


@pytest.mark.parametrize("name", ["SHA256SUMS", "experiment.jsonl", "instances/x/metadata.json"])
def test_a_folder_is_a_record_by_what_lies_in_it(put: Put, name: str) -> None:
    folder = put("record/metadata.json", b"{").parent
    assert not layout.is_record(str(folder))
    put(f"record/{name}", b"")
    assert layout.is_record(str(folder))


def test_the_documents_of_a_session_are_its_manifest_and_one_for_each_instance(put: Put) -> None:
    session = put("s/metadata.json", samples.team()).parent
    for name in ("instances/b", "instances/a", "instances/a/workspace", "instances/é"):
        put(f"s/{name}/metadata.json", samples.instance())
    put("s/instances/loose.json", samples.instance())
    put("s/instances/empty/output.log", b"")
    assert layout.session_documents(str(session)) == [
        f"{session}/instances/{name}/metadata.json" for name in ("a", "b", "é")
    ]
    put("s/manifest.json", samples.manifest())
    assert layout.session_documents(str(session))[0] == f"{session}/manifest.json"


def test_a_session_without_instances_has_no_further_documents(tmp_path: Path) -> None:
    assert layout.session_documents(str(tmp_path)) == []


def test_links_are_no_documents_of_a_session(put: Put) -> None:
    elsewhere = put("elsewhere/metadata.json", samples.instance())
    session = put("s/instances/a/metadata.json", samples.instance()).parents[2]
    (session / "manifest.json").symlink_to(elsewhere)
    (session / "instances" / "b").symlink_to(elsewhere.parent)
    (session / "instances" / "c").mkdir()
    (session / "instances" / "c" / "metadata.json").symlink_to(elsewhere)
    assert layout.session_documents(str(session)) == [f"{session}/instances/a/metadata.json"]


def test_a_folder_of_instances_that_is_a_link_is_not_followed(put: Put) -> None:
    elsewhere = put("elsewhere/a/metadata.json", samples.instance()).parents[1]
    session = put("s/metadata.json", samples.team()).parent
    (session / "instances").symlink_to(elsewhere)
    assert layout.session_documents(str(session)) == []


@pytest.mark.parametrize(
    "document",
    [
        "record/metadata.json",
        "record/instances/a/metadata.json",
        "record/instances/a/workspace/deep/team.json",
        "record/personas/1.json",
    ],
)
def test_everything_in_a_closed_record_is_sealed(put: Put, document: str) -> None:
    path = put(document, samples.instance())
    record = put("record/metadata.json", samples.team()).parent
    assert layout.sealed_record(str(path)) is None
    put("record/SHA256SUMS", b"")
    assert layout.sealed_record(str(path)) == str(record)


def test_a_link_into_a_closed_record_is_sealed_as_well(put: Put) -> None:
    document = put("record/metadata.json", samples.team())
    put("record/SHA256SUMS", b"")
    link = put("elsewhere/other.json", b"").with_name("link.json")
    link.symlink_to(document)
    assert layout.sealed_record(str(link)) == str(document.parent)


def test_a_path_is_taken_from_the_working_directory(put: Put, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(put("record/SHA256SUMS", b"").parent)
    assert layout.sealed_record("metadata.json") == str(Path.cwd())


def test_a_list_of_checksums_further_up_that_belongs_to_no_record_seals_nothing(put: Put) -> None:
    path = put("downloads/some/team.json", samples.team())
    put("downloads/SHA256SUMS", b"")
    assert layout.sealed_record(str(path)) is None


def test_a_run_is_named_by_its_second_and_numbered_from_the_second_one_on() -> None:
    moment = datetime(2025, 12, 14, 10, 30, 5, tzinfo=UTC)
    names = list(islice(directory_names.RunNames(moment).numbered_from(1), 3))
    assert names == ["2025-12-14_103005", "2025-12-14_103005-2", "2025-12-14_103005-3"]


@pytest.mark.parametrize("count", [0, 1, 2, 3, 7, 8, 100, 1000, 1023, 1024])
def test_the_first_free_name_is_found_in_few_steps(count: int) -> None:
    names = directory_names.RunNames(datetime(2025, 12, 14, 10, 30, 5, tzinfo=UTC))
    taken, asked = {names.name(number) for number in range(1, count + 1)}, []

    def is_taken(name: str) -> bool:
        asked.append(name)
        return name in taken

    assert names.first_free(is_taken) == count + 1
    assert len(asked) <= 2 * count.bit_length() + 1


def test_the_journals_of_a_run_are_the_owners_and_those_of_other_writers(put: Put, tmp_path: Path) -> None:
    for name in (
        layout.other_journal("w-5f"),
        layout.other_journal("w-0a"),
        "experiment.old.jsonl",
        "x.jsonl",
    ):
        put(f"run/{name}", b"")
    run = tmp_path / "run"
    (run / "experiment.w-ff.jsonl").symlink_to("x.jsonl")
    others = [f"{run}/experiment.w-0a.jsonl", f"{run}/experiment.w-5f.jsonl"]
    assert layout.journals(str(run)) == others
    put("run/experiment.jsonl", b"")
    assert layout.journals(str(run)) == [f"{run}/experiment.jsonl", *others]


def test_a_store_keeps_its_own_files_in_one_hidden_folder() -> None:
    assert layout.own_folder("outputs") == "outputs/.runcard"
    assert layout.open_folder("outputs") == "outputs/.runcard/open"
    assert layout.open_mark("/data/outputs/x") == "/data/outputs/.runcard/open/x"
    assert layout.original("outputs", "9f") == "outputs/.runcard/originals/9f"
    assert layout.store_of("/data/outputs/2025-12-14_103005") == "/data/outputs"


@pytest.mark.parametrize(
    ("text", "name"), [("build-7", "build-7"), ("../a b/é", "a-b"), ("...", ""), ("x\n.y", "x-.y")]
)
def test_a_text_becomes_a_harmless_part_of_a_name(text: str, name: str) -> None:
    assert layout.safe_name(text) == name
