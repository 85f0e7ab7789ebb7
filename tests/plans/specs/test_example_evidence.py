"""What examples prove by their calls and expectations: everything that is certain, and nothing else."""

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runcard.operations.plans.review import ReviewSource, source_facts
from runcard.plans.analysis import analyze_all
from runcard.plans.ruby.source_text import source_of
from runcard.plans.ruby.spec_tree import spec_of_source
from runcard.plans.spec_review import EvidenceKind, Review, review

CHECKOUT = """\
class Checkout
  class Refused < StandardError; end

  def initialize(gateway, log = nil)
    @gateway = gateway
    @level = log ? :info : :none
  end

  def call(customer, amount: 5, &notify)
    raise Refused, 'not active' unless customer.active?
    return :free if amount == 0

    case customer.payment_method
    when :card then notify ? :charged : nil
    when :invoice then customer.credit_ok? && :billed
    end
  end

  def ready?(options = {})
    !options.key?(:dry) && open?
  end

  def label(text)
    return 'none' if text.nil?

    text =~ /^no-/ ? :negative : text
  end

  def title(page)
    page.heading.blank? ? page.name : page.heading
  end

  def load(path)
    Integer(path)
  rescue ArgumentError
    :wrong
  end
end
"""


class Shop:
    """A source, analyzed once, whose methods are reviewed with many specs."""

    def __init__(self, root: Path, source: str) -> None:
        (root / "Gemfile").touch()
        path = root / "checkout.rb"
        path.write_text(source)
        self._source = ReviewSource(str(path), str(root))
        self._plans = {each.target.method: each.plan for each in analyze_all(str(path), root=str(root))}
        self._facts = {name: source_facts(self._source, plan) for name, plan in self._plans.items()}

    def proven(self, method: str, text: str, group: str = "describe '#{}'") -> set[tuple[str, str]]:
        """The states that a group with this text covers, by calls and expectations."""
        kinds = {EvidenceKind.RESULT, EvidenceKind.ARGUMENTS}
        return {
            (state.characteristic, state.state)
            for state in self.reviewed(method, text, group).states
            if kinds.intersection(each.known_by for each in state.evidence)
        }

    def reviewed(self, method: str, text: str, group: str = "describe '#{}'") -> Review:
        spec = f"RSpec.describe Checkout do\n  {group.format(method)} do\n{text}\n  end\nend\n"
        tree = spec_of_source(source_of(spec.encode(), "checkout_spec.rb"))
        return review(self._plans[method], [("checkout_spec.rb", tree)], None, self._facts[method])


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Shop:
    return Shop(tmp_path_factory.mktemp("shop"), CHECKOUT)


SETUP = """
  subject(:result) { described_class.new(gateway).call(customer, amount: amount) }
  let(:gateway) { double }
  let(:amount) { 5 }
  let(:active) { true }
  let(:customer) { double(active?: active, payment_method: :card, credit_ok?: true) }
"""
PROOFS = [  # method, group, what it proves
    (
        "call",
        f"{SETUP} context('x') {{ let(:active) {{ false }}; it {{ expect {{ result }}.to raise_error(Checkout::Refused) }} }}",
        {"inactive"},
    ),
    (
        "call",
        f"{SETUP} context('x') {{ let(:amount) {{ 0 }}; it {{ is_expected.to eq(:free) }} }}",
        {"active", "0"},
    ),
    (
        "call",
        "it { expect(described_class.new(1).call(c) { 1 }).to eq(:charged) }",
        {"active", "card", "present", "not_0"},
    ),
    (
        "call",
        "it { described_class.new(1).call(c).should == :billed }",
        {"active", "invoice", "credit_ok", "not_0"},
    ),
    (
        "call",
        "it { allow(customer).to receive(:active?).and_return(true); expect(checkout.call(customer)).to eq 1 }",
        set(),
    ),
    (
        "call",
        "let(:checkout) { Checkout.new(1) }; it { x = checkout.call(c, amount: 0); expect(x).to be(:free) }",
        {"active", "0"},
    ),
    ("ready?", "it { expect(described_class.new(1)).to be_ready }", {"not_key_dry", "open"}),
    ("ready?", "it { expect(subject.ready?(dry: true)).to be false }", {"key_dry"}),
    (
        "ready?",
        "it { allow(subject).to receive(:open?).and_return(false); expect(subject.ready?).to be_falsey }",
        {"not_key_dry", "not_open"},
    ),
    ("label", "it { expect(subject.label(nil)).to eq('none') }", {"absent"}),
    ("label", "it { expect(subject.label('no-x')).to eq :negative }", {"present", "match"}),
    ("label", "it { subject.label('yes') }", {"present", "no_match"}),
    ("label", "it { expect(subject.public_send(:label, nil)).to be_a(String) }", {"absent"}),
    ("load", "it { expect(subject.load('x')).to eq(:wrong) }", set()),  # it may have been read from a file
    ("initialize", "it { described_class.new(1, :log) }", {"present"}),
    ("initialize", "it { expect(described_class.new(1).level).to be }", {"absent"}),
]
NO_PROOFS = [  # what could mean something else, or does not run
    ("call", "it { expect { x.call(c) }.to raise_error(StandardError) }"),
    ("call", "it { expect { checkout.call(c) }.to raise_error }"),
    ("call", "it { handler = proc { 1 }; expect(handler.call(nil)).to eq(:free) }"),
    ("call", "it { expect(other.call(c)).to eq(:free) }"),
    ("call", "xit { expect(described_class.new(1).call(c)).to eq(:free) }"),
    ("call", "it { skip; expect(described_class.new(1).call(c)).to eq(:free) }"),
    ("call", "context('x', skip: true) { it { expect(described_class.new(1).call(c)).to eq(:free) } }"),
    ("call", "before { skip }; it { expect(described_class.new(1).call(c)).to eq(:free) }"),
    ("call", "it { expect(described_class.new(1).call(c)).to eq(:free) if ENV['X'] }"),
    ("call", "it { begin; expect(described_class.new(1).call(c)).to eq(:free); rescue; end }"),
    ("call", "it { later = -> { expect(described_class.new(1).call(c)).to eq(:free) } }"),
    ("label", "it { expect(subject.label(text)).not_to eq('none') }"),
    ("label", "it { expect(subject.label(text)).to eq(NONE) }"),
    ("call", "it { allow(subject).to receive(:call).and_return(:free); expect(subject.call(c)).to eq(:free) }"),
    ("call", "shared_examples('free') { it { expect(described_class.new(1).call(c)).to eq(:free) } }; include_examples 'free'"),
    ("label", "['none'].each { |v| it { expect(subject.label(v)).to eq(v) } }"),
    ("call", "it { <<~RUBY }\n expect(described_class.new(1).call(c)).to eq(:free)\nRUBY"),
    ("call", "# it { expect(described_class.new(1).call(c)).to eq(:free) }"),
    ("call", "it { expect(described_class.new(1).call(c)).to eq(:free"),
    ("ready?", "its(:ready?) { should be true }"),
    ("ready?", "it { expect(subject.ready?('dry' => true)).to eq maybe }"),
    ("ready?", "it { expect(subject.ready?(*args)).to eq maybe }"),
    ("label", "it { expect(subject.label(text)).not_to include('x') }"),
    ("label", "it { expect(subject.label(text).to_s).to eq('') }"),
    ("label", "it { value = nil; value = read; subject.label(value) }"),
    ("initialize", "it { Other.new(1, nil) }"),
    ("title", "it { page = create(:page, heading: ''); expect(subject.title(page)).to eq('x') }"),
]  # fmt: skip


@pytest.mark.parametrize(("method", "text", "expected"), PROOFS)
def test_a_call_and_what_is_expected_of_it_prove_states(
    shop: Shop, method: str, text: str, expected: set[str]
) -> None:
    assert {state for _, state in shop.proven(method, text)} == expected


@pytest.mark.parametrize(
    ("call", "present"),
    [
        ("label(nil)).to eq('none')", "not covered"),
        ("label(x)).to be_a(String)", "covered"),
    ],
)
def test_an_example_that_is_in_another_state_does_not_count_for_its_name(
    shop: Shop, call: str, present: str
) -> None:
    found = shop.reviewed("label", f"context('when text is present') {{ it {{ expect(subject.{call} }} }}")
    assert {state.state: state.status for state in found.states}["present"] == present


@pytest.mark.parametrize(("method", "text"), NO_PROOFS)
def test_what_is_not_certain_proves_nothing(shop: Shop, method: str, text: str) -> None:
    assert shop.proven(method, text) == set()


REFUND = """\
class Checkout
  def settle(order)
    return { ok: false, error: order.error } if order.closed?

    { ok: true, id: order.id }
  end

  def find(name)
    raise ArgumentError, "no order #{name} is known" if name.nil?
    raise ArgumentError, 'too long' if name.long?
    raise Checkout::Lost.new(name) if name.lost?

    name
  end

  def pick(order) = order.open? ? { at: Order.new } : { at: 5 }

  def show?
    return false if user.guest?

    user.admin? || user.staff?
  end

  def self.tax(order) = order.closed? ? :none : :full
end
"""


@pytest.fixture(scope="module")
def refund(tmp_path_factory: pytest.TempPathFactory) -> Shop:
    return Shop(tmp_path_factory.mktemp("refund"), REFUND)


@pytest.mark.parametrize(
    ("method", "text", "expected"),
    [
        ("settle", "eq(ok: false, error: message)", {"closed"}),
        ("settle", "eq({ ok: true, id: 5 })", {"not_closed"}),
        ("settle", "eq(ok: 5, id: 5)", set()),
        ("settle", "eq(ok: true)", set()),
        ("settle", "eq('ok' => true, 'id' => 5)", set()),
        ("settle", "eq(options)", set()),
        ("find", 'raise_error(ArgumentError, "no order #{x} is known")', {"absent"}),
        ("find", "raise_error(ArgumentError, 'no order 5 is known')", {"absent"}),
        ("find", "raise_error(ArgumentError, /^no order/)", {"absent"}),
        ("find", "raise_error(ArgumentError, /too long/i)", {"present", "long"}),
        ("find", "raise_error(Checkout::Lost.new(name))", {"present", "not_long", "lost"}),
        ("find", "raise_error(Checkout::Lost, 'gone')", {"present", "not_long", "lost"}),
        ("find", 'raise_error(ArgumentError, "#{x} is")', set()),
        ("find", r'raise_error(ArgumentError, "too\tlong")', set()),
        ("settle", "eq('x')", set()),
        ("settle", "eq({ key => 1 })", set()),
        ("pick", "eq(at: 'x')", {"open"}),
        ("find", "raise_error(ArgumentError)", set()),
        ("find", 'raise_error(ArgumentError, "#{x}")', set()),
        ("find", "raise_error(ArgumentError, /no.*order/)", set()),
        ("find", "raise_error(ArgumentError, 'denied')", set()),
    ],
)
def test_hashes_and_messages_are_known_by_what_is_not_computed_in_them(
    refund: Shop, method: str, text: str, expected: set[str]
) -> None:
    call = f"subject.{method}(x)"
    examined = f"expect {{ {call} }}" if text.startswith("raise") else f"expect({call})"
    assert {state for _, state in refund.proven(method, f"it {{ {examined}.to {text} }}")} == expected


@pytest.mark.parametrize(
    ("group", "text", "expected"),
    [
        ("permissions :{}", "expect(subject).not_to permit(user, order)", set()),
        ("permissions :{}", "expect(subject).to permit(user, order)", {"not_guest"}),
        ("permissions :edit?, :{}", "is_expected.to permit(user, order)", {"not_guest"}),
        ("describe '#{}'", "expect(subject).to permit(user, order)", set()),
        ("describe '{}'", "expect(subject).to permit(user, order)", set()),
        ("describe '#{}'", "expect(subject).to permit_action(:show)", {"not_guest"}),
        ("describe '#{}'", "is_expected.not_to forbid_action(:show)", {"not_guest"}),
        ("describe '#{}'", "expect(subject).to permit_action(:edit)", set()),
        ("describe '#{}'", "expect(subject).to forbid_action(:show)", set()),
    ],
)
def test_what_a_policy_permits_is_its_result(refund: Shop, group: str, text: str, expected: set[str]) -> None:
    assert {state for _, state in refund.proven("show?", f"it {{ {text} }}", group)} == expected


def test_the_only_method_of_a_name_may_have_the_sign_of_the_other_kind(refund: Shop) -> None:
    text = "it { expect(Checkout.tax(x)).to eq(:none) }"
    assert {state for _, state in refund.proven("tax", text)} == {"closed"}
    assert refund.reviewed("tax", text).has_group


# Methods that are made at random, with what they return, and the states that a call is in

Guard = tuple[tuple[str, str], tuple[str, str], Callable[[str | None, str | None], bool]]
GUARDS: dict[str, Guard] = {  # a condition, the states in which it holds and does not, and whether it holds
    "a.nil?": (("a_present", "absent"), ("a_present", "present"), lambda a, _: a is None),
    "b == :card": (("b", "card"), ("b", "not_card"), lambda _, b: b == ":card"),
    "b": (("b_present", "present"), ("b_present", "absent"), lambda _, b: b is not None),
    "a": (("a_present", "present"), ("a_present", "absent"), lambda a, _: a is not None),
}  # fmt: skip
arguments = st.tuples(st.sampled_from([None, ":x", "'s'", "[]"]), st.sampled_from([None, ":card", ":cash"]))
steps = st.lists(
    st.tuples(st.sampled_from(sorted(GUARDS)), st.booleans(), st.sampled_from([":one", ":two", "nil"])),
    min_size=1,
    max_size=4,
)


def method_of(parts: list[tuple[str, bool, str]], last: str) -> str:
    lines = []
    for condition, is_modifier, result in parts:
        if is_modifier:
            lines.append(f"    return {result} if {condition}")
        else:
            lines += [f"    if {condition}", f"      return {result}", "    end"]
    return "class Checkout\n  def call(a, b = nil)\n" + "\n".join([*lines, f"    {last}"]) + "\n  end\nend\n"


def run(
    parts: list[tuple[str, bool, str]], last: str, given_: tuple[str | None, str | None]
) -> tuple[str, set[tuple[str, str]]]:
    """What a call returns, and the states of the conditions that it asks."""
    asked: set[tuple[str, str]] = set()
    for condition, _, result in parts:
        yes, no, holds = GUARDS[condition]
        is_true = holds(*given_)
        asked.add(yes if is_true else no)
        if is_true:
            return result, asked
    return last, asked


@given(
    steps,
    st.sampled_from([":one", ":three", "a", "b == :card"]),
    st.lists(arguments, min_size=1, max_size=3),
    st.booleans(),
)
@settings(max_examples=150, deadline=None)
def test_only_states_that_an_example_is_in_are_proven(
    tmp_path_factory: pytest.TempPathFactory,
    parts: list[tuple[str, bool, str]],
    last: str,
    calls: list[tuple[str | None, str | None]],
    names_arguments: bool,  # noqa: FBT001 - as Hypothesis passes it
) -> None:
    shop = Shop(tmp_path_factory.mktemp("shop"), method_of(parts, last))
    examples: list[str] = []
    true: set[tuple[str, str]] = set()
    first_asked: set[tuple[str, str]] = set()
    for first, second in calls:
        result, asked = run(parts, last, (first, second))
        if last == result and not last.startswith(":"):
            result = (first or "nil") if last == "a" else str(second == ":card").lower()
            if last != "a":
                asked.add(("b", "card" if second == ":card" else "not_card"))
        true |= asked
        yes, no, holds = GUARDS[parts[0][0]]
        first_asked.add(yes if holds(first, second) else no)
        values = f"{first or 'nil'}, {second or 'nil'}" if names_arguments else "x, y"
        examples.append(f"    it {{ expect(described_class.new.call({values})).to eq({result}) }}")
    proven = shop.proven("call", "\n".join(examples))
    assert proven <= true
    assert first_asked <= proven or not names_arguments
