"""runcard validate: what it prints, and its exit codes. Which documents it finds is tested with the operation."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from checks import samples
from conftest import Cli, Put
from runcard.documents.findings import MAX_FINDINGS, InvalidDocument, Report, finding, limit_findings
from runcard.documents.kinds import KINDS
from runcard.operations.checks.load import load


@pytest.mark.parametrize("kind", samples.VALID)
def test_a_good_document_is_one_line_and_0(cli: Cli, put: Put, kind: str) -> None:
    path = put("x.json", samples.VALID[kind]())
    version = KINDS[kind].versions[0]
    done = cli("validate", path)
    assert (done.code, done.out, done.err) == (0, f"{path}: valid {kind} {version}\n", "")


@pytest.mark.parametrize("flat", [samples.flat, samples.flat_0_1_0])
def test_an_older_shape_is_valid_with_a_warning(cli: Cli, put: Put, flat: Any) -> None:
    data = flat()
    path = put("x.json", data)
    done = cli("validate", path)
    version = data.get("version", "(unversioned)")
    assert (done.code, done.out) == (2, f"{path}: valid generation {version}\n")
    assert done.err.startswith(f"Warning: {path}:1:1: an older format ")
    assert "[version.older]" in done.err


def test_a_warning_is_2_with_the_data_on_stdout(cli: Cli, put: Put) -> None:
    path = put("x.json", samples.running_team())
    done = cli("validate", path)
    assert (done.code, done.out) == (2, f"{path}: valid team 1.0.0\n")
    assert done.err == (
        f"Warning: {path}:27:17: /instances/1/status: 'writer' is still running [status.running]\n"
        "  hint: collect again when it has ended\n"
    )


def test_errors_are_1_with_nothing_on_stdout_and_each_names_its_place_rule_and_hint(
    cli: Cli, put: Put
) -> None:
    path = put("x.json", samples.broken_team())
    done = cli("validate", path)
    assert (done.code, done.out) == (1, "")
    errors = done.err.splitlines()[::2]
    hints = done.err.splitlines()[1::2]
    assert [line.partition(": '")[0] for line in errors[:2]] == [
        f"Error: {path}:5:22: /total_instances",
        f"Error: {path}:25:15: /instances/1/role",
    ]
    assert errors[2].startswith(f"Error: {path}:43:19: /execution_summary/total_cost: ")
    assert [line.rpartition(" ")[2] for line in errors] == ["[schema.type]", "[schema.enum]", "[sum.cost]"]
    assert len(hints) == 3
    assert all(line.startswith("  hint: ") for line in hints)


def test_the_good_ones_among_many_are_printed_and_the_code_is_the_worst(cli: Cli, put: Put) -> None:
    good, warned = put("good.json", samples.team()), put("warned.json", samples.running_team())
    bad, missing = put("bad.json", samples.broken_team()), good.with_name("missing.json")
    lines = {good: f"{good}: valid team 1.0.0\n", warned: f"{warned}: valid team 1.0.0\n"}
    for paths, code in (
        ((good, good), 0),
        ((good, warned), 2),
        ((warned, bad, good), 1),
        ((warned, missing), 1),
    ):
        done = cli("validate", *paths)
        assert done.code == code
        assert done.out == "".join(lines.get(path, "") for path in paths)
        assert done.err.startswith({0: "", 1: "Error: ", 2: "Warning: "}[code])


def test_errors_are_told_before_the_warnings_of_earlier_paths(cli: Cli, put: Put) -> None:
    warned, bad = put("a.json", samples.running_team()), put("b.json", samples.broken_team())
    words = [line.split(":")[0] for line in cli("validate", warned, bad).err.splitlines()[::2]]
    assert words == ["Error", "Error", "Error", "Warning"]


def test_errors_of_a_document_are_told_before_its_warnings(cli: Cli, put: Put) -> None:
    data = samples.running_team()
    data["execution_summary"]["total_cost"] = 9
    done = cli("validate", put("x.json", data))
    words = [line.split(":")[0] for line in done.err.splitlines()[::2]]
    assert (done.code, words) == (1, ["Error", "Warning"])


def test_strict_takes_warnings_as_errors(cli: Cli, put: Put) -> None:
    path = put("x.json", samples.running_team())
    done = cli("validate", "--strict", path)
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith(f"Error: {path}:27:17: /instances/1/status: ")
    report = json.loads(cli("validate", "--strict", "--json", path).out)
    assert [found["rule"] for found in report["documents"][0]["errors"]] == ["status.running"]
    assert report["documents"][0]["warnings"] == []
    assert report["valid"] is False
    assert cli("validate", "--strict", put("y.json", samples.team())).code == 0


def test_the_json_report_of_a_good_document_has_exactly_the_promised_shape(cli: Cli, put: Put) -> None:
    path = put("x.json", samples.team())
    done = cli("validate", "--json", path)
    assert (done.code, done.err) == (0, "")
    assert json.loads(done.out) == {
        "valid": True,
        "documents": [
            {
                "path": str(path),
                "kind": "team",
                "version": "1.0.0",
                "valid": True,
                "errors": [],
                "warnings": [],
            }
        ],
    }


def test_the_json_report_is_on_stdout_whatever_the_exit_code(cli: Cli, put: Put) -> None:
    warned, bad = put("a.json", samples.running_team()), put("b.json", samples.broken_team())
    done = cli("validate", "--json", warned, bad, put("c.json", b"{"))
    report = json.loads(done.out)
    assert done.code == 1
    assert list(report) == ["valid", "documents"]
    assert report["valid"] is False
    first, second, third = report["documents"]
    for document in report["documents"]:
        assert list(document) == ["path", "kind", "version", "valid", "errors", "warnings"]
    assert (first["valid"], first["errors"]) == (True, [])
    assert first["warnings"] == [
        {
            "rule": "status.running",
            "path": "/instances/1/status",
            "message": "'writer' is still running",
            "hint": "collect again when it has ended",
            "found": "running",
            "line": 27,
            "column": 17,
        }
    ]
    assert [found["path"] for found in second["errors"]] == [
        "/total_instances",
        "/instances/1/role",
        "/execution_summary/total_cost",
    ]
    for found in second["errors"]:
        assert list(found)[:4] == ["rule", "path", "message", "hint"]
        assert {"line", "column"} <= set(found)
    assert (third["kind"], third["version"], third["valid"]) == (None, None, False)
    assert cli("validate", "--json", warned).code == 2


def test_of_very_many_findings_the_first_are_listed_and_the_rest_is_counted(cli: Cli, put: Put) -> None:
    document = samples.VALID["generation"]()
    document["errors"] = ["boom"] * (MAX_FINDINGS + 1234)
    path = put("x.json", document)
    done = cli("validate", path)
    assert (done.code, done.out) == (1, "")
    lines = done.err.splitlines()
    assert len(lines) == 2 * (MAX_FINDINGS + 1)
    assert lines[-2] == f"Error: {path}:1:1: 1,234 more findings; only 10,000 are listed [findings.many]"
    (told,) = json.loads(cli("validate", "--json", path).out)["documents"]
    assert not told["valid"]
    assert len(told["errors"]) == MAX_FINDINGS + 1
    assert (told["errors"][-1]["rule"], told["errors"][-1]["found"]) == ("findings.many", 1234)
    with pytest.raises(InvalidDocument, match=r"\(and 11,233 more\)"):
        load(path)


def test_warnings_that_are_left_out_are_no_error() -> None:
    warning = finding("status.running", "/x", "not finished")
    kept = list(limit_findings([warning] * (MAX_FINDINGS + 2)))
    assert Report(tuple(kept)).valid
    assert (len(kept), kept[-1].found) == (MAX_FINDINGS + 1, 2)
    error = finding("sum.cost", "/x", "wrong")
    assert not Report(tuple(limit_findings([*[warning] * (MAX_FINDINGS + 2), error]))).valid


def test_the_json_report_of_a_missing_path_is_a_report_as_well(cli: Cli, tmp_path: Path) -> None:
    done = cli("validate", "--json", tmp_path / "nothing")
    report = json.loads(done.out)
    assert (done.code, report["valid"]) == (1, False)
    assert report["documents"][0]["errors"][0]["rule"] == "file.missing"


def test_a_missing_path_is_an_error_that_says_so(cli: Cli, tmp_path: Path) -> None:
    done = cli("validate", tmp_path / "nothing")
    assert (done.code, done.out) == (1, "")
    assert done.err == (
        f"Error: {tmp_path}/nothing: it does not exist [file.missing]\n  hint: check the path\n"
    )


def test_an_empty_path_is_seen_in_the_message(cli: Cli) -> None:
    assert cli("validate", "").err.startswith("Error: '': it does not exist ")


def test_standard_input_is_read_for_a_dash(cli: Cli) -> None:
    done = cli("validate", "-", stdin=samples.written(samples.team()))
    assert (done.code, done.out, done.err) == (0, "-: valid team 1.0.0\n", "")
    done = cli("validate", "-", stdin=b"[]")
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("Error: -:1:1: expected an object")


def test_a_kind_that_is_named_decides_what_the_document_is_checked_as(cli: Cli, put: Put) -> None:
    path = put("x.json", samples.team())
    assert cli("validate", "--kind", "team", path).code == 0
    done = cli("validate", "--kind", "generation", path)
    assert (done.code, done.out) == (1, "")
    assert "'metadata_version' is a required property" in done.err
    report = json.loads(cli("validate", "--kind", "manifest", "--json", path).out)
    assert report["documents"][0]["kind"] == "manifest"
    assert {found["rule"] for found in report["documents"][0]["errors"]} == {"schema.required"}


def test_a_kind_makes_a_document_of_what_shows_none(cli: Cli, put: Put) -> None:
    path = put("x.json", {})
    assert "[document.unknown-kind]" in cli("validate", path).err
    done = cli("validate", "--kind", "team", path)
    assert done.code == 1
    assert done.err.count("[schema.required]") == 6


def test_a_kind_that_does_not_exist_is_wrong_usage(cli: Cli) -> None:
    done = cli("validate", "--kind", "teem", "x")
    assert (done.code, done.out) == (64, "")
    assert all(f"'{kind}'" in done.err for kind in KINDS)


def test_a_foreign_file_that_is_named_is_an_error_that_says_what_was_expected(cli: Cli, put: Put) -> None:
    path = put("package.json", {"name": "x", "dependencies": {}})
    done = cli("validate", path)
    assert (done.code, done.out) == (1, "")
    assert "its first keys are: 'name', 'dependencies' [document.unknown-kind]" in done.err
    assert all(kind in done.err for kind in KINDS)
    assert "'metadata_version'" in done.err
    assert "'execution_summary'" in done.err


def test_an_empty_folder_is_an_error(cli: Cli, tmp_path: Path) -> None:
    done = cli("validate", tmp_path)
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith(f"Error: {tmp_path}: the folder holds no document [file.nothing-found]\n")


def test_a_folder_is_told_by_the_paths_below_it(cli: Cli, put: Put, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = put("in/team.json", samples.team()).parents[1]
    monkeypatch.chdir(folder)
    assert cli("validate", "in").out == "in/team.json: valid team 1.0.0\n"
    assert cli("validate", ".").out == "./in/team.json: valid team 1.0.0\n"


def test_a_path_that_begins_with_a_dash_comes_after_two_dashes(
    cli: Cli, put: Put, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(put("-x.json", samples.team()).parent)
    assert cli("validate", "--", "-x.json").out == "-x.json: valid team 1.0.0\n"


def test_paths_in_the_json_report_can_be_opened(cli: Cli, put: Put) -> None:
    path = put("a\n\x1b[31m\u202eb|é.json", samples.team())
    done = cli("validate", "--json", path)
    assert "\x1b" not in done.out
    assert "\u202e" not in done.out
    assert os.path.isfile(json.loads(done.out)["documents"][0]["path"])
