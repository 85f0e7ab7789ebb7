"""`runcard plan review`: comparing a spec with its plan."""

import json

import pytest

from conftest import Cli
from plans.projects import RubyProject
from plans.specs.skeletons import Fields, characteristic

SPEC = "spec/models/billing/invoice_spec.rb"
STATES = [
    characteristic("user_authenticated", "binary", ["authenticated", "not_authenticated"]),
    characteristic(
        "payment_method", "enum", ["card", "bank_transfer"], ("user_authenticated", "authenticated"), level=2
    ),
]


def spec(*contexts: str, body: str = "it('works') { expect(1).to eq(1) }", group: str = "#total") -> bytes:
    inner = "".join(f"    context {json.dumps(context)} do\n      {body}\n    end\n" for context in contexts)
    return f"RSpec.describe Billing::Invoice do\n  describe '{group}' do\n{inner}  end\nend\n".encode()


def planned(project: RubyProject, characteristics: list[Fields] | None = None) -> None:
    project.write(project.plan_of(characteristics=characteristics or STATES))


def covered(said: Fields) -> dict[str, bool]:
    return {one["state"]: one["covered"] for one in said["states"]}


def test_a_skeleton_has_every_context_and_is_full_of_placeholders(cli: Cli, project: RubyProject) -> None:
    planned(project)
    cli("plan", "skeleton", project.source)
    before = project.plan.read_bytes()
    done = cli("plan", "review", project.source, "--json")
    said = json.loads(done.out)
    assert done.code == 2
    assert {one["status"] for one in said["states"]} == {"not covered"}  # all examples are skipped
    assert all(one["lines"] for one in said["states"])
    assert said["unknown_contexts"] == []
    text = (project.root / SPEC).read_text().splitlines()
    assert all(place["text"] in text[place["line"] - 1] for place in said["placeholders"])
    assert len(said["placeholders"]) == sum("# TODO: " in line for line in text) > 0
    assert project.plan.read_bytes() == before


def test_a_spec_that_covers_its_plan_is_exit_0(cli: Cli, project: RubyProject) -> None:
    planned(project)
    contexts = (
        "when the user is authenticated",
        "but is not authenticated",
        "and pays by card",
        "with bank transfer",
    )
    project.add(SPEC, spec(*contexts))
    done = cli("plan", "review", project.source)
    assert (done.code, done.err) == (0, "")
    assert done.out == (
        "# Review of `Billing::Invoice#total`\n"
        "\n"
        "4 of 4 states are covered in `spec/models/billing/invoice_spec.rb`.\n"
        "\n"
        "| characteristic | state | status | known by | examples |\n"
        "|---|---|---|---|---|\n"
        "| `user_authenticated` | `authenticated` | covered | context, line 3 | 1 |\n"
        "| `user_authenticated` | `not_authenticated` | covered | context, line 6 | 1 |\n"
        "| `payment_method` | `card` | covered | context, line 9 | 1 |\n"
        "| `payment_method` | `bank_transfer` | covered | context, line 12 | 1 |\n"
    )


def test_what_is_missing_and_what_is_not_planned_are_named(cli: Cli, project: RubyProject) -> None:
    planned(project)
    project.add(SPEC, spec("when user is authenticated", "when the moon is full"))
    done = cli("plan", "review", project.source)
    assert done.code == 2
    assert done.err.splitlines() == [
        f"Warning: {project.source}: 3 of 4 states are not covered, or not known to be",
        f"Warning: {project.source}: 1 context is not in the plan",
    ]
    assert "| `payment_method` | `card` | **unknown** | no context or example names it | 0 |\n" in done.out
    assert "## Contexts that are not in the plan\n\n* line 6: `when the moon is full`\n" in done.out


def test_a_context_without_an_example_covers_nothing(cli: Cli, project: RubyProject) -> None:
    planned(project, [characteristic("a", "enum", ["b", "c"])])
    project.add(SPEC, spec("when a is b", "when a is c", body="it 'is only announced'"))
    done = cli("plan", "review", project.source)
    assert done.code == 2
    assert "| `a` | `b` | **not covered** | line 3 has only pending examples | 0 |" in done.out


@pytest.mark.parametrize(
    ("context", "states"),
    [
        ("when user is present", {("user", "present")}),
        ("with card present", {("card", "present")}),
        ("with user", {("user", "present")}),
        ("when present", set()),
        ("when it is not present", set()),
        ("without a card, absent", {("card", "absent")}),
    ],
)
def test_a_state_that_two_have_must_be_named_in_full(
    cli: Cli, project: RubyProject, context: str, states: set[tuple[str, str]]
) -> None:
    pair = ["present", "absent"]
    planned(project, [characteristic("user", "binary", pair), characteristic("card", "binary", pair)])
    project.add(SPEC, spec(context))
    said = json.loads(cli("plan", "review", project.source, "--json").out)
    found = {(one["characteristic"], one["state"]) for one in said["states"] if one["covered"]}
    assert found == states


def test_only_what_is_about_the_method_counts(cli: Cli, project: RubyProject) -> None:
    planned(project, [characteristic("a", "enum", ["b", "c"])])
    text = spec("when a is b", "when a is c") + spec("when a is b", "other", group="#refund")
    project.add(SPEC, text)
    done = cli("plan", "review", project.source, "--json")
    assert (done.code, json.loads(done.out)["unknown_contexts"]) == (0, [])
    for group in ("Billing::Invoice#total", "the method #total"):
        project.add(SPEC, spec("when a is b", "when a is c", group=group))
        assert cli("plan", "review", project.source).code == 0
    project.add(SPEC, spec("when a is b", "when a is c", group="totals"))
    done = cli("plan", "review", project.source)
    assert done.code == 2
    assert "has no group for the method" in done.err


def test_the_report_lies_beside_the_plan_and_is_no_plan(cli: Cli, project: RubyProject) -> None:
    planned(project)
    other = project.add("spec/other_spec.rb", spec("when user is authenticated"))
    before = project.plan.read_bytes()
    done = cli("plan", "review", project.source, other, "--write-report", "--json")
    report = project.folder / "metadata_app_models_billing_invoice.review.md"
    assert json.loads(done.out)["report"] == str(report)
    assert report.read_text() == cli("plan", "review", project.source, other).out
    assert project.plan.read_bytes() == before
    assert len(json.loads(cli("plan", "list", project.root, "--json").out)["plans"]) == 1


def test_a_hostile_name_breaks_no_table(cli: Cli, project: RubyProject) -> None:
    planned(project, [characteristic("a|b`c\n# x", "enum", ["d|e", "f"])])
    project.add(SPEC, spec("when the moon | `is` full"))
    page = cli("plan", "review", project.source).out
    assert all(line.count("|") in {0, 6} for line in page.splitlines())
    assert "\n# x" not in page


def test_no_spec_no_plan_and_an_invalid_plan_are_errors(cli: Cli, project: RubyProject) -> None:
    done = cli("plan", "review", project.source)
    assert (done.code, done.out) == (1, "")
    planned(project)
    done = cli("plan", "review", project.source)
    assert (done.code, done.out) == (1, "")
    assert "invoice_spec.rb does not exist" in done.err
    project.add(SPEC, spec())
    project.write(project.plan_of(test_level="none"))
    assert cli("plan", "review", project.source).code == 1


def test_an_old_plan_and_a_broken_spec_are_warnings(cli: Cli, project: RubyProject) -> None:
    planned(project, [characteristic("a", "enum", ["b", "c"])])
    project.add(SPEC, spec("when a is b", "when a is c", body="it('x') { foo( }"))
    project.source.write_text("class Other; end\n")
    project.source.touch()
    plan = project.read()
    plan["analyzer"]["source_file_mtime"] = 5
    project.write(plan)
    done = cli("plan", "review", project.source)
    assert done.code == 2
    assert "the plan needs a new analysis: source file modified" in done.err
    assert "cannot be parsed" in done.err


PAIR = [characteristic("user", "binary", ["active", "blocked"])]


def known_by(cli: Cli, project: RubyProject, text: str) -> dict[str, list[str]]:
    project.add(SPEC, text.encode())
    said = json.loads(cli("plan", "review", project.source, "--json").out)
    return {one["state"]: [each["by"] for each in one["evidence"]] for one in said["states"]}


def method_group(inner: str) -> str:
    return f"RSpec.describe Billing::Invoice do\n  describe '#total' do\n{inner}  end\nend\n"


def test_a_tag_counts_whatever_the_description_says(cli: Cli, project: RubyProject) -> None:
    planned(project, PAIR)
    inner = "context 'on Sundays', plan: 'user:blocked' do\nit('x') { 1 }\nend\n"
    assert known_by(cli, project, method_group(inner)) == {"active": [], "blocked": ["tag"]}
    inner = inner.replace("it('x') { 1 }", "it 'x'")
    assert known_by(cli, project, method_group(inner)) == {"active": [], "blocked": []}


def test_examples_outside_of_the_context_cover_the_other_of_two_states(
    cli: Cli, project: RubyProject
) -> None:
    planned(project, PAIR)
    blocked = "context 'when the user is blocked' do\nit('x') { 1 }\nend\n"
    assert known_by(cli, project, method_group(f"it('sums') {{ 1 }}\n{blocked}")) == {
        "active": ["other examples"],
        "blocked": ["context"],
    }
    other = "context 'on Sundays' do\nit('sums') { 1 }\nend\n"  # it may be about a blocked user, too
    assert known_by(cli, project, method_group(other + blocked))["active"] == []


def test_examples_that_are_switched_off_cover_nothing(cli: Cli, project: RubyProject) -> None:
    planned(project, PAIR)
    inner = "xcontext 'when the user is blocked' do\nit('x') { 1 }\nend\nxit('is done when the user is active') { 1 }\n"
    assert known_by(cli, project, method_group(inner)) == {"active": [], "blocked": []}


@pytest.mark.parametrize(
    "inner",
    [
        "context 'when authenticated', :skip do\n it('works') { expect(1).to eq(1) }\nend",
        "context 'when authenticated', pending: 'later' do\n it('works') { expect(1).to eq(1) }\nend",
        "context 'when authenticated' do\n it('works', skip: true) { expect(1).to eq(1) }\nend",
        "context 'when authenticated' do\n it('works', :pending) { expect(1).to eq(1) }\nend",
        "context 'x', plan: 'user_authenticated:authenticated' do\n it('works') { skip 'later' }\nend",
        "context 'when authenticated' do\n it 'works' do\n pending\n expect(1).to eq(2)\n end\nend",
        "context 'when authenticated' do\n before { skip 'later' }\n it('works') { expect(1).to eq(1) }\nend",
        "context 'when authenticated' do\n it 'works' do\n # later\n end\nend",
        "shared_examples 'a' do\n context 'when authenticated' do\n it('works') { expect(1).to eq(1) }\nend\nend",
    ],
)
def test_what_does_not_run_covers_nothing(cli: Cli, project: RubyProject, inner: str) -> None:
    planned(project)
    assert known_by(cli, project, method_group(f"{inner}\n"))["authenticated"] == []


@pytest.mark.parametrize(
    "inner",
    [
        "context 'when authenticated', skip: false do\n it('works') { expect(1).to eq(1) }\nend",
        "context 'when authenticated' do\n it 'works' do\n skip if old?\n expect(1).to eq(1)\n end\nend",
        "it_behaves_like 'a'\nshared_examples 'a' do\n context 'when authenticated' do\n it('x') { 1 }\nend\nend",
    ],
)
def test_what_may_run_counts(cli: Cli, project: RubyProject, inner: str) -> None:
    planned(project)
    assert known_by(cli, project, method_group(f"{inner}\n"))["authenticated"] == ["context"]


def test_shared_examples_count_where_they_are_included(cli: Cli, project: RubyProject) -> None:
    planned(project)
    shared = "shared_examples 'a' do\n context 'when authenticated' do\n it('x') { 1 }\nend\nit_behaves_like 'a'\nend\n"
    twice = "it_behaves_like 'a'\n" * 2
    for own, other, known in ((twice, "", ["context"]), ("", twice, [])):
        groups = f"describe '#total' do\n{own}end\ndescribe '#refund' do\n{other}end\n"
        text = f"RSpec.describe Billing::Invoice do\n{shared}{groups}end\n"
        assert known_by(cli, project, text)["authenticated"] == known
        off = text.replace("shared_examples 'a'", "shared_examples 'a', :skip")
        assert known_by(cli, project, off)["authenticated"] == []


def test_a_method_in_a_group_that_is_switched_off_is_not_covered(cli: Cli, project: RubyProject) -> None:
    planned(project)
    text = method_group("context 'when authenticated' do\n it('works') { expect(1).to eq(1) }\nend\n")
    assert known_by(cli, project, f"x{text.removeprefix('RSpec.')}")["authenticated"] == []


def test_examples_about_another_method_leave_open_whether_a_context_is_covered(
    cli: Cli, project: RubyProject
) -> None:
    planned(project, PAIR)
    for name, status in (("load", "unknown"), ("", "not covered")):
        inner = f"describe('{name}') {{ it('works') {{ {'1' if name else 'skip'} }} }}"
        project.add(
            SPEC,
            f"describe Billing::Invoice do\ncontext('when the user is blocked') {{ {inner} }}\nend\n".encode(),
        )
        said = json.loads(cli("plan", "review", project.source, "--json").out)
        assert {one["state"]: one["status"] for one in said["states"]}["blocked"] == status


def test_each_permission_of_a_policy_is_a_group(cli: Cli, project: RubyProject) -> None:
    planned(project, PAIR)
    inner = "it('is denied when the user is blocked') { expect(1).to eq(1) }\n"
    for names, known in ((":edit?", []), (":edit?, :total", ["example"])):
        text = f"RSpec.describe Billing::Invoice do\n  permissions {names} do\n{inner}  end\nend\n"
        assert known_by(cli, project, text)["blocked"] == known


def test_several_specs_are_reviewed_together(cli: Cli, project: RubyProject) -> None:
    planned(project, PAIR)
    one = project.add("spec/one_spec.rb", spec("when the user is active"))
    two = project.add("spec/two_spec.rb", spec("when the user is blocked"))
    assert cli("plan", "review", project.source, one).code == 2
    assert cli("plan", "review", project.source, one, two).code == 0


def test_annotations_are_escaped(cli: Cli, project: RubyProject) -> None:
    planned(project, PAIR)
    project.add(SPEC, spec("50% off\nor: more"))
    done = cli("plan", "review", project.source, "--annotations", "github")
    lines = done.out.splitlines()
    assert all(line.startswith("::warning file=") for line in lines)
    assert lines[-1].endswith("context '50%25 off%0Aor: more' is not in the plan")
