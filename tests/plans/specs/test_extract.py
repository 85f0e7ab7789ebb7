"""`runcard plan extract`: the structure of a spec."""

import json
from pathlib import Path
from typing import Any

from conftest import Cli
from plans.ruby.samples import written
from plans.specs.skeletons import text
from plans.specs.test_contexts import PAYMENT
from runcard.plans.ruby.spec_tree import SpecNode, read_spec

SPEC = r"""
require 'rails_helper'

RSpec.describe Billing::Invoice, '#total', type: :model do
  subject(:result) { described_class.new.total }

  let!(:user) { create(:user) }
  before(:each) { let(:not_this) { 1 } }

  def helper
    it 'is no example'
  end

  shared_examples 'a sum' do
    it { is_expected.to be_positive }
  end

  %w[a b].each do |name|
    context "with #{name}" do
      it_behaves_like 'a sum'
    end
  end

  fcontext 'when it\'s "late" \\' do
    xit "is \"due\"\u{21}" do
      context 'no group'
    end

    specify 'pending'
  end

  other.describe('nothing') { it 'is found, wherever it stands' }
end
"""


def _outline(parts: tuple[SpecNode, ...]) -> list[str]:
    return [f"{part.line}-{part.end_line} {part.depth} {part.kind} {part.word} {part.name}" for part in parts]


def test_everything_is_found_with_its_lines_and_its_depth(tmp_path: Path) -> None:
    spec = read_spec(str(written(tmp_path, SPEC)))
    assert _outline(tuple(spec.walk())) == [
        "4-33 1 describe describe Billing::Invoice, #total",
        "5-5 1 subject subject result",
        "7-7 1 let let! user",
        "8-8 1 hook before each",
        "14-16 2 shared shared_examples a sum",
        "15-15 2 it it ",
        "19-21 2 context context with #{name}",
        "20-20 2 include it_behaves_like a sum",
        '24-30 2 context fcontext when it\'s "late" \\',
        '25-27 2 it xit is "due"!',
        "29-29 2 it specify pending",
        "32-32 1 it it is found, wherever it stands",
    ]
    assert spec.counts() == {"describes": 1, "contexts": 2, "its": 4, "lets": 1, "hooks": 1, "depth": 2}


def test_a_skeleton_is_read_as_it_was_planned(tmp_path: Path) -> None:
    spec = read_spec(str(written(tmp_path, text(PAYMENT))))
    contexts = [part.name for part in spec.walk() if part.kind == "context"]
    assert contexts[:3] == ["when user is authenticated", "and payment method is card", "with valid card"]
    assert spec.counts()["its"] == 5


def test_the_structure_as_json_is_a_tree(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "Gemfile").touch()
    path = written(tmp_path, "describe 'a' do\n  it 'b'\n  it('c') { 1 }\nend\n", "spec/a_spec.rb")
    done = cli("plan", "extract", path, tmp_path / "none_spec.rb", "--json")
    assert done.code == 1
    said, bad = map(json.loads, done.out.splitlines())
    assert bad["error"].endswith("none_spec.rb does not exist")
    example = {"kind": "it", "word": "it", "depth": 1}
    children: list[dict[str, Any]] = [
        example | {"name": "b", "line": 2, "end_line": 2, "pending": True},
        example | {"name": "c", "line": 3, "end_line": 3, "pending": False},
    ]
    group = {"kind": "describe", "word": "describe", "name": "a", "line": 1, "end_line": 4, "depth": 1}
    assert said == {
        "spec": str(path),
        "file": "spec/a_spec.rb",
        "counts": {"describes": 1, "contexts": 0, "its": 2, "lets": 0, "hooks": 0, "depth": 1},
        "structure": [group | {"children": children}],
        "warnings": [],
    }


def test_the_structure_for_people_is_indented(cli: Cli, tmp_path: Path) -> None:
    path = written(tmp_path, "describe 'a' do\n  context 'b' do\n    it 'c'\n  end\nend\n")
    assert (
        cli("plan", "extract", path).out
        == f"{path}:1: describe a\n{path}:2:   context b\n{path}:3:     it c\n"
    )


def test_a_broken_part_is_named_and_the_rest_kept(cli: Cli, tmp_path: Path) -> None:
    path = written(tmp_path, "describe 'a' do\n  it 'b' do\n    foo(\n  end\n\n  it 'c' do\n  end\nend\n")
    done = cli("plan", "extract", path, "--json")
    assert done.code == 2
    said = json.loads(done.out)
    assert [child["name"] for child in said["structure"][0]["children"]] == ["b", "c"]
    assert [warning["line"] for warning in said["warnings"]] == [3]
    assert done.err.startswith(f"Warning: {path}: line 3: cannot be parsed")


def test_a_file_without_a_group_is_a_warning_and_one_that_is_no_text_an_error(
    cli: Cli, tmp_path: Path
) -> None:
    done = cli("plan", "extract", written(tmp_path, "x = 1\n"))
    assert (done.code, done.out) == (2, "")
    assert "no describe, context or example" in done.err
    done = cli("plan", "extract", written(tmp_path, b"\0"))
    assert (done.code, done.out) == (1, "")


def test_groups_without_end_are_no_trouble(cli: Cli, tmp_path: Path) -> None:
    deep = 3_000
    done = cli("plan", "extract", written(tmp_path, "context 'a' do\n" * deep + "end\n" * deep), "--json")
    assert done.code == 2
    assert json.loads(done.out)["counts"]["depth"] == 101
    assert "nested more than 100 levels" in done.err


def test_tags_and_the_line_that_closes_a_group(tmp_path: Path) -> None:
    spec = read_spec(
        str(
            written(
                tmp_path,
                "describe '#call' do\r\n"
                "  context 'when open', :slow, plan: 'door:open' do\r\n"
                "    it('rings') { }\r\n"
                "  end\r\n"
                "  context('when shut', :plan => ['door:shut', %q(bell:off)]) { it 'x', plan: \"a:b\" }\r\n"
                "  context 'other', plan: state do; end; end\r\n",
            )
        )
    )
    assert [(part.name, part.tags, part.closing_line) for part in spec.walk()] == [
        ("#call", (), None),
        ("when open", ("door:open",), 4),
        ("rings", (), None),
        ("when shut", ("door:shut", "bell:off"), None),
        ("x", ("a:b",), None),
        ("other", (), None),
    ]
    assert spec.parts[0].to_dict()["children"][0]["tags"] == ["door:open"]
