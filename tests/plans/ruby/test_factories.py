"""The factories of a project and their traits; `test_against_ruby` compares them with factory_bot."""

import os
import sys
from pathlib import Path
from textwrap import indent
from typing import Any

import pytest

from acceptance.command import environment, finished
from files.unprivileged import everybodys_directory
from plans.ruby.samples import written
from runcard.errors import DocumentError, StoreError
from runcard.operations.plans.factories import FactoryList, list_factories

USERS = "spec/factories/users.rb"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "Gemfile").touch()
    return tmp_path


def _define(project: Path, text: str, name: str = USERS) -> None:
    written(project, f"FactoryBot.define do\n{indent(text, '  ')}\nend\n", name)


def _listed(project: Path, *, in_detail: bool = False) -> FactoryList:
    return list_factories(str(project), in_detail=in_detail)


def _traits(project: Path) -> dict[str, list[str]]:
    return {name: factory["traits"] for name, factory in _listed(project).to_dict().items()}


CASES: dict[str, tuple[str, dict[str, list[str]]]] = {
    "a symbol": ("factory :user do\n  trait :x do\n  end\nend", {"user": ["x"]}),
    "a text": ("factory 'user' do\n  trait 'x' do\n  end\nend", {"user": ["x"]}),
    "parentheses": ("factory(:user) do\n  trait(:x) do\n  end\nend", {"user": ["x"]}),
    "braces": ("factory(:user) { trait(:x) { y { 1 } } }", {"user": ["x"]}),
    "no block": ("factory :user", {"user": []}),
    "a constant": ("factory Admin::User", {"admin/user": []}),
    "nested": (
        "factory :user do\n  trait :x\n  factory :admin do\n    trait :y\n  end\nend",
        {"user": ["x"], "admin": ["y"]},
    ),
    "a trait in a trait": ("factory :user do\n  trait :x do\n    trait :y\n  end\nend", {"user": ["x"]}),
    "a trait twice": ("factory :user do\n  trait :x\n  trait :x\nend", {"user": ["x"]}),
    "a loop": (
        '%i[a b].each do |n|\n  factory n do\n    trait "is_#{n}"\n  end\nend',
        {"a": ["is_a"], "b": ["is_b"]},
    ),
    "a loop of traits": ("factory :user do\n  [:a, :b].each { |n| trait(n) { } }\nend", {"user": ["a", "b"]}),
    "a list of its own": (
        "names = %w[a b]\nfactory :user do\n  names.each { |n| trait(n) { } }\nend",
        {"user": ["a", "b"]},
    ),
    "for": ("for n in %w[a b] do\n  factory(n)\nend", {"a": [], "b": []}),
    "a condition": ("if true\n  factory :user\nend\nfactory(:other) unless false", {"user": [], "other": []}),
    "inside transient": ("factory :user do\n  transient do\n    trait :x\n  end\nend", {"user": ["x"]}),
    "inside a callback": ("factory :user do\n  after(:create) { factory :no; trait :no }\nend", {"user": []}),
    "a comment and a text": ("factory :user do\n  # trait :no\n  name { 'trait :no' }\nend", {"user": []}),
}


@pytest.mark.parametrize("case", CASES)
def test_a_factory_is_found_by(case: str, project: Path) -> None:
    text, wanted = CASES[case]
    _define(project, text)
    assert _traits(project) == wanted
    assert _listed(project).warnings == []


@pytest.mark.parametrize(
    "text",
    [
        "FactoryBot.define { factory :user }",
        "::FactoryBot.define do\n  factory :user\nend",
        "FactoryGirl.define { factory :user }",
        "if defined?(FactoryBot)\n  FactoryBot.define { factory :user }\nend",
        "module Support\n  FactoryBot.define { factory :user }\nend",
        "ActiveSupport.on_load(:factory_bot) do\n  FactoryBot.define { factory :user }\nend",
    ],
)
def test_a_definition_may_stand_anywhere(text: str, project: Path) -> None:
    written(project, text, USERS)
    assert _traits(project) == {"user": []}


def test_a_definition_that_is_not_that_of_factory_bot_is_none(project: Path) -> None:
    written(project, "Other.define { factory :a }\nfactory :b\nFactoryBot.build { factory :c }", USERS)
    assert _traits(project) == {}


PLACES = [
    "spec/factories/a.rb",
    "spec/factories/deep/down/a.rb",
    "test/factories/a.rb",
    "spec/factories.rb",
    "test/factories.rb",
    "factories.rb",
    "factories/a.rb",
    "engines/blog/spec/factories/a.rb",
    "components/shop/core/test/factories.rb",
    "packs/a/spec/factories/tmp/a.rb",
    "spec/support/a.rb",
    "spec/a_factories.rb",
    "app/factories/a.rb",
    "core/lib/shop/testing_support/factories/a.rb",
    "lib/seeds.rb",
]
ELSEWHERE = ["spec/factories/a.txt"]
ELSEWHERE += [
    "node_modules/x/spec/factories/a.rb",
    "vendor/bundle/x/spec/factories.rb",
    ".git/spec/factories.rb",
]


@pytest.mark.parametrize("place", PLACES)
def test_factories_are_looked_for_in(place: str, project: Path) -> None:
    _define(project, "factory :user", place)
    assert _listed(project).to_dict() == {"user": {"file": place, "traits": []}}


@pytest.mark.parametrize("place", ELSEWHERE)
def test_factories_are_not_looked_for_in(place: str, project: Path) -> None:
    _define(project, "factory :user", place)
    assert _listed(project).to_dict() == {}


@pytest.mark.parametrize("start", ["spec", "spec/factories", "spec/factories/sub", "spec/factories/sub/a.rb"])
def test_a_part_of_the_project_may_be_named(start: str, project: Path) -> None:
    _define(project, "factory :user", "spec/factories/sub/a.rb")
    listed = list_factories(str(project / start))
    assert listed.to_dict()["user"]["file"] == "spec/factories/sub/a.rb"


def test_without_a_project_the_directory_itself_is_the_root(tmp_path: Path) -> None:
    _define(tmp_path, "factory :user", USERS)
    assert _listed(tmp_path).to_dict()["user"]["file"] == USERS
    assert _listed(tmp_path / "spec" / "factories").to_dict()["user"]["file"] == USERS


def test_the_last_definition_counts_and_the_first_is_named(project: Path) -> None:
    _define(project, "factory :user do\n  trait :first\nend", "test/factories.rb")
    _define(project, "factory :user do\n  trait :second\nend", USERS)
    _define(project, "factory :user do\n  trait :engine\nend", "engines/a/spec/factories.rb")
    listed = _listed(project)
    assert listed.to_dict() == {"user": {"file": USERS, "traits": ["second"]}}
    again = "factory user is defined again: this definition counts, not"
    assert listed.warnings == [
        f"test/factories.rb:2: {again} engines/a/spec/factories.rb:2",
        f"{USERS}:2: {again} test/factories.rb:2",
    ]


def test_what_modify_changes_and_nobody_defines_is_kept_with_a_warning(project: Path) -> None:
    written(
        project, "FactoryBot.modify do\n  factory :user do\n    trait :x\n    factory :no\n  end\nend", USERS
    )
    listed = _listed(project)
    assert listed.to_dict() == {"user": {"file": USERS, "traits": ["x"]}}
    assert listed.warnings == [f"{USERS}:2: factory user is modified here, but no file defines it"]


@pytest.mark.parametrize("what", ["factory", "trait"])
def test_a_name_that_must_be_run_is_left_out_with_a_warning(what: str, project: Path) -> None:
    _define(project, f"factory :user do\n  {what} name_of(1) do\n  end\nend")
    listed = _listed(project)
    assert listed.to_dict() == {"user": {"file": USERS, "traits": []}}
    assert listed.warnings == [f"{USERS}:3: a {what} whose name is not a literal is left out"]


def test_a_broken_part_is_named_and_the_rest_kept(project: Path) -> None:
    _define(project, "factory :a do\n  name { )\n  trait :x do\n  end\nend\n\nfactory :b do\n  trait :y\nend")
    _define(project, "factory :c", "spec/factories/c.rb")
    listed = _listed(project)
    assert {name: f["traits"] for name, f in listed.to_dict().items()} == {"c": [], "a": ["x"], "b": ["y"]}
    (warning,) = listed.warnings
    assert warning.startswith(f"{USERS}:3: cannot be parsed: ")


@pytest.mark.parametrize(
    "bad", [b"\0\1\2", b"%%% ) no ruby (\n", b"FactoryBot.define do\n  factory ( do\n  end\nend"]
)
def test_nothing_that_could_be_read_is_an_error(bad: bytes, project: Path) -> None:
    written(project, bad, USERS)
    with pytest.raises(DocumentError, match=f"no factory could be read in .*: .*{USERS}"):
        _listed(project)
    _define(project, "factory :other", "spec/factories/other.rb")
    assert list(_listed(project).to_dict()) == ["other"]
    assert len(_listed(project).warnings) == 1


_READ_AS_NOBODY = """
from runcard.operations.plans import factories
import runcard.plans.ruby.error_recovery, runcard.plans.ruby.syntax_tree
runcard.plans.ruby.syntax_tree._parser()
if os.geteuid() == 0:
    os.setuid(65534)
try:
    print(factories.list_factories(sys.argv[1]).warnings)
except errors.RuncardError as error:
    print(error.message)
"""


@pytest.mark.parametrize("other", [False, True])
def test_a_folder_that_cannot_be_read_is_named(*, other: bool) -> None:
    with everybodys_directory() as project:
        _define(project, "factory :a")
        if other:
            _define(project, "factory :b", "test/factories.rb")
        folder = project / "spec" / "factories"
        folder.chmod(0)
        command = [
            sys.executable,
            "-c",
            f"import os, sys\nfrom runcard import errors\n{_READ_AS_NOBODY}",
            str(project),
        ]
        done = finished(command, env=environment())
        folder.chmod(0o700)
    said = "spec/factories: cannot read the directory spec/factories: Permission denied"
    alone = f"no factory could be read in {project}: {said}"
    assert (done.text.strip(), done.messages) == (f"['{said}']" if other else alone, "")


def test_none_found_is_a_warning(project: Path) -> None:
    listed = _listed(project)
    assert listed.to_dict() == {}
    assert listed.warnings == ["no factories found in spec/factories and test/factories"]


def test_a_path_that_is_missing_or_outside_the_root_is_an_error(project: Path) -> None:
    with pytest.raises(StoreError, match="does not exist"):
        list_factories(str(project / "none"))
    (project / "a").mkdir()
    with pytest.raises(StoreError, match="is not below the root"):
        list_factories(str(project), root=str(project / "a"))


def test_links_are_followed_as_long_as_they_stay_in_the_project(project: Path, tmp_path_factory: Any) -> None:
    outside = tmp_path_factory.mktemp("outside")
    _define(outside, "factory :stolen", "stolen.rb")
    _define(project, "factory :kept", "shared/factories/kept.rb")
    folder = project / "spec" / "factories"
    folder.mkdir(parents=True)
    os.symlink(outside / "stolen.rb", folder / "stolen.rb")
    os.symlink(outside, folder / "more")
    os.symlink(project / "shared" / "factories" / "kept.rb", folder / "kept.rb")
    os.symlink("nowhere", folder / "broken.rb")
    os.symlink("..", folder / "loop")
    os.mkdir(project / "test")
    os.symlink(project / "shared" / "factories", project / "test" / "factories")
    listed = _listed(project)
    assert listed.to_dict() == {"kept": {"file": "spec/factories/kept.rb", "traits": []}}
    left = "a link that points out of the project: not followed"
    assert listed.warnings[:2] == [f"spec/factories/more: {left}", f"spec/factories/stolen.rb: {left}"]
    assert listed.warnings[2].startswith("spec/factories/kept.rb:2: factory kept is defined again")


def test_details_come_from_parents_and_models(project: Path) -> None:
    text = "factory :user, aliases: [:owner] do\n  trait :x\n  traits_for_enum :state, %w[on off]\nend\n"
    text += "factory :boss, parent: :owner do\n  traits_for_enum :rank\nend\ntrait :global"
    _define(project, text)
    written(project, "class User\n  enum :rank, { high: 1, low: 2 }\nend\n", "app/models/user.rb")
    listed = _listed(project, in_detail=True)
    boss = listed.to_dict()["boss"]
    assert boss == {
        "file": USERS,
        "traits": [],
        "parent": "owner",
        "class": "User",
        "aliases": [],
        "inherited_traits": ["x", "on", "off"],
        "enum_traits": ["high", "low"],
        "global_traits": ["global"],
    }
    assert listed.warnings == []


UNKNOWN = {
    "factory :a, parent: :gone": "the parent gone of factory a is not defined",
    "factory :a do\n  traits_for_enum :state\nend": "the values of state in factory a are unknown",
    "factory :a, parent: :a": "factory a is its own ancestor",
}


@pytest.mark.parametrize("text", UNKNOWN)
def test_details_that_nobody_tells_are_a_warning_for_who_asks(text: str, project: Path) -> None:
    _define(project, text)
    assert _listed(project).warnings == []
    assert _listed(project, in_detail=True).warnings == [f"{USERS}:2: {UNKNOWN[text]}"]
    assert _listed(project, in_detail=True).to_dict()["a"]["enum_traits"] == []


def test_a_parent_that_is_not_known_leaves_the_class_unknown(project: Path) -> None:
    _define(project, "factory :a, parent: :gone\nfactory :b, parent: :gone, class: 'B'")
    details = _listed(project, in_detail=True).to_dict()
    assert (details["a"]["class"], details["b"]["class"]) == (None, "B")


def test_a_model_behind_a_link_out_of_the_project_is_not_read(project: Path, tmp_path_factory: Any) -> None:
    outside = written(tmp_path_factory.mktemp("outside"), "class User\n  enum state: [:on]\nend")
    (project / "app" / "models").mkdir(parents=True)
    os.symlink(outside, project / "app" / "models" / "user.rb")
    _define(project, "factory :user")
    assert _listed(project, in_detail=True).to_dict()["user"]["enum_traits"] == []


@pytest.mark.parametrize("kind", ["nested", "parents"])
def test_very_many_generations_are_bounded(kind: str, project: Path) -> None:
    if kind == "nested":
        text = "".join(f"factory :f{at} do\n" for at in range(1_000)) + "end\n" * 1_000
    else:
        text = "\n".join(f"factory :f{at}, parent: :f{at + 1}" for at in range(1_000)) + "\nfactory :f1000"
    _define(project, text)
    listed = _listed(project, in_detail=True)
    assert any("100" in warning for warning in listed.warnings)
    assert len(listed.to_dict()) == (100 if kind == "nested" else 1_001)
