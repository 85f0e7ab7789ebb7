"""The overhead of `runcard run` over the command alone, compared with `datalad run` and `dvc repro`.

Whole commands in folders without a repository, except those of datalad, which needs one.
"""

import os
from collections.abc import Iterator
from pathlib import Path

from bench import peers
from bench.measuring import RUNCARD, Runner, call, command, race, scratch, timed
from bench.table import Row, Target, Times, faster

MOST = 120.0  # milliseconds over the command alone


def measure(*, quick: bool = False) -> Iterator[Row]:
    rounds = 8 if quick else 20
    with scratch() as folder:
        ours = command(RUNCARD, "run", "--quiet", "--", "true", cwd=folder)
        alone = command("true", cwd=folder)
        runners = {"runcard": ours, "true": alone}
        for peer, prepare in (("datalad", dataset), ("dvc", pipeline)):
            if not peers.unavailable(peer) and (runner := prepare(folder / peer)):
                runners[peer] = runner
        times = {name: each.scaled(1e3) for name, each in race(runners, rounds, slowest=None).items()}
    added = {name: over(each, times["true"]) for name, each in times.items()}
    target = Target("<=", MOST, "ms")
    yield Row("runcard run -- true, over true", added["runcard"], "true", times["true"], "ms", target)
    for peer, does in (("datalad", "datalad run true"), ("dvc", "dvc repro of true")):
        label = peers.unavailable(peer) or (does if peer in added else f"not measured: {peer} does not work")
        yield Row(
            "runcard run -- true, over true",
            added["runcard"],
            label,
            added.get(peer),
            "ms",
            faster(2),
        )


def over(times: Times, alone: Times) -> Times:
    return Times(times.best - alone.best, times.median - alone.median)


def dataset(folder: Path) -> Runner | None:
    """A dataset of datalad."""
    tools = f"{peers.program('x').parent}{os.pathsep}{os.environ.get('PATH', '')}"
    datalad = ["env", f"PATH={tools}", "GIT_AUTHOR_NAME=bench", "GIT_AUTHOR_EMAIL=bench@localhost"]
    datalad += ["GIT_COMMITTER_NAME=bench", "GIT_COMMITTER_EMAIL=bench@localhost", "datalad"]
    if not peers.works(*datalad, "create", folder, cwd=folder.parent):
        return None
    if not peers.works(*datalad, "run", "true", cwd=folder):
        return None
    return command(*datalad, "run", "true", cwd=folder)


def pipeline(folder: Path) -> Runner | None:
    """A pipeline of dvc with one stage, which is run again each time."""
    folder.mkdir()
    dvc = ["env", "DVC_NO_ANALYTICS=1", str(peers.program("dvc"))]
    (folder / "dvc.yaml").write_text("stages:\n  only:\n    cmd: 'true'\n")
    again = [*dvc, "repro", "--force", "--quiet"]
    if not peers.works(*dvc, "init", "--no-scm", "--quiet", cwd=folder):
        return None
    if not peers.works(*again, cwd=folder):
        return None
    return lambda: timed(call, again, cwd=folder)
