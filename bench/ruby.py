"""Reading Ruby files for targets and factories: time and memory.

The files are generated, about six kilobytes each, and read by the command. The peer only parses them, with the same
parser.
"""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import indent

from bench.measuring import RUNCARD, cost, scratch
from bench.table import Row, Target, Times, at_most

PARSE = (
    "import sys, tree_sitter, tree_sitter_ruby;"
    "parser = tree_sitter.Parser(tree_sitter.Language(tree_sitter_ruby.language()));"
    "[parser.parse(open(name, 'rb').read()) for name in sys.argv[1:]]"
)
MOST = 10.0  # milliseconds a file

METHOD = """\
def step_{at}(order, amount: 0, **options)
  return if order.nil? || order.cancelled?

  total = order.lines.sum {{ |line| line.price * line.quantity }}
  case order.status
  when :draft then logger.info("order #{{order.id}} is a draft of #{{total}}")
  when :paid, :shipped
    order.update!(total: total, note: "step {at}") if total > amount
  else
    raise ArgumentError, "no step {at} for #{{order.status}}"
  end
end
"""


def measure(*, quick: bool = False) -> Iterator[Row]:
    count, rounds = (200, 1) if quick else (1_000, 3)
    with scratch() as folder:
        sources, project = _sources(folder, count), _project(folder, count)
        parsed = [sys.executable, "-c", PARSE]
        listed = [RUNCARD, "plan", "targets", "--json"]
        commands = {
            "few targets": [*listed, *sources[: count // 10]],
            "targets": [*listed, *sources],
            "sources parsed": [*parsed, *sources],
            "factories": [RUNCARD, "plan", "factories", str(project), "--all", "--json"],
            "factories parsed": [*parsed, *sorted(map(str, project.rglob("*.rb")))],
        }
        turns = [{name: cost(words) for name, words in commands.items()} for _ in range(rounds)]
        costs = {name: [turn[name] for turn in turns] for name in commands}
    for what, peer in (("targets", "sources parsed"), ("factories", "factories parsed")):
        ours, theirs = (
            Times.of((each.processor_seconds for each in costs[name]), 1e3 / count) for name in (what, peer)
        )
        work = f"{what} of {count:,} Ruby files, each"
        target = Target("<=", MOST, "ms CPU")
        yield Row(work, ours, "tree-sitter, parsing only", theirs, "ms CPU", target)
    few, many = (Times.of(each.megabytes for each in costs[name]) for name in ("few targets", "targets"))
    work = f"memory for the targets of {count:,} files"
    yield Row(work, many, f"the same for {count // 10:,}", few, "MB", at_most(1.2))
    yield from _parts_of_a_project(quick=quick)


def _parts_of_a_project(*, quick: bool) -> Iterator[Row]:
    """Forty sources analyzed in a large project and alone; a thousand plans validated, ten of each source."""
    files, rounds = (1_000, 1) if quick else (4_000, 3)
    with scratch() as folder:
        large = [
            RUNCARD,
            "plan",
            "analyze",
            "--all-methods",
            "--json",
            *_shop(folder / "large", files - 100)[:40],
        ]
        alone = [RUNCARD, "plan", "analyze", "--all-methods", "--json", *_shop(folder / "alone", 40)]
        sources = _shop(folder / "plans", 84)
        subprocess.run(  # 84 sources of 12 methods have 1,008 plans
            [RUNCARD, "plan", "analyze", "--all-methods", "--write", *sources],
            check=True,
            capture_output=True,
        )
        plans = sorted(map(str, (folder / "plans" / "tmp").rglob("*.yml")))
        once = [RUNCARD, "plan", "targets", "--json", *sources]
        checked = [RUNCARD, "plan", "validate", *plans]
        turns = [
            [cost(words).processor_seconds for words in (large, alone, checked, once)] for _ in range(rounds)
        ]
    columns = [Times.of(column) for column in zip(*turns, strict=True)]
    work = f"plan analyze of 40 files of a project with {files:,}"
    yield Row(work, columns[0], "the same files alone", columns[1], "s CPU", at_most(1.3))
    work = f"plan validate of {len(plans):,} plans"
    peer = f"plan targets of their {len(sources)} sources, each parsed once"
    yield Row(work, columns[2], peer, columns[3], "s CPU", Target("<=", 6.0, "s CPU"))


def _shop(root: Path, count: int) -> list[str]:
    """A project with a hundred factories beside its sources, if it is a large one."""
    (root / "spec" / "factories").mkdir(parents=True)
    (root / "Gemfile").touch()
    for at in range(100 if count > 100 else 0):
        text = f"FactoryBot.define do\n  factory :thing_{at} do\n    trait(:paid) {{ paid {{ true }} }}\n  end\nend\n"
        (root / "spec" / "factories" / f"thing_{at}.rb").write_text(text)
    return _sources(root, count)


def _sources(folder: Path, count: int) -> list[str]:
    methods = indent("\n".join(METHOD.format(at=at) for at in range(12)), "    ")
    names = []
    for at in range(count):
        path = folder / "app" / f"service_{at}.rb"
        path.parent.mkdir(exist_ok=True)
        macros = "attr_reader :order, :user\n    delegate :name, to: :user, prefix: true"
        path.write_text(f"module Shop\n  class Service{at} < Base\n    {macros}\n\n{methods}  end\nend\n")
        names.append(str(path))
    return names


def _project(folder: Path, count: int) -> Path:
    project = folder / "project"
    (project / "spec" / "factories").mkdir(parents=True)
    (project / "Gemfile").touch()
    for at in range(count):
        traits = "\n".join(
            f'trait :state_{t} do\n  state {{ "s{t}" }}\n  after(:create) {{ |x| x.touch }}\nend'
            for t in range(60)
        )
        text = f"factory :thing_{at} do\n{indent(traits, '  ')}\n  factory :child_{at}\nend"
        file = project / "spec" / "factories" / f"things_{at}.rb"
        file.write_text(f"FactoryBot.define do\n{indent(text, '  ')}\nend\n")
    return project
