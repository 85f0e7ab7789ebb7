"""`runcard plan diff`: the differences between two analyses."""

import json
from pathlib import Path
from typing import Any

from conftest import Cli
from plans.projects import RubyProject
from plans.specs.skeletons import Fields, characteristic

BASE = [
    characteristic("user", "binary", ["present", "absent"]),
    characteristic("way", "enum", ["card", "cash"], ("user", "present"), level=2),
]


def two(project: RubyProject, old: list[Fields], new: list[Fields], **changes: Any) -> tuple[Path, Path]:
    before = project.write(project.plan_of(characteristics=old), "old.yml")
    return before, project.write(project.plan_of(characteristics=new) | changes, "new.yml")


def test_equal_plans_print_nothing_on_stdout(cli: Cli, project: RubyProject) -> None:
    plans = two(project, BASE, list(reversed(BASE)))
    done = cli("plan", "diff", *plans)
    assert (done.code, done.out, done.err) == (0, "", "no differences\n")
    assert cli("plan", "diff", *plans, "--quiet").err == ""
    assert cli("plan", "diff", *plans, "--json").err == ""


def test_two_shapes_of_the_same_plan_are_the_same(cli: Cli, project: RubyProject) -> None:
    later = [BASE[0], BASE[1] | {"when_parent": ["present"], "terminal_states": []}]
    assert cli("plan", "diff", *two(project, BASE, later, format_version="2.0")).out == ""


def test_what_is_new_gone_and_different_is_told(cli: Cli, project: RubyProject) -> None:
    new = [
        characteristic("way", "enum", ["bank", "card"], terminal_states=["bank"]),
        characteristic("amount", "range", ["small", "large"], ("way", "bank"), level=2),
    ]
    old, changed = two(project, BASE, new, test_level="request")
    done = cli("plan", "diff", old, changed)
    assert (done.code, done.err) == (0, "")
    assert done.out == (
        "~ test_level unit → request\n"
        "- user: present, absent\n"
        "+ amount: small, large (when way is bank)\n"
        "~ way: states -cash +bank\n"
        "~ way: depends_on user → none\n"
        "~ way: when_parent present → none\n"
        "~ way: terminal_states none → bank\n"
    )
    said = json.loads(cli("plan", "diff", old, changed, "--json").out)
    assert (said["old"], said["new"], said["same"]) == (str(old), str(changed), False)
    assert [each["name"] for each in said["added"] + said["removed"]] == ["amount", "user"]
    assert said["changed"][0]["changes"][0] == {
        "field": "states",
        "old": ["card", "cash"],
        "new": ["bank", "card"],
    }
    assert said["about"] == [{"field": "test_level", "old": "unit", "new": "request"}]


def test_states_in_another_order_and_another_method_are_changes(cli: Cli, project: RubyProject) -> None:
    old, new = two(project, BASE, [characteristic("user", "binary", ["absent", "present"]), BASE[1]])
    data = project.read(new)
    data["target"] |= {"method": "latest", "method_type": "class"}
    project.write(data, "new.yml")
    assert cli("plan", "diff", old, new).out == (
        "~ target.method total → latest\n"
        "~ target.method_type instance → class\n"
        "~ user: states in another order\n"
    )


def test_a_plan_that_is_not_there_or_not_valid_is_an_error(cli: Cli, project: RubyProject) -> None:
    old, new = two(project, BASE, BASE, test_level="none")
    for pair in ((old, new), (new, old), (old, project.folder / "none.yml")):
        done = cli("plan", "diff", *pair)
        assert (done.code, done.out) == (1, "")
        assert done.err.startswith("Error: ")
