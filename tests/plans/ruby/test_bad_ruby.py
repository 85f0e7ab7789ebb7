"""Broken, huge and hostile files, old encodings and files that are not Ruby: read as far as possible."""

import os
import sys
from pathlib import Path

import pytest

from plans.ruby.ruby_tools import SHOP
from plans.ruby.samples import names, targets, written
from runcard.encoding import Limits
from runcard.errors import DocumentError, MachineError, StoreError
from runcard.extras import install_hint
from runcard.plans.ruby import read_targets, syntax_tree

DEEP = 10_000

BROKEN = {
    "a signature": (
        "class A\n  def x; end\n  def broken(\n  end\n  def y; end\nend",
        "A#x A#broken A#y",
        [3],
    ),
    "an if without end": (
        "class A\n  def x\n    if y\n  end\n  def z; end\nend\nclass B\n  def w; end\nend",
        "A#x A#z B#w",
        [3],
    ),
    "an end too many": (
        "class A\n  def x\n  end\n  end\n  def y; end\nend\nclass B\n  def z; end\nend",
        "A#x A#y B#z",
        [3],
    ),
    "a class without end": ("class A\n  def x\n  end\n\nclass B\n  def y; end\nend", "A#x B#y", [1]),
    "a string without end": (
        'class A\n  def x\n    y = "\n  end\n  def z; end\n  Z = "z"\nend',
        "A#x A#z",
        [3],
    ),
    "a macro": ("class A\n  validates :x, {\n  attr_reader :y\nend", "A#y", [2]),
    "a parent": ("class A < (\n  def x; end\nend\nclass B\n  def y; end\nend", "A#x B#y", [1]),
    "beside a here-document": (
        "class A\n  T = <<~X\nclass Fake\n  def no; end\nend\n  X\n  def x(\n  end\n  def y; end\nend",
        "A#x A#y",
        [7],
    ),
    "beside a block comment": (
        "class A\n=begin\nclass Fake\n  def no; end\n=end\n  def x(\n  end\n  def y; end\nend",
        "A#x A#y",
        [6],
    ),
    "before __END__": ("class A\n  def x; end\n  def y(\n  end\nend\n__END__\ndef z; end", "A#x A#y", [3]),
    "without indentation, before __END__": (
        "class A\ndef x\n)\nend\nfoo ->(a; b) { }\nend\n__END__\ndef z; end",
        "A#x",
        [3, 5],
    ),
    "without indentation": ("class A\ndef x\n)\nend\nfoo ->(a; b) { }\ndef y\nend\nend", "A#x A#y", [3, 5]),
    "beside an outdented private": (
        "class A\n  def x(\n  end\nprivate\n  def y; end\nend\nclass B\n  def z; end\nend",
        "A#x A#y B#z",
        [2],
    ),
    "the marks of a conflict": (
        "class A\n  def x; end\n<<<<<<< HEAD\n  def y; end\n=======\n  def z; end\n>>>>>>> topic\nend",
        "A#x A#y A#z",
        [3, 5, 7],
    ),
    "an end at the margin": (
        "class A\n  def x\n    if y\nend\n    end\n  end\n  def z; end\nend",
        "A#x A#z",
        [3, 4],
    ),
    "with tabs": ("class A\n\tdef x; end\n\tfoo(\n\tdef y; end\nend", "A#x A#y", [3]),
}


@pytest.mark.parametrize("case", BROKEN)
def test_the_rest_is_read_and_the_broken_part_named_for(case: str, tmp_path: Path) -> None:
    text, wanted, lines = BROKEN[case]
    found = targets(tmp_path, text)
    assert sorted(names(found)) == sorted(wanted.split())
    assert [trouble.line for trouble in found.warnings] == lines


NEWER = {
    "a block-local variable": "class A\n  def x\n    ->(a; b) { }\n  end\n  def y; end\nend",
    "an endless method with a command": "class A\n  def x = puts 'x'\n  def y; end\nend",
    "in a macro": "class A\n  scope :z, ->(a; b) { }\n  def x; end\n  def y; end\nend",
}


@pytest.mark.parametrize("case", NEWER)
def test_ruby_that_the_grammar_does_not_know_costs_no_method(case: str, tmp_path: Path) -> None:
    found = targets(tmp_path, NEWER[case])
    assert {"A#x", "A#y"} <= set(names(found))
    assert found.warnings


def test_a_damaged_line_costs_little_else(tmp_path: Path) -> None:
    """All over the files of the shop: a quote, a bracket or an `end` too many, a line too few."""
    known = lost = 0
    for name in ("app/models/order.rb", "app/services/billing/invoice.rb"):
        lines = (SHOP / name).read_text("utf-8").partition("__END__")[0].split("\n")
        whole = set(names(targets(tmp_path, "\n".join(lines))))
        for at in range(0, len(lines), 2):
            kind = at // 2 % 4
            damaged = [] if kind == 3 else [lines[at] + (' "', " (", "\nend")[kind]]
            known += len(whole)
            lost += len(
                whole - set(names(targets(tmp_path, "\n".join([*lines[:at], *damaged, *lines[at + 1 :]]))))
            )
    assert lost < known / 50, (lost, known)


def test_a_file_of_nothing_but_errors_names_some_and_counts_the_others(tmp_path: Path) -> None:
    found = targets(tmp_path, "x = (\n" * 500)
    assert names(found) == []
    assert len(found.warnings) == 11
    assert found.warnings[-1].message.startswith("cannot be parsed, nor can ")


@pytest.mark.parametrize("text", ["", "\n\n", "# nothing\n", "\ufeff", "__END__\nclass A; end"])
def test_nothing_to_read_is_no_error(text: str, tmp_path: Path) -> None:
    found = targets(tmp_path, text)
    assert (names(found), found.warnings) == ([], ())


ENCODED = {
    "latin-1": b"# encoding: iso-8859-1\nclass Caf\xe9\n  def cr\xe8me; end\nend\n",
    "emacs": b"#!/usr/bin/ruby\n# -*- coding: latin-1-unix -*-\nclass Caf\xe9\n  def cr\xe8me; end\nend\n",
    "windows": "# coding: cp1252\r\nclass Café\r\n  def crème\r\n  end\r\nend\r\n".encode("cp1252"),
    "a byte order mark": "\ufeffclass Café\n  def crème; end\nend\n".encode(),
}


@pytest.mark.parametrize("case", ENCODED)
def test_the_encoding_is_the_one_that_the_file_names(case: str, tmp_path: Path) -> None:
    found = targets(tmp_path, ENCODED[case])
    assert (names(found), found.warnings) == (["Café#crème"], ())


def test_a_japanese_file_is_read_by_rubys_name_for_its_encoding(tmp_path: Path) -> None:
    text = "# coding: Windows-31J\nclass A\n  def 表示; end\nend\n".encode("cp932")
    assert names(targets(tmp_path, text)) == ["A#表示"]


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        (b"class A\n  def x; end # \xff\nend\n", 2, "bytes that are not valid utf-8: read as UTF-8"),
        (
            b"# coding: klingon\nclass A\n  def x; end\nend\n",
            1,
            "unknown encoding klingon: read as UTF-8",
        ),
        (b"# coding: zlib\nclass A\n  def x; end\nend\n", 1, "unknown encoding zlib: read as UTF-8"),
    ],
)
def test_bytes_that_are_no_text_are_told_and_the_rest_read(
    tmp_path: Path, text: bytes, line: int, message: str
) -> None:
    found = targets(tmp_path, text)
    assert names(found) == ["A#x"]
    assert [(trouble.line, trouble.message) for trouble in found.warnings] == [(line, message)]


def test_windows_line_ends_change_nothing(tmp_path: Path) -> None:
    text = "class A\n  X = <<~E\n    def fake; end\n  E\n  def x\n  end\nend\n__END__\ndef y; end\n"
    plain, windows = targets(tmp_path, text), targets(tmp_path, text.replace("\n", "\r\n").encode())
    assert names(windows) == ["A#x"]
    assert [target.line for target in windows.all()] == [target.line for target in plain.all()] == [5]
    assert windows.warnings == ()


@pytest.mark.parametrize("text", [b"\x7fELF\0\0\0", "class A; end".encode("utf-16"), b"class A\0; end"])
def test_what_is_no_text_is_an_error(tmp_path: Path, text: bytes) -> None:
    with pytest.raises(DocumentError, match="it has NUL bytes"):
        targets(tmp_path, text)


def test_data_behind_the_end_may_be_anything(tmp_path: Path) -> None:
    found = targets(tmp_path, b"class A\n  def x; end\nend\n__END__\n\0\xff\xfe\0")
    assert (names(found), found.warnings) == (["A#x"], ())


def test_a_directory_a_missing_file_and_one_too_large_are_errors(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="is a directory"):
        read_targets(str(tmp_path))
    with pytest.raises(StoreError, match="does not exist"):
        read_targets(str(tmp_path / "none.rb"))
    with pytest.raises(DocumentError, match="larger than 10 bytes"):
        read_targets(str(written(tmp_path, "class A; end")), Limits(size=10))


def test_a_fifo_that_nobody_writes_to_does_not_hang(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo.rb")
    with pytest.raises(StoreError, match="is a FIFO, not a file"):
        read_targets(str(tmp_path / "fifo.rb"))


NESTED = {
    "variables": "class A\n[1].each { |" + "(" * DEEP + "a" + ")" * DEEP + "| define_method(:x) { } }\nend\n",
    "here-documents": "class A\n  def x; end\n  y(\n" + "  z <<A\n" * DEEP + "end\n",
    "modules": "".join(f"module A{at}\n" for at in range(DEEP)) + "def x; end\n" + "end\n" * DEEP,
    "modules without end": "".join(f"module A{at}\n" for at in range(DEEP)),
    "conditions": "class A\n" + "if x\n" * DEEP + "def x; end\n" + "end\n" * DEEP + "end\n",
    "blocks": "class A\n" + "foo do\n" * DEEP + "def x; end\n" + "end\n" * DEEP + "end\n",
    "brackets": "class A\nX = " + "[" * DEEP + "]" * DEEP + "\ndef x; end\nend\n",
    "brackets without end": "class A\n  X = " + "[" * DEEP + "\n  def x; end\nend\n",
    "calls": "class A\nX = a" + ".b" * DEEP + "\ndef x; end\nend\n",
    "sums": "class A\nX = a" + " + b" * DEEP + "\ndef x; end\nend\n",
    "texts": "class A\n  X = " + '"#{' * DEEP + "1" + '}"' * DEEP + "\n  def x; end\nend\n",
}


@pytest.mark.parametrize("case", NESTED)
def test_what_is_nested_ten_thousand_deep_is_read(case: str, tmp_path: Path) -> None:
    found = targets(tmp_path, NESTED[case])
    if case == "modules":
        assert len(found.classes) == 1_000
        assert found.warnings[0].message == "classes nested more than 1,000 levels deep are left out"
    elif case in {"modules without end", "here-documents"}:
        assert found.warnings
    else:
        assert names(found) == ["A#x"]


def test_loops_in_loops_are_bounded(tmp_path: Path) -> None:
    loops = "".join(f"(1..999).each do |a{at}|\n" for at in range(4))
    text = f'class A\n{loops}define_method("x#{{a3}}") {{ }}\n{"end " * 4}\ndef y; end\nend'
    found = targets(tmp_path, text)
    assert "A#y" in names(found)
    assert [warning.message[:38] for warning in found.warnings] == ["more than 10,000 iterations in all loo"]


def test_a_large_file_is_read(tmp_path: Path) -> None:
    """Ten megabytes, most of them comments: a syntax tree of ten megabytes of code takes a gigabyte of memory."""
    comments = "# a line of a comment that says nothing at all\n" * 200_000
    methods = "".join(f"  def m{at}; end\n" for at in range(1_000))
    found = targets(tmp_path, f"class A\n{comments}{methods}end\n")
    assert len(found.all()) == 1_000


def test_a_large_file_with_an_error_is_read_as_the_parser_sees_it(tmp_path: Path) -> None:
    methods = "".join(f"  def m{at}; end\n" for at in range(30_000))
    found = targets(tmp_path, f"class A\n{methods}  def x\n    y = )\n  end\nend\n")
    assert len(found.all()) == 30_001
    assert [trouble.line for trouble in found.warnings] == [30_003]


def test_without_the_extra_the_error_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "tree_sitter_ruby", None)
    monkeypatch.setattr(syntax_tree, "_parser", syntax_tree._parser.__wrapped__)
    with pytest.raises(MachineError) as caught:
        targets(tmp_path, "class A; end")
    assert caught.value.hint == install_hint("ruby")
