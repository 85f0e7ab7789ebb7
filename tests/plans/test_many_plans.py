"""Commands about many sources: each file is read once, each plan is parsed once, and names are synced together."""

import json
import os
import stat
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from yaml_rs import loads

from conftest import Cli
from plans.projects import FOLDER, RubyProject
from runcard.encoding.yaml import composer, decode_yaml, reader
from runcard.plans import plan_files
from runcard.plans.ruby.targets import read_targets

SOURCES = [f"app/services/service_{number}.rb" for number in range(6)]
METHODS = ("call", "pay", "refund")
FACTORIES = [f"spec/factories/thing_{number}.rb" for number in range(12)]


@pytest.fixture
def many(project: RubyProject, monkeypatch: pytest.MonkeyPatch) -> RubyProject:
    """A project with sources of three methods each, and factories that make a long section."""
    for number, source in enumerate(SOURCES):
        methods = "".join(f"  def {name}(user)\n    user.admin? ? 1 : 2\n  end\n" for name in METHODS)
        project.add(source, f"class Service{number}\n{methods}end\n".encode())
    for factory in FACTORIES:
        name = Path(factory).stem
        project.add(
            factory, f"FactoryBot.define do\n  factory(:{name}) {{ trait(:paid) {{}} }}\nend\n".encode()
        )
    monkeypatch.chdir(project.root)
    return project


@pytest.fixture
def opened(many: RubyProject, monkeypatch: pytest.MonkeyPatch) -> Iterator[Counter[str]]:
    """How often each file of the project is opened."""
    counts: Counter[str] = Counter()
    real_open = os.open

    def counting_open(path: Any, *arguments: Any, **options: Any) -> int:
        counts[os.path.relpath(os.fsdecode(path), many.root)] += 1
        return real_open(path, *arguments, **options)

    monkeypatch.setattr(os, "open", counting_open)
    yield counts
    monkeypatch.undo()


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The YAML texts that were parsed. None may need the composer, which computes positions."""
    texts: list[str] = []

    def counting_loads(text: str, **options: Any) -> Any:
        texts.append(text)
        return loads(text, **options)

    def refused(*_: object) -> None:
        raise AssertionError("positions were computed")

    plan_files._decoded.cache_clear()  # another test may have made the same plans in the same second
    reader._frozen.cache_clear()
    monkeypatch.setattr(reader, "loads", counting_loads)
    monkeypatch.setattr(composer, "compose", refused)
    return texts


@pytest.fixture
def synced(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often files and directories were synced."""
    counts: Counter[str] = Counter()
    fsync = os.fsync

    def counting_fsync(descriptor: int) -> None:
        counts["directory" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "file"] += 1
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", counting_fsync)
    return counts


def analyze(cli: Cli, *options: str) -> list[str]:
    done = cli("plan", "analyze", "--all-methods", *options, *SOURCES)
    assert (done.code, done.err) == (0, "")
    return done.out.splitlines()


def with_factories(texts: list[str]) -> int:
    return sum("thing_1:\n" in text for text in texts)


def test_analyze_reads_each_source_and_factory_once(cli: Cli, opened: Counter[str]) -> None:
    assert analyze(cli, "--all-factories").count("  thing_1:") == len(SOURCES) * len(METHODS)
    assert {opened[file] for file in FACTORIES} == {1}
    assert {opened[file] for file in SOURCES} == {2}  # searched for `FactoryBot.define`, and analyzed


def test_validate_parses_each_source_once(
    cli: Cli, many: RubyProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    analyze(cli, "--write")
    read: list[str] = []

    def counted(path: str, limits: Any = None) -> Any:
        read.append(os.path.relpath(path, many.root))
        return read_targets(path, limits)

    monkeypatch.setattr("runcard.plans.ruby.targets.read_targets", counted)
    plans = sorted(os.path.join(many.folder, name) for name in os.listdir(many.folder))
    assert cli("plan", "validate", *[plan for plan in plans if plan.endswith(".yml")]).code in {0, 2}
    assert sorted(read) == sorted(SOURCES)


def test_list_reads_and_parses_each_plan_once(
    cli: Cli, opened: Counter[str], parsed: list[str], many: RubyProject
) -> None:
    analyze(cli, "--write")
    opened.clear()
    parsed.clear()
    done = cli("plan", "list")
    names = os.listdir(many.folder)
    assert (done.code, len(done.out.splitlines())) == (0, len(names))
    assert [opened[f"{FOLDER}/{name}"] for name in names] == [1] * len(SOURCES) * len(METHODS)
    assert len(parsed) in {len(names), len(names) + 1}  # the factories are cached already, or parsed now
    assert with_factories(parsed) <= 1


def test_status_reads_and_parses_each_plan_once(cli: Cli, opened: Counter[str], parsed: list[str]) -> None:
    plans = [Path(path).name for path in analyze(cli, "--write")]
    opened.clear()
    parsed.clear()
    done = cli("plan", "status", *SOURCES)
    assert done.out.count(": fresh, not validated\n") == len(SOURCES) * len(METHODS)
    assert {opened[f"{FOLDER}/{name}"] for name in plans} == {1}
    assert len(parsed) in {len(plans), len(plans) + 1}
    assert with_factories(parsed) <= 1


@pytest.mark.usefixtures("many")
def test_a_new_plan_is_parsed_once_and_the_first_of_its_source_not_again(cli: Cli, parsed: list[str]) -> None:
    plans = analyze(cli, "--write")
    assert len(parsed) == len(plans)


@pytest.mark.usefixtures("many")
def test_plans_are_synced_one_by_one_and_their_names_once_per_source(cli: Cli, synced: Counter[str]) -> None:
    assert len(analyze(cli, "--write")) == len(SOURCES) * len(METHODS)
    assert synced == {"file": len(SOURCES) * len(METHODS), "directory": len(SOURCES)}


def test_the_same_analysis_again_changes_nothing_and_parses_little(
    cli: Cli, parsed: list[str], synced: Counter[str], many: RubyProject
) -> None:
    analyze(cli, "--write")
    before = {path: path.read_bytes() for path in many.folder.iterdir()}
    parsed.clear()
    synced.clear()
    analyze(cli, "--write")
    assert {path: path.read_bytes() for path in many.folder.iterdir()} == before
    assert not synced
    assert with_factories(parsed) <= 1


def test_a_path_is_printed_only_after_its_name_is_durable(
    cli: Cli, many: RubyProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("runcard.plans.plan_writes.fsync_directory", full)
    done = cli("plan", "analyze", "--all-methods", "--write", SOURCES[0])
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith(f"Error: cannot sync {many.folder}: No space left on device\n")


@pytest.mark.usefixtures("many")
def test_a_plan_that_cannot_be_written_does_not_stop_the_others(cli: Cli) -> None:
    paths = analyze(cli, "--write")
    broken = Path(paths[1])
    broken.unlink()
    broken.mkdir()
    done = cli("plan", "analyze", "--all-methods", "--write", *SOURCES)
    assert done.code == 1
    assert done.out.splitlines() == [path for path in paths if path != str(broken)]
    assert done.err.startswith(f"Error: {broken} is a directory\n")


@pytest.mark.parametrize("command", [("analyze", "--all-methods", "--write"), ("validate",)])
def test_abandoned_temporary_files_are_looked_for_once(
    cli: Cli, many: RubyProject, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    if command == ("validate",):
        analyze(cli, "--write")
    old, new = (many.folder / f".metadata_x.yml.{digits}.tmp" for digits in ("01234567", "89abcdef"))
    many.folder.mkdir(parents=True, exist_ok=True)
    old.touch()
    new.touch()
    os.utime(old, (1, 1))
    listed: list[object] = []
    listdir = os.listdir

    def counting_listdir(path: Any = ".") -> list[str]:
        listed.append(path)
        return listdir(path)

    monkeypatch.setattr(os, "listdir", counting_listdir)
    assert cli("plan", *command, *SOURCES).code in {0, 2}
    assert (old.exists(), new.exists()) == (False, True)
    assert sum(isinstance(path, int) for path in listed) == 1


@pytest.mark.usefixtures("many")
def test_all_plans_of_a_source_are_validated_or_those_of_one_class_or_method(cli: Cli) -> None:
    analyze(cli, "--write")
    plans = [json.loads(line) for line in cli("plan", "validate", SOURCES[0], "--json").out.splitlines()]
    assert len(plans) > 1
    assert len({plan["metadata_path"] for plan in plans}) == len(plans)
    target = decode_yaml(Path(plans[1]["metadata_path"]).read_bytes())["target"]
    chosen = ("--class", target["class"], "--method", target["method"], "--type", target["method_type"])
    done = cli("plan", "validate", SOURCES[0], *chosen, "--json")
    assert [json.loads(line)["metadata_path"] for line in done.out.splitlines()] == [
        plans[1]["metadata_path"]
    ]
