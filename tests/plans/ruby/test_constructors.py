"""What `new` takes where the class does not write its constructor."""

from pathlib import Path

import pytest

from runcard.plans.ruby.method_facts import read_method_facts

CASES = {
    "pattr_initialize :order, [:user!, :note]": "order user: note:",
    "vattr_initialize :order": "order",
    "rattr_initialize [:user!, note: 1]": "user:",
    "static_facade :call, :order, [:user!]": "order user:",
    "param :order\n  option :user\n  option :note, default: proc { 1 }\n  option :more, optional: true": "order user:",
    "option :user\n  param :order, Types::Any": "order user:",
    "include ActiveModel::Model\n  include ActiveModel::Attributes\n  attribute :name, :string\n  attribute :on, default: true": "name:",
    "def initialize(a, b: 1, c:) = nil\n  option :user": "a c:",
}


def _constructor(folder: Path, text: str, name: str = "Shop::Pay") -> str | None:
    source = folder / "pay.rb"
    source.write_text(text)
    found = read_method_facts(str(source), str(folder), name, "call", "instance").signature.constructor
    return None if found is None else " ".join(f"{each.name}{':' * each.is_keyword}" for each in found)


@pytest.mark.parametrize("declared", CASES)
def test_declared_constructors(declared: str, tmp_path: Path) -> None:
    text = f"module Shop\n class Pay\n  {declared}\n  def call = nil\n end\n class Other\n  option :x\n end\nend\n"
    assert _constructor(tmp_path, text) == CASES[declared]


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        ("Struct.new(:a, :b)", "a b"),
        ("::Struct.new(:a, :b, keyword_init: true)", "a: b:"),
        ("Data.define(:a)", "a:"),
        ("Struct.new('Name', :a)", "a"),
    ],
)
def test_structures(made: str, expected: str, tmp_path: Path) -> None:
    assert _constructor(tmp_path, f"class Pay < {made}\n def call = nil\nend\n", "Pay") == expected
    assert _constructor(tmp_path, f"Pay = {made} do\n def call = nil\nend\n", "Pay") == expected


def test_a_declaration_of_a_superclass_is_inherited(tmp_path: Path) -> None:
    text = "class Base\n pattr_initialize [:user!]\nend\nclass Pay < Base\n def call = nil\nend\n"
    assert _constructor(tmp_path, text, "Pay") == "user:"


def test_without_declarations_nothing_is_known(tmp_path: Path) -> None:
    assert _constructor(tmp_path, "class Pay\n attribute :x\n def call = option(:x)\nend\n", "Pay") is None
