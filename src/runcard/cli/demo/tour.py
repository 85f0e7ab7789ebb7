"""The steps of the demo: each prints a heading and the command to type, and runs it."""

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib import resources
from itertools import count

import click

from runcard.cli.demo.model import demo_environment, scripted_model
from runcard.cli.exit_codes import ExitCode
from runcard.cli.printing import colour, say
from runcard.cli.typed_command import typed_command
from runcard.errors import StoreError
from runcard.extras import install_command, missing_modules
from runcard.files import printable, shell_word
from runcard.store.known_stores import forget_store

_FOLDER = "runcard-demo"
_CHECKS = "verify-run"  # the examples that check a run without runcard
_EXAMPLES = "runcard-examples"
_INTERVIEWS = {
    "ada.md": "I keep the books. Every week somebody asks me for an old invoice, and I open forty files to find it.\n",
    "ben.md": "I drive a van. When I look for the next address I need one hand for the wheel, and the map needs two.\n",
}
_PROGRAM = "personas.py"
_CATALOG = "catalog.db"  # of the demo alone
_MODEL = "claude-sonnet-5-5"


def run_tour(given: str | None) -> int:
    """Run all steps; the exit code."""
    folder = _make_folder(given)
    prepare(folder)
    _print(f"A tour of runcard in {'this folder' if folder == '.' else printable(folder)}.")
    _print("Nothing leaves this machine and nothing is spent: a scripted model answers in")
    _print("place of the real one. Its token counts are made up, the prices are real.")
    with scripted_model() as address:
        tour = _Tour(folder, address)
        is_success = all(tour.steps())
    forget_store(os.path.join(folder, "outputs"))  # what it made up is in no sum of the user's
    if not is_success:
        raise StoreError(
            "a step of the tour failed; the files are kept",
            hint=f"for details: runcard verify {shell_word(folder)}",
        )
    _heading("Next steps")
    if folder != ".":
        _show(f"cd {shlex.quote(folder)}")
    _show(f"less {_PROGRAM}", "the recorded program")
    _show(f"less {tour.run}/README.md", "the record for people")
    _show(f"(cd {tour.run} && sha256sum -c SHA256SUMS)", "verify without runcard")
    if missing_modules("web"):
        _show(install_command("web"), "what the page needs")
    serve = f"RUNCARD_CATALOG={_CATALOG} {typed_command(elsewhere=True)} serve"
    _show(serve, "the page: these records in your browser")
    return ExitCode.OK


def copy_examples(given: str | None) -> int:
    """Copy the examples of this runcard, and print their paths; the exit code."""
    folder = _make_folder(given or _EXAMPLES)
    installed = resources.files("runcard").joinpath("examples")
    with resources.as_file(installed) as path:
        source = path if path.is_dir() else path.parents[2] / "examples"  # of a checkout
        for place in ("", _CHECKS):
            target = os.path.join(folder, place)
            os.makedirs(target, exist_ok=True)
            for example in sorted(
                path for path in (source / place).iterdir() if path.is_file()
            ):  # pip adds __pycache__
                say(shutil.copy(example, target))
    return ExitCode.OK


def _make_folder(given: str | None) -> str:
    """The folder to work in, which is empty."""
    folder = given or ("." if not os.listdir(".") else _FOLDER)
    free = next(name for name in map(f"{_FOLDER}-{{}}".format, count(2)) if not os.path.lexists(name))
    hint = f"name a new folder: runcard demo {free}"
    if os.path.lexists(folder) and not os.path.isdir(folder):
        raise StoreError(f"{printable(folder)} is not a folder", hint=hint)
    os.makedirs(folder, exist_ok=True)
    if os.listdir(folder):
        raise StoreError(f"{printable(folder)} is not empty", hint=hint)
    return folder


def prepare(folder: str) -> None:
    """Write the program, and what it reads."""
    os.mkdir(os.path.join(folder, "interviews"))
    for name, text in _INTERVIEWS.items():
        with open(os.path.join(folder, "interviews", name), "w", encoding="utf-8") as file:
            file.write(text)
    program = resources.files("runcard.cli.demo").joinpath(_PROGRAM).read_text("utf-8")
    with open(os.path.join(folder, _PROGRAM), "w", encoding="utf-8") as file:
        file.write(program)


class _Tour:
    """The steps, in one folder."""

    run = ""  # path of the record, relative to the folder

    def __init__(self, folder: str, address: str) -> None:
        self._folder = folder
        catalog = os.path.join(os.path.abspath(folder), _CATALOG)
        self._environment = demo_environment(address) | {"RUNCARD_CATALOG": catalog}

    def steps(self) -> Iterator[bool]:
        """Run the steps one by one; whether each succeeded."""
        _heading("1. Record a program: its inputs, its calls of the model, its outputs")
        options = ["--input", "interviews/*.md", "--model", _MODEL, "--provider", "anthropic"]
        yield self._runcard("run", *options, "--", "python", _PROGRAM) == 0
        self.run = f"outputs/{max(os.listdir(os.path.join(self._folder, 'outputs')))}"
        _heading("2. Show the record on one screen")
        yield self._runcard("show", self.run) == 0
        _heading("3. Verify it: hash every file, check every chain")
        yield self._runcard("verify", self.run) == 0
        _heading("4. Change one byte in a copy, and verify again")
        yield self._forge()
        yield self._runcard("verify", "forged") == ExitCode.FAILED

    def _runcard(self, *arguments: str) -> int:
        _show(f"runcard {shlex.join(arguments)}")
        sys.stdout.flush()
        real = [sys.executable if argument == "python" else argument for argument in arguments]
        done = subprocess.run(  # noqa: S603 - our own command
            [sys.executable, "-m", "runcard", *real],
            cwd=self._folder,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            check=False,
        )
        if done.returncode:
            click.secho(f"(exit code {done.returncode})", dim=True, color=colour())
        return done.returncode

    def _forge(self) -> bool:
        forged = os.path.join(self._folder, "forged")
        _show(f"cp -r {self.run} forged")
        shutil.copytree(os.path.join(self._folder, self.run), forged, symlinks=True)
        _show("sed -i s/Ada/Ida/ forged/personas/ada.json")
        with open(os.path.join(forged, "personas", "ada.json"), "r+b") as file:
            text = file.read()
            file.seek(0)
            file.write(text.replace(b"Ada", b"Ida"))
        return b"Ada" in text


def _print(text: str) -> None:
    click.echo(text)


def _heading(text: str) -> None:
    click.echo()
    click.secho(text, bold=True, color=colour())


def _show(command: str, about: str = "") -> None:
    """A command as one types it."""
    click.secho(f"$ {printable(command)}", fg="cyan", nl=not about, color=colour())
    if about:
        click.secho(f"   # {about}", dim=True, color=colour())
