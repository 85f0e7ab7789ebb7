"""Somebody's own YAML and JSON files, passed or linked as a test plan: nothing in them is shown, and nothing is written."""

import json
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from conftest import Cli
from documents import samples
from mcp_server.answers import Tools
from plans.projects import SOURCE, RubyProject
from runcard.encoding.yaml import encode_yaml
from runcard.errors import RuncardError
from runcard.operations.plans.open import open_plan

SECRET = "TOP-SECRET-4711"  # noqa: S105 - what must not be shown
OTHERS = {
    "config/database.yml": f"production:\n  adapter: postgresql\n  password: {SECRET}\n",
    "config/broken.yml": f"production: [{SECRET}\n",
    "package.json": json.dumps({"name": "shop", "version": "1.0.0", "description": SECRET}),
    ".mcp.json": json.dumps({"mcpServers": {"other": {"env": {"KEY": SECRET}}}}),
    "outputs/metadata.json": json.dumps(
        {"metadata_version": "1.0", "generation": {"note": SECRET}, "target": {}}
    ),
    "tmp/rspec_claude_metadata/notes.yml": f"note: {SECRET}\n",
    "metadata_a.yml": f"note: {SECRET}\n",
    "list.yaml": f"- {SECRET}\n",
    "empty.yml": "",
}
READING: list[tuple[str, dict[str, Any]]] = [
    ("plan_status", {}),
    ("plan_begin", {"agent": "architect"}),
    ("plan_read", {}),
    ("plan_validate", {}),
]
WRITING: list[tuple[str, dict[str, Any]]] = [
    ("plan_mark", {"agent": "architect"}),
    ("plan_mark", {"agent": "analyzer", "errors": ["x"]}),
    ("plan_mark", {"agent": "validator", "values": {"validation_passed": True}}),
    (
        "plan_write_section",
        {"agent": "polisher", "section": "automation", "key": "linter", "value": "rubocop"},
    ),
    ("plan_write_section", {"agent": "analyzer", "section": "characteristics", "value": []}),
]
COMMANDS = (
    ("mark", "architect"),
    ("mark", "analyzer", "--error", "x"),
    ("validate",),
    ("begin", "architect"),
    ("status",),
    ("path",),
    ("review",),
    ("optimize",),
    ("skeleton",),
    ("pipeline", "--method", "total"),
    ("analyze", "--method", "total", "--write"),
)


@pytest.fixture
def shop(here: Path) -> RubyProject:
    project = RubyProject(here)
    project.write()
    for name, text in OTHERS.items():
        project.add(name, text.encode())
    return project


def _others(project: RubyProject) -> dict[str, str]:
    return {name: (project.root / name).read_text() for name in OTHERS}


def test_no_tool_takes_another_file_for_a_plan(shop: RubyProject) -> None:
    tools = Tools(allows_write=True)
    for name, (tool, arguments) in product(OTHERS, READING + WRITING):
        error = tools.error(tool, source=name, **arguments)
        assert error["error"] == f"{name} is not a test plan of this project"
        assert "plan_status" in error["hint"]
    assert _others(shop) == OTHERS


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_no_command_takes_another_file_for_a_plan(
    shop: RubyProject, cli: Cli, command: tuple[str, ...]
) -> None:
    for name in OTHERS:
        done = cli("plan", *command, name)
        assert done.code == 1, done
        assert SECRET not in done.out + done.err
    assert _others(shop) == OTHERS


@pytest.mark.parametrize("name", ["config/database.yml", "package.json", "config/broken.yml"])
def test_a_link_from_the_folder_of_plans_makes_no_plan(shop: RubyProject, cli: Cli, name: str) -> None:
    shop.plan.unlink()
    shop.plan.symlink_to(shop.root / name)
    tools = Tools(allows_write=True)
    for source in (SOURCE, str(shop.plan.relative_to(shop.root))):
        for tool, arguments in READING + WRITING:
            answer, is_error = tools.result(tool, {"source": source, **arguments})
            assert is_error, tool
            assert SECRET not in json.dumps(answer)
        for command in COMMANDS:
            done = cli("plan", *command, source)
            assert (done.code, SECRET in done.out + done.err) == (1, False), (command, done)
    assert SECRET not in cli("plan", "list").out
    assert _others(shop) == OTHERS


def test_a_link_out_of_the_project_is_not_read(
    shop: RubyProject, tmp_path_factory: pytest.TempPathFactory, cli: Cli
) -> None:
    theirs = tmp_path_factory.mktemp("elsewhere") / "metadata_app_models_billing_invoice.yml"
    plan = samples.plan()
    plan["target"]["file"] = SOURCE
    plan["automation"]["note"] = SECRET
    theirs.write_bytes(encode_yaml(plan))
    shop.plan.unlink()
    shop.plan.symlink_to(theirs)
    tools = Tools()
    for tool, arguments in READING:
        answer, is_error = tools.result(tool, {"source": SOURCE, **arguments})
        assert is_error, tool
        assert "leads out of the project through a symbolic link" in answer["error"]
        assert SECRET not in json.dumps(answer)
    assert cli("plan", "status", SOURCE).code == 1


def test_a_plan_elsewhere_is_for_the_command_line_alone(shop: RubyProject, cli: Cli) -> None:
    shop.add("drafts/plan.yml", encode_yaml(shop.plan_of()))
    before = (shop.root / "drafts/plan.yml").read_bytes()
    tools = Tools(allows_write=True)
    for tool, arguments in READING + WRITING:
        assert tools.result(tool, {"source": "drafts/plan.yml", **arguments})[1], tool
    assert (shop.root / "drafts/plan.yml").read_bytes() == before
    assert cli("plan", "validate", "drafts/plan.yml").code in {0, 2}
    assert cli("plan", "mark", "skeleton", "drafts/plan.yml").code in {0, 2}
    assert b"skeleton_completed: true" in (shop.root / "drafts/plan.yml").read_bytes()


def test_a_folder_that_is_only_called_like_that_of_plans_is_none(shop: RubyProject) -> None:
    name = "docs/rspec_claude_metadata/metadata_a.yml"
    shop.add(name, encode_yaml(shop.plan_of()))
    for tool, arguments in READING + WRITING:
        assert "is not a test plan" in Tools(allows_write=True).error(tool, source=name, **arguments)["error"]


def test_a_plan_of_this_project_has_all_its_names(shop: RubyProject) -> None:
    tools = Tools(allows_write=True)
    for source in (SOURCE, str(shop.plan), str(shop.plan.relative_to(shop.root))):
        assert tools("plan_status", source=source)["metadata_path"] == str(shop.plan)
        assert tools("plan_read", source=source)["digest"]


def test_the_library_opens_no_other_file(shop: RubyProject) -> None:
    for name in OTHERS:
        with pytest.raises(RuncardError, match="is not a test plan") as caught:
            open_plan(shop.root / name)
        assert SECRET not in f"{caught.value.message} {caught.value.full_hint}"


def test_the_page_of_another_file_as_a_plan_is_not_written(shop: RubyProject, cli: Cli) -> None:
    for name in OTHERS:
        done = cli("export", "--to", "html", name, "-o", "page.html")
        assert done.code == 1, done
        assert SECRET not in done.out + done.err
        assert not (shop.root / "page.html").exists()
