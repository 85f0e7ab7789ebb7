"""`runcard plan analyze`: output, written plans and exit codes."""

import json
import os
import shutil
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from conftest import Cli
from runcard.encoding.yaml import decode_yaml
from runcard.operations.plans.analyze import analyze_source
from runcard.plans.plan_files import MethodRef
from runcard.plans.ruby import Factories, read_factories

Fields = dict[str, Any]

SERVICE = """\
class Service
  def call(user)
    return :nobody unless user

    user.admin? ? :all : :some
  end

  def total
    items.sum
  end

  def self.call(user)
    new.call(user)
  end

  attr_reader :items
end
"""


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A service in a project that has a factory."""
    shutil.copytree(Path(__file__).parent / "project", tmp_path / "shop")
    path = tmp_path / "shop/app/services/service.rb"
    path.parent.mkdir()
    path.write_text(SERVICE)
    return path


def plan_file(source: Path) -> Path:
    return source.parents[2] / "tmp/rspec_claude_metadata/metadata_app_services_service.yml"


def read(path: Path) -> Fields:
    data: Fields = decode_yaml(path.read_bytes())
    return data


CALL = ("--method", "call", "--type", "instance")


def test_it_prints_the_plan(cli: Cli, source: Path) -> None:
    done = cli("plan", "analyze", source, *CALL)
    assert (done.code, done.err) == (0, "")
    plan = decode_yaml(done.out.encode())
    assert plan["format_version"] == "1.3"
    assert [one["name"] for one in plan["characteristics"]] == ["user_present", "user_admin"]
    assert plan["target"] == {
        "class": "Service",
        "method": "call",
        "method_type": "instance",
        "file": "app/services/service.rb",
        "uses_models": True,
    }
    assert plan["factories_detected"] == {"user": {"file": "spec/factories/users.rb", "traits": ["admin"]}}
    assert not plan_file(source).exists()


def test_the_same_source_gives_the_same_bytes(
    cli: Cli, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("runcard.plans.analysis.analyzer._now", lambda: datetime(2026, 11, 8, tzinfo=UTC))
    first = cli("plan", "analyze", source, *CALL).out
    assert cli("plan", "analyze", source, *CALL).out == first
    cli("plan", "analyze", source, *CALL, "--write")
    written = plan_file(source).read_bytes()
    plan_file(source).unlink()
    cli("plan", "analyze", source, *CALL, "--write")
    assert plan_file(source).read_bytes() == written == first.encode()


def test_json_is_the_plan_and_where_it_went(cli: Cli, source: Path) -> None:
    said = json.loads(cli("plan", "analyze", source, *CALL, "--json").out)
    assert said["source"] == str(source)
    assert said["metadata_path"] is None
    assert [one["condition"] for one in said["characteristics"]] == ["user", "user.admin?"]
    said = json.loads(cli("plan", "analyze", source, *CALL, "--json", "--write").out)
    assert said["metadata_path"] == str(plan_file(source))


def test_what_is_written_is_a_hit_and_valid(cli: Cli, source: Path) -> None:
    done = cli("plan", "analyze", source, *CALL, "--write")
    assert (done.code, done.out, done.err) == (0, f"{plan_file(source)}\n", "")
    analyzer = read(plan_file(source))["analyzer"]
    assert analyzer["source_sha256"] == sha256(source.read_bytes()).hexdigest()
    assert analyzer["source_size"] == source.stat().st_size
    assert analyzer["source_file_mtime"] == int(source.stat().st_mtime)
    assert cli("plan", "status", source).out == f"{source}: fresh, not validated\n"
    assert cli("plan", "validate", source).code == 0
    assert cli("plan", "begin", "skeleton", source).code == 0


def test_the_same_analysis_again_keeps_what_others_said(cli: Cli, source: Path) -> None:
    cli("plan", "analyze", source, *CALL, "--write")
    cli("plan", "validate", source)
    cli("plan", "mark", "skeleton", source)
    before = plan_file(source).read_bytes()
    assert cli("plan", "analyze", source, *CALL, "--write").code == 0
    assert plan_file(source).read_bytes() == before


def test_another_analysis_clears_what_later_agents_said(cli: Cli, source: Path) -> None:
    cli("plan", "analyze", source, *CALL, "--write")
    cli("plan", "validate", source)
    cli("plan", "mark", "skeleton", source)
    source.write_text(SERVICE.replace("user.admin?", "user.owner?"))
    assert cli("plan", "analyze", source, *CALL, "--write").code == 0
    plan = read(plan_file(source))
    assert [one["name"] for one in plan["characteristics"]] == ["user_present", "user_owner"]
    assert "validation" not in plan
    assert "skeleton_generated" not in plan["automation"]
    assert plan["automation"]["analyzer_completed"] is True


def test_what_others_added_survives(cli: Cli, source: Path) -> None:
    cli("plan", "analyze", source, *CALL, "--write")
    plan = plan_file(source)
    plan.write_text(
        plan.read_text().replace("  uses_models: true", "  uses_models: false # sure?\n  owner: billing")
    )
    assert cli("plan", "analyze", source, *CALL, "--write").code == 0
    assert "uses_models: true # sure?" in plan.read_text()
    assert read(plan)["target"]["owner"] == "billing"


def test_a_setup_names_the_class(cli: Cli, source: Path) -> None:
    source.write_text(
        "class A\n  def x(b)\n    c = b.c\n    d? ? 1 : (order.e? && c.f? && b.g?)\n  end\nend\n"
    )
    said = json.loads(cli("plan", "analyze", source, "--method", "x", "--json").out)
    assert {one["name"]: (one["setup"], one["setup_class"]) for one in said["characteristics"]} == {
        "d": ("attribute", "A"),
        "order_e": ("model", "Order"),
        "b_c_f": ("variable", None),
        "b_g": ("argument", None),
    }


def test_a_damaged_plan_is_replaced(cli: Cli, source: Path) -> None:
    plan_file(source).parent.mkdir(parents=True)
    plan_file(source).write_text("{{{")
    assert cli("plan", "analyze", source, *CALL, "--write").code == 0
    assert cli("plan", "status", source).out == f"{source}: fresh, not validated\n"


def test_no_condition_is_an_empty_list_and_a_warning(cli: Cli, source: Path) -> None:
    done = cli("plan", "analyze", source, "--method", "total", "--json")
    assert done.code == 2
    assert json.loads(done.out)["characteristics"] == []
    assert done.err.startswith("Warning: ")
    assert "Service#total has no branches" in done.err
    assert cli("plan", "analyze", source, "--method", "items").code == 2


def test_an_unknown_method_lists_those_there_are(cli: Cli, source: Path) -> None:
    done = cli("plan", "analyze", source, "--method", "cal")
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("Error: ")
    for known in ("Service#call", "Service.call", "Service#total", "Service#items"):
        assert known in done.err


def test_of_two_methods_of_a_class_the_instance_method_is_meant(cli: Cli, source: Path) -> None:
    said = json.loads(cli("plan", "analyze", source, "--method", "call", "--json").out)
    assert said["target"]["method_type"] == "instance"
    done = cli("plan", "analyze", source, "--method", "call", "--type", "class", "--json")
    assert json.loads(done.out)["target"]["method_type"] == "class"


def test_factories_that_cannot_be_read_are_told(cli: Cli, source: Path) -> None:
    (source.parents[2] / "spec/factories/bad.rb").write_text(
        "FactoryBot.define do\n  factory :x do (((\nend\n"
    )
    done = cli("plan", "analyze", source, "--all-methods", "--json")
    assert done.code == 2
    assert done.err.count("spec/factories/bad.rb") == 1


def test_a_class_may_be_named_in_short(cli: Cli, source: Path) -> None:
    source.write_text("module Shop\n class A\n  def x = a? ? 1 : 2\n end\n class B\n  def x = 1\n end\nend\n")
    done = cli("plan", "analyze", source, "--method", "x")
    assert (done.code, done.out) == (1, "")
    assert "x is ambiguous: Shop::A#x or Shop::B#x" in done.err
    said = json.loads(cli("plan", "analyze", source, "--method", "x", "--class", "A", "--json").out)
    assert said["target"]["class"] == "Shop::A"
    assert cli("plan", "analyze", source, "--method", "x", "--class", "C").code == 1


def test_more_than_six_levels_are_too_many(cli: Cli, source: Path) -> None:
    def nested(depth: int) -> str:
        opened = "".join(f"if q{level}?\n" for level in range(depth))
        return f"class A\ndef x\n{opened}work\n{f'end{chr(10)}' * depth}end\nend\n"

    source.write_text(nested(6))
    assert cli("plan", "analyze", source, "--method", "x").code == 0
    source.write_text(nested(7))
    done = cli("plan", "analyze", source, "--method", "x", "--json")
    assert done.code == 2
    assert "split the method" in done.err
    assert [one["level"] for one in json.loads(done.out)["characteristics"]] == [1, 2, 3, 4, 5, 6, 7]


def test_all_methods_that_have_a_body(cli: Cli, source: Path) -> None:
    done = cli("plan", "analyze", source, "--all-methods", "--json")
    said = [json.loads(line) for line in done.out.splitlines()]
    assert [(one["target"]["method"], one["target"]["method_type"]) for one in said] == [
        ("call", "instance"),
        ("total", "instance"),
        ("call", "class"),
    ]
    assert done.code == 2
    done = cli("plan", "analyze", source, "--all-methods", "--write")
    paths = done.out.splitlines()
    assert len(set(paths)) == 3
    assert {read(Path(path))["target"]["method"] for path in paths} == {"call", "total"}
    printed = cli("plan", "analyze", source, "--all-methods").out
    assert printed.count("---\n") == 3


def test_wrong_usage(cli: Cli, source: Path) -> None:
    assert cli("plan", "analyze", source).code == 64
    assert cli("plan", "analyze", source, "--method", "call", "--all-methods").code == 64


def test_a_source_without_a_project_warns_when_it_is_written(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    loose = tmp_path / "loose"
    loose.mkdir()
    (loose / "a.rb").write_text(SERVICE)
    assert cli("plan", "analyze", loose / "a.rb", *CALL).code == 0
    done = cli("plan", "analyze", loose / "a.rb", *CALL, "--write")
    assert done.code == 2
    assert "no .git and no Gemfile" in done.err


def test_a_syntax_error_elsewhere_is_a_warning(cli: Cli, source: Path) -> None:
    source.write_text(SERVICE.replace("items.sum", "items.sum((("))
    done = cli("plan", "analyze", source, *CALL, "--json")
    assert done.code == 2
    assert [one["name"] for one in json.loads(done.out)["characteristics"]][:1] == ["user_present"]
    assert "cannot be parsed" in done.err


@pytest.mark.parametrize("content", [b"\0\1\2", b""])
def test_what_is_no_ruby_is_refused(cli: Cli, source: Path, content: bytes) -> None:
    source.write_bytes(content)
    done = cli("plan", "analyze", source, *CALL)
    assert (done.code, done.out) == (1, "")
    assert cli("plan", "analyze", source.with_name("none.rb"), *CALL).code == 1
    assert cli("plan", "analyze", source.with_name("none.rb"), "--all-methods").code == 1


def test_a_time_that_no_plan_can_note_is_refused(cli: Cli, source: Path) -> None:
    os.utime(source, (0, 0))
    done = cli("plan", "analyze", source, *CALL, "--write")
    assert done.code == 1
    assert "touch the file" in done.err
    assert not plan_file(source).exists()


def test_what_is_nested_beyond_all_reason_is_left_out(cli: Cli, source: Path) -> None:
    source.write_text(f"class A\ndef x\nfirst? ? 1 : 2\n{'(' * 3000}a? ? 1 : 2{')' * 3000}\nend\nend\n")
    done = cli("plan", "analyze", source, "--method", "x", "--json")
    assert done.code == 2
    assert [one["name"] for one in json.loads(done.out)["characteristics"]] == ["first"]
    assert "nested too deep" in done.err
    chain = ".b" * 5000
    source.write_text(f"class A\ndef x\na{chain}.c? ? 1 : 2\na{' + 1' * 5000} > 3\nend\nend\n")
    assert cli("plan", "analyze", source, "--method", "x").code in {0, 2}
    joined = " && ".join(f"q{number}?" for number in range(2000))
    mixed = "a?" + "".join(f" && (b{number}? || c{number}?)" for number in range(90))
    source.write_text(f"class A\ndef x\nwork if {joined}\nwork if {mixed}\nend\nend\n")
    assert cli("plan", "analyze", source, "--method", "x").code == 2


def test_a_program_may_ask_too(source: Path) -> None:
    analyzed = analyze_source(str(source), MethodRef("Service", "call", "instance"), write=True)
    assert analyzed.plan is not None
    assert analyzed.plan.to_dict()["target"]["method"] == "call"


def test_factories_are_read_once_for_all_sources_of_a_command(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next command reads them again."""
    (tmp_path / "Gemfile").touch()
    factories = tmp_path / "spec" / "factories.rb"
    factories.parent.mkdir()
    factories.write_text("FactoryBot.define { factory(:user) { trait :admin } }")
    sources = [tmp_path / name for name in ("one.rb", "two.rb", "three.rb")]
    for source in sources:
        source.write_text(SERVICE)
    read: list[str] = []

    def counted(start: str, root: str) -> Factories:
        read.append(root)
        return read_factories(start, root)

    monkeypatch.setattr("runcard.plans.analysis.project_context.read_factories", counted)
    for trait in ("admin", "guest"):
        factories.write_text(f"FactoryBot.define {{ factory(:user) {{ trait :{trait} }} }}")
        done = cli("plan", "analyze", "--all-methods", "--all-factories", "--json", *sources)
        plans = [json.loads(line) for line in done.out.splitlines()]
        assert {plan["source"] for plan in plans} == {str(source) for source in sources}
        assert all(plan["factories_detected"]["user"]["traits"] == [trait] for plan in plans)
    assert len(read) == 2
