"""What is left to do in a skeleton: comments that say what, in the width of the project."""

from pathlib import Path

import pytest

from conftest import Cli
from plans.projects import RubyProject
from plans.specs.skeletons import complaints
from runcard.plans.spec_layout import DEFAULT_WIDTH, fitted, max_line_length

SOURCE = b"""\
class Refund
  def call(order_id, customer, reason_text_of_the_service)
    order = Order.find(order_id)
    return :unpaid unless order.paid?
    return :inactive if customer.inactive?
    return :urgent if customer.premium?
    @total = order.total
    @total += 1 if reason_text_of_the_service.urgent?
  end
end
"""
FACTORY = (
    b"FactoryBot.define do\n  factory :customer do\n    trait(:inactive) { active { false } }\n  end\nend\n"
)


@pytest.fixture
def refund(project: RubyProject) -> RubyProject:
    project.source = project.add("app/services/refund.rb", SOURCE)
    project.add("spec/factories/customers.rb", FACTORY)
    return project


def _written(cli: Cli, project: RubyProject) -> str:
    assert cli("plan", "pipeline", project.source, "--method", "call").code in {0, 2}
    return (project.root / "spec/services/refund_spec.rb").read_text()


def test_what_is_left_to_do_is_said_and_what_is_done_is_not(cli: Cli, refund: RubyProject) -> None:
    refund.add(".rubocop.yml", b"Layout/LineLength:\n  Max: 200\n")
    lines = [line.strip() for line in _written(cli, refund).splitlines()]
    assert "let(:order_id) { nil } # TODO: pass an order id" in lines
    assert "let(:customer) { FactoryBot.create(:customer) }" in lines
    inactive = next(i for i, line in enumerate(lines) if "customer is inactive" in line)
    assert lines[inactive + 1] == "let(:customer) { FactoryBot.create(:customer, :inactive) }"
    said = "\n".join(lines)
    assert "# TODO: set up order_paid: paid, by variable order.paid?; order is Order.find(order_id)" in said
    assert "; customer is FactoryBot.create(:customer), which has no trait for it" in said
    assert "{" not in "".join(line for line in lines if line.startswith("#"))


@pytest.mark.needs("ruby")
@pytest.mark.parametrize("width", [60, 80, 100])
def test_lines_are_as_long_as_the_project_allows(
    cli: Cli, refund: RubyProject, tmp_path: Path, width: int
) -> None:
    refund.add(".rubocop.yml", f"Layout/LineLength:\n  Max: {width}\n".encode())
    text = _written(cli, refund)
    too_long = [line for line in text.splitlines() if len(line) > width]
    assert [line for line in too_long if "'" not in line and "instance.call" not in line] == []
    assert complaints([text], tmp_path) == [None]
    assert cli("plan", "skeleton", refund.source, "--missing").out == ""


def test_an_extended_spec_has_the_width_too(cli: Cli, refund: RubyProject) -> None:
    refund.add(".rubocop.yml", b"Layout/LineLength:\n  Max: 80\n")
    refund.add("spec/services/refund_spec.rb", b"describe Refund do\n    describe '#call' do\n    end\nend\n")
    lines = _written(cli, refund).splitlines()
    assert any("# TODO: set up" in line for line in lines)
    assert [line for line in lines if "TODO" in line and len(line) > 80] == []


@pytest.mark.parametrize(
    ("settings", "width"),
    [
        (b"", DEFAULT_WIDTH),
        (b"Layout/LineLength:\n  Max: 100\n", 100),
        (b"Metrics/LineLength:\n  Max: 90\n", 90),
        (b"Layout/LineLength:\n  Max: 5\n", 40),
        (b"Layout/LineLength:\n  Max: true\n", DEFAULT_WIDTH),
        (b"Layout/LineLength: off\n", DEFAULT_WIDTH),
        (b"inherit_from: .todo.yml\n", 70),
        (b"inherit_from: [a.yml, .todo.yml]\nLayout/LineLength:\n  Enabled: true\n", 70),
        (b"inherit_from: ../.todo.yml\n", DEFAULT_WIDTH),
        (b"inherit_from: https://example.org/x.yml\n", DEFAULT_WIDTH),
        (b"{[not yaml", DEFAULT_WIDTH),
        (b"- a list\n", DEFAULT_WIDTH),
    ],
)
def test_the_width_is_that_of_rubocop(tmp_path: Path, settings: bytes, width: int) -> None:
    root = tmp_path / "shop"
    root.mkdir()
    for folder in (root, tmp_path):
        (folder / ".todo.yml").write_bytes(b"Layout/LineLength:\n  Max: 70\n")
    (root / ".rubocop.yml").write_bytes(settings)
    assert max_line_length(str(root)) == width


@pytest.mark.parametrize(
    "line",
    [
        "subject(:result) { instance.public_send('a } # TODO: b') }",
        "context 'when a\\', plan: \\'b' do",
        "context 'when a # TODO: b is c' do",
        "raise 'a text that is not ours'",
    ],
)
@pytest.mark.needs("ruby")
def test_texts_are_not_broken(tmp_path: Path, line: str) -> None:
    broken = list(fitted([line], 20))
    assert "".join("".join(broken).split()).count("'") == line.count("'")
    ending = [] if "do" not in line else ["end"]
    assert complaints(["\n".join([*broken, *ending])], tmp_path) == [None]


def test_a_line_that_just_fits_stays() -> None:
    line = "let(:amount) { nil } # TODO: pass an amount"
    assert list(fitted([line], len(line))) == [line]
    assert list(fitted([line], len(line) - 1)) == ["# TODO: pass an amount", "let(:amount) { nil }"]
