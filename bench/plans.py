"""`plan analyze --all-methods`, `plan list` and `plan status` of a project with 1,123 sources and 7,050 methods.

Whole commands. Peers: parsing the factories and the sources with tree-sitter, each once; reading the plans with PyYAML.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from bench.measuring import RUNCARD, BenchError, scratch
from bench.table import Row, Target, Times

FOLDER = "tmp/rspec_claude_metadata"

# What a script does that knows no better: read each plan, compare the time.
_READ = """\
import os, sys, yaml
loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
for plan in sys.argv[1:]:
    with open(plan, encoding="utf-8") as file:
        data = yaml.load(file, loader)
    mtime = int(os.stat(data["target"]["file"]).st_mtime)
    print(plan, data["analyzer"]["completed"] and data["analyzer"]["source_file_mtime"] == mtime)
"""
_PARSE = """\
import sys, tree_sitter_ruby
from tree_sitter import Language, Parser
parser = Parser(Language(tree_sitter_ruby.language()))
for source in sys.argv[1:]:
    with open(source, "rb") as file:
        print(source, parser.parse(file.read()).root_node.has_error)
"""
_STATEMENTS = (
    "    return if user.nil?\n",
    "    if user.active?\n      user.save!\n    elsif user.blocked?\n      raise Blocked\n    else\n      notify(user)\n    end\n",
    "    case user.status\n    when :open then process(user)\n    when :closed, :done then nil\n    end\n",
    "    user.items.each do |item|\n      next unless item.price > 100\n      item.update!(discount: true)\n    end\n",
    "    user.total >= 1000 && user.premium? ? 1 : 2\n",
    "    result = Client.new(user.url).get('/x')\n    return [] if result.status != 200\n",
)
_TRAITS = ("active", "blocked", "premium", "archived", "draft", "published", "paid")
_FACTORIES = 60


def measure(*, quick: bool = False) -> Iterator[Row]:
    sources, plans = (200, 1_255) if quick else (1_123, 7_050)
    part = sources / 1_123
    with scratch() as folder:
        project = _Project(folder, sources, plans)
        parse = [sys.executable, "-c", _PARSE, *project.factories, *project.sources]
        analyze = project.best(["analyze", "--all-methods", *project.sources], parse)
        written = project.best(["analyze", "--all-methods", "--write", *project.sources], parse, new=True)
        paths = project.plans()
        if len(paths) != plans:
            raise BenchError(f"the benchmark's project has {len(paths)} plans, not {plans}")
        project.check_fresh()
        listed = project.best(["list"], [sys.executable, "-c", _READ, *paths])
        first = [path for path in paths if "-" not in path.rpartition("/")[2]]
        status = project.best(["status", *project.sources], [sys.executable, "-c", _READ, *first])
    size = f"{sources:,} sources, {plans:,} methods, {_FACTORIES} factories"
    trees, yaml = "tree-sitter, each file parsed once", "PyYAML with libyaml, times only"
    yield _row(f"plan analyze of {size}", analyze, trees, 0.3 + 9.7 * part)
    yield _row("the same, and the plans written", written, trees, 0.3 + 14.7 * part)
    yield _row(f"plan list of {plans:,} plans, each checked", listed, yaml, 0.3 + 7.7 * part)
    yield _row(f"plan status of {sources:,} sources, each hashed", status, yaml, 0.2 + 0.8 * part)


def _row(work: str, times: tuple[Times, Times], peer: str, most: float) -> Row:
    return Row(work, times[0], peer, times[1], "s CPU", Target("<=", round(most, 1), "s CPU"))


class _Project:
    """A Ruby project with as many methods as plans are wanted."""

    def __init__(self, root: Path, sources: int, methods: int) -> None:
        self.root = root
        self.factories = [f"spec/factories/thing_{index}.rb" for index in range(_FACTORIES)]
        self.sources = [f"app/services/service_{index}.rb" for index in range(sources)]
        (root / "Gemfile").touch()
        for index, factory in enumerate(self.factories):
            self._write(factory, _factory(index))
        for index, source in enumerate(self.sources):
            count = methods // sources + (index < methods % sources)
            self._write(source, f"class Service{index}\n{_methods(index, count)}end\n")

    def _write(self, path: str, text: str) -> None:
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text, "utf-8")

    def plans(self) -> list[str]:
        return [f"{FOLDER}/{name}" for name in sorted(os.listdir(self.root / FOLDER))]

    def check_fresh(self) -> None:
        command = [RUNCARD, "plan", "status", *self.sources]
        done = subprocess.run(command, cwd=self.root, check=True, capture_output=True, text=True)
        if done.stdout.count(": fresh") != len(self.sources):
            raise BenchError(f"the benchmark's plans are not fresh: {done.stdout[:200]}")

    def best(self, ours: list[str], theirs: list[str], *, new: bool = False) -> tuple[Times, Times]:
        """The times of three rounds, measured in turns; with `new`, each time without any plans."""
        times = []
        for _ in range(3):
            if new:
                subprocess.run(["rm", "-rf", FOLDER], cwd=self.root, check=True)
            times.append(
                (
                    _seconds([RUNCARD, "plan", *ours], self.root),
                    _seconds(theirs, self.root),
                )
            )
        return Times.of(time for time, _ in times), Times.of(time for _, time in times)


def _factory(index: int) -> str:
    traits = "".join(f"    trait(:{name}) {{ {name} {{ true }} }}\n" for name in _TRAITS[: index % 8])
    return f"FactoryBot.define do\n  factory :thing_{index} do\n{traits}  end\nend\n"


def _methods(index: int, count: int) -> str:
    return "".join(
        f"  def call_{method}(user)\n{_STATEMENTS[(index + method) % 6]}{_STATEMENTS[(index + method * 5 + 1) % 6]}  end\n\n"
        for method in range(count)
    )


def _seconds(command: list[str], folder: Path) -> float:
    """Processor time: other programs do not count."""
    before = os.times()
    done = subprocess.run(
        command, cwd=folder, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    if done.returncode not in {0, 2}:  # 2: warnings
        raise BenchError(f"{command[:4]} failed with {done.returncode}")
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system
