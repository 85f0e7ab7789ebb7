"""`runcard plan validate`: every rule, in the project, with the result in the plan."""

import json
import os
import sys
from pathlib import Path

import pytest

from conftest import Cli
from documents.samples import CORPUS
from plans.projects import RUBY, SOURCE, RubyProject
from plans.test_writing import WRITTEN_BY_HAND, lines_changed
from runcard.extras import install_hint


def test_a_good_plan(cli: Cli, project: RubyProject) -> None:
    project.write(
        project.plan_of() | {"validation": {"completed": False, "errors": ["old"], "warnings": ["old"]}}
    )
    done = cli("plan", "validate", project.source)
    assert (done.code, done.out, done.err) == (0, f"{project.plan}: valid testplan 1.3\n", "")
    assert project.read()["validation"] == {"completed": True, "errors": [], "warnings": []}


def test_only_its_section_is_rewritten(cli: Cli, project: RubyProject) -> None:
    broken = WRITTEN_BY_HAND.replace(b"depends_on: null\n", b"depends_on: nobody\n")
    project.write(broken)
    done = cli("plan", "validate", project.plan)
    assert done.code == 1
    assert done.out == ""
    assert done.err.startswith(f"Error: {project.plan}:")
    after = project.plan.read_bytes()
    assert {line[2:].split(":")[0].strip() for line in lines_changed(broken, after) if line[0] == "-"} == {
        "completed",
        "errors",
    }
    section = project.read()["validation"]
    assert section["completed"] is False
    assert [error.rpartition("[")[2] for error in section["errors"]] == [
        "mistake.when-parent]",
        "dependency.missing]",
    ]
    assert section["errors"][1].startswith("characteristics.0.depends_on: 'customer' depends on 'nobody'")


def test_its_own_verdict_is_not_an_error_the_next_time(cli: Cli, project: RubyProject) -> None:
    project.write(WRITTEN_BY_HAND.replace(b"depends_on: null\n", b"depends_on: nobody\n"))
    cli("plan", "validate", project.source)
    first = project.plan.read_bytes()
    cli("plan", "validate", project.source)
    assert project.plan.read_bytes() == first
    project.plan.write_bytes(first.replace(b"depends_on: nobody\n", b"depends_on: null\n"))
    assert cli("plan", "validate", project.source).code == 0
    assert project.read()["validation"]["completed"] is True


def test_a_plan_without_the_section_gets_it_behind_the_analyzer(cli: Cli, project: RubyProject) -> None:
    data = project.plan_of()
    del data["validation"]
    project.write(data)
    assert cli("plan", "validate", project.source).code == 0
    assert list(project.read())[:2] == ["analyzer", "validation"]


def test_nothing_is_written_when_nothing_shall_be(cli: Cli, project: RubyProject) -> None:
    project.write(WRITTEN_BY_HAND.replace(b"type: range", b"type: ranges"))
    before = project.plan.read_bytes()
    done = cli("plan", "validate", "--no-write", "--json", project.source)
    said = json.loads(done.out)
    assert (done.code, said["valid"], said["written"]) == (1, False, False)
    assert [error["rule"] for error in said["errors"]] == ["schema.enum"]
    assert said["errors"][0]["line"] == 23
    assert project.plan.read_bytes() == before


def test_the_fourth_example_is_invalid_for_the_reasons_that_are_in_it(cli: Cli, project: RubyProject) -> None:
    (text,) = (CORPUS / "invalid").glob("*specification-4.yml")
    project.add("app/services/calculator.rb", b"class Calculator\n  def calculate\n  end\nend\n")
    project.write(text.read_bytes(), "metadata_app_services_calculator.yml")
    done = cli("plan", "validate", "--json", project.root / "app/services/calculator.rb")
    said = json.loads(done.out)
    assert {(error["rule"], error["path"]) for error in said["errors"]} == {
        ("schema.required", "/target"),
        ("dependency.missing", "/characteristics/0/depends_on"),
        ("mistake.when-parent", "/characteristics/0/when_parent"),
    }
    assert [warning["rule"] for warning in said["warnings"]] == ["characteristic.single"]


@pytest.mark.parametrize("text", [b"analyzer: [", b"- a\n", b"\n", b"a: 1\na: 2\n", b"x" * 20], ids=repr)
def test_what_cannot_be_read_is_told_and_left_alone(cli: Cli, project: RubyProject, text: bytes) -> None:
    project.write(text)
    done = cli("plan", "validate", project.source)
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("Error: ")
    assert project.plan.read_bytes() == text


@pytest.mark.parametrize("name", ["major--testplan-3.0", "major--testplan-2.1", "minor--testplan-1.4"])
def test_a_newer_plan_is_not_rewritten(cli: Cli, project: RubyProject, name: str) -> None:
    newer = (CORPUS / f"future/{name}.yml").read_bytes().replace(b"warnings: []", b"warnings: [old]")
    project.write(newer)
    assert cli("plan", "validate", project.source).code == (2 if "minor" in name else 1)
    assert project.plan.read_bytes() == newer


def test_many_are_validated_and_the_worst_decides(cli: Cli, project: RubyProject) -> None:
    project.write()
    other = project.add("app/other.rb")
    done = cli("plan", "validate", "--json", other, project.plan, project.source)
    said = [json.loads(line) for line in done.out.splitlines()]
    assert [one["path"] for one in said] == [str(other), str(project.plan), str(project.source)]
    assert [one.get("valid") for one in said] == [None, True, True]
    assert done.code == 1


class TestTargets:
    def checked(self, cli: Cli, project: RubyProject, **target: str) -> tuple[int, dict[str, list[str]], str]:
        data = project.plan_of()
        data["target"] |= {key.rstrip("_"): value for key, value in target.items()}
        project.write(data)
        done = cli("plan", "validate", "--json", project.plan)
        said = json.loads(done.out)
        hints = " ".join(found["hint"] for found in (*said["errors"], *said["warnings"]))
        return done.code, {key: [f["rule"] for f in said[key]] for key in ("errors", "warnings")}, hints

    def test_a_file_that_is_not_there(self, cli: Cli, project: RubyProject) -> None:
        code, found, _ = self.checked(cli, project, file="app/gone.rb")
        assert (code, found) == (1, {"errors": ["target.file"], "warnings": []})

    def test_a_directory_is_no_file(self, cli: Cli, project: RubyProject) -> None:
        code, found, _ = self.checked(cli, project, file="app/models")
        assert (code, found) == (1, {"errors": ["target.file"], "warnings": []})

    def test_a_class_that_is_not_there(self, cli: Cli, project: RubyProject) -> None:
        code, found, hints = self.checked(cli, project, class_="Billing::Invoise")
        assert (code, found) == (1, {"errors": ["target.class"], "warnings": []})
        assert "Billing::Invoice" in hints

    def test_a_method_that_is_not_there(self, cli: Cli, project: RubyProject) -> None:
        code, found, hints = self.checked(cli, project, method="totals")
        assert (code, found) == (1, {"errors": ["target.method"], "warnings": []})
        assert "Billing::Invoice#total" in hints

    def test_a_method_of_the_other_type(self, cli: Cli, project: RubyProject) -> None:
        code, found, hints = self.checked(cli, project, method="latest")
        assert (code, found) == (1, {"errors": ["target.method"], "warnings": []})
        assert "method_type: class" in hints

    def test_a_short_name(self, cli: Cli, project: RubyProject) -> None:
        code, found, hints = self.checked(cli, project, class_="Invoice")
        assert (code, found) == (2, {"errors": [], "warnings": ["target.short-name"]})
        assert "Billing::Invoice" in hints

    def test_a_link_out_of_the_project(self, cli: Cli, project: RubyProject, tmp_path: Path) -> None:
        (tmp_path / "secret.rb").write_bytes(RUBY)
        (project.root / "app" / "link.rb").symlink_to(tmp_path / "secret.rb")
        code, found, _ = self.checked(cli, project, file="app/link.rb")
        assert (code, found) == (1, {"errors": ["path.hostile"], "warnings": []})

    def test_a_part_that_cannot_be_read_is_not_taken_for_absence(
        self, cli: Cli, project: RubyProject
    ) -> None:
        project.source.write_bytes(b"class Other\n  def (((\nend end ] } class\n")
        code, found, _ = self.checked(cli, project)
        assert (code, found) == (2, {"errors": [], "warnings": ["target.unchecked"]})

    def test_without_the_reader_of_ruby_it_is_not_looked_for(
        self, cli: Cli, project: RubyProject, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from runcard.plans.ruby import syntax_tree  # noqa: PLC0415

        monkeypatch.setitem(sys.modules, "tree_sitter_ruby", None)
        for cached in (getattr(syntax_tree, name) for name in dir(syntax_tree)):
            if hasattr(cached, "cache_clear"):
                cached.cache_clear()
        code, found, hints = self.checked(cli, project, class_="Gone")
        assert (code, found) == (2, {"errors": [], "warnings": ["target.unchecked"]})
        assert install_hint("ruby") in hints


class TestLooseDocuments:
    """`runcard validate` knows no project, unless it is named."""

    def test_what_is_not_found_is_a_warning(self, cli: Cli, project: RubyProject, tmp_path: Path) -> None:
        loose = tmp_path / "loose" / "plan.yml"
        loose.parent.mkdir()
        loose.write_bytes(project.write().read_bytes())
        done = cli("validate", "--json", loose)
        (document,) = json.loads(done.out)["documents"]
        assert (done.code, document["valid"]) == (2, True)
        assert [found["rule"] for found in document["warnings"]] == ["target.file"]
        assert cli("plan", "validate", "--no-write", loose).code == 2

    def test_in_a_named_project_it_is_an_error(self, cli: Cli, project: RubyProject, tmp_path: Path) -> None:
        loose = tmp_path / "plan.yml"
        loose.write_bytes(project.write().read_bytes())
        assert cli("validate", loose, "--root", project.root).code == 0
        assert cli("plan", "validate", "--no-write", loose, "--root", project.root).code == 0
        project.source.write_bytes(b"class Other\nend\n")
        assert cli("validate", loose, "--root", project.root).code == 1
        assert cli("plan", "validate", "--no-write", loose, "--root", project.root).code == 1

    def test_a_plan_in_its_project_is_looked_at_there(self, cli: Cli, project: RubyProject) -> None:
        project.write()
        assert cli("validate", project.plan).code == 0
        assert cli("validate", project.root).code == 0
        project.source.unlink()
        assert cli("validate", project.plan).code == 2

    def test_the_section_is_judged_as_it_stands(self, cli: Cli, project: RubyProject) -> None:
        failed = {"completed": False, "errors": ["x"], "warnings": []}
        project.write(project.plan_of() | {"validation": failed})
        done = cli("validate", project.plan)
        assert (done.code, "[validation.errors]" in done.err) == (1, True)


def test_a_folder_is_asked_for_its_plans_and_other_yaml_is_passed_over(
    cli: Cli, project: RubyProject
) -> None:
    project.write()
    project.add("config/locales/en.yml", b"en:\n  hello: Hello\n")
    project.add("config/database.yml", b"test: &a [\n")
    project.add("broken.yml", b"factories_detected: {}\ncharacteristics: [\n")
    done = cli("validate", "--json", project.root)
    said = json.loads(done.out)["documents"]
    assert [os.path.relpath(one["path"], project.root) for one in said] == [
        "broken.yml",
        os.path.relpath(project.plan, project.root),
    ]
    assert said[0]["errors"][0]["rule"] == "yaml.syntax"


def test_schema_migrate_and_load_know_plans(cli: Cli, project: RubyProject) -> None:
    import runcard  # noqa: PLC0415

    assert json.loads(cli("schema", "testplan").out)["$id"] == "urn:runcard:schema:testplan:2.0"
    project.write(WRITTEN_BY_HAND)
    assert cli("migrate", "--to", "2.0", project.plan).code == 0
    changed = lines_changed(WRITTEN_BY_HAND, project.plan.read_bytes())
    assert [line for line in changed if line != "+ "] == ["+ format_version: '2.0'"]
    document = runcard.load(project.plan)
    assert isinstance(document, runcard.TestPlan)
    assert (document.version, document.target["file"]) == ("2.0", SOURCE)
    assert [one["name"] for one in document.characteristics] == ["customer", "size"]
    assert cli("migrate", "--to", "1.3", project.plan, "--no-backup").code == 0
    assert project.read()["format_version"] == "1.3"


def test_a_plan_that_is_refused_is_not_looked_at_any_further(cli: Cli, project: RubyProject) -> None:
    project.write((CORPUS / "future/major--testplan-3.0.yml").read_bytes().replace(b"invoice.rb", b"gone.rb"))
    done = cli("plan", "validate", "--json", project.plan)
    assert [found["rule"] for found in json.loads(done.out)["errors"]] == ["version.newer-major"]


def test_a_plan_with_very_many_findings_stays_readable(cli: Cli, project: RubyProject) -> None:
    data = project.plan_of()
    data["characteristics"] = [{"name": f"c{number}"} for number in range(300)]
    project.write(data)
    assert cli("plan", "validate", project.source).code == 1
    errors = project.read()["validation"]["errors"]
    assert (len(errors), errors[-1]) == (201, "and 1,300 more")


def test_what_automation_says_about_the_validation_agrees(cli: Cli, project: RubyProject) -> None:
    data = project.plan_of()
    data["automation"]["validation_passed"] = True
    data["target"]["class"] = "Billing::Nothing"
    project.write(data)
    assert cli("plan", "validate", project.source).code == 1
    said = project.read()
    assert (said["validation"]["completed"], said["automation"]["validation_passed"]) == (False, False)
    data["target"]["class"] = "Billing::Invoice"
    project.write(said | {"target": data["target"]})
    assert cli("plan", "validate", project.source).code == 0
    assert project.read()["automation"]["validation_passed"] is True
