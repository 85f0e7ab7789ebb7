"""`runcard validate` on a session: its documents agree with each other and with the files beside them."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from conftest import Cli
from runcard.documents import chain
from runcard.encoding import COMPACT, encode_json
from runcard.operations.checks.validate import validate
from sessions.build import CODER, LEAD, TESTER, change, make_session

WHERE = {"team": "metadata.json", "manifest": "manifest.json"}


def path_of(session: Path, document: str) -> Path:
    return session / WHERE.get(document, f"instances/{document}/metadata.json")


def found(session: Path) -> list[tuple[str, str, str]]:
    """The document, the rule and the pointer of all that is found about a session."""
    return [
        (str(Path(checked.path).relative_to(session)), one.rule, one.path)
        for checked in validate(session)
        for one in checked.report.findings
    ]


@pytest.mark.parametrize("version", ["1.0.0", "2.0.0"])
def test_a_session_that_agrees_has_no_findings(tmp_path: Path, version: str) -> None:
    session = make_session(tmp_path, version=version)
    assert found(session) == []
    assert len(list(validate(session))) == 5
    assert len(list(validate(tmp_path))) == 5


def edit(session: Path, document: str, pointer: str, value: Any) -> None:
    """Set one value of a document."""
    path = path_of(session, document)
    data = json.loads(path.read_text())
    *way, last = pointer.split("/")[1:]
    node = data
    for step in way:
        node = node[int(step)] if isinstance(node, list) else node[step]
    node[int(last) if isinstance(node, list) else last] = value
    path.write_text(json.dumps(data, indent=2))


@pytest.mark.parametrize(
    ("document", "pointer", "value", "rule"),
    [
        ("manifest", "/team_session_id", "team-2", "session.manifest"),
        ("manifest", "/instances_index/0/name", "boss", "session.manifest"),
        ("manifest", "/instances_index/1/role", "devops", "session.manifest"),
        ("manifest", "/instances_index/1/tokens_used", 32101, "session.manifest"),
        ("manifest", "/instances_index/2/instance_id", "x9", "session.manifest"),
        (
            "manifest",
            "/instances_index/2/metadata_file",
            "instances/x9/metadata.json",
            "session.file-missing",
        ),
        ("manifest", "/summary/completed", 3, "session.manifest"),
        ("manifest", "/summary/total_cost", 7.8, "session.manifest"),
        (LEAD, "/name", "boss", "session.instance"),
        (LEAD, "/model", "claude-opus-4-1", "session.instance"),
        (LEAD, "/created_at", "2025-11-06T14:00:01Z", "session.instance"),
        (LEAD, "/cost", 0.46, "session.instance"),
        (LEAD, "/children_instance_ids", [CODER], "session.instance"),
        (CODER, "/parent_instance_id", None, "session.instance"),
        (TESTER, "/error", None, "session.instance"),
        (TESTER, "/error_details/category", "timeout", "session.instance"),
        (LEAD, "/workspace/files_count", 5, "session.figures"),
        (LEAD, "/workspace/total_size_bytes", 1, "session.figures"),
        (LEAD, "/workspace/file_types", {".md": 1, ".txt": 1, "": 1}, "session.figures"),
        (LEAD, "/output/lines", 3, "session.figures"),
        (CODER, "/output/lines", 0, "session.figures"),
        (CODER, "/output/size_bytes", 22, "session.figures"),
        (CODER, "/output/file", "other.log", "session.file-missing"),
    ],
)
def test_a_document_that_disagrees_is_found_where_it_stands(
    session: Path, document: str, pointer: str, value: Any, rule: str
) -> None:
    edit(session, document, pointer, value)
    name = str(path_of(session, document).relative_to(session))
    places = found(session)
    shown = pointer if pointer != "/error_details/category" else "/error_details"
    assert (name, rule, shown) in places
    assert {where for where, *_ in places} == {name}
    (checked,) = (one for one in validate(session) if not one.report.valid)
    finding = next(one for one in checked.report.errors if one.path == shown)
    assert finding.hint
    assert finding.line


@pytest.mark.parametrize(
    "same",
    [
        (LEAD, "/created_at", "2025-11-06T15:00:00+01:00"),
        (LEAD, "/cost", 0.45004),
        ("manifest", "/instances_index/0/cost", None),
        ("manifest", "/summary/total_cost", None),
        ("manifest", "/timestamp", "2025-11-06T14:40:00Z"),
    ],
)
def test_the_same_in_other_words_agrees(session: Path, same: tuple[str, str, Any]) -> None:
    edit(session, *same)
    assert found(session) == []


def test_an_instance_that_the_manifest_leaves_out(session: Path) -> None:
    index = json.loads((session / "manifest.json").read_text())["instances_index"]
    change(session / "manifest.json", instances_index=index[:2])
    assert ("manifest.json", "session.manifest", "/instances_index") in found(session)


def test_a_session_without_a_manifest_is_a_session(session: Path) -> None:
    (session / "manifest.json").unlink()
    assert found(session) == []


def test_an_instance_without_its_document(session: Path) -> None:
    path_of(session, CODER).unlink()
    assert found(session) == [
        ("metadata.json", "session.file-missing", "/instances/1"),
        ("manifest.json", "session.file-missing", "/instances_index/1/metadata_file"),
    ]


def test_a_document_of_an_instance_that_the_team_does_not_have(session: Path) -> None:
    shutil.copytree(session / "instances" / CODER, session / "instances" / "copy")
    assert found(session) == [("instances/copy/metadata.json", "session.instance", "/instance_id")]
    edit(session, "copy", "/instance_id", "copy")
    assert found(session) == [("instances/copy/metadata.json", "session.instance", "/instance_id")]


@pytest.mark.parametrize("whole", [True, False])
def test_stored_files_that_came_or_went(session: Path, *, whole: bool) -> None:
    workspace = session / "instances" / LEAD / "workspace"
    if whole:
        shutil.rmtree(workspace)
    else:
        (workspace / "more.md").write_text("more")
    assert {(name, rule) for name, rule, _ in found(session)} == {
        (f"instances/{LEAD}/metadata.json", "session.figures")
    }


def test_a_transcript_that_is_a_link_is_not_there(session: Path) -> None:
    log = session / "instances" / LEAD / "output.log"
    log.rename(log.with_name("moved"))
    log.symlink_to("moved")
    assert found(session) == [(f"instances/{LEAD}/metadata.json", "session.file-missing", "/output/file")]


def test_documents_in_workspaces_are_none_of_its_own(session: Path) -> None:
    (session / "instances" / TESTER / "workspace" / "metadata.json").write_text('{"execution_summary": 1}')
    assert [name for name, *_ in found(session)] == [f"instances/{TESTER}/metadata.json"] * 3  # its figures


def test_figures_of_what_was_amended_are_those_of_old(session: Path) -> None:
    log = session / "instances" / LEAD / "output.log"
    log.write_text("[withheld]\n")
    payload = {"path": f"instances/{LEAD}/output.log", "old_sha256": "0" * 64, "new_sha256": "1" * 64}
    line = chain.make_line({"seq": 1, "event": "redaction", "writer": "w-1"}, payload, "0" * 32, "0" * 64)
    (session / "amendments.jsonl").write_bytes(encode_json(line, COMPACT))
    assert found(session) == []


def test_a_loose_team_document_is_no_session(session: Path, tmp_path: Path) -> None:
    (loose := tmp_path / "loose").mkdir()
    shutil.copy(session / "metadata.json", loose)
    assert found(loose) == []


def test_a_damaged_team_document_leaves_the_others_to_be_judged_alone(session: Path) -> None:
    (session / "metadata.json").write_text("{")
    edit(session, LEAD, "/name", "boss")
    assert found(session) == [("metadata.json", "json.syntax", "")]


@pytest.mark.parametrize("how", ["gone", "link"])
def test_a_session_without_its_team_document_is_still_one(session: Path, how: str) -> None:
    (session / "metadata.json").rename(session.parent / "aside.json")
    if how == "link":
        (session / "metadata.json").symlink_to(session.parent / "aside.json")
    (session / "instances" / TESTER / "workspace" / "team.json").write_text('{"execution_summary": 1}')
    rule = "file.missing" if how == "gone" else "file.unreadable"
    assert found(session) == [("metadata.json", rule, "")]
    assert len(list(validate(session))) == 5


def test_a_folder_with_such_names_is_no_session(tmp_path: Path) -> None:
    (tmp_path / "instances").mkdir()
    (tmp_path / "instances" / "a.json").write_text("{}")
    assert found(tmp_path) == [(".", "file.nothing-found", "")]


def test_what_a_person_reads(cli: Cli, session: Path) -> None:
    edit(session, LEAD, "/output/lines", 3)
    done = cli("validate", session)
    path = path_of(session, LEAD)
    assert done.code == 1
    assert len(done.out.splitlines()) == 4
    assert done.err.splitlines()[0].endswith(
        "/output/lines: lines is 3, but the transcript has 2 [session.figures]"
    )
    assert done.err.startswith(f"Error: {path}:")


def test_a_workspace_that_nobody_may_look_into_is_said(session: Path) -> None:
    (session / "instances" / LEAD / "workspace").rename(session / "instances" / LEAD / "w")
    (session / "instances" / LEAD / "workspace").write_text("no folder")
    assert {rule for _, rule, _ in found(session)} == {"session.figures"}
