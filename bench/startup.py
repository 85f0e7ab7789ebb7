"""The time of small commands, compared with the bare interpreter: `--help`, and one small record shown, verified, archived.

Whole commands, process start included. The peers are the interpreter that does nothing, and the help of other programs.
"""

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import runcard
from bench import peers
from bench.measuring import RUNCARD, Runner, call, command, race, scratch, timed
from bench.table import Row, Target, at_most, faster

_HELP = {"runcard --help": 5.0, "runcard validate --help": 7.0, "runcard migrate --help": 7.0}
_MOST_MS = 80.0  # for a small command


def measure(*, quick: bool = False) -> Iterator[Row]:
    rounds = 10 if quick else 40
    with scratch() as folder:
        runners = {"bare": command(sys.executable, "-c", "pass")}
        runners |= {name: command(RUNCARD, *name.split()[1:], cwd=folder) for name in _HELP}
        small = small_commands(folder)
        times = {
            name: each.scaled(1e3)
            for name, each in race(runners | small | peer_helps(), rounds, slowest=20).items()
        }
    for name, most in _HELP.items():
        yield Row(name, times[name], "python -c pass", times["bare"], "ms", at_most(most))
    for peer in ("dvc", "datalad"):
        label = peers.unavailable(peer) or f"{peer} --help"
        yield Row("runcard --help", times["runcard --help"], label, times.get(peer), "ms", faster(5))
    for name in small:
        target = Target("<=", _MOST_MS, "ms")
        work = f"runcard {name}, one small run"
        yield Row(work, times[name], "python -c pass", times["bare"], "ms", target)


def peer_helps() -> dict[str, Runner]:
    names = [name for name in ("dvc", "datalad") if not peers.unavailable(name)]
    return {name: command(peers.program(name), "--help") for name in names}


def small_commands(folder: Path) -> dict[str, Runner]:
    """Each works on a record that is there: what comes before and after is not timed."""
    with runcard.record(folder / "outputs", model="m", provider="p", strict=True) as run:
        (run.path / "answer.txt").write_text("42\n")
    shutil.copytree(folder / "outputs", folder / "packed")
    call([RUNCARD, "archive", folder / "packed" / run.path.name])
    (packed,) = (folder / "packed").glob("archive/*/*.tar.gz")

    def extract() -> float:
        shutil.rmtree(folder / "extracted", ignore_errors=True)
        return timed(call, [RUNCARD, "extract", packed, "answer.txt", "-o", folder / "extracted"])

    def archive() -> float:
        shutil.rmtree(folder / "copy", ignore_errors=True)
        shutil.copytree(folder / "outputs", folder / "copy")
        call(["sync", "-f", folder])
        return timed(call, [RUNCARD, "archive", folder / "copy" / run.path.name])

    return {
        "show": command(RUNCARD, "show", run.path),
        "verify": command(RUNCARD, "verify", run.path),
        "extract": extract,
        "archive": archive,
    }
