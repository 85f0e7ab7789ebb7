"""runcard migrate: what it prints, and its exit codes. What it does to files is tested with the operation."""

import json
from pathlib import Path

import pytest

from checks import samples
from conftest import Cli, Put


def _listing(folder: Path) -> dict[str, tuple[bytes, int]]:
    return {
        file.name: (file.read_bytes(), file.stat().st_mtime_ns) for file in folder.iterdir() if file.is_file()
    }


def test_a_migration_says_from_where_to_where_and_where_the_old_bytes_are(cli: Cli, put: Put) -> None:
    path = put("x.json", samples.team())
    done = cli("migrate", path, "--to", "2.0.0")
    assert (done.code, done.err) == (0, "")
    assert done.out == f"{path}: team 1.0.0 → 2.0.0, original kept as {path}.bak\n"
    assert cli("validate", path).out == f"{path}: valid team 2.0.0\n"


def test_the_newest_version_of_its_kind_is_meant_when_none_is_named(cli: Cli, put: Put) -> None:
    flat, team = put("flat.json", samples.flat_0_1_0()), put("team.json", samples.team())
    done = cli("migrate", flat, team)
    assert done.code in {0, 2}
    assert done.out == (
        f"{flat}: generation 0.1.0 → 1.0, original kept as {flat}.bak\n"
        f"{team}: team 1.0.0 → 2.0.0, original kept as {team}.bak\n"
    )
    again = cli("migrate", flat, team)
    assert (again.code, again.out) == (0, f"{flat}: already generation 1.0\n{team}: already team 2.0.0\n")


def test_a_run_of_another_program_may_be_named_by_its_directory(cli: Cli, put: Put) -> None:
    path = put("run/metadata.json", samples.flat_0_1_0())
    before = path.read_bytes()
    done = cli("migrate", path.parent)
    assert done.out == f"{path}: generation 0.1.0 → 1.0, original kept as {path}.bak\n"
    assert (path.parent / "metadata.json.bak").read_bytes() == before
    assert cli("validate", path.parent).out == f"{path}: valid generation 1.0\n"


def test_a_document_that_has_the_version_already_is_left_alone(cli: Cli, put: Put) -> None:
    path = put("x.json", samples.team())
    before = _listing(path.parent)
    done = cli("migrate", path, "--to", "1.0.0")
    assert (done.code, done.out, done.err) == (0, f"{path}: already team 1.0.0\n", "")
    assert _listing(path.parent) == before


def test_what_has_no_room_is_listed_as_warnings_and_the_code_is_2(cli: Cli, put: Put) -> None:
    path = put("x.json", samples.rich_team())
    done = cli("migrate", path, "--to", "1.0.0", "--no-backup")
    assert (done.code, done.out) == (2, f"{path}: team 2.0.0 → 1.0.0\n")
    dropped = "/labels, /instances/1/token_source, /execution_summary/known_cost"
    assert done.err == f"Warning: {path}: dropped {dropped}, which team 1.0.0 does not have\n"
    assert [file.name for file in path.parent.iterdir()] == ["x.json"]


def test_a_field_of_several_elements_is_named_once(cli: Cli, put: Put) -> None:
    data = samples.rich_team()
    data["instances"] = [each | {"token_source": "reported"} for each in data["instances"]]
    done = cli("migrate", put("x.json", data), "--to", "1.0.0")
    assert done.code == 2, done.err
    assert done.err.count("Warning: ") == 1
    assert f" /instances/*/token_source ({len(data['instances'])} times), " in done.err


def test_a_time_without_a_zone_is_a_warning_unless_the_zone_is_named(cli: Cli, put: Put) -> None:
    path = put("x.json", samples.flat())
    done = cli("migrate", path, "--to", "1.0", "--output", "-")
    assert done.code == 2
    assert done.err.startswith(f"Warning: {path}: generated_at '2024-05-01T10:00:00' ")
    assert "--timezone" in done.err
    assert json.loads(done.out)["generation"]["timestamp_end"] is None
    assert json.loads(done.out)["legacy"] == {"generated_at": "2024-05-01T10:00:00"}
    done = cli("migrate", path, "--to", "1.0", "--timezone", "Europe/Berlin", "--output", "-")
    assert (done.code, done.err) == (0, "")
    assert json.loads(done.out)["generation"]["timestamp_end"] == "2024-05-01T08:00:00Z"
    assert "legacy" not in json.loads(done.out)


@pytest.mark.parametrize("zone", ["Mars/Olympus", "", "/etc/passwd", "../../etc/passwd", "Europe"])
def test_a_zone_that_does_not_exist_is_wrong_usage(cli: Cli, put: Put, zone: str) -> None:
    path = put("x.json", samples.flat())
    before = _listing(path.parent)
    done = cli("migrate", path, "--to", "1.0", "--timezone", zone)
    assert (done.code, done.out) == (64, "")
    assert done.err.startswith(f"Error: no such timezone: {zone}\n")
    assert "Europe/Berlin" in done.err
    assert _listing(path.parent) == before


def test_a_dry_run_shows_the_difference_and_writes_nothing(cli: Cli, put: Put) -> None:
    path = put("x.json", samples.team())
    before = _listing(path.parent)
    done = cli("migrate", path, "--to", "2.0.0", "--dry-run")
    assert (done.code, done.err) == (0, "")
    lines = done.out.splitlines()
    assert lines[:2] == [f"--- {path}", f"+++ {path}"]
    assert '-  "version": "1.0.0",' in lines
    assert '+  "version": "2.0.0",' in lines
    assert lines[-1] == f"{path}: team 1.0.0 → 2.0.0 (nothing was written)"
    assert _listing(path.parent) == before
    assert cli("migrate", path, "--to", "1.0.0", "--dry-run").out == f"{path}: already team 1.0.0\n"


def test_a_dry_run_warns_like_the_real_one(cli: Cli, put: Put) -> None:
    path = put("x.json", samples.rich_team())
    done = cli("migrate", path, "--to", "1.0.0", "--dry-run")
    assert done.code == 2
    assert done.err.count("Warning: ") == 1


def test_a_new_file_is_written_with_output_and_the_old_one_stays(cli: Cli, put: Put) -> None:
    path = put("x.json", samples.team())
    before, new = path.read_bytes(), path.with_name("new.json")
    done = cli("migrate", path, "--to", "2.0.0", "--output", new)
    assert (done.code, done.err) == (0, "")
    assert done.out == f"{path}: team 1.0.0 → 2.0.0, written to {new}\n"
    assert path.read_bytes() == before
    assert {file.name for file in path.parent.iterdir()} == {"x.json", "new.json"}
    assert cli("validate", new).out == f"{new}: valid team 2.0.0\n"


def test_a_document_that_has_the_version_already_is_copied_to_output(cli: Cli, put: Put) -> None:
    path = put("x.json", samples.team())
    new = path.with_name("new.json")
    done = cli("migrate", path, "--to", "1.0.0", "--output", new)
    assert (done.code, done.out) == (0, f"{path}: already team 1.0.0, written to {new}\n")
    assert new.read_bytes() == path.read_bytes()


def test_a_file_that_exists_is_not_replaced_by_output(cli: Cli, put: Put) -> None:
    path, taken = put("x.json", samples.team()), put("taken.json", b"mine")
    done = cli("migrate", path, "--to", "2.0.0", "--output", taken)
    assert (done.code, done.out) == (1, "")
    assert done.err == f"Error: {taken} exists already\n  hint: choose another name\n"
    assert taken.read_bytes() == b"mine"


def test_standard_input_goes_to_standard_output(cli: Cli) -> None:
    done = cli("migrate", "-", "--to", "2.0.0", stdin=samples.written(samples.team()))
    assert (done.code, done.err) == (0, "")
    assert json.loads(done.out)["version"] == "2.0.0"


def test_standard_input_can_go_to_a_file(cli: Cli, tmp_path: Path) -> None:
    new = tmp_path / "new.json"
    done = cli("migrate", "-", "--to", "2.0.0", "--output", new, stdin=samples.written(samples.team()))
    assert (done.code, done.out) == (0, f"-: team 1.0.0 → 2.0.0, written to {new}\n")
    assert json.loads(new.read_bytes())["version"] == "2.0.0"


def test_standard_input_can_be_tried_dry(cli: Cli) -> None:
    team = samples.written(samples.team())
    done = cli("migrate", "-", "--to", "2.0.0", "--dry-run", stdin=team)
    assert done.out.endswith("-: team 1.0.0 → 2.0.0 (nothing was written)\n")
    done = cli("migrate", "-", "--to", "2.0.0", "--dry-run", "--json", stdin=team)
    assert json.loads(done.out)["documents"][0]["changed"] is True


def test_the_json_report_says_what_became_of_each_document(cli: Cli, put: Put) -> None:
    path = put("x.json", samples.rich_team())
    done = cli("migrate", path, "--to", "1.0.0", "--json")
    assert done.code == 2
    assert json.loads(done.out) == {
        "documents": [
            {
                "path": str(path),
                "kind": "team",
                "from": "2.0.0",
                "to": "1.0.0",
                "changed": True,
                "dropped": ["/labels", "/instances/1/token_source", "/execution_summary/known_cost"],
                "notes": [],
                "written": str(path),
                "backup": f"{path}.bak",
            }
        ]
    }


def test_the_json_report_of_a_refusal_has_all_findings(cli: Cli, put: Put) -> None:
    path = put("x.json", samples.broken_team())
    done = cli("migrate", path, "--to", "2.0.0", "--json")
    assert done.code == 1
    (document,) = json.loads(done.out)["documents"]
    assert document["path"] == str(path)
    assert document["error"].startswith(f"{path} is not valid at /total_instances: ")
    assert [found["rule"] for found in document["errors"]] == ["schema.type", "schema.enum", "sum.cost"]


def test_the_report_and_the_document_cannot_both_go_to_stdout(cli: Cli, put: Put) -> None:
    path = put("x.json", samples.team())
    for paths in ([path, "--output", "-"], ["-"]):
        done = cli("migrate", *paths, "--to", "2.0.0", "--json", stdin=path.read_bytes())
        assert (done.code, done.out) == (64, "")
        assert done.err.startswith("Error: --json and the document itself cannot both go to stdout\n")


def test_an_invalid_document_is_refused_with_all_findings_and_nothing_is_written(cli: Cli, put: Put) -> None:
    path = put("x.json", samples.broken_team())
    before = _listing(path.parent)
    done = cli("migrate", path, "--to", "2.0.0")
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith(f"Error: {path}:5:22: /total_instances: ")
    for rule in ("schema.type", "schema.enum", "sum.cost"):
        assert f"[{rule}]" in done.err
    assert _listing(path.parent) == before


def test_a_version_that_the_kind_never_had_is_wrong_usage(cli: Cli, put: Put) -> None:
    path = put("x.json", samples.team())
    done = cli("migrate", path, "--to", "\x1b[31m3.0.0")
    assert (done.code, done.out) == (64, "")
    assert done.err == (
        f"Error: {path}: there is no team version \\x1b[31m3.0.0\n  hint: published: 1.0.0, 2.0.0\n"
    )


def test_a_kind_that_is_named_decides_what_the_document_is_taken_as(cli: Cli, put: Put) -> None:
    path = put("x.json", samples.team())
    assert cli("migrate", path, "--to", "2.0.0", "--kind", "team", "--dry-run").code == 0
    done = cli("migrate", path, "--to", "2.0.0", "--kind", "instance")
    assert done.code == 1
    assert "'instance_id' is a required property" in done.err


def test_the_good_ones_among_many_are_migrated_and_the_code_is_the_worst(cli: Cli, put: Put) -> None:
    warned, bad = put("warned.json", samples.rich_team()), put("bad.json", samples.broken_team())
    good, missing = (
        put("good.json", samples.rich_team() | {"version": "2.0.0"}),
        bad.with_name("missing.json"),
    )
    done = cli("migrate", warned, bad, missing, good, "--to", "1.0.0")
    assert done.code == 1
    assert done.out.splitlines() == [
        f"{path}: team 2.0.0 → 1.0.0, original kept as {path}.bak" for path in (warned, good)
    ]
    words = [line.split(":")[0] for line in done.err.splitlines() if not line.startswith("  hint")]
    assert words == ["Error"] * 4 + ["Warning"] * 2
    assert json.loads(good.read_bytes())["version"] == "1.0.0"
    assert bad.read_bytes() == samples.written(samples.broken_team())


def test_wrong_usage_for_one_of_many_does_not_stop_the_others(cli: Cli, put: Put) -> None:
    run, team = put("run.json", samples.generation()), put("team.json", samples.team())
    done = cli("migrate", run, team, "--to", "2.0.0")
    assert done.code == 64
    assert done.out == f"{team}: team 1.0.0 → 2.0.0, original kept as {team}.bak\n"
    assert done.err.startswith(f"Error: {run}: there is no generation version 2.0.0\n")


def test_output_takes_one_path(cli: Cli, put: Put, tmp_path: Path) -> None:
    path = put("x.json", samples.team())
    done = cli("migrate", path, path, "--to", "2.0.0", "--output", tmp_path / "new.json")
    assert (done.code, done.out) == (64, "")
    assert done.err.startswith("Error: --output takes one PATH\n")
    assert [file.name for file in tmp_path.iterdir()] == ["x.json"]


def test_standard_input_takes_no_other_path(cli: Cli, put: Put) -> None:
    path = put("x.json", samples.team())
    before = _listing(path.parent)
    done = cli("migrate", path, "-", "--to", "2.0.0", stdin=path.read_bytes())
    assert (done.code, done.out) == (64, "")
    assert _listing(path.parent) == before
