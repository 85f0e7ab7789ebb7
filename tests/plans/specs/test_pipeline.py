"""`runcard plan pipeline`: from a source to the skeleton of its spec."""

import json
import os
from pathlib import Path

from hypothesis import HealthCheck, given
from hypothesis import settings as budget
from hypothesis import strategies as st

from conftest import Cli
from plans.projects import RubyProject
from plans.ruby.ruby_tools import needs_ruby
from plans.specs.skeletons import complaints
from plans.test_plan_files import hex8

SPEC = "spec/models/billing/invoice_spec.rb"
LATER = b"""\
class Billing::Invoice
  def total(rate)
    return 0 if customer.blocked?
    rate > 3 ? 1 : 2
  end
end
"""


def steps(done: str) -> dict[str, str]:
    return {step["agent"]: step["outcome"] for step in json.loads(done)["steps"]}


def test_a_source_goes_through_and_the_architect_is_next(cli: Cli, project: RubyProject) -> None:
    done = cli("plan", "pipeline", project.source, "--method", "total")
    assert done.out == (
        f"{project.source}: analyzer done: {project.plan}\n"
        f"{project.source}: validator done: valid testplan 2.0\n"
        f"{project.source}: skeleton done: {project.root / SPEC}\n"
        f"{project.source}: next is the architect\n"
    )
    assert done.code == 2
    assert (
        done.err
        == f"Warning: {project.source}: the plan has only one characteristic [characteristic.single]\n"
    )
    assert "context 'when customer is premium' do" in (project.root / SPEC).read_text()
    assert cli("plan", "begin", "architect", project.source).code == 0


def test_what_still_holds_is_not_done_again(cli: Cli, project: RubyProject) -> None:
    cli("plan", "pipeline", project.source, "--method", "total")
    before = project.plan.read_bytes()
    spec = project.add(SPEC, b"# filled in\n")
    os.utime(project.source)
    done = cli("plan", "pipeline", project.source, "--method", "total", "--json")
    assert steps(done.out) == {"analyzer": "kept", "validator": "done", "skeleton": "kept"}
    assert json.loads(done.out)["next"] == "architect"
    assert (project.plan.read_bytes(), spec.read_bytes()) == (before, b"# filled in\n")


REVIEW = "`runcard plan review` lists what it does not cover"


def test_a_changed_source_is_analyzed_again_and_a_spec_only_replaced_by_force(
    cli: Cli, project: RubyProject
) -> None:
    cli("plan", "pipeline", project.source, "--method", "total")
    spec = project.add(SPEC, b"# filled in\n")
    project.source.write_bytes(LATER)
    done = cli("plan", "pipeline", project.source, "--method", "total")
    assert done.code == 0
    assert done.out.splitlines() == [
        f"{project.source}: analyzer done: {project.plan}",
        f"{project.source}: validator done: valid testplan 2.0",
        f"{project.source}: skeleton kept: {spec} exists already and was not changed; {REVIEW}",
        f"{project.source}: next is the architect",
    ]
    assert project.read()["automation"]["skeleton_skip_reason"] == "the spec exists already"
    assert spec.read_bytes() == b"# filled in\n"
    assert len(project.read()["characteristics"]) == 2
    done = cli("plan", "pipeline", project.source, "--method", "total", "--force", "--json")
    assert steps(done.out)["skeleton"] == "done"
    assert "instance.total(rate)" in spec.read_text()


def test_without_a_method_the_methods_of_the_source_are_named(cli: Cli, project: RubyProject) -> None:
    done = cli("plan", "pipeline", project.source)
    assert (done.code, done.out) == (64, "")
    assert (
        done.err
        == "Error: Missing option '--method'.\n  hint: its methods: Billing::Invoice#total, Billing::Invoice.latest\n"
    )
    done = cli("plan", "pipeline", "absent.rb")
    assert done.code == 64
    assert done.err.endswith("hint: see `runcard plan pipeline --help`\n")


FURTHER = b"""\
class Billing::Invoice
  def total
    paid? ? 1 : 2
  end

  def due(day) = day > 3 ? 1 : 2
  def due!(day) = day > 3 ? 1 : 2
  def self.due(day) = day > 3 ? 1 : 2
  def <=>(other) = other.total > 3 ? 1 : 2
end
"""


def test_a_further_method_has_a_plan_and_a_spec_of_its_own(cli: Cli, project: RubyProject) -> None:
    project.source.write_bytes(FURTHER)
    specs, plans = set(), set()
    for method, kind in (
        ("total", "instance"),
        ("due", "instance"),
        ("due", "class"),
        ("due!", "instance"),
        ("<=>", "instance"),
    ):
        done = cli("plan", "pipeline", project.source, "--method", method, "--type", kind, "--json")
        said = json.loads(done.out)
        assert said["next"] == "architect"
        plans.add(said["metadata_path"])
        spec = Path(said["steps"][-1]["detail"])
        specs.add(spec.relative_to(project.root / "spec" / "models" / "billing"))
        assert f"describe '{'.' if kind == 'class' else '#'}{method}' do" in spec.read_text()
        review = ("plan", "review", project.source, "--method", method, "--type", kind, "--json")
        assert json.loads(cli(*review).out)["spec"] == str(spec)
        again = cli("plan", "pipeline", project.source, "--method", method, "--type", kind, "--json")
        assert steps(again.out) == {"analyzer": "kept", "validator": "done", "skeleton": "kept"}
    digits = {method: hex8(f"Billing::Invoice\ninstance\n{method}") for method in ("due!", "<=>")}
    names = ["", "_due", "_class_due", f"_due-{digits['due!']}", f"-{digits['<=>']}"]
    assert set(map(str, specs)) == {f"invoice{name}_spec.rb" for name in names}
    assert len(plans) == 5


def test_another_spec_can_be_named(cli: Cli, project: RubyProject) -> None:
    wanted = ("plan", "pipeline", project.source, "--method", "latest", "--class", "Billing::Invoice")
    other = project.root / "spec" / "models" / "latest_spec.rb"
    assert json.loads(cli(*wanted, "--output", other, "--json").out)["next"] == "architect"
    assert "describe '.latest' do" in other.read_text()
    assert cli(*wanted, project.source, "--output", other).code == 64


def test_a_skeleton_that_is_gone_is_written_again_unless_it_was_skipped(
    cli: Cli, project: RubyProject
) -> None:
    wanted = ("plan", "pipeline", project.source, "--method", "total", "--json")
    cli(*wanted)
    (project.root / SPEC).unlink()
    assert steps(cli(*wanted).out)["skeleton"] == "done"
    (project.root / SPEC).unlink()
    cli("plan", "mark", "skeleton", project.source, "--skipped", "there is none")
    assert steps(cli(*wanted).out)["skeleton"] == "kept"
    assert not (project.root / SPEC).exists()


def test_a_method_that_is_not_there_is_an_error_and_writes_nothing(cli: Cli, project: RubyProject) -> None:
    done = cli("plan", "pipeline", project.source, "--method", "nothing")
    assert (done.code, done.out) == (1, "")
    assert "total" in done.err
    assert not project.plan.exists()
    assert cli("plan", "pipeline", project.source).code == 64


_names = st.sampled_from(["a?", "b", "c.d?", "e.empty?", "f && g", "!h", "i > 3", "j == :k"])


@st.composite
def bodies(draw: st.DrawFn, depth: int = 2) -> str:
    """Nested conditions of Ruby."""
    if depth == 0:
        return draw(st.sampled_from(["1", "nil", "return 2", "raise 'x'"]))
    kind = draw(st.sampled_from(["if", "guard", "case", "plain"]))
    inner = bodies(depth - 1)
    if kind == "if":
        return f"if {draw(_names)}\n{draw(inner)}\nelse\n{draw(inner)}\nend"
    if kind == "guard":
        return f"return 3 unless {draw(_names)}\n{draw(inner)}"
    if kind == "case":
        return f"case x.kind\nwhen :one\n{draw(inner)}\nwhen :two then 5\nelse\n{draw(inner)}\nend"
    return draw(inner)


@needs_ruby
@given(st.lists(bodies(), min_size=12, max_size=12))
@budget(max_examples=2, suppress_health_check=list(HealthCheck))
def test_whatever_the_conditions_are_the_skeleton_is_ruby(cli: Cli, tmp_path: Path, found: list[str]) -> None:
    folder = tmp_path / os.urandom(4).hex()
    project = RubyProject(folder)
    files = [
        project.add(
            f"app/services/s{place}.rb", f"class S\n  def call(x, b, i, j)\n{body}\n  end\nend\n".encode()
        )
        for place, body in enumerate(found)
    ]
    done = cli("plan", "pipeline", *files, "--method", "call", "--json")
    assert done.code in {0, 2}, done.err
    specs = [path.read_bytes() for path in sorted((folder / "spec").rglob("*_spec.rb"))]
    assert len(specs) == len(files)
    assert [complaint for complaint in complaints(specs, folder) if complaint] == []
