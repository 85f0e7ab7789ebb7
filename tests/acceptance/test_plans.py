"""Plans by the real command line: hostile files, streams, and a pipeline of agents that only know the shell."""

import json
import os
from pathlib import Path

import pytest

from acceptance.command import runcard
from documents.samples import CORPUS
from plans.projects import SOURCE, RubyProject

PLAIN = (CORPUS / "valid/testplan-1.3/plain.yml").read_text("utf-8")
BOMB = "x0: &x0 [a, a, a, a, a, a, a, a, a, a]\n" + "".join(
    f"x{n}: &x{n} [{', '.join([f'*x{n - 1}'] * 10)}]\n" for n in range(1, 9)
)
HOSTILE: dict[str, bytes] = {
    "alias bomb": (PLAIN + BOMB).encode(),
    "object": (PLAIN + "x: !ruby/object:Gem::Requirement {}\n").encode(),
    "python": (PLAIN + "x: !!python/object/apply:os.abort []\n").encode(),
    "duplicate": (PLAIN + "test_level: unit\n").encode(),
    "tab": PLAIN.replace("  completed", "\tcompleted").encode(),
    "nul": PLAIN.encode() + b"x: \0\n",
    "utf-16": b"\xff\xfe" + PLAIN.encode("utf-16-le"),
    "utf-16 without mark": PLAIN.encode("utf-16-be"),
    "latin-1": PLAIN.replace("who pays", "é").encode("latin-1"),
    "deep in brackets": (PLAIN + "x: " + "[" * 100_000 + "]" * 100_000).encode(),
    "deep in dashes": (PLAIN + "x:\n  " + "- " * 100_000 + "a\n").encode(),
    "deep and open": (PLAIN + "x: " + "{a: [" * 100_000).encode(),
    "several documents": (PLAIN + "---\n" + PLAIN).encode(),
    "empty": b"",
    "list": b"- a\n- b\n",
    "text": b"just text\n",
    "truncated": PLAIN.encode()[:400],
    "binary": bytes(range(256)) * 40,
    "many digits": PLAIN.replace("1699352120", "9" * 100_000).encode(),
    "long cycle": PLAIN.partition("characteristics:")[0].encode()
    + b"characteristics:\n"
    + b"".join(
        b"  - {name: c%d, type: enum, states: [a, b], default: null, depends_on: c%d, when_parent: a, level: 1}\n"
        % (n, (n + 1) % 2000)
        for n in range(2000)
    ),
}
FINE: dict[str, bytes] = {
    "scalar of 10 MB": (PLAIN + f"x: {'a' * 10_000_000}\n").encode(),
    "mark": b"\xef\xbb\xbf" + PLAIN.encode(),
    "many merge keys": (
        PLAIN + "a: &a {k: 1}\n" + "".join(f"b{n}: {{<<: [*a, *a]}}\n" for n in range(2000))
    ).encode(),
    "merge keys": (PLAIN + "base: &b {a: 1}\nx: {<<: *b, c: 2}\n").encode(),
    "carriage returns": PLAIN.replace("\n", "\r\n").encode(),
}


@pytest.fixture
def project(tmp_path: Path) -> RubyProject:
    return RubyProject(tmp_path / "shop")


@pytest.mark.long
def test_hostile_plans_are_findings(tmp_path: Path) -> None:
    """All at once: each is reported, none stops the others, none takes long."""
    for name, text in {**HOSTILE, **FINE}.items():
        (tmp_path / f"{name}.yml").write_bytes(text)
    names = [f"{name}.yml" for name in (*HOSTILE, *FINE)]
    done = runcard("validate", "--json", *names, cwd=tmp_path)
    said = {document["path"]: document for document in json.loads(done.text)["documents"]}
    assert done.code == 1
    assert list(said) == names
    assert [name for name in HOSTILE if said[f"{name}.yml"]["valid"]] == []
    assert [name for name in FINE if not said[f"{name}.yml"]["valid"]] == []
    for document in said.values():
        for finding in document["errors"]:
            assert finding["line"] >= 1
            assert finding["column"] >= 1


@pytest.mark.long
def test_plan_commands_meet_hostile_plans(project: RubyProject) -> None:
    for number, text in enumerate(HOSTILE.values()):
        project.add(f"app/s{number}.rb")
        project.write(text or b"\n", f"metadata_app_s{number}.yml")
    sources = [f"app/s{number}.rb" for number in range(len(HOSTILE))]
    for command in (("status",), ("begin", "architect"), ("mark", "architect"), ("validate",), ("path",)):
        done = runcard("plan", *command, *sources, cwd=project.root)
        assert done.code in {0, 1, 2}, done.messages
        assert not done.messages or done.messages.startswith({1: "Error: ", 2: "Warning: "}[done.code])
    assert runcard("plan", "list", cwd=project.root).code == 0


def test_a_pipeline_of_shell_scripts(project: RubyProject) -> None:
    data = project.plan_of()
    del data["validation"]
    project.write(data)
    assert runcard("plan", "validate", SOURCE, cwd=project.root).code == 0
    begun = runcard("plan", "begin", "skeleton", SOURCE, cwd=project.root)
    assert (begun.code, begun.text, begun.messages) == (0, f"{project.plan}\n", "")
    assert (
        runcard("plan", "mark", "skeleton", SOURCE, "--version", "1.0", "--completed", cwd=project.root).code
        == 0
    )
    told = runcard("plan", "list", "--json", cwd=project.root)
    assert json.loads(told.text)["plans"][0]["next"] == "architect"
    refused = runcard("plan", "mark", "reviewer", SOURCE, cwd=project.root)
    assert (refused.code, refused.out) == (1, b"")
    assert refused.messages.startswith("Error: ")


@pytest.mark.parametrize(
    "arguments",
    [
        ("path",),
        ("status",),
        ("begin", "architect"),
        ("begin", "nobody", "x.rb"),
        ("mark", "architect"),
        ("mark", "architect", "x.rb", "--set", "nothing"),
        ("guide",),
        ("validate",),
        ("status", "x.rb", "--type", "static"),
    ],
    ids=" ".join,
)
def test_wrong_usage_is_64(arguments: tuple[str, ...], tmp_path: Path) -> None:
    done = runcard("plan", *arguments, cwd=tmp_path)
    assert (done.code, done.out) == (64, b"")
    assert done.messages.startswith("Error: ")


def test_what_is_no_file_is_not_waited_for(project: RubyProject) -> None:
    project.folder.mkdir(parents=True)
    os.mkfifo(project.plan)
    source = project.add("app/pipe.rb")
    source.unlink()
    os.mkfifo(source)
    for command in ("status", "validate", "path"):
        done = runcard("plan", command, SOURCE, "app/pipe.rb", cwd=project.root)
        assert done.code in {0, 1}
    assert runcard("plan", "list", cwd=project.root).code in {0, 1}
