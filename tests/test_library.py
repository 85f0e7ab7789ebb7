"""The library as its users see it: public names, typed results, nothing printed."""

import ast
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any, assert_type

import pytest

import runcard
from checks import samples
from conftest import Put


def test_every_name_of_the_library_can_be_imported() -> None:
    for name in set(runcard.__all__) - {"__version__"}:
        assert getattr(runcard, name).__name__ == name
    assert runcard.__version__.count(".") == 2


def test_the_names_are_sorted_and_stand_in_dir_before_they_are_used() -> None:
    assert runcard.__all__ == sorted(runcard.__all__)
    asked = "import runcard; print(*dir(runcard)); print(*runcard.__all__)"
    done = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True)
    listed, names = (line.split() for line in done.stdout.splitlines())
    assert set(names) < set(listed)
    assert listed == sorted(listed)


def test_a_star_import_gives_the_library_and_nothing_else() -> None:
    names: dict[str, object] = {}
    exec("from runcard import *", names)  # noqa: S102
    assert set(names) - {"__builtins__"} == set(runcard.__all__)


def test_type_checkers_and_editors_see_the_names_that_are_imported_on_first_use() -> None:
    tree = ast.parse(Path(runcard.__file__).read_text("utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    static = {
        (alias.name, node.module)
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert static == {(name, f"runcard.{module}") for name, module in runcard._HOMES.items()}
    assert {name for name, _ in static} == set(runcard.__all__) - {"__version__"}


def test_an_unknown_attribute_is_an_attribute_error_that_names_it() -> None:
    with pytest.raises(AttributeError, match="module 'runcard' has no attribute 'lode'"):
        runcard.lode  # type: ignore[attr-defined]  # noqa: B018


_RECORDS_MUCH = """
import os, sys
import runcard
with runcard.record("outputs", strict=True) as run:
    before = set(sys.modules)
    (run.path / "large").write_bytes(bytes(300_000))
    for number in range(300):
        (run.path / str(number)).write_text("made")
    os.close(os.open(os.fsencode(run.path) + b"/n\\xff", os.O_CREAT))
    run.add_input("*.py", "outputs/none")
    run.add_warning("Authorization: Basic dXNlcjpwYXNzd29yZA==")
    run.set_costs(total_cost_usd=0.1)
    run.log_metric("accuracy", 0.5)
print(*set(sys.modules) - before)
"""


def test_what_a_recording_may_need_is_loaded_when_it_begins(tmp_path: Path) -> None:
    """Later, a program may have lost the right to read it; what the facts and the counts need is left out then."""
    done = subprocess.run(
        [sys.executable, "-c", _RECORDS_MUCH], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    modules = {name for name in done.stdout.split() if name.startswith("runcard.")}
    optional = ("runcard.accounting.token_estimate", "runcard.accounting.tokens", "runcard.observe.")
    assert {name for name in modules if not name.startswith(optional)} == set()
    assert not set(done.stdout.split()) & {"base64", "binascii", "decimal", "runcard.observe.input_patterns"}


@pytest.mark.parametrize(
    ("kind", "model"),
    [
        ("archive-index", "ArchiveIndex"),
        ("generation", "Generation"),
        ("instance", "Instance"),
        ("manifest", "Manifest"),
        ("team", "Team"),
    ],
)
def test_load_gives_a_document_of_its_own_class(put: Put, kind: str, model: str) -> None:
    document = runcard.load(put("x.json", samples.VALID[kind]()))
    assert type(document) is getattr(runcard, model)
    assert isinstance(document, runcard.Document)
    assert document.to_dict() == samples.VALID[kind]()


def test_load_with_a_kind_is_typed_as_the_class_of_that_kind(put: Put) -> None:
    """The first of each pair is checked by mypy, the second by running this."""
    path = {kind: put(f"{kind}.json", make()) for kind, make in samples.VALID.items()}
    assert_type(runcard.load(path["generation"], kind="generation"), runcard.Generation)
    assert_type(runcard.load(path["team"], kind="team"), runcard.Team)
    assert_type(runcard.load(path["instance"], kind="instance"), runcard.Instance)
    assert_type(runcard.load(path["manifest"], kind="manifest"), runcard.Manifest)
    assert_type(runcard.load(path["archive-index"], kind="archive-index"), runcard.ArchiveIndex)
    assert_type(runcard.load(path["team"]), runcard.Document)
    assert_type(runcard.load(path["team"]).total_cost, Decimal | None)
    for kind, file in path.items():
        assert type(runcard.load(file, kind=kind)) is type(runcard.load(file))


def test_load_refuses_a_document_of_another_kind(put: Put) -> None:
    with pytest.raises(runcard.InvalidDocument):
        runcard.load(put("x.json", samples.team()), kind="generation")


@pytest.mark.parametrize(
    ("data", "cost"),
    [
        (samples.VALID["generation"](), Decimal("0.42")),
        (samples.team(), Decimal("0.5")),
        ({**samples.VALID["instance"](), "cost": 0.25}, Decimal("0.25")),
        (samples.VALID["instance"](), None),
        (samples.VALID["manifest"](), Decimal("0.5")),
        (samples.VALID["archive-index"](), None),
    ],
)
def test_every_document_has_a_total_cost_which_may_be_unknown(
    put: Put, data: dict[str, Any], cost: Decimal | None
) -> None:
    assert runcard.load(put("x.json", data)).total_cost == cost


def test_inputs_are_texts_or_paths(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for name in ("a.txt", "b.txt", "c.txt"):
        (tmp_path / "in" / name).write_text(name)
    with runcard.record(tmp_path / "out", inputs=[tmp_path / "in" / "a.txt", f"{tmp_path}/in/b*"]) as run:
        run.add_input(tmp_path / "in" / "c.txt")
    sources = runcard.load(run.path / "metadata.json").to_dict()["data_sources"]
    assert [Path(file["path"]).name for file in sources["files"]] == ["a.txt", "b.txt", "c.txt"]


def test_a_document_answers_in_types(put: Put) -> None:
    team = runcard.load(put("x.json", samples.team()), kind="team")
    assert team.session_id == "docs-team-001"
    assert team.total_cost == Decimal("0.5")
    assert [one["name"] for one in team.instances] == ["lead", "writer"]


def test_load_raises_one_error_that_carries_the_whole_report(put: Put) -> None:
    path = put("x.json", samples.broken_team())
    with pytest.raises(runcard.InvalidDocument) as caught:
        runcard.load(path)
    assert isinstance(caught.value, runcard.RuncardError)
    report = caught.value.report
    assert isinstance(report, runcard.Report)
    assert (report.kind, report.version, report.valid) == ("team", "1.0.0", False)
    assert all(isinstance(found, runcard.Finding) for found in report.findings)
    assert [found.path for found in report.errors] == [
        "/total_instances",
        "/instances/1/role",
        "/execution_summary/total_cost",
    ]


def test_validate_gives_a_report_for_each_document_and_raises_nothing(put: Put) -> None:
    paths = [put("a.json", samples.team()), put("b.json", samples.broken_team()), put("c.json", b"\xff")]
    results = list(runcard.validate(*paths))
    assert [checked.path for checked in results] == [str(path) for path in paths]
    assert [checked.report.valid for checked in results] == [True, False, False]
    assert all(isinstance(checked.report, runcard.Report) for checked in results)


def test_migrate_gives_the_bytes_before_and_after(put: Put) -> None:
    path = put("x.json", samples.team())
    before = path.read_bytes()
    moved = runcard.migrate(path, "2.0.0")
    assert (moved.kind, moved.source, moved.target) == ("team", "1.0.0", "2.0.0")
    assert (moved.before, moved.after) == (before, path.read_bytes())
    assert moved.backup == f"{path}.bak"
    assert runcard.load(path).version == "2.0.0"


def test_limits_can_be_set_for_every_reader(put: Put) -> None:
    path, small = put("x.json", samples.team()), runcard.Limits(size=10)
    (checked,) = runcard.validate(path, limits=small)
    assert [found.rule for found in checked.report.errors] == ["encoding.too-big"]
    with pytest.raises(runcard.InvalidDocument):
        runcard.load(path, limits=small)
    with pytest.raises(runcard.InvalidDocument):
        runcard.migrate(path, "2.0.0", limits=small)


def test_nothing_is_printed(put: Put, capfd: pytest.CaptureFixture[str]) -> None:
    runcard.load(put("x.json", samples.running_team()))
    list(runcard.validate(put("y.json", b"{")))
    runcard.migrate(put("z.json", samples.rich_team()), "1.0.0")
    assert capfd.readouterr() == ("", "")
