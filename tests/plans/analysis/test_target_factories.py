"""A plan lists the factories that belong to its target; all others on request."""

import json
from pathlib import Path
from typing import Any

import pytest

from conftest import Cli

FACTORIES = """\
FactoryBot.define do
  factory :team
  factory :group
  factory :planet
  factory :user, aliases: [:owner] do
    account
    association :club, factory: :team
    factory :admin
    self.trait(:blocked) { blocked { true } }
    trait :日本 do
      country { "jp" }
    end
    if false
      trait :never
    end
  end
  factory :account do
    author factory: :planet
  end
  factory :ghost if ENV["GHOSTS"]
end
"""
SOURCE = """\
class Greeting
  def text(user)
    user.blocked? ? nil : "hello"
  end

  def other(thing)
    thing ? Group.first : nil
  end
end
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "Gemfile").touch()
    folder = tmp_path / "core" / "lib" / "shop" / "testing_support" / "factories"
    folder.mkdir(parents=True)
    (folder / "all.rb").write_text(FACTORIES)
    (tmp_path / "greeting.rb").write_text(SOURCE)
    return tmp_path


def detected(cli: Cli, project: Path, method: str, *options: str) -> dict[str, Any]:
    done = cli("plan", "analyze", project / "greeting.rb", "--method", method, "--json", *options)
    found: dict[str, Any] = json.loads(done.out)["factories_detected"]
    return found


def test_factories_of_the_target_are_listed(cli: Cli, project: Path) -> None:
    assert set(detected(cli, project, "text")) == {"user", "account", "team"}
    assert set(detected(cli, project, "other")) == {"group"}


def test_all_factories_are_listed_on_request(cli: Cli, project: Path) -> None:
    everything = detected(cli, project, "text", "--all-factories")
    assert set(everything) == {"team", "group", "planet", "user", "admin", "account", "ghost"}


def test_conditional_definitions_are_marked(cli: Cli, project: Path) -> None:
    everything = detected(cli, project, "text", "--all-factories")
    assert everything["ghost"]["only_if"] == 'ENV["GHOSTS"]'
    assert everything["user"]["traits"] == ["blocked", "日本", "never"]
    assert everything["user"]["traits_only_if"] == {"never": "false"}


@pytest.mark.parametrize(
    ("method", "options", "any_listed"),
    [("text", [], True), ("plain", [], False), ("plain", ["--all-factories"], True)],
)
def test_the_plan_says_whether_it_lists_factories(
    cli: Cli, project: Path, method: str, options: list[str], *, any_listed: bool
) -> None:
    (project / "greeting.rb").write_text(
        SOURCE.replace("  def other", "  def plain(x)\n    x ? 1 : 2\n  end\n\n  def other")
    )
    plan = json.loads(
        cli("plan", "analyze", project / "greeting.rb", "--method", method, "--json", *options).out
    )
    assert bool(plan["factories_detected"]) == any_listed
    assert plan["automation"]["factories_detected"] is any_listed
