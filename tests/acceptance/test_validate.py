"""`runcard validate` through the real command: exit codes and streams, the tour of a whole store."""

import json
from pathlib import Path

from acceptance.command import runcard
from checks import samples
from conftest import Put


def test_a_good_document_is_0_with_data_only(put: Put) -> None:
    path = put("x.json", samples.team())
    done = runcard("validate", path)
    assert (done.code, done.text, done.messages) == (0, f"{path}: valid team 1.0.0\n", "")


def test_a_warning_is_2_with_data_and_a_message(put: Put) -> None:
    path = put("x.json", samples.running_team())
    done = runcard("validate", path)
    assert (done.code, done.text) == (2, f"{path}: valid team 1.0.0\n")
    assert done.messages.startswith("Warning: ")


def test_an_error_is_1_with_messages_only(put: Put) -> None:
    done = runcard("validate", put("x.json", samples.broken_team()))
    assert (done.code, done.text) == (1, "")
    assert done.messages.startswith("Error: ")
    assert done.messages.count("  hint: ") == 3


def test_many_paths_give_the_good_ones_and_the_worst_code(put: Put) -> None:
    warned, good = put("warned.json", samples.running_team()), put("good.json", samples.team())
    done = runcard("validate", warned, put("bad.json", b"{}"), good)
    assert done.code == 1
    assert done.text == f"{warned}: valid team 1.0.0\n{good}: valid team 1.0.0\n"
    assert done.messages.startswith("Error: ")
    assert "\nWarning: " in done.messages


def test_a_whole_store_is_checked_and_only_the_damaged_record_is_wrong(put: Put, tmp_path: Path) -> None:
    put("outputs/2025-12-14_103000/metadata.json", samples.generation())
    put("outputs/2025-12-14_103000/personas/metadata.json", samples.broken_team())
    put("outputs/2025-12-14_103001/metadata.json", b'{"metadata_version": "1.0", "gen')
    put("artifacts/2025-11-06_14-32-45-docs-team-001/metadata.json", samples.team())
    for name in ("lead", "writer"):
        own = f"artifacts/2025-11-06_14-32-45-docs-team-001/instances/{name}/metadata.json"
        put(own, samples.member_document(name))
    put(
        "artifacts/2025-11-06_14-32-45-docs-team-001/instances/writer/workspace/team.json",
        samples.broken_team(),
    )
    put("artifacts/archive/2025-11/x.metadata.json", samples.team())
    put("artifacts/archive/archive_index.json", samples.archive_index())
    put("artifacts/.open/y/metadata.json", b"{")
    put("notes.json", {"todo": []})
    done = runcard("validate", "--json", tmp_path, cwd=tmp_path)
    report = json.loads(done.text)
    verdicts = {document["path"]: document["valid"] for document in report["documents"]}
    session = "artifacts/2025-11-06_14-32-45-docs-team-001"
    assert verdicts == {
        f"{tmp_path}/{session}/metadata.json": True,
        f"{tmp_path}/{session}/instances/lead/metadata.json": True,
        f"{tmp_path}/{session}/instances/writer/metadata.json": True,
        f"{tmp_path}/artifacts/archive/archive_index.json": True,
        f"{tmp_path}/artifacts/archive/2025-11/x.metadata.json": True,
        f"{tmp_path}/outputs/2025-12-14_103000/metadata.json": True,
        f"{tmp_path}/outputs/2025-12-14_103001/metadata.json": False,
    }
    assert (done.code, report["valid"]) == (1, False)


def test_a_folder_with_foreign_files_only_is_1(put: Put) -> None:
    folder = put("in/package.json", {"name": "x"}).parent
    done = runcard("validate", folder)
    assert (done.code, done.text) == (1, "")
    assert "[file.nothing-found]" in done.messages
