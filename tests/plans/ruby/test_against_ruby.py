"""Our reading of Ruby compared with Ruby's own parser, Ruby itself and factory_bot."""

import subprocess
from pathlib import Path
from typing import Any

import pytest

from plans.ruby.ruby_tools import HERE, SHOP, answers
from runcard.operations.plans.factories import list_factories
from runcard.plans.ruby import read_targets

SOURCES = sorted(path for folder in ("app", "lib") for path in (SHOP / folder).rglob("*.rb"))

Methods = set[tuple[str, ...]]


def _targets(path: Path) -> Methods:
    return {
        (target.class_name, target.method, target.method_type) for target in read_targets(str(path)).all()
    }


@pytest.mark.needs("ruby")
def test_every_method_that_ripper_sees_is_found() -> None:
    for path, seen in zip(SOURCES, answers("ripper.rb", SOURCES), strict=True):
        assert {tuple(method) for method in seen} - _targets(path) == _UNDEFINED.get(path.name, set())


_UNDEFINED = {
    "invoice.rb": {("Billing::Invoice", "gone", "instance"), ("Billing::Invoice", "removed", "instance")}
}


@pytest.mark.needs("ruby")
def test_a_file_of_plain_methods_has_those_that_ripper_sees_and_no_others() -> None:
    plain = SHOP / "lib" / "plain.rb"
    (seen,) = answers("ripper.rb", [plain])
    assert {tuple(method) for method in seen} == _targets(plain)


@pytest.mark.needs("ruby")
def test_every_method_of_rubys_own_library_is_found() -> None:
    folder = subprocess.run(
        ["ruby", "-e", "print RbConfig::CONFIG['rubylibdir']"], capture_output=True, text=True, check=True
    )
    files = sorted(Path(folder.stdout).glob("*.rb"))
    assert len(files) > 50
    for path, seen in zip(files, answers("ripper.rb", files), strict=True):
        assert _in_short({tuple(method) for method in seen}) <= _in_short(_targets(path)), path


def _in_short(methods: Methods) -> Methods:
    """What a constant means takes more than a parser: the last part of a name must do."""
    return {(owner.rpartition("::")[2], *method) for owner, *method in methods}


@pytest.mark.needs("ruby-activerecord")
def test_the_targets_are_what_ruby_knows_after_loading_the_file() -> None:
    """But for two things: what `included do` gives to others, and what `class_methods do` is made of."""
    concern = SHOP / "app" / "models" / "concerns" / "archivable.rb"
    files = [
        concern,
        SHOP / "app" / "models" / "order.rb",
        SHOP / "app" / "services" / "billing" / "invoice.rb",
    ]
    files += [SHOP / "lib" / "plain.rb", SHOP / "lib" / "latin.rb"]
    for path, known in zip(files, answers("reflection.rb", files), strict=True):
        methods: Methods = {(owner, *method) for owner, found in known.items() for method in found}
        made = {method for method in methods if method[0] == "Archivable::ClassMethods"}
        given = {
            (owner, name, "instance")
            for owner in ("Archivable", "Order")
            for name in ("archived_at", "archived_at=")
        }
        assert methods - made - given == _targets(path) - made - given


@pytest.fixture(scope="module")
def by_factory_bot() -> dict[str, Any]:
    """The files in the order in which Rails would load them: those of engines first."""
    names = ["engines/blog/spec/factories/posts", "test/factories", "spec/factories/admin/reports"]
    names += ["spec/factories/products", "spec/factories/users", "spec/factories/zz_changes"]
    (answer,) = answers("factory_bot.rb", [SHOP / f"{name}.rb" for name in names])
    found: dict[str, Any] = answer
    return found


@pytest.mark.needs("ruby-factory-bot")
def test_the_factories_and_their_traits_are_those_of_factory_bot(by_factory_bot: dict[str, Any]) -> None:
    listed = list_factories(str(SHOP), root=str(SHOP))
    assert listed.warnings == []
    ours = {name: factory["traits"] for name, factory in listed.to_dict().items()}
    assert ours == {name: factory["traits"] for name, factory in by_factory_bot["factories"].items()}
    assert list(ours) == list(by_factory_bot["factories"])


@pytest.mark.needs("ruby-factory-bot")
def test_the_details_are_those_of_factory_bot(by_factory_bot: dict[str, Any]) -> None:
    listed = list_factories(str(SHOP), root=str(SHOP), in_detail=True)
    assert listed.warnings == []
    for name, factory in listed.to_dict().items():
        theirs = by_factory_bot["factories"][name]
        for key in ("parent", "class", "aliases"):
            assert factory[key] == theirs[key], (name, key)
        every = {*factory["traits"], *factory["inherited_traits"], *factory["enum_traits"]}
        assert every == set(theirs["all_traits"]), name
        assert set(factory["global_traits"]) == set(by_factory_bot["traits"])


def test_the_scripts_and_files_of_these_tests_are_there() -> None:
    scripts = {path.name for path in HERE.glob("*.rb")}
    assert scripts == {"factory_bot.rb", "reflection.rb", "ripper.rb", "draw_routes.rb", "with_devise.rb"}
    assert len(SOURCES) == 6
