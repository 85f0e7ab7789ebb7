"""The skeleton inserts what the review misses, and nothing else; both look into the same specs."""

from pathlib import Path

import pytest

from runcard.operations.plans.analyze import analyze_source
from runcard.operations.plans.review import review_spec
from runcard.operations.plans.skeleton import SkeletonResult, missing_examples, write_skeleton
from runcard.operations.plans.validate import validate_plan
from runcard.plans.plan_files import MethodRef
from runcard.plans.spec_review import Review

CONTROLLER = "class OrdersController < ApplicationController\n  def index\n    return head(:ok) if admin?\n    x\n  end\nend\n"
POLICY = "class OrderPolicy < ApplicationPolicy\n  def show? = @user.admin?\nend\n"
SERVICE = "class Pay\n  def call(order) = order.paid? ? :done : :open\nend\n"
CONCERN = (
    "module Payable\n  extend ActiveSupport::Concern\n  def call(order) = order.paid? ? :done : :open\nend\n"
)
BOTH = """
    context 'when it is {0}' do
      it('works') {{ expect(result).to eq(1) }}
    end
    context 'when it is {1}' do
      it('works') {{ expect(result).to eq(2) }}
    end
"""
CALLS = """
describe Pay do
  describe '#call' do
    it('a') { expect(described_class.new.call(x)).to eq(:done) }
    it('b') { expect(described_class.new.call(x)).to eq(:open) }
  end
end
"""
CASES = {
    "a controller's spec of the older type": (
        "app/controllers/orders_controller.rb",
        CONTROLLER,
        "spec/controllers/orders_controller_spec.rb",
        "describe OrdersController do\n  describe 'GET #index' do\n"
        + BOTH.format("an admin", "not an admin")
        + "  end\nend\n",
    ),
    "permissions of a policy": (
        "app/policies/order_policy.rb",
        POLICY,
        "spec/policies/order_policy_spec.rb",
        "describe OrderPolicy do\n  permissions :show? do\n"
        + BOTH.format("an admin", "not an admin").replace("when it", "when user")
        + "  end\nend\n",
    ),
    "what is expected of the calls": (
        "app/services/pay.rb",
        SERVICE,
        "spec/services/pay_spec.rb",
        CALLS,
    ),
    "shared examples": (
        "app/models/concerns/payable.rb",
        CONCERN,
        "spec/models/concerns/payable_shared.rb",
        "shared_examples_for 'payable' do\n  describe '#call' do\n"
        + BOTH.format("paid", "not paid").replace("when it", "when the order")
        + "  end\nend\n",
    ),
}


def _judged(root: Path, source: str, text: str, specs: dict[str, str]) -> tuple[Review, SkeletonResult]:
    for name, content in {"Gemfile": "", source: text, **specs}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(content)
    method = MethodRef(method=next(name for name in ("index", "show?", "call") if f"def {name}" in text))
    path = str(root / source)
    analyze_source(path, method, write=True)
    validate_plan(path)
    return review_spec(path).review, missing_examples(path)


@pytest.mark.parametrize("case", CASES)
def test_what_the_review_finds_covered_is_not_inserted(case: str, tmp_path: Path) -> None:
    source, text, spec, content = CASES[case]
    review, missing = _judged(tmp_path, source, text, {spec: content})
    assert review.uncovered == []
    assert missing.missing == ()
    written = write_skeleton(str(tmp_path / source))
    assert (written.is_new, written.added, written.path) == (False, 0, str(tmp_path / spec))
    assert (tmp_path / spec).read_text() == content
    assert [path.name for path in tmp_path.glob("spec/**/*.rb")] == [Path(spec).name]


@pytest.mark.parametrize("case", CASES)
def test_what_the_review_misses_is_inserted(case: str, tmp_path: Path) -> None:
    source, text, spec, content = CASES[case]
    second = "it('works') { expect(result).to eq(2)"
    half = content.replace(second, f"x{second}").replace("it('b')", "xit('b')")
    assert half != content
    review, missing = _judged(tmp_path, source, text, {spec: half})
    assert sorted(state.is_covered for state in review.states) == [False, True]
    uncovered = {f"{state.characteristic}:{state.state}" for state in review.uncovered}
    inserted = {
        line.partition("plan: '")[2].partition("'")[0] for line in missing.missing if "plan: '" in line
    }
    assert inserted <= uncovered


def test_examples_that_prove_a_state_are_counted(tmp_path: Path) -> None:
    source, text, spec, content = CASES["what is expected of the calls"]
    review, _ = _judged(tmp_path, source, text, {spec: content})
    assert [state.examples for state in review.states] == [1, 1]


def test_the_group_of_a_class_is_no_context(tmp_path: Path) -> None:
    text = "class PaidOrder\n  def call(order) = order.paid? ? :done : :open\nend\n"
    spec = "describe PaidOrder do\n  describe '#other' do\n    it('a') { x }\n  end\nend\n"
    review, _ = _judged(tmp_path, "app/paid_order.rb", text, {"spec/paid_order_spec.rb": spec})
    assert [(state.lines, state.reason) for state in review.states] == [
        ((), "the spec has no example for the method")
    ] * 2


def test_a_policy_gets_the_factories_of_its_user_and_its_record(tmp_path: Path) -> None:
    files = {
        "Gemfile": "",
        "app/policies/order_policy.rb": "class OrderPolicy < ApplicationPolicy\n  def show? = @context.admin?\nend\n",
        "spec/factories.rb": "FactoryBot.define do\n factory :user\n factory :order\n factory :cart\nend\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    source = str(tmp_path / "app/policies/order_policy.rb")
    plan = analyze_source(source, MethodRef(method="show?"), write=True).analysis.plan
    assert plan["target"]["uses_models"] is True
    assert sorted(plan["factories_detected"]) == ["order", "user"]
    validate_plan(source)
    text = Path(write_skeleton(source).path).read_text()
    assert "let(:user) { FactoryBot.create(:user) }" in text
    assert "let(:record) { FactoryBot.create(:order) }" in text


def test_a_review_without_coverage_points_to_it(tmp_path: Path) -> None:
    source, text, spec, content = CASES["what is expected of the calls"]
    _judged(tmp_path, source, text, {spec: content.replace("it('b')", "xit('b')")})
    assert "pass a coverage report with `--coverage`" in review_spec(str(tmp_path / source)).page
    (tmp_path / spec).write_text(content)
    assert "--coverage" not in review_spec(str(tmp_path / source)).page
