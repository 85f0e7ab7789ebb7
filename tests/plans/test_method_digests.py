"""A digest for each method: an edit elsewhere in the file leaves a plan fresh."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from conftest import Cli
from runcard.extras import install_command
from runcard.plans import freshness
from runcard.plans.ruby import syntax_tree

SOURCE = """\
class Till
  LIMIT = 10

  def pay(amount)
    return :free if amount.zero?

    check(amount)
    amount > LIMIT ? :card : :cash
  end

  def refund(sale)
    sale.paid? ? :done : :refused
  end

  private

  def check(amount)
    raise ArgumentError if amount.negative?
  end
end
"""
ELSEWHERE = "source file modified elsewhere"


@pytest.fixture
def till(tmp_path: Path, cli: Cli) -> Path:
    """A source with the plan of `pay`, and all agents up to the architect done."""
    (tmp_path / "Gemfile").touch()
    source = tmp_path / "till.rb"
    source.write_text(SOURCE)
    assert cli("plan", "analyze", source, "--method", "pay", "--write").code == 0
    assert cli("plan", "validate", source).code in {0, 2}
    assert cli("plan", "mark", "skeleton", source).code == 0
    assert cli("plan", "mark", "architect", source).code == 0
    return source


def status(cli: Cli, source: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(cli("plan", "status", "--json", source).out)
    return found


def plan_of(source: Path) -> Path:
    return source.parent / "tmp" / "rspec_claude_metadata" / "metadata_till.yml"


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        (":refused", ":not_refunded", ELSEWHERE),
        ("class Till", "# A comment\n\nclass Till", ELSEWHERE),
        ("amount.zero?", "amount.nil?", "source file modified"),
        ("if amount.negative?", "unless amount", "source file modified"),
        ("LIMIT = 10", "LIMIT = 20", "source file modified"),
        ("def pay(amount)", "def pay_all(amount)", "source file modified"),
    ],
)
def test_only_edits_of_the_method_make_its_plan_stale(
    till: Path, cli: Cli, old: str, new: str, reason: str
) -> None:
    assert old in SOURCE
    till.write_text(SOURCE.replace(old, new))
    found = status(cli, till)
    assert (found["valid"], found["reason"]) == (reason == ELSEWHERE, reason)
    assert found["next"] == "implementer"


def test_the_same_characteristics_keep_the_reports_of_later_agents(till: Path, cli: Cli) -> None:
    till.write_text("# moved down\n" + SOURCE)
    assert cli("plan", "analyze", till, "--method", "pay", "--write").code == 0
    assert status(cli, till) | {"reason": None, "next": "implementer", "valid": True} == status(cli, till)
    assert "lines: [6, 9]" in plan_of(till).read_text()
    assert not plan_of(till).with_name("metadata_till.yml.previous").exists()


def test_other_characteristics_void_the_reports_and_the_plan_before_is_kept(till: Path, cli: Cli) -> None:
    before = plan_of(till).read_bytes()
    till.write_text(SOURCE.replace("amount.zero?", "amount.nil?"))
    assert cli("plan", "analyze", till, "--method", "pay", "--write").code == 0
    assert status(cli, till)["next"] == "validator"
    previous = plan_of(till).with_name("metadata_till.yml.previous")
    assert previous.read_bytes() == before
    done = cli("plan", "diff", previous, till)
    assert done.code == 0
    assert "amount_present: present, absent" in done.out


def test_a_plan_is_compared_with_its_source(till: Path, cli: Cli) -> None:
    assert (cli("plan", "diff", till).code, cli("plan", "diff", till).out) == (0, "")
    till.write_text(SOURCE.replace("amount > LIMIT", "amount > LIMIT && open?"))
    before = plan_of(till).read_bytes()
    assert "+ open: open, not_open (when amount is above_limit)" in cli("plan", "diff", till).out
    assert plan_of(till).read_bytes() == before


def test_begin_and_mark_on_a_stale_plan_name_the_command(till: Path, cli: Cli) -> None:
    till.write_text(SOURCE.replace("amount.zero?", "amount.nil?"))
    command = "run `runcard plan analyze till.rb --class Till --method pay --write`"
    for done in (cli("plan", "begin", "implementer", till), cli("plan", "mark", "implementer", till)):
        assert done.code == 2
        assert f"the plan needs a new analysis: source file modified; {command}" in done.err


def test_several_plans_of_a_source_need_a_method(till: Path, cli: Cli) -> None:
    assert cli("plan", "analyze", till, "--method", "refund", "--write").code == 0
    for command in (("begin", "validator"), ("mark", "implementer")):
        done = cli("plan", *command, till)
        assert done.code == 1
        assert "till.rb has plans for several methods: Till#pay, Till#refund" in done.err
        assert "hint: pass --method" in done.err
    assert cli("plan", "begin", "validator", till, "--method", "refund").code == 0


def test_a_deep_analysis_stays_deep(till: Path, cli: Cli) -> None:
    assert cli("plan", "analyze", till, "--method", "pay", "--deep", "--write").code == 0
    assert "deep: true" in plan_of(till).read_text()
    till.write_text("# moved\n" + SOURCE)
    assert status(cli, till)["reason"] == ELSEWHERE
    assert cli("plan", "diff", till).out == ""


def test_values_alone_do_not_complete_an_agent(till: Path, cli: Cli) -> None:
    done = cli("plan", "mark", "implementer", till, "--set", "implementer_examples=3")
    assert (done.code, "the implementer is not marked as completed" in done.err) == (2, True)
    done = cli("plan", "mark", "implementer", till, "--completed", "--set", "implementer_examples=3")
    assert (done.code, done.err) == (0, "")


def test_the_guide_has_what_a_model_needs(till: Path, cli: Cli) -> None:
    done = cli("plan", "guide", "implementer", till)
    assert done.code == 0
    for text in (
        "method: Till#pay in `till.rb`",
        "spec: `spec/till_spec.rb`",
        "run the spec: `bundle exec rspec spec/till_spec.rb`",
        "`TODO: describe the expected result`",
        "delete `skip 'no expectation yet'`",
        f"runcard plan mark implementer {till} --method pay --class Till --completed",
    ):
        assert text in done.out
    assert cli("plan", "guide", "implementer", "nobody").code == 64


def test_a_project_with_minitest_only_is_recognised(till: Path, cli: Cli) -> None:
    (till.parent / "test").mkdir()
    done = cli("plan", "pipeline", till, "--method", "refund")
    assert done.code == 2
    assert "the project has tests for Minitest (test/) and none for RSpec" in done.err
    assert (till.parent / "spec" / "till_spec.rb").exists()


def test_the_pipeline_takes_all_methods(till: Path, cli: Cli) -> None:
    done = cli("plan", "pipeline", till, "--all-methods")
    assert done.code in {0, 2}
    assert done.out.count("analyzer") == 3
    assert cli("plan", "pipeline", till, "--all-methods", "--method", "pay").code == 64


def test_a_file_that_is_not_ruby_is_an_error(tmp_path: Path, cli: Cli) -> None:
    page = tmp_path / "page.md"
    page.write_text("# Title\n\nSome text, no class.\n")
    for done in (
        cli("plan", "analyze", page, "--method", "x"),
        cli("plan", "pipeline", page, "--method", "x"),
        cli("plan", "targets", page),
    ):
        assert (done.code, done.out) == (1, "")
        assert "page.md is not a Ruby file" in done.err


def test_without_the_reader_of_ruby_it_is_said_that_the_method_was_not_compared(
    till: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    till.write_text("# moved\n" + SOURCE)
    assert cli("plan", "list", "--root", till.parent).out.split()[0] == "fresh"
    monkeypatch.setitem(sys.modules, "tree_sitter_ruby", None)
    freshness._method_digests.cache_clear()
    for cached in vars(syntax_tree).values():
        if hasattr(cached, "cache_clear"):
            cached.cache_clear()
    done = cli("plan", "status", "--json", till)
    found = json.loads(done.out)
    assert (done.code, found["valid"], found["reason"]) == (2, False, "source file modified")
    (warning,) = found["warnings"]
    assert "whether the method was modified is unknown" in warning
    assert install_command("ruby") in warning
    listed = cli("plan", "list", "--root", till.parent).out
    assert (listed.split()[0], warning in listed) == ("stale", True)
    assert warning in cli("plan", "begin", "implementer", till).err
