"""How the command starts: its help, its version, what it imports, and what it says about wrong usage."""

import subprocess
import sys
from pathlib import Path

import pytest

from acceptance.command import TIMEOUT, environment, finished, runcard
from cli.commands import EVERY_COMMAND
from runcard import __version__
from runcard.cli.command_groups import module_of, root_help

_NEW_MODULES = """\
import sys
before = set(sys.modules)
sys.argv = ["runcard", *sys.argv[1:]]
if len(sys.argv) > 1:
    from runcard.cli.main import main
    main()
else:
    import runcard
print(*sorted(set(sys.modules) - before), file=sys.stderr)
"""


def _modules(*arguments: str, place: Path | None = None) -> set[str]:
    """What a fresh interpreter imports for a command, or for `import runcard` when none is given."""
    done = subprocess.run(
        [sys.executable, "-c", _NEW_MODULES, *arguments],
        cwd=place,
        capture_output=True,
        text=True,
        env=environment(),
        timeout=TIMEOUT,
        check=True,
    )
    return set(done.stderr.split())


@pytest.mark.parametrize("arguments", [["--help"], ["-h"]], ids=" ".join)
def test_the_root_help_is_the_same_however_it_is_asked_for(arguments: list[str]) -> None:
    done = runcard(*arguments, measured=True)
    assert (done.code, done.text, done.messages) == (0, root_help(), "")


def test_the_installed_script_is_the_same_command() -> None:
    script = Path(sys.executable).with_name("runcard")
    done = finished([script, "--version"], env=environment())
    assert (done.code, done.text) == (0, f"runcard {__version__}\n")
    assert runcard("--version") == done


def test_importing_the_library_imports_nothing_heavy() -> None:
    modules = _modules()
    assert "runcard" in modules
    assert not modules & {"click", "jsonschema_rs", "json", "decimal", "runcard.documents", "runcard.cli"}


@pytest.mark.parametrize("argument", ["--help", "--version"])
def test_the_root_help_and_the_version_need_no_library(argument: str) -> None:
    modules = _modules(argument)
    assert "runcard.cli.main" in modules
    assert not modules & {"click", "jsonschema_rs", "json", "decimal", "runcard.cli.app"}


# What takes long to load, and what a command about one run must do without.
_HEAVY = {
    "click",
    "jsonschema_rs",
    "dataclasses",
    "inspect",
    "subprocess",
    "tempfile",
    "difflib",
    "socket",
    "yaml",
}
_HEAVY |= {
    "asyncio",
    "pickle",
    "email",
    "importlib.metadata",
    "multiprocessing",
    "ssl",
    "tarfile",
    "uuid",
    "random",
}
_OTHER_DOCUMENTS = {
    "runcard.documents.session.build",
    "runcard.documents.session.instance",
    "runcard.documents.testplan.plan",
    "runcard.documents.migrations",
    "runcard.encoding.yaml",
}


def test_a_plain_command_is_run_with_what_it_needs_and_no_more(tmp_path: Path) -> None:
    modules = _modules("run", "--quiet", "--", "true", place=tmp_path)
    assert "runcard.operations.runs.run" in modules
    assert not modules & {*_HEAVY, "pathlib", "queue", "logging"}
    own = {
        "accounting",
        "checksums.comparison",
        "parallel.helper_pool",
        "documents.reader",
        "documents.run.generation",
        "store.runs.configuration",
        "encoding.json.strict_parser",
    }
    own |= {"observe.git", "observe.input_patterns", "observe.clients", "child_process.terminal"}
    assert not modules & {f"runcard.{name}" for name in own}
    # Of the meter only what binds its socket, sets variables, and looks for agents that can be started.
    meter = {name for name in modules if name.startswith("runcard.observe.meter.")}
    assert meter == {
        f"runcard.observe.meter.{name}" for name in ("adapters", "listener", "program_folder", "routes")
    }
    # With `known_stores`, for the first run of a store, and `urls`, which a store must not be; `kinds` for a setting's values;
    # `own_starts`, which marks a record as one's own.
    assert len(_of_runcard(modules)) <= 177


def _of_runcard(modules: set[str]) -> set[str]:
    return {name for name in modules if name.partition(".")[0] == "runcard"}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """A closed run, and one in an archive; each in a store of its own."""
    paths = {}
    for name in ("CLOSED", "ARCHIVED"):
        store = tmp_path_factory.mktemp("place") / "outputs"
        assert runcard("run", "--quiet", "--outputs", store, "--", "true").code == 0
        paths[name] = next(str(path) for path in store.iterdir() if path.name[0] != ".")
    assert runcard("archive", "--quiet", paths["ARCHIVED"]).code == 0
    return paths


# How many modules of runcard a command about one run may import. A new one needs a reason: each takes 0.2 ms.
@pytest.mark.parametrize(
    ("arguments", "most"),
    [
        (["show", "CLOSED"], 84),
        (["show", "CLOSED", "--json"], 84),
        (["verify", "CLOSED"], 114),
        (["validate", "CLOSED"], 74),
        (["archive", "--dry-run", "CLOSED"], 141),
        (["extract", "ARCHIVED", "README.md"], 117),
        (["restore", "ARCHIVED", "--to", "restored"], 148),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_command_about_one_run_imports_no_more_than_it_needs(
    runs: dict[str, str], tmp_path: Path, arguments: list[str], most: int
) -> None:
    modules = _modules(*(runs.get(word, word) for word in arguments), place=tmp_path)
    assert modules & {*_HEAVY, *_OTHER_DOCUMENTS, "runcard.cli.app", "runcard.operations.checks.pin"} == set()
    assert len(_of_runcard(modules)) <= most
    assert "decimal" not in modules  # the run has no costs
    assert not modules & {"pathlib", "urllib.parse", "ipaddress", "textwrap"}
    if arguments[0] == "show":  # what only an open run, a session or a record's name needs
        own = {
            "documents.run.fold",
            "documents.session.team",
            "store.name_search",
            "store.ledger",
            "checksums",
        }
        assert not modules & {f"runcard.{name}" for name in own}


def test_a_question_with_nothing_new_loads_no_reader(runs: dict[str, str]) -> None:
    place = Path(runs["CLOSED"]).parent.parent
    _modules("ls", place=place)  # it is read now
    modules = _modules("ls", place=place)
    assert len(_of_runcard(modules)) <= 81  # `experiment_sums` is one table of several
    own = {
        "catalog.reading",
        "catalog.rows",
        "store.record",
        "documents.run.fold",
        "parallel.forks",
        "views.run_readme",
    }
    assert not modules & {f"runcard.{name}" for name in own}


@pytest.mark.parametrize("command", EVERY_COMMAND)
def test_the_help_of_a_command_does_not_load_the_engines(command: str) -> None:
    modules = _modules(*command.split(), "--help")
    first, *rest = command.split()
    assert ".".join([module_of(first), *rest]) in modules
    assert not modules & {"jsonschema_rs", "runcard.documents.reader", "tree_sitter"}


@pytest.mark.parametrize(
    "arguments",
    [
        ["vaildate"],
        ["--colour"],
        ["validate"],
        ["validate", "--bogus", "x"],
        ["redact", "x"],
        ["migrate"],
        ["schema", "x"],
    ],
    ids=" ".join,
)
def test_wrong_usage_is_64_with_an_error_and_no_data(arguments: list[str]) -> None:
    done = runcard(*arguments)
    assert (done.code, done.out) == (64, b"")
    assert done.messages.startswith("Error: ")
    assert "--help`" in done.messages


@pytest.mark.parametrize("module", ["runcard", "runcard.cli.main"])
def test_the_modules_of_the_command_can_be_run(module: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", module, "--version"],
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        check=True,
    )
    assert done.stdout == f"runcard {__version__}\n"


_RECORDS = """\
import sys
opened = []
sys.addaudithook(lambda event, args: opened.append(str(args[0])) if event == "open" else None)
import runcard
with runcard.record(strict=True):
    before = len(opened)
after = [path for path in opened[before:] if path.endswith("runcard.toml")]
print(len(after), *sys.modules)
"""


def test_a_run_that_is_not_signed_pays_nothing_for_signatures(tmp_path: Path) -> None:
    (tmp_path / "runcard.toml").write_text('outputs = "outputs"\n')
    done = subprocess.run(
        [sys.executable, "-c", _RECORDS],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env=environment(),
        timeout=TIMEOUT,
        check=True,
    )
    readings, *modules = done.stdout.split()
    assert readings == "0"  # at closing, the settings are known
    paid = {name for name in modules if name.startswith(("runcard.signing", "cryptography"))}
    assert paid | ({"runcard.recording.record_signature"} & set(modules)) == set()
