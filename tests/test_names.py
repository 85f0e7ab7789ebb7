"""The names in the package and the shape of its tree, read from the source: nothing is imported."""

import ast
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "runcard"
TESTS = ROOT / "tests"


def words(text: str) -> set[str]:
    return set(text.split())


# A subject has a folder of the same name in each of these layers. `store` has those that are something on disk.
SUBJECTS = {
    "runs",
    "sessions",
    "archives",
    "amendments",
    "checks",
    "experiments",
    "plans",
    "agents",
    "signatures",
}
LAYERS = {
    PACKAGE / "operations": SUBJECTS,
    PACKAGE / "cli": SUBJECTS,
    PACKAGE / "store": {"runs", "sessions", "archives", "amendments"},
    TESTS: SUBJECTS,
}

# Names that do not say what a thing is: participles, metaphors, and the usual collections of odds and ends.
VAGUE_MODULES = words(
    """
    asked base begun choices closely common crew endings found given helper helpers judge keeping kept known leftovers
    lines listed misc no_record one passing said shelf stored survey taken thorough told util utils wanted words
    """
)
VAGUE_CLASSES = words(
    """
    Asked Begun By Crew Desk Errand Found Given Judge Keeper Kept Known LeftOut Listed Order Own
    Place Places Said Scribe Seen Shelf Stored Taken Told Wanted Whole Written
    """
)
VAGUE_FUNCTIONS = words(
    """
    asked begun bury found given judged kept known listed looked noted one said seen shelved stored
    taken tire told wanted
    """
)


Definition = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


@cache
def modules() -> dict[Path, ast.Module]:
    return {path: ast.parse(path.read_text("utf-8")) for path in sorted(PACKAGE.rglob("*.py"))}


@cache
def definitions() -> list[Definition]:
    return [node for tree in modules().values() for node in ast.walk(tree) if isinstance(node, Definition)]


def classes() -> Iterator[str]:
    return (node.name.lstrip("_") for node in definitions() if isinstance(node, ast.ClassDef))


def functions() -> Iterator[str]:
    return (node.name.strip("_") for node in definitions() if not isinstance(node, ast.ClassDef))


def test_no_class_name_is_used_twice() -> None:
    """Not even with a leading underscore: who searches for a class finds one."""
    repeated = {name for name, count in Counter(classes()).items() if count > 1}
    assert repeated == set()


def test_names_say_what_a_thing_is() -> None:
    files = {path.stem for path in modules()} | {path.parent.name for path in modules()}
    assert files & VAGUE_MODULES == set()
    assert set(classes()) & VAGUE_CLASSES == set()
    assert set(functions()) & VAGUE_FUNCTIONS == set()


def test_every_package_and_module_says_what_it_is_for() -> None:
    assert [path for path, tree in modules().items() if not ast.get_docstring(tree)] == []
    folders = {path.parent for path in modules()}
    assert [folder for folder in folders if not (folder / "__init__.py").is_file()] == []


@pytest.mark.parametrize("layer", LAYERS, ids=lambda layer: layer.name)
def test_a_layer_has_a_folder_for_each_subject(layer: Path) -> None:
    assert LAYERS[layer] <= {path.name for path in layer.iterdir() if path.is_dir()}


def test_tests_have_the_folders_of_the_package() -> None:
    """Operations are tested in the folders of their subjects, the other layers in a folder of their own."""
    layers = {path.name for path in PACKAGE.iterdir() if (path / "__init__.py").is_file()}
    others = {"acceptance", "attacks", "cluster", "corpus", "docs", "meter", "vectors"}
    folders = {path.name for path in TESTS.iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert folders <= layers | SUBJECTS | others
    assert layers - {"operations"} <= folders
