"""No path is lost: Ruby runs small methods with all values, and each path that it takes is in a context of the plan."""

import json
import subprocess
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from random import Random

import pytest

from runcard.encoding import JsonObject
from runcard.plans.analysis import analyze
from runcard.plans.plan_files import MethodRef
from runcard.plans.spec_contexts import Context, contexts_of

NAMES = "abcdef"
Taken = frozenset[tuple[str, str]]  # the conditions that were asked for, and their states

# Each method runs with all values of its conditions; `ask` remembers what is asked for.
RUN = """
require 'json'
class Asking
  def initialize(values) = (@values, @asked = values, {})
  attr_reader :asked
  %w[a b c d e f].each { |name| define_method(name) { @asked[name] = @values[name] } }
  def work = nil
end
texts = JSON.parse($stdin.read)
texts.each do |text|
  kind = Class.new(Asking) { class_eval(text) }
  taken = [true, false].repeated_permutation(6).map do |values|
    object = kind.new(%w[a b c d e f].zip(values).to_h)
    object.call
    object.asked
  end
  puts JSON.generate(taken.uniq)
end
"""


class MethodText:
    """A method at random, whose conditions are the names of its arguments."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)  # noqa: S311 - no secret
        self._left = list(NAMES)
        self.lines: list[str] = []
        self._statements(2, 2)

    def _condition(self) -> str:
        names = [self._left.pop(0) for _ in range(min(len(self._left), self._random.choice([1, 1, 2, 2, 3])))]
        text = names[0] if self._random.random() < 0.8 else f"!{names[0]}"
        for name in names[1:]:
            text = f"{text} {self._random.choice(['&&', '||'])} {name}"
        return text if self._random.random() < 0.8 else f"!({text})"

    def _statements(self, depth: int, count: int) -> None:
        for _ in range(self._random.randint(1, count)):
            self._statement(depth)

    def _statement(self, depth: int) -> None:
        kind = self._random.choice(["if", "elsif", "elsif", "unless", "guard", "leave", "ternary"])
        indent = "  " * (4 - depth)
        if not self._left or depth == 0:
            self.lines.append(f"{indent}work")
        elif kind == "guard":
            self.lines.append(f"{indent}return 1 if {self._condition()}")
        elif kind == "ternary":
            self.lines.append(f"{indent}({self._condition()}) ? work : nil")
        else:
            self._branches(kind, depth, indent)

    def _branches(self, kind: str, depth: int, indent: str) -> None:
        self.lines.append(f"{indent}{'unless' if kind == 'unless' else 'if'} {self._condition()}")
        self._statements(depth - 1, 1)
        if kind == "leave":
            self.lines.append(f"{indent}  return 2")
        while kind == "elsif" and self._left:
            self.lines.append(f"{indent}elsif {self._condition()}")
            self._statements(depth - 1, 1)
            kind = self._random.choice(["elsif", "else"])
        if kind != "leave" and self._random.random() < 0.6:
            self.lines.append(f"{indent}else")
            self._statements(depth - 1, 1)
        self.lines.append(f"{indent}end")


def _with_arguments(lines: list[str]) -> str:
    return "\n".join([f"def call({', '.join(NAMES)})", *lines, "end", ""])


def _taken_in_ruby(methods: list[list[str]]) -> list[set[Taken]]:
    texts = ["\n".join(["def call", *lines, "end"]) for lines in methods]
    done = subprocess.run(
        ["ruby", "-W0", "-e", RUN],
        input=json.dumps(texts),
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    states = {True: "present", False: "absent"}
    return [
        {
            frozenset((f"{name}_present", states[value]) for name, value in asked.items())
            for asked in json.loads(line)
        }
        for line in done.stdout.splitlines()
    ]


def _characteristics(folder: Path, lines: list[str]) -> list[JsonObject]:
    source = folder / "made.rb"
    source.write_text(_with_arguments(lines))
    return list(analyze(str(source), MethodRef(method="call")).plan["characteristics"])


def _leaves(contexts: tuple[Context, ...], above: Taken = frozenset()) -> Iterator[Taken]:
    if not contexts:
        yield above
    for context in contexts:
        yield from _leaves(context.children, above | {(context.characteristic["name"], context.state)})


def _check(folder: Path, methods: list[list[str]]) -> None:
    for lines, taken in zip(methods, _taken_in_ruby(methods), strict=True):
        leaves = list(_leaves(contexts_of(_characteristics(folder, lines))))
        lost = [path for path in taken if not any(path <= leaf for leaf in leaves)]
        assert lost == [], "\n".join(lines)


@pytest.mark.needs("ruby")
def test_no_path_is_lost(tmp_path: Path) -> None:
    _check(tmp_path, [MethodText(seed).lines for seed in range(60)])


@pytest.mark.long
@pytest.mark.needs("ruby")
def test_no_path_of_many_methods_is_lost(tmp_path: Path) -> None:
    _check(tmp_path, [MethodText(seed).lines for seed in range(60, 2_000)])


@pytest.mark.parametrize(("condition", "excluded"), [("a && b", {"present"}), ("a || b", {"absent"})])
@pytest.mark.parametrize("is_first", [True, False])
def test_what_excludes_a_condition_has_no_context_with_it(
    condition: str, excluded: set[str], tmp_path: Path, *, is_first: bool
) -> None:
    """`c` is asked for on two ways, and not on the third."""
    is_and = condition == "a && b"
    lines = [f"if {condition}", "  work", "elsif c", "  work", "end"] if is_and else []
    lines = lines or [f"if {condition}", "  c ? 1 : 2", "else", "  work", "end"]
    if not is_first:
        lines = ["return if d", *lines]
    characteristics = _characteristics(tmp_path, lines)
    leaves = [dict(leaf) for leaf in _leaves(contexts_of(characteristics))]
    with_c = {(leaf.get("a_present"), leaf.get("b_present")) for leaf in leaves if "c_present" in leaf}
    both = [("present", None), ("absent", "present"), ("absent", None), ("present", "absent")]
    assert with_c == ({both[2], both[3]} if is_and else {both[0], both[1]})
    assert any({leaf.get("a_present"), leaf.get("b_present")} == excluded for leaf in leaves)


def test_what_follows_is_not_lost_either(tmp_path: Path) -> None:
    lines = ["if a && b", "  work", "elsif c", "  work", "end", "d ? 1 : 2"]
    leaves = [dict(leaf) for leaf in _leaves(contexts_of(_characteristics(tmp_path, lines)))]
    values = ["present", "absent"]
    for first, second in product(values, values):
        assert any(
            leaf.get("a_present") == "present"
            and leaf.get("b_present") == first
            and leaf["d_present"] == second
            for leaf in leaves
        )
