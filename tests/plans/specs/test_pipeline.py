"""`runcard plan pipeline`: from a source to the skeleton of its spec."""

import json
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as budget
from hypothesis import strategies as st

from conftest import Cli
from plans.projects import RubyProject
from plans.specs.skeletons import complaints

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
        f"{project.source}: validator done: valid testplan 1.3\n"
        f"{project.source}: skeleton done: {project.root / SPEC}\n"
        f"{project.source}: next is the architect\n"
    )
    assert done.code == 2
    assert (
        done.err
        == f"Warning: {project.source}: the plan has only one characteristic [characteristic.single]\n"
    )
    assert (
        "context 'when customer is premium', plan: 'customer_premium:premium' do"
        in (project.root / SPEC).read_text()
    )
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


def test_a_changed_source_is_analyzed_again_and_its_spec_extended(cli: Cli, project: RubyProject) -> None:
    cli("plan", "pipeline", project.source, "--method", "total")
    spec = project.root / SPEC
    before = spec.read_text()
    project.source.write_bytes(LATER)
    done = cli("plan", "pipeline", project.source, "--method", "total")
    assert done.code == 0
    assert done.out.splitlines() == [
        f"{project.source}: analyzer done: {project.plan}",
        f"{project.source}: validator done: valid testplan 1.3",
        f"{project.source}: skeleton done: {spec}: 4 contexts added",
        f"{project.source}: next is the architect",
    ]
    assert len(project.read()["characteristics"]) == 2
    after = spec.read_text().splitlines()
    assert [line for line in before.splitlines() if line not in after] == []
    done = cli("plan", "pipeline", project.source, "--method", "total", "--force", "--json")
    assert steps(done.out)["skeleton"] == "done"
    assert "instance.total(rate)" in spec.read_text()
    assert "premium" not in spec.read_text()


def test_a_spec_that_ruby_cannot_read_is_left_and_the_next_agent_may_begin(
    cli: Cli, project: RubyProject
) -> None:
    spec = project.add(SPEC, b"RSpec.describe Billing::Invoice do\n  describe '#total' do\n")
    done = cli("plan", "pipeline", project.source, "--method", "total")
    assert done.code == 2
    assert f"{project.source}: skeleton kept: {spec}\n" in done.out
    assert "cannot be parsed" in done.err
    assert "the spec was not changed" in done.err
    assert spec.read_bytes() == b"RSpec.describe Billing::Invoice do\n  describe '#total' do\n"
    assert project.read()["automation"]["skeleton_skip_reason"] == "the spec exists and cannot be extended"
    assert cli("plan", "begin", "architect", project.source).code == 0
    assert cli("plan", "skeleton", project.source).code == 1


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


def test_a_further_method_has_a_plan_of_its_own_and_a_group_in_the_spec(
    cli: Cli, project: RubyProject
) -> None:
    project.source.write_bytes(FURTHER)
    plans = set()
    spec = project.root / SPEC
    for method, kind in (
        ("<=>", "instance"),
        ("due", "instance"),
        ("due", "class"),
        ("total", "instance"),
        ("due!", "instance"),
    ):
        done = cli("plan", "pipeline", project.source, "--method", method, "--type", kind, "--json")
        said = json.loads(done.out)
        assert said["next"] == "architect"
        plans.add(said["metadata_path"])
        assert f"describe '{'.' if kind == 'class' else '#'}{method}' do" in spec.read_text()
        review = ("plan", "review", project.source, "--method", method, "--type", kind, "--json")
        assert json.loads(cli(*review).out)["spec"] == str(spec)
        again = cli("plan", "pipeline", project.source, "--method", method, "--type", kind, "--json")
        assert steps(again.out) == {"analyzer": "kept", "validator": "done", "skeleton": "kept"}
    groups = [line.split("'")[1] for line in spec.read_text().splitlines() if line.startswith("  describe '")]
    assert groups == ["#total", "#due", "#due!", ".due", "#<=>"]
    assert len(plans) == 5
    assert len(list((project.root / "spec").rglob("*.rb"))) == 1


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


@pytest.mark.needs("ruby")
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


ENGLISH = b"""\
class Post
  def call(user, action, amount)
    return if amount < 5
    1 if user.email
    2 if read_actions.include?(action)
    3 unless processed_title.include?('<p></p>')
    4 if super
    amount > 100 ? 5 : 6
  end
end
"""


def test_contexts_are_english_and_each_state_of_a_range_has_its_own_threshold(
    cli: Cli, project: RubyProject
) -> None:
    source = project.add("app/services/post.rb", ENGLISH)
    cli("plan", "pipeline", source, "--method", "call")
    text = (project.root / "spec/services/post_spec.rb").read_text()
    names = {
        line.split(", plan:")[0].strip().removesuffix(",") for line in text.splitlines() if "context " in line
    }
    assert names == {
        "context 'when amount is from 5 to 100'",
        "context 'when amount is above 100'",
        "context 'when amount is below 5'",
        "context 'with user email'",
        "context 'but user email is absent'",
        "context 'and action is in read actions'",
        "context 'but action is not in read actions'",
        r"context 'and processed title includes \'<p></p>\''",
        r"context 'but processed title does not include \'<p></p>\''",
        "context 'and super returns a value'",
        "context 'but super returns nothing'",
    }
    thresholds = {line.strip() for line in text.splitlines() if "TODO: set up amount:" in line}
    assert {line.rpartition(", ")[2] for line in thresholds} == {">= 5 and <= 100", "> 100", "< 5"}
    assert text.index("below 5") > text.index("above 100")
