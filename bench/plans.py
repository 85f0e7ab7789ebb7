"""`plan status`, `plan list` and `plan analyze --all-methods` of a thousand sources.

Peers: reading the plans with PyYAML, and parsing the sources and the factories with tree-sitter, each once.
"""

import os
import subprocess
import sys
import tempfile
from hashlib import sha256
from pathlib import Path

from table import Row, print_table

BIN = Path(sys.executable).parent

_PLAN = """\
format_version: '2.0'
analyzer:
  completed: true
  timestamp: '2025-11-07T10:35:20Z'
  source_file_mtime: {mtime}
  version: '1.0'
  source_sha256: {digest}
  source_size: {size}

validation:
  completed: true
  errors: []
  warnings: []

test_level: integration

target:
  class: Service{number}
  method: call
  method_type: instance
  file: {file}
  uses_models: true

# What the behaviour depends on
characteristics:
  - name: user_authenticated
    type: binary
    states: [authenticated, not_authenticated]
    default: null
    depends_on: null
    when_parent: null
    level: 1
  - name: payment_method
    type: enum
    states: [card, paypal, bank_transfer]
    default: null
    depends_on: user_authenticated
    when_parent: [authenticated]
    level: 2
  - name: card_valid
    type: binary
    states: [valid, expired]
    default: null
    depends_on: payment_method
    when_parent: [card]
    level: 3

factories_detected:
  user:
    file: spec/factories/users.rb
    traits: [authenticated, blocked, premium]

automation:
  analyzer_completed: true
  analyzer_version: '1.0'
  validation_passed: true
  errors: []
  warnings: []
"""

# What a script does that knows no better: read each plan, compare the time.
_PEER = """\
import os, sys, yaml
loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
for source in sys.argv[1:]:
    plan = "tmp/rspec_claude_metadata/metadata_" + source[:-3].replace("/", "_") + ".yml"
    with open(plan, encoding="utf-8") as file:
        data = yaml.load(file, loader)
    fresh = data["analyzer"]["completed"] and data["analyzer"]["source_file_mtime"] == int(os.stat(source).st_mtime)
    print(source, bool(fresh))
"""


_PARSE = """\
import sys, tree_sitter_ruby
from tree_sitter import Language, Parser
parser = Parser(Language(tree_sitter_ruby.language()))
for source in sys.argv[1:]:
    with open(source, "rb") as file:
        print(source, parser.parse(file.read()).root_node.has_error)
"""
_METHODS = 6  # of each source
_FACTORIES = 60


def measure(*, quick: bool = False) -> list[Row]:
    number = 200 if quick else 1000
    runcard = [str(BIN / "runcard"), "plan"]
    with tempfile.TemporaryDirectory() as folder:
        sources = _project(Path(folder), number)
        _check([*runcard, "status", *sources], folder, number)
        factories = [f"spec/factories/thing_{index}.rb" for index in range(_FACTORIES)]
        read = [sys.executable, "-c", _PEER, *sources]
        parse = [sys.executable, "-c", _PARSE, *factories, *sources]
        best = {
            "status": _best([*runcard, "status", *sources], read, folder),
            "list": _best([*runcard, "list"], read, folder),
            "analyze": _best([*runcard, "analyze", "--all-methods", *sources], parse, folder),
        }
    thousands = number / 1000  # starting takes its part of the second
    yaml = "PyYAML with libyaml, times only"
    return [
        _row(
            f"status of {number:,} sources, all fresh, each hashed",
            best["status"],
            yaml,
            0.2 + 0.8 * thousands,
        ),
        _row(f"list of {number:,} plans, each checked", best["list"], yaml, 0.2 + 1.15 * thousands),
        _row(
            f"analysis of {number:,} sources, {_METHODS} methods each, {_FACTORIES} factories",
            best["analyze"],
            "tree-sitter, each file parsed once",
            0.2 + 9 * thousands,
        ),
    ]


def _row(work: str, best: tuple[float, float], peer: str, most: float) -> Row:
    return Row(
        work=work,
        ours=best[0],
        peer=peer,
        theirs=best[1],
        unit="s",
        target=f"<= {most:.3g} s",
        ok=best[0] <= most,
    )


def _best(ours: list[str], theirs: list[str], folder: str) -> tuple[float, float]:
    """The best times of three, measured in turns."""
    times = [(_seconds(ours, folder), _seconds(theirs, folder)) for _ in range(3)]
    return min(time for time, _ in times), min(time for _, time in times)


def _project(root: Path, number: int) -> list[str]:
    (root / "Gemfile").touch()
    plans = root / "tmp" / "rspec_claude_metadata"
    plans.mkdir(parents=True)
    (root / "app" / "services").mkdir(parents=True)
    factories = root / "spec" / "factories"
    factories.mkdir(parents=True)
    for index in range(_FACTORIES):
        factory = f"FactoryBot.define do\n  factory :thing_{index} do\n    trait(:paid) {{ paid {{ true }} }}\n  end\nend\n"
        (factories / f"thing_{index}.rb").write_text(factory, "utf-8")
    sources = []
    for index in range(number):
        file = f"app/services/service_{index}.rb"
        names = ("call", *(f"call_{method}" for method in range(1, _METHODS)))
        methods = "".join(f"  def {name}(user)\n    user.admin? ? 1 : 2\n  end\n" for name in names)
        text = f"class Service{index}\n{methods}end\n".encode()
        (root / file).write_bytes(text)
        plan = _PLAN.format(
            number=index,
            file=file,
            size=len(text),
            digest=sha256(text).hexdigest(),
            mtime=int((root / file).stat().st_mtime),
        )
        (plans / f"metadata_app_services_service_{index}.yml").write_text(plan, "utf-8")
        sources.append(file)
    return sources


def _check(command: list[str], folder: str, number: int) -> None:
    done = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
    if done.stdout.count(": fresh\n") != number:
        raise SystemExit(f"the benchmark's plans are not fresh: {done.stdout[:200]}")


def _seconds(command: list[str], folder: str) -> float:
    """Processor time: other programs do not count."""
    before = os.times()
    done = subprocess.run(
        command, cwd=folder, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    if done.returncode not in {0, 2}:  # 2: warnings
        raise SystemExit(f"{command[:4]} failed with {done.returncode}")
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


if __name__ == "__main__":
    print_table(measure(quick="--quick" in sys.argv))
