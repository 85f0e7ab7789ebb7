"""Evidence from branch coverage, from runs of the real RSpec: exactly the branches that ran are covered."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from conftest import Cli

SOURCE = """\
class Checkout
  TOP = 100

  def call(customer, amount = 5)
    return :blocked unless customer[:active]

    result =
      if amount > TOP
        :large
      elsif amount > 10
        :medium
      else
        :small
      end
    case customer[:method]
    when :card then :charged
    when :invoice, :cash
      customer[:credit] ? :billed : :declined
    else
      raise ArgumentError
    end
  rescue ArgumentError
    :wrong
  ensure
    customer[:log]&.info(result)
  end
end
"""
SPEC = """\
require_relative '../../app/services/checkout'
RSpec.describe Checkout do
  describe '#call' do
    it('charges') { expect(described_class.new.call({ active: true, method: :card }, 50)).to eq(:charged) }
    it('is wrong') { expect(described_class.new.call({ active: true, method: 'x' })).to eq(:wrong) }
    it('declines') { expect(described_class.new.call({ active: true, method: :cash })).to eq(:declined) }
  end
end
"""
NATIVE = """\
require 'coverage'
require 'json'
Coverage.start(lines: true, branches: true)
at_exit { File.write('coverage.json', JSON.generate(Coverage.result.reject { |name, _| name.include?('/spec/') })) }
"""
SIMPLECOV = "require 'simplecov'\nSimpleCov.start { enable_coverage :branch }\n"
STATES = {  # what the three examples ran, and what they did not
    ("customer_active_present", "present"): "covered",
    ("customer_active_present", "absent"): "not covered",
    ("amount", "up_to_10"): "covered",
    ("amount", "above_10_to_top"): "covered",
    ("amount", "above_top"): "not covered",
    ("customer_method", "card"): "covered",
    ("customer_method", "invoice"): "unknown",  # one branch for both
    ("customer_method", "cash"): "unknown",
    ("customer_method", "other"): "covered",
    ("customer_credit_present", "present"): "not covered",
    ("customer_credit_present", "absent"): "covered",
    ("outcome", "succeeded"): "covered",  # the body ran more often than its handler
    ("outcome", "argument_error"): "covered",
    ("customer_log_present", "present"): "not covered",
    ("customer_log_present", "absent"): "covered",
}


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    root = tmp_path / "shop"
    for file, text in {
        "Gemfile": "",
        "app/services/checkout.rb": SOURCE,
        "spec/services/checkout_spec.rb": SPEC,
        "native.rb": NATIVE,
        "simplecov.rb": SIMPLECOV,
    }.items():
        (root / file).parent.mkdir(parents=True, exist_ok=True)
        (root / file).write_text(text)
    return root


def analyzed(cli: Cli, root: Path) -> Path:
    source = root / "app/services/checkout.rb"
    assert cli("plan", "analyze", source, "--method", "call", "--write").code == 0
    return source


def run_rspec(root: Path, tool: str) -> None:
    command = ["rspec", "-r", str(root / tool), "spec/services/checkout_spec.rb"]
    done = subprocess.run(command, cwd=root, capture_output=True, timeout=120, check=False)
    assert b"3 examples, 0 failures" in done.stdout, done.stdout + done.stderr


def statuses(cli: Cli, source: Path, report: Path) -> tuple[dict[tuple[str, str], str], list[str]]:
    done = cli("plan", "review", source, "--coverage", report, "--json")
    said = json.loads(done.out)
    found = {(one["characteristic"], one["state"]): known_by_coverage(one) for one in said["states"]}
    return found, said["warnings"]


def known_by_coverage(state: dict[str, Any]) -> str:
    """The status of a state; what only the examples themselves show does not count."""
    kinds = {evidence["by"] for evidence in state["evidence"]}
    return str(state["status"]) if not kinds or "coverage" in kinds else "unknown"


@pytest.mark.needs("ruby-rspec")
def test_ruby_s_own_coverage_marks_exactly_the_branches_that_ran(cli: Cli, shop: Path) -> None:
    source = analyzed(cli, shop)
    run_rspec(shop, "native.rb")
    found, warnings = statuses(cli, source, shop / "coverage.json")
    assert found == STATES
    assert not any("coverage report" in warning for warning in warnings)


@pytest.mark.needs("ruby-rspec", "ruby-simplecov")
def test_simplecov_marks_exactly_the_branches_that_ran(cli: Cli, shop: Path) -> None:
    source = analyzed(cli, shop)
    run_rspec(shop, "simplecov.rb")
    report = shop / "coverage" / ".resultset.json"
    found, _ = statuses(cli, source, report)
    assert found == STATES
    data = json.loads(report.read_text())
    (run,) = data.values()
    moved = {"/app" + name.removeprefix(str(shop)): value for name, value in run["coverage"].items()}
    report.write_text(json.dumps({"RSpec": {"coverage": moved, "timestamp": run["timestamp"]}}))
    assert statuses(cli, source, report)[0] == STATES  # a run on another machine


@pytest.mark.needs("ruby-rspec")
def test_a_source_that_changed_after_the_run_makes_no_evidence(cli: Cli, shop: Path) -> None:
    source = analyzed(cli, shop)
    run_rspec(shop, "native.rb")
    os.utime(source, (source.stat().st_atime + 60, source.stat().st_mtime + 60))
    found, warnings = statuses(cli, source, shop / "coverage.json")
    assert "covered" not in found.values()
    assert "the coverage report is not used: the source has changed since the run" in warnings


def test_a_spec_that_changed_after_the_run_makes_no_evidence(cli: Cli, shop: Path) -> None:
    source = analyzed(cli, shop)
    arms = {"[:else, 1, 5, 4, 5, 43]": 3, "[:then, 2, 5, 4, 5, 18]": 1}
    report = report_of(source, {GUARD: arms})
    later = report.stat().st_mtime + 60
    os.utime(shop / "spec/services/checkout_spec.rb", (later, later))
    assert (
        "the coverage report is not used: the spec has changed since the run"
        in statuses(cli, source, report)[1]
    )


def test_lines_that_simplecov_ignores_are_read(cli: Cli, shop: Path) -> None:
    source = analyzed(cli, shop)
    arms = {"[:else, 1, 5, 4, 5, 43]": 3, "[:then, 2, 5, 4, 5, 18]": 1}
    report = report_of(source, {GUARD: arms})
    one = json.loads(report.read_text())[str(source)]
    two = one | {"lines": ["ignored"] * len(one["lines"])}
    runs = {name: {"coverage": {str(source): each}} for name, each in {"a": one, "b": two, "c": one}.items()}
    report.write_text(json.dumps(runs))
    assert list(statuses(cli, source, report)[0].values()).count("covered") == 2
    report.write_text(json.dumps({str(source): one | {"lines": [True] * len(one["lines"])}}))
    assert any("its counts are not those" in warning for warning in statuses(cli, source, report)[1])


def report_of(source: Path, branches: dict[str, Any], lines: int | None = None) -> Path:
    count = len(source.read_text().splitlines()) if lines is None else lines
    path = source.parent / "report.json"
    path.write_text(json.dumps({str(source): {"lines": [None] * count, "branches": branches}}))
    return path


GUARD = "[:unless, 0, 5, 4, 5, 43]"


def test_a_branch_that_did_not_run_counts_more_than_a_name(cli: Cli, shop: Path) -> None:
    source = analyzed(cli, shop)
    spec = SPEC.replace(
        "it('charges')", "it('is blocked when the active customer is absent') { 1 }\n    it('charges')"
    )
    (shop / "spec/services/checkout_spec.rb").write_text(spec)
    arms = {"[:else, 1, 5, 4, 5, 43]": 3, "[:then, 2, 5, 4, 5, 18]": 0}
    found, warnings = statuses(cli, source, report_of(source, {GUARD: arms}))
    assert [status for (name, _), status in found.items() if "active" in name] == ["covered", "not covered"]
    assert any("not covered, or not known to be" in warning for warning in warnings)


@pytest.mark.parametrize(
    "arms",
    [
        {"[:else, 1, 5, 4, 5, 43]": 3},  # an arm is missing
        {"[:else, 1, 5, 4, 5, 43]": 3, "[:then, 2, 5, 4, 5, 18]": "1"},
        {"[:else, 1, 5, 4, 5, 43]": 3, "[:then, 2, 5, 4, 5, 18]": -1},
        {"[:when, 1, 5, 4, 5, 43]": 3, "[:then, 2, 5, 4, 5, 18]": 1},
        ["[:else, 1, 5, 4, 5, 43]"],
    ],
)
def test_a_branch_that_does_not_fit_makes_no_evidence(cli: Cli, shop: Path, arms: object) -> None:
    source = analyzed(cli, shop)
    found, _ = statuses(cli, source, report_of(source, {GUARD: arms}))
    assert "covered" not in found.values()


def test_a_report_of_other_lines_or_other_specs_is_not_used(cli: Cli, shop: Path) -> None:
    source = analyzed(cli, shop)
    report = report_of(source, {}, lines=3)
    assert any("another number of lines" in warning for warning in statuses(cli, source, report)[1])
    data = json.loads(report_of(source, {}).read_text()) | {str(shop / "spec/other_spec.rb"): {"lines": [1]}}
    report.write_text(json.dumps(data))
    assert any(
        "other specs ran, too: other_spec.rb" in warning for warning in statuses(cli, source, report)[1]
    )


def test_branches_of_a_method_without_examples_are_unknown(cli: Cli, shop: Path) -> None:
    source = analyzed(cli, shop)
    (shop / "spec/services/checkout_spec.rb").write_text(
        "RSpec.describe Checkout do\n  describe '#call' do\n  end\nend\n"
    )
    arms = {"[:else, 1, 5, 4, 5, 43]": 3, "[:then, 2, 5, 4, 5, 18]": 1}
    found, _ = statuses(cli, source, report_of(source, {GUARD: arms}))
    assert set(found.values()) == {"unknown"}


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"a": 1}', '{"RSpec": {"coverage": []}}', "{"])
def test_what_is_no_report_is_an_error(cli: Cli, shop: Path, text: str) -> None:
    source = analyzed(cli, shop)
    (shop / "report.json").write_text(text)
    done = cli("plan", "review", source, "--coverage", shop / "report.json")
    assert (done.code, done.out) == (1, "")
    assert "is not a coverage report" in done.err
