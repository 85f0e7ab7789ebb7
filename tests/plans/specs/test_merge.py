"""`runcard plan skeleton` extends an existing spec: only the missing groups are inserted, every other byte stays."""

import difflib
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as budget
from hypothesis import strategies as st

from conftest import Cli
from plans.projects import RubyProject
from plans.specs.skeletons import TARGET, characteristic, complaints
from runcard.plans.spec_contexts import contexts_of
from runcard.plans.spec_merge import merge
from runcard.plans.spec_skeleton import Skeleton
from runcard.plans.spec_subject import SubjectFacts, subject_of

SOURCE = b"""\
module Billing
  class Checkout
    def call(customer)
      return :blocked unless customer.active?

      case customer.payment_method
      when :card then :charged
      when :invoice then customer.credit_ok? ? :billed : :declined
      end
    end

    def refund(amount)
      amount.zero? ? :nothing : :refunded
    end

    def self.open?(day) = day.sunday? ? :shut : :open
  end
end
"""
SPEC = "spec/services/checkout_spec.rb"

PLAIN = b"""\
require 'spec_helper'

RSpec.describe Billing::Checkout do
  subject(:checkout) { described_class.new }

  let(:day) { :monday } # used below

  describe "#call" do
    let(:customer) { double(active?: true) }

    # Blocked customers cannot pay.
    context "when the customer is inactive" do
      it { expect(checkout.call(customer)).to eq :blocked }
    end
    context 'and pays by card' do it('charges') { } end
  end
end
"""
NESTED_MODULES = b"""\
# frozen_string_literal: true
module Billing
\tRSpec.describe Checkout do
\t\tshared_examples 'a payment' do
\t\t\tcontext 'when the customer is active' do
\t\t\t\tit 'pays'
\t\t\tend
\t\tend

\t\tdescribe 'refund' do
\t\t\tit_behaves_like 'a payment'
\t\tend

\t\tcontext '#call' do
\t\t\tbefore { @x = 1 }
\t\tend
\tend
end"""
WINDOWS = (
    b"\xef\xbb\xbfdescribe Billing::Checkout, '#refund' do\r\n"
    b"    it 'refunds' do\r\n"
    b"        expect(1).to eq 1\r\n"
    b"    end\r\n"
    b"end\r\n"
    b"\r\n"
    b"__END__\r\n"
    b"describe '#call' do\r\n"
)
TEXTS = b"""\
# -*- coding: iso-8859-1 -*-
RSpec.describe 'Checkout f\xfcr alle' do

  describe('.open?') { it('x') { } }

  describe Billing::Checkout do
      describe :call do end
      describe('#refund(amount)') do
          context('when amount is zero') { specify { } }

      end

  end

end
"""
LAYOUTS = {"plain": PLAIN, "nested modules": NESTED_MODULES, "windows": WINDOWS, "texts": TEXTS}


@pytest.fixture
def checkout(tmp_path: Path) -> RubyProject:
    project = RubyProject(tmp_path / "shop")
    project.add("app/services/checkout.rb", SOURCE)
    return project


def _pipeline(cli: Cli, project: RubyProject, *options: str) -> None:
    done = cli("plan", "pipeline", project.root / "app/services/checkout.rb", *(options or ["--all-methods"]))
    assert done.code in {0, 2}, done.err


def _insertions(before: bytes, after: bytes) -> list[str]:
    """The inserted lines; nothing else may differ."""
    old, new = before.split(b"\n"), after.split(b"\n")
    changes = difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    assert {kind for kind, *_ in changes} <= {"equal", "insert"}
    return [
        line.decode() for kind, _, _, first, last in changes if kind == "insert" for line in new[first:last]
    ]


def _is_subsequence(before: bytes, after: bytes) -> bool:
    rest = iter(after.split(b"\n"))
    return all(line in rest for line in before.split(b"\n"))


@pytest.mark.needs("ruby")
@pytest.mark.parametrize("layout", LAYOUTS)
def test_hand_written_layouts_are_unchanged_but_for_the_insertions(
    cli: Cli, checkout: RubyProject, layout: str, tmp_path: Path
) -> None:
    before = LAYOUTS[layout]
    spec = checkout.add(SPEC, before)
    _pipeline(cli, checkout)
    after = spec.read_bytes()
    assert after != before
    assert _is_subsequence(before, after)
    assert complaints([after], tmp_path) == [None]
    inserted = _insertions(before, after)
    assert all(line == "" or line.startswith(("\t", " ")) or line.strip("\r") in _TOP for line in inserted)
    assert (b"\r\n" in before) == all(line.endswith("\r") for line in inserted)
    assert before.endswith(b"\n") == after.endswith(b"\n")
    for method in ("call", "refund", "open?"):
        done = cli(
            "plan", "skeleton", checkout.root / "app/services/checkout.rb", "--method", method, "--json"
        )
        assert (json.loads(done.out)["added"], json.loads(done.out)["written"]) == (0, False)
        missing = cli(
            "plan", "skeleton", checkout.root / "app/services/checkout.rb", "--method", method, "--missing"
        )
        assert missing.out == ""
    assert spec.read_bytes() == after


_TOP = {"", "end", "RSpec.describe Billing::Checkout do"}


def _merged(cli: Cli, project: RubyProject, before: bytes, method: str = "call") -> str:
    spec = project.add(SPEC, before)
    _pipeline(cli, project, "--method", method)
    return spec.read_text()


def _outline(text: str) -> list[str]:
    words = ("describe", "context", "RSpec", "shared", "end", "let", "it ", "subject", "before")
    lines = (line.rstrip() for line in text.splitlines())
    return [
        line.split(", plan:")[0] for line in lines if line.strip().startswith(words) and line.strip() != "end"
    ]


def test_contexts_that_people_wrote_count_and_the_others_are_inserted_in_order(
    cli: Cli, checkout: RubyProject
) -> None:
    text = _merged(cli, checkout, PLAIN)
    assert _outline(text) == [
        "RSpec.describe Billing::Checkout do",
        "  subject(:checkout) { described_class.new }",
        "  let(:day) { :monday } # used below",
        '  describe "#call" do',
        "    let(:customer) { double(active?: true) }",
        "    context 'when customer is active'",
        "      context 'and customer payment method is invoice'",
        "        context 'and customer credit is ok'",
        "          it 'behaves as expected' do",
        "        context 'but customer credit is not ok'",
        "          it 'behaves as expected' do",
        '    context "when the customer is inactive" do',
        "      it { expect(checkout.call(customer)).to eq :blocked }",
        "    context 'and pays by card' do it('charges') { } end",
    ]
    assert '    # Blocked customers cannot pay.\n    context "when the customer is inactive" do\n' in text


def test_a_state_that_people_tested_once_is_extended_once(cli: Cli, checkout: RubyProject) -> None:
    source = checkout.add(
        "app/services/checkout.rb",
        b"class Checkout\n  def call(a, b, c)\n    a.on? ? 1 : 2\n    b.up? ? 1 : 2\n    c.hot? ? 1 : 2\n  end\nend\n",
    )
    spec = checkout.add(
        SPEC,
        b"describe Checkout do\n  describe '#call' do\n    context 'when b is up' do\n    end\n  end\nend\n",
    )
    assert cli("plan", "pipeline", source, "--method", "call").code in {0, 2}
    lines = spec.read_text().splitlines()
    up = lines[lines.index("    context 'when b is up' do") : lines.index("    end")]
    assert sum("plan: 'c_hot:hot'" in line for line in up) == 1
    before = spec.read_text()
    cli("plan", "skeleton", source)
    assert spec.read_text() == before


def test_a_missing_describe_is_put_where_its_method_is_in_the_source(cli: Cli, checkout: RubyProject) -> None:
    spec = checkout.add(
        SPEC,
        b"RSpec.describe Billing::Checkout do\n"
        b"  describe '#call' do\n    it 'x'\n  end\n"
        b"  describe '.open?' do\n    it 'y'\n  end\n"
        b"end\n",
    )
    _pipeline(cli, checkout, "--method", "refund")
    lines = spec.read_text().splitlines()
    assert lines[3:7] == [
        "  end",
        "",
        "  describe '#refund' do",
        "    subject(:result) { instance.refund(amount) }",
    ]
    assert lines[-7:] == ["    end", "  end", "", "  describe '.open?' do", "    it 'y'", "  end", "end"]


def test_a_reworded_context_is_known_by_its_tag(cli: Cli, checkout: RubyProject) -> None:
    _pipeline(cli, checkout, "--method", "call")
    spec = checkout.root / SPEC
    reworded = spec.read_text().replace("when customer is inactive", "for people we no longer serve")
    spec.write_text(reworded)
    cli("plan", "skeleton", checkout.root / "app/services/checkout.rb")
    assert spec.read_text() == reworded


def test_a_deleted_context_comes_back_at_its_place(cli: Cli, checkout: RubyProject) -> None:
    _pipeline(cli, checkout, "--method", "call")
    spec = checkout.root / SPEC
    whole = spec.read_text()
    lines = whole.splitlines(keepends=True)
    for state in (
        "customer_payment_method:card",
        "customer_payment_method:invoice",
        "customer_active:inactive",
    ):
        first = next(at for at, line in enumerate(lines) if state in line)
        indent = len(lines[first]) - len(lines[first].lstrip())
        last = next(at for at in range(first, len(lines)) if lines[at] == f"{' ' * indent}end\n")
        spec.write_text("".join(lines[: first - 1] + lines[last + 1 :]))
        assert cli("plan", "skeleton", checkout.root / "app/services/checkout.rb").code == 0
        assert spec.read_text() == whole


def test_missing_prints_and_writes_nothing(cli: Cli, checkout: RubyProject) -> None:
    source = checkout.root / "app/services/checkout.rb"
    cli("plan", "analyze", source, "--method", "refund", "--write")
    cli("plan", "validate", source)
    done = cli("plan", "skeleton", source, "--missing")
    assert done.out.startswith("# frozen_string_literal: true\n")
    assert not (checkout.root / SPEC).exists()
    before = b"RSpec.describe Billing::Checkout do\n  describe '#refund' do\n    it 'x'\n  end\nend\n"
    spec = checkout.add(SPEC, before)
    done = cli("plan", "skeleton", source, "--missing")
    assert (
        done.out.splitlines()[0] == "context 'when amount is zero', plan: 'amount_zero:zero' do" or done.out
    )
    assert "context 'when" in done.out
    assert spec.read_bytes() == before
    assert json.loads(cli("plan", "status", source, "--json").out)["next"] == "skeleton"


def test_without_tags(cli: Cli, checkout: RubyProject, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RUNCARD_PLAN_TAGS", "false")
    _pipeline(cli, checkout)
    text = (checkout.root / SPEC).read_text()
    assert "plan:" not in text
    assert text.count("context 'when customer is active' do") == 1
    for method in ("call", "refund", "open?"):
        cli("plan", "skeleton", checkout.root / "app/services/checkout.rb", "--method", method)
    assert (checkout.root / SPEC).read_text() == text


@pytest.mark.parametrize("kind", ["nul", "broken", "directory"])
def test_a_spec_that_cannot_be_read_is_an_error_and_stays(cli: Cli, checkout: RubyProject, kind: str) -> None:
    source = checkout.root / "app/services/checkout.rb"
    _pipeline(cli, checkout, "--method", "call")
    spec = checkout.root / SPEC
    spec.unlink()
    if kind == "directory":
        spec.mkdir()
    else:
        spec.write_bytes(
            b"describe 'x' do\0end\n" if kind == "nul" else b"describe 'x' do\n  it 'y' do\nend\n"
        )
    before = None if kind == "directory" else spec.read_bytes()
    done = cli("plan", "skeleton", source)
    assert (done.code, done.out) == (1, "")
    assert before is None or spec.read_bytes() == before


def test_a_source_with_several_plans_needs_a_method(cli: Cli, checkout: RubyProject) -> None:
    _pipeline(cli, checkout)
    source = checkout.root / "app/services/checkout.rb"
    for command in ("skeleton", "review"):
        done = cli("plan", command, source)
        assert done.code == 1
        assert "has plans for several methods: Billing::Checkout#call, " in done.err


def test_a_capitalised_text_is_no_other_class(cli: Cli, checkout: RubyProject) -> None:
    text = _merged(cli, checkout, b'RSpec.describe "Payments" do\nend\n')
    assert text.startswith("RSpec.describe \"Payments\" do\n  describe '#call' do\n")


def test_the_end_of_the_code_is_not_in_a_heredoc(cli: Cli, checkout: RubyProject) -> None:
    before = b"X = <<T\n__END__\nT\nRSpec.describe Other do\nend\n__END__\nRSpec.describe Data do\nend\n"
    text = _merged(cli, checkout, before)
    assert text.startswith(
        "X = <<T\n__END__\nT\nRSpec.describe Other do\nend\n\nRSpec.describe Billing::Checkout do"
    )
    assert text.endswith("end\n\n__END__\nRSpec.describe Data do\nend\n")


def test_nothing_is_inserted_into_a_heredoc(cli: Cli, checkout: RubyProject) -> None:
    before = (
        b"RSpec.describe Billing::Checkout do\n  describe '#call' do\n    it('x') { expect(1).to eq(1) }\n"
        b"  end.then(<<~T)\n    a\n  T\nend\n"
    )
    checkout.add(SPEC, before)
    source = checkout.root / "app/services/checkout.rb"
    cli("plan", "analyze", source, "--method", "refund", "--write")
    done = cli("plan", "skeleton", source, "--method", "refund")
    assert (done.code, checkout.root.joinpath(SPEC).read_bytes()) == (1, before)
    assert "cannot be extended" in done.err


def test_a_link_to_a_spec_stays_a_link_and_modes_stay(cli: Cli, checkout: RubyProject) -> None:
    real = checkout.add("spec/real_spec.rb", PLAIN)
    os.chmod(real, 0o640)
    spec = checkout.root / SPEC
    spec.parent.mkdir(parents=True, exist_ok=True)
    spec.symlink_to(real)
    _pipeline(cli, checkout, "--method", "refund")
    assert spec.is_symlink()
    assert "describe '#refund' do" in real.read_text()
    assert real.stat().st_mode & 0o777 == 0o640


_MERGE = """
import sys
from runcard.operations.plans.skeleton import write_skeleton
from runcard.plans.plan_files import MethodRef
sys.stdin.readline()
write_skeleton(sys.argv[1], method_ref=MethodRef("Billing::Checkout", sys.argv[2], None))
"""


def test_agents_that_merge_at_the_same_time_lose_nothing(cli: Cli, checkout: RubyProject) -> None:
    methods = [f"step_{number}" for number in range(6)]
    body = "".join(f"def {name}(x) = x.nil? ? 1 : 2\n" for name in methods)
    source = checkout.add(
        "app/services/checkout.rb", f"module Billing\nclass Checkout\n{body}end\nend\n".encode()
    )
    for name in methods:
        assert cli("plan", "analyze", source, "--method", name, "--write").code in {0, 2}
        assert cli("plan", "validate", source, "--method", name).code in {0, 2}
    spec = checkout.add(SPEC, b"RSpec.describe Billing::Checkout do\nend\n")
    workers = [
        subprocess.Popen([sys.executable, "-c", _MERGE, str(source), name], stdin=subprocess.PIPE)
        for name in methods
    ]
    for worker in workers:
        assert worker.stdin is not None
        worker.stdin.close()
    assert [worker.wait(120) for worker in workers] == [0] * len(methods)
    groups = [line.split("'")[1] for line in spec.read_text().splitlines() if line.startswith("  describe '")]
    assert groups == [f"#{name}" for name in methods]


_STATES = st.sampled_from(["on", "off", "high", "low", "paid", "not_paid", "nil"])


@st.composite
def skeletons(draw: st.DrawFn) -> Skeleton:
    """Skeletons with up to three characteristics."""
    found: list[dict[str, Any]] = []
    for name in ("alpha", "beta", "gamma")[: draw(st.integers(0, 3))]:
        states = draw(st.lists(_STATES, min_size=2, max_size=3, unique=True))
        parent = draw(st.sampled_from([None, *found]))
        on = (parent["name"], draw(st.sampled_from(parent["states"]))) if parent else None
        terminal = draw(st.lists(st.sampled_from(states), max_size=1))
        found.append(characteristic(name, "enum", states, on, terminal_states=terminal))
    return Skeleton(TARGET, contexts_of(found), subject_of(TARGET, SubjectFacts()), draw(st.booleans()))


def _without_groups(lines: list[str], draw: Callable[..., Any]) -> list[str]:
    """The lines without some groups and examples."""
    for _ in range(draw(st.integers(0, 3))):
        first = draw(st.sampled_from([at for at, line in enumerate(lines) if line.endswith(" do")]))
        indent = lines[first][: len(lines[first]) - len(lines[first].lstrip())]
        last = lines.index(f"{indent}end", first)
        emptied = draw(st.booleans()) or not indent
        lines = [*lines[:first], *([lines[first], f"{indent}end"] if emptied else []), *lines[last + 1 :]]
    return lines


@given(st.data())
@budget(max_examples=60, suppress_health_check=list(HealthCheck))
def test_any_part_of_a_skeleton_is_completed_once(data: st.DataObject) -> None:
    skeleton = data.draw(skeletons())
    whole = skeleton.file(["require 'x'"])
    lines = _without_groups(whole.decode().splitlines(), data.draw)
    line_end = data.draw(st.sampled_from(["\n", "\r\n"]))
    before = (line_end.join(lines) + data.draw(st.sampled_from(["", line_end]))).encode()
    merged = merge(before, "x_spec.rb", skeleton, ["require 'x'"])
    assert _is_subsequence(before, merged.data)
    again = merge(merged.data, "x_spec.rb", skeleton, ["require 'x'"])
    assert (again.data, again.missing, again.contexts) == (merged.data, (), 0)
    assert merge(whole, "x_spec.rb", skeleton, []).data == whole
