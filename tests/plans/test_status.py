"""`runcard plan status`: fresh only when everything is right, otherwise a reason."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conftest import Cli
from plans.projects import SOURCE, Fields, RubyProject, noted

Change = Callable[[Fields], Any]


def told(cli: Cli, *arguments: str | Path) -> Fields:
    done = cli("plan", "status", "--json", *arguments)
    assert (done.code, done.err) == (0, "")
    said: Fields = json.loads(done.out)
    return said


def test_a_hit(cli: Cli, project: RubyProject) -> None:
    project.write()
    assert told(cli, project.source) == {
        "source": str(project.source),
        "valid": True,
        "metadata_path": str(project.plan),
        "reason": None,
        "validated": True,
        "target": {"class": "Billing::Invoice", "method": "total", "method_type": "instance"},
        "next": "skeleton",
        "warnings": [],
    }
    assert cli("plan", "status", project.source).out == f"{project.source}: fresh\n"


def test_a_plan_that_was_never_validated_is_a_hit(cli: Cli, project: RubyProject) -> None:
    data = project.plan_of()
    del data["validation"]
    project.write(data)
    said = told(cli, project.source)
    assert (said["valid"], said["validated"], said["next"]) == (True, False, "validator")
    assert cli("plan", "status", project.source).out == f"{project.source}: fresh, not validated\n"


def _set(section: str, key: str, value: object) -> Change:
    return lambda plan: plan[section].update({key: value})


MISSES: dict[str, tuple[Change, str]] = {
    "incomplete": (_set("analyzer", "completed", False), "analysis incomplete"),
    "completed a text": (_set("analyzer", "completed", "true"), "analysis incomplete"),
    "completed a number": (_set("analyzer", "completed", 1), "analysis incomplete"),
    "no analyzer": (lambda plan: plan.pop("analyzer"), "analysis incomplete"),
    "analyzer a text": (lambda plan: plan.update(analyzer="x"), "analysis incomplete"),
    "errors": (_set("validation", "errors", ["x"]), "validation failed"),
    "validation a text": (lambda plan: plan.update(validation="x"), "validation failed"),
    "no mtime": (
        lambda plan: plan["analyzer"].pop("source_file_mtime"),
        "missing source_file_mtime in metadata",
    ),
    "mtime a text": (_set("analyzer", "source_file_mtime", "1"), "missing source_file_mtime in metadata"),
    "mtime true": (_set("analyzer", "source_file_mtime", True), "missing source_file_mtime in metadata"),
    "other mtime": (_set("analyzer", "source_file_mtime", 1699352120), "source file modified"),
}


@pytest.mark.parametrize("name", MISSES)
def test_a_miss_has_its_reason_and_is_no_error(cli: Cli, project: RubyProject, name: str) -> None:
    change, reason = MISSES[name]
    data = project.plan_of()
    change(data)
    project.write(data)
    said = told(cli, project.source)
    assert (said["valid"], said["reason"]) == (False, reason)
    assert said["metadata_path"] == str(project.plan)


def test_no_plan(cli: Cli, project: RubyProject) -> None:
    said = told(cli, project.source)
    assert (said["valid"], said["reason"], said["target"]) == (False, "metadata not found", None)


@pytest.mark.parametrize(
    "text", [b"", b"[", b"- a\n", b"a: 1\na: 2\n", b"\xff\xfe", b"a: !ruby/object:X {}", b"x" * 100], ids=repr
)
def test_a_plan_that_cannot_be_read_is_corrupted(cli: Cli, project: RubyProject, text: bytes) -> None:
    project.write(text or b"\n")
    assert told(cli, project.source)["reason"] == "metadata corrupted"


class TestDigests:
    """Size and digest of the source decide where the analyzer noted them."""

    def test_a_file_that_was_touched_is_a_hit(self, cli: Cli, project: RubyProject) -> None:
        project.write(noted(project.plan_of(), project.source))
        os.utime(project.source, (1, 1))
        assert told(cli, project.source)["valid"]

    @pytest.mark.parametrize("text", [b"class Other\nend\n", None], ids=["other size", "same size"])
    def test_an_edit_within_one_second_is_a_miss(
        self, cli: Cli, project: RubyProject, text: bytes | None
    ) -> None:
        project.write(noted(project.plan_of(), project.source))
        before = project.source.stat()
        project.source.write_bytes(text or project.source.read_bytes().replace(b"1", b"3"))
        os.utime(project.source, ns=(before.st_atime_ns, before.st_mtime_ns))
        assert told(cli, project.source)["reason"] == "source file modified"

    def test_without_them_the_time_decides(self, cli: Cli, project: RubyProject) -> None:
        project.write()
        os.utime(project.source, (1, 1))
        assert told(cli, project.source)["reason"] == "source file modified"

    def test_fractions_of_a_second_do_not_count(self, cli: Cli, project: RubyProject) -> None:
        project.write()
        second = int(project.source.stat().st_mtime)
        os.utime(project.source, ns=(0, second * 10**9 + 999_999_999))
        assert told(cli, project.source)["valid"]


class TestTargets:
    def test_the_method_that_was_asked_for_is_a_hit(self, cli: Cli, project: RubyProject) -> None:
        project.write()
        said = told(
            cli, project.source, "--class", "Billing::Invoice", "--method", "total", "--type", "instance"
        )
        assert said["valid"]

    @pytest.mark.parametrize(
        "asked",
        [
            ("--class", "Billing::Other", "--method", "total", "--type", "instance"),
            ("--class", "Billing::Invoice", "--method", "latest", "--type", "instance"),
            ("--method", "latest"),
            ("--type", "class"),
        ],
    )
    def test_another_method_is_a_different_target(
        self, cli: Cli, project: RubyProject, asked: tuple[str, ...]
    ) -> None:
        project.write()
        said = told(cli, project.source, *asked)
        assert (said["valid"], said["reason"]) == (False, "different target")


def test_many_sources_are_told_in_their_order_and_the_worst_decides(cli: Cli, project: RubyProject) -> None:
    project.write()
    other = project.add("app/other.rb")
    gone = project.root / "app" / "gone.rb"
    done = cli("plan", "status", "--json", project.source, gone, other)
    said = [json.loads(line) for line in done.out.splitlines()]
    assert [one["source"] for one in said] == [str(project.source), str(gone), str(other)]
    assert [one.get("reason") for one in said] == [None, None, "metadata not found"]
    assert said[1]["error"].endswith("app/gone.rb does not exist")
    assert done.code == 1
    assert done.err.startswith("Error: ")


def test_a_source_that_is_gone_is_an_error(cli: Cli, project: RubyProject) -> None:
    project.write()
    project.source.unlink()
    done = cli("plan", "status", project.source)
    assert (done.code, done.out) == (1, "")
    assert done.err == f"Error: {project.root}/{SOURCE} does not exist\n  hint: check the path\n"


def test_progress_is_shown_on_request(cli: Cli, project: RubyProject) -> None:
    project.write()
    assert cli("plan", "status", project.source).err == ""
    assert cli("plan", "status", "--progress", project.source).err == "1 sources done\n"


def test_many_hits_are_told(cli: Cli, project: RubyProject) -> None:
    sources = [project.add(f"lib/a{number}.rb") for number in range(50)]
    for number in range(50):
        project.write(project.plan_of(f"lib/a{number}.rb"), f"metadata_lib_a{number}.yml")
    assert cli("plan", "status", *sources).out.count(": fresh\n") == 50


def test_the_limits_are_those_of_the_settings(
    cli: Cli, project: RubyProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.write()
    monkeypatch.setenv("RUNCARD_LIMITS_SIZE", "100")
    assert told(cli, project.source)["reason"] == "metadata corrupted"
    assert "encoding.too-big" in cli("plan", "validate", project.source).err
    assert cli("plan", "mark", "skeleton", project.source).code == 1


def test_all_plans_of_a_source_are_reported(cli: Cli, tmp_path: Path) -> None:
    source = tmp_path / "pay.rb"
    source.write_text("class Pay\n  def a(x) = x ? 1 : 2\n  def b(x) = x ? 1 : 2\nend\n")
    (tmp_path / "Gemfile").touch()
    for method in "ab":
        cli("plan", "analyze", source, "--method", method, "--write")
    done = cli("plan", "status", source)
    assert sorted(done.out.splitlines()) == [f"{source}: Pay#{name}: fresh, not validated" for name in "ab"]
    told = [json.loads(line) for line in cli("plan", "status", "--json", source).out.splitlines()]
    assert sorted(each["target"]["method"] for each in told) == ["a", "b"]
    assert cli("plan", "status", source, "--method", "b").out == f"{source}: fresh, not validated\n"


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ((), "pay.rb --all-methods --write"),
        (("--method", "b"), "pay.rb --method b --write"),
        (("--type", "class"), "pay.rb --all-methods --write"),
        (
            ("--class", "Pay", "--method", "c", "--type", "class"),
            "--class Pay --method c --type class --write",
        ),
    ],
)
def test_without_a_fresh_plan_the_command_that_makes_one_is_named(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asked: tuple[str, ...], words: str
) -> None:
    (tmp_path / "Gemfile").touch()
    (tmp_path / "lib").mkdir()
    source = tmp_path / "lib" / "pay.rb"
    source.write_text(
        "class Pay\n  def a(x) = x ? 1 : 2\n  def b(x) = x ? 1 : 2\n  def self.c(x) = x ? 1 : 2\n  def self.d(x) = x ? 1 : 2\nend\n"
    )
    monkeypatch.chdir(tmp_path / "lib")
    if "--type" in asked[:1]:
        cli("plan", "analyze", "pay.rb", "--method", "b", "--write")
    _run_the_command(
        cli, "different target" if "--type" in asked[:1] else "metadata not found", words, *asked
    )
    if "b" in asked:  # its plan has the documented name: another method of the file has none
        _run_the_command(cli, "different target", "pay.rb --method a --write", "--method", "a")
        source.write_text(source.read_text().replace("1", "3"))
        _run_the_command(cli, "source file modified", "--class Pay --method a --write", "--class", "Pay")


def _run_the_command(cli: Cli, reason: str, words: str, *asked: str) -> None:
    said = next(line for line in cli("plan", "status", "pay.rb", *asked).out.splitlines() if reason in line)
    command = said.partition("; run `runcard ")[2].removesuffix("`")
    assert command.endswith(words)
    assert cli(*command.split()).code == 0
    assert "fresh" in cli("plan", "status", "pay.rb", *asked).out


def test_the_command_for_a_plan_that_was_named_names_its_source(cli: Cli, project: RubyProject) -> None:
    project.write()
    os.utime(project.source, (1, 1))
    said = cli("plan", "status", project.plan).out
    assert f"run `runcard plan analyze {SOURCE} --class Billing::Invoice --method total --write`" in said
