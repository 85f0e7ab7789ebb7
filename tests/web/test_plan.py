"""The page of a plan: its tree, findings at their place, who is next, the source and the skeleton."""

from pathlib import Path

import pytest
from starlette.testclient import TestClient

from plans.projects import RubyProject
from runcard.operations.plans.show import characteristic_nodes, show_plan
from runcard.plans.known_projects import note_project
from runcard.web.plan import plan_url


@pytest.fixture
def project(place: Path) -> RubyProject:
    found = RubyProject(place)
    note_project(str(place))
    return found


def test_a_plan_is_listed_and_shown(page: TestClient, project: RubyProject) -> None:
    path = project.write()
    address = plan_url(str(path))
    assert f'href="{address}"' in page.get("/plans").text
    text = page.get(address).text
    for characteristic in project.plan_of()["characteristics"]:
        assert characteristic["name"] in text
    assert "customer.premium? ? 1 : 2" in text  # the source
    assert "RSpec.describe" in text  # the skeleton
    assert 'aria-current="step"' in text
    before = path.read_bytes()
    assert page.get(address).status_code == 200
    assert path.read_bytes() == before


def test_findings_are_at_their_place_and_terminal_states_are_marked(
    page: TestClient, project: RubyProject
) -> None:
    plan = project.plan_of()
    first = plan["characteristics"][0]
    first["terminal_states"] = [first["states"][-1]]
    first["default"] = "neither"
    shown = show_plan(str(project.write(plan)))
    assert any(finding.rule == "state.default" for finding in shown.tree[0].findings)
    assert not any(finding.rule == "state.default" for finding in shown.findings)
    text = page.get(plan_url(str(project.plan))).text
    assert "terminal: nothing follows" in text
    assert "has no skeleton" in text


def test_names_of_a_plan_do_not_run(page: TestClient, project: RubyProject) -> None:
    plan = project.plan_of()
    for characteristic in plan["characteristics"]:
        characteristic["name"] = characteristic["depends_on"] = "<script>alert(1)</script>"
        characteristic["source"] = "<img src=x onerror=alert(1)>"
    plan["target"]["class"] = "<script>"
    text = page.get(plan_url(str(project.write(plan)))).text
    assert "<script>alert" not in text
    assert "<img" not in text
    assert "&lt;script&gt;alert(1)" in text


@pytest.mark.parametrize(
    "data", [b"- a\n- b\n", b"\xff\xfe\x00", b"{", b"characteristics: [1, {name: []}]\n"]
)
def test_a_broken_plan_says_what_is_wrong(page: TestClient, project: RubyProject, data: bytes) -> None:
    answer = page.get(plan_url(str(project.write(data))))
    assert answer.status_code == 200
    assert "invalid" in answer.text


@pytest.mark.parametrize("file", ["../../outside.rb", "/etc/passwd", "link.rb"])
def test_a_source_outside_of_the_project_is_not_shown(
    page: TestClient, project: RubyProject, file: str
) -> None:
    outside = project.root.parent / "outside.rb"
    outside.write_text("SECRET = 1\n")
    (project.root / "link.rb").symlink_to(outside)
    plan = project.plan_of()
    plan["target"]["file"] = file
    text = page.get(plan_url(str(project.write(plan)))).text
    assert "SECRET" not in text
    assert "root:" not in text


def test_a_plan_that_vanished(page: TestClient, project: RubyProject) -> None:
    path = project.write()
    assert page.get("/plans").status_code == 200
    path.unlink()
    assert page.get(plan_url(str(path))).status_code == 404


def test_a_ring_of_dependencies_is_shown_once_each() -> None:
    ring = [{"name": "a", "depends_on": "b"}, {"name": "b", "depends_on": "a"}, 7, {"name": "c"}]
    nodes = characteristic_nodes(ring, ())
    assert [(node.entry["name"], node.depth) for node in nodes] == [("c", 0), ("a", 0), ("b", 1)]
