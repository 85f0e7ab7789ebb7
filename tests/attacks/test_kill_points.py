"""Commands that are killed before each thing that they do to a file: nothing is lost, and the same command finishes the work."""

from pathlib import Path

import pytest

import runcard as library
from attacks.command_server import runcard
from runcard.files.temporary_files import is_temporary_file
from runcard.operations.archives.archive import archive
from runcard.operations.archives.restore import restore
from runs.harness import harness

COMMANDS = {
    "rm of both": ("rm", "{both}", "--yes"),
    "rm of an archive": ("rm", "{archived}", "--yes"),
    "prune": ("prune", "--older-than", "0s", "--yes"),
    "sign": ("sign", "outputs/{run}", "--key", "me.key"),
    "sign a store": ("sign", "outputs", "--key", "me.key"),
    "extract": ("extract", "{archived}", "sub", "--output", "out"),
    "export": ("export", "outputs/{run}", "--to", "bundle", "--output", "new.tar.gz"),
    "import-bundle": ("import-bundle", "run.tar.gz", "new"),
    "trust": ("config", "trust"),
}


@pytest.fixture
def template(here: Path) -> Path:
    """A folder with a run, an archived run, and one that is both; and what else a command needs."""
    folder = here / "template"
    names = []
    for _ in range(3):
        with library.record(folder / "outputs", strict=True) as run:
            (run.path / "sub").mkdir()
            (run.path / "sub/a.txt").write_text("a")
        names.append(run.path.name)
    archive(folder / "outputs" / names[1])
    restore(archive(folder / "outputs" / names[2]).archive)
    (folder / "names").write_text(" ".join(names))
    (folder / "runcard.toml").write_text('outputs = "outputs"\n')
    for command in ("keygen --output me.key", f"export outputs/{names[0]} --to bundle --output run.tar.gz"):
        assert runcard(folder, *command.split()).returncode in {0, 2}
    return folder


def paths_in(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


@pytest.mark.parametrize(
    "name",
    [name if name == "rm of both" else pytest.param(name, marks=pytest.mark.long) for name in COMMANDS],
)
def test_a_killed_command_is_finished_by_itself(here: Path, template: Path, name: str) -> None:
    named = dict(zip(("run", "archived", "both"), (template / "names").read_text().split(), strict=True))
    command = [word.format(**named) for word in COMMANDS[name]]
    done, *killed = map(Path, harness("attacks.kill_commands", template, here / "killed", *command))
    assert killed
    for place in killed:
        assert runcard(place, "verify", "outputs").returncode in {0, 2}
        again = runcard(place, *command)
        is_done = again.returncode == 1 and "exist" in again.stderr  # it was killed at its very end
        assert again.returncode in {0, 2} or is_done, again.stderr
        assert "Traceback" not in again.stderr
        assert runcard(place, "verify", "outputs").returncode == 0
        left = paths_in(place) ^ paths_in(done)
        assert all(is_temporary_file(Path(path).name) for path in left), left
