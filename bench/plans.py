"""The status of a thousand plans, by command, compared with reading them with PyYAML."""

import subprocess
import sys
import tempfile
import time
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


def measure(*, quick: bool = False) -> list[Row]:
    number = 200 if quick else 1000
    with tempfile.TemporaryDirectory() as folder:
        sources = _project(Path(folder), number)
        ours = [str(BIN / "runcard"), "plan", "status", *sources]
        theirs = [sys.executable, "-c", _PEER, *sources]
        _check(ours, folder, number)
        best = [float("inf"), float("inf")]
        for _ in range(3):
            best = [min(best[0], _seconds(ours, folder)), min(best[1], _seconds(theirs, folder))]
    most = 0.2 + 0.8 * number / 1000  # starting takes its part of the second
    return [
        Row(
            work=f"status of {number:,} sources, all fresh, each hashed",
            ours=best[0],
            peer="PyYAML with libyaml, times only",
            theirs=best[1],
            unit="s",
            target=f"<= {most:.3g} s",
            ok=best[0] <= most,
        )
    ]


def _project(root: Path, number: int) -> list[str]:
    (root / "Gemfile").touch()
    plans = root / "tmp" / "rspec_claude_metadata"
    plans.mkdir(parents=True)
    (root / "app" / "services").mkdir(parents=True)
    sources = []
    for index in range(number):
        file = f"app/services/service_{index}.rb"
        text = f"class Service{index}\n  def call(user)\n    user.admin? ? 1 : 2\n  end\nend\n".encode()
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
    began = time.perf_counter()
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - began


if __name__ == "__main__":
    print_table(measure(quick="--quick" in sys.argv))
