"""Reading Ruby files for targets and factories: time and memory.

The files are generated, about six kilobytes each, and read by the command. The peer only parses them, with the same
parser.
"""

import os
import sys
import tempfile
from pathlib import Path
from textwrap import indent
from typing import NamedTuple

from table import Row, print_table

RUNCARD = str(Path(sys.executable).with_name("runcard"))
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


def measure(*, quick: bool = False) -> list[Row]:
    count = 200 if quick else 1_000
    with tempfile.TemporaryDirectory() as folder:
        sources, project = _sources(Path(folder), count), _project(Path(folder), count)
        parsed = [sys.executable, "-c", PARSE]
        listed = [RUNCARD, "plan", "targets", "--json"]
        factories = [RUNCARD, "plan", "factories", str(project), "--all", "--json"]
        files = sorted(map(str, project.rglob("*.rb")))
        few, many = _run([*listed, *sources[: count // 10]]), _run([*listed, *sources])
        return [
            _row("targets", many, _run([*parsed, *sources]), count),
            _row("factories", _run(factories), _run([*parsed, *files]), count),
            Row(
                work=f"memory for the targets of {count:,} files",
                ours=many.megabytes,
                peer=f"the same for {count // 10:,}",
                theirs=few.megabytes,
                unit="MB",
                target="<= 1.2 x",
                ok=many.megabytes <= 1.2 * few.megabytes,
            ),
        ]


class Cost(NamedTuple):
    """The time and the memory of a process."""

    seconds: float
    megabytes: float


def _run(command: list[str]) -> Cost:
    process = os.posix_spawn(
        command[0],
        command,
        {**os.environ, "PYTHONDONTWRITEBYTECODE": ""},
        file_actions=[(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)],
    )
    _, status, used = os.wait4(process, 0)
    assert status == 0, command[:4]  # noqa: S101
    return Cost(used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)


def _row(what: str, ours: Cost, theirs: Cost, count: int) -> Row:
    milliseconds = ours.seconds * 1e3 / count
    return Row(
        work=f"{what} of {count:,} Ruby files, each",
        ours=milliseconds,
        peer="tree-sitter, parsing only",
        theirs=theirs.seconds * 1e3 / count,
        unit="ms CPU",
        target=f"<= {MOST:g} ms",
        ok=milliseconds <= MOST,
    )


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


if __name__ == "__main__":
    print_table(measure(quick="--quick" in sys.argv))
