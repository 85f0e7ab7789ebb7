"""The routes to the actions of controllers; Rails itself draws the same files."""

import json
import re
import subprocess
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from plans.ruby.route_texts import RouteText
from plans.ruby.ruby_tools import HERE
from runcard.plans.ruby.inflections import DEFAULT
from runcard.plans.ruby.rails import camelize
from runcard.plans.ruby.routes import read_routes

PROJECTS = sorted((HERE / "routes").iterdir())
Drawn = dict[str, tuple[str, str]]  # the first route of each action: its verb and its path

INFLECTED = """
posts news people user_statuses analyses buses wives leaves oxen mice quizzes data criteria boxes matches series sheep
user_money aliases vertices matrices shoes heroes movies caches bases sexes children databases status address box key
profile ox quiz half wife buffalo axis octopus datum analysis person man hive s
"""
UNCERTAIN = {"users#create", "user_sessions#destroy"}  # their options are computed

MODELS = {
    "app/models/user.rb": """
class User < ApplicationRecord
  devise :database_authenticatable, :registerable, :recoverable, :rememberable, :validatable
  devise :confirmable, :lockable, :trackable
end
""",
    "app/models/staff/admin.rb": """
module Staff
  class Admin < ApplicationRecord
    devise(:recoverable, :lockable, :database_authenticatable, unlock_strategy: :none)
  end
end
""",
    "app/models/visitor.rb": "class Visitor < ApplicationRecord\n  devise :database_authenticatable if ENV['X']\nend\n",
}
DEVISE = (
    "devise_for :users",
    "devise_for :users, controllers: { sessions: 'users/sessions', 'registrations' => :accounts }",
    "devise_for :users, path: '', path_names: { sign_in: 'login', sign_out: 'logout', sign_up: 'join', password: 'secret' }",
    "devise_for :users, path: 'members', path_names: { registration: 'account', cancel: 'leave', edit: 'change' }",
    "devise_for :users, skip: :registrations, skip_helpers: true",
    "devise_for :users, skip: %i[sessions password unlocks]",
    "devise_for :users, only: [:session, :confirmations]",
    "devise_for :users, skip: :all",
    "devise_for :admins, class_name: 'Staff::Admin', failure_app: SOMETHING = Class.new",
    "namespace :admin do\n devise_for :users, module: 'devise'\nend",
    "namespace :admin do\n devise_for :users\nend\ndevise_for :users",
    "scope ':locale', as: :localized, module: 'v1', path_names: { sign_in: 'in', new: 'neu' } do\n devise_for :users, path_names: { sign_out: 'out' }\nend",
    "devise_for :users, singular: :person, module: 'auth', sign_out_via: :get, as: 'x'",
    "devise_for :users, path_prefix: 'p/q'",
    "with_options(module: 'auth') do\n devise_for :users\nend",
    (
        "devise_for :users, only: :passwords\nscope 'b', path_names: { password: 'secret', new: 'neu' } do\n"
        " devise_for :users, only: :passwords, controllers: { passwords: 'b/passwords' }\nend"
    ),
    "with_options(path: 'a') { |all| all.devise_for :users }\nresources :posts, only: :index",
)


def _project(root: Path, text: str) -> Path:
    path = root / "config" / "routes.rb"
    path.parent.mkdir(parents=True)
    path.write_text(text)
    return root


def _drawn_by_rails(roots: Sequence[Path], *options: str) -> list[Drawn]:
    command = ["ruby", "-W0", *options, str(HERE / "draw_routes.rb"), *map(str, roots)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    return [_first(json.loads(line)) for line in done.stdout.splitlines()]


def _first(routes: list[Any]) -> Drawn:
    assert isinstance(routes, list), routes
    first: Drawn = {}
    for target, verb, code in routes:
        first.setdefault(target, (verb, re.sub(r"/\*", "/:", code)))
    return first


def _differences(root: Path, drawn: Drawn) -> list[str]:
    """The actions whose route is not the first one that Rails draws."""
    found: list[str] = []
    routes = read_routes(str(root))
    of = cache(lambda controller: routes.of(f"{camelize(controller)}Controller"))
    for target, expected in drawn.items():
        controller, action = target.split("#")
        route = of(controller).get(action)
        code = "" if route is None else re.sub(r"#\{(\w+)\}", r":\1", route.path_code.strip("'\""))
        if route is None or (route.verb, code) != expected:
            found.append(f"{target}: {expected}, not {route}")
    return found


def _asks_twice(route: tuple[str, str]) -> bool:
    """Whether a path has the same parameter twice: no let can be both."""
    names = re.findall(r":(\w+)", route[1]) or re.findall(r"\w+", route[1].partition("(")[2])
    return len(set(names)) < len(names)


@pytest.mark.needs("ruby-rspec-rails")
def test_the_routes_are_those_of_rails() -> None:
    drawn = dict(zip(PROJECTS, _drawn_by_rails(PROJECTS), strict=True))
    assert sum(map(len, drawn.values())) > 500
    different = [line for root, routes in drawn.items() for line in _differences(root, routes)]
    assert [line for line in different if line.partition(":")[0] not in UNCERTAIN] == []
    assert all(line.endswith("not None") for line in different)


def _check_at_random(folder: Path, seeds: range) -> None:
    roots = [_project(folder / str(seed), str(RouteText(seed))) for seed in seeds]
    drawn = _drawn_by_rails(roots)
    assert sum(map(len, drawn)) > 20 * len(roots)
    for root, routes in zip(roots, drawn, strict=True):
        certain = {target: route for target, route in routes.items() if not _asks_twice(route)}
        assert _differences(root, certain) == [], (root / "config" / "routes.rb").read_text()


@pytest.mark.needs("ruby-rspec-rails")
def test_routes_at_random_are_those_of_rails(tmp_path: Path) -> None:
    _check_at_random(tmp_path, range(5))


@pytest.mark.long
@pytest.mark.needs("ruby-rspec-rails")
def test_many_routes_at_random_are_those_of_rails(tmp_path: Path) -> None:
    _check_at_random(tmp_path, range(10, 100))


@pytest.mark.needs("ruby-rspec-rails")
def test_singular_and_plural_are_those_of_rails() -> None:
    words = INFLECTED.split()
    code = "words = ARGV.map { |word| [word.singularize, word.pluralize] }; puts JSON.generate(words)"
    command = ["ruby", "-rjson", "-rlogger", "-ractive_support/all", "-e", code, *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert [[DEFAULT.singular(word), DEFAULT.plural(word)] for word in words] == json.loads(done.stdout)


def _devise_project(root: Path, routes: str, initializer: str = "") -> Path:
    _project(root, f"Rails.application.routes.draw do\n{routes}\nend\n")
    for path, text in {**MODELS, "config/initializers/devise.rb": initializer}.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return root


@pytest.mark.needs("ruby-rspec-rails", "ruby-devise")
def test_the_routes_of_devise_are_those_that_it_draws(tmp_path: Path) -> None:
    roots = [_devise_project(tmp_path / str(at), text) for at, text in enumerate(DEVISE)]
    drawn = _drawn_by_rails(roots, "-r", str(HERE / "with_devise.rb"))
    assert sum(map(len, drawn)) > 100
    for root, routes in zip(roots, drawn, strict=True):
        assert _differences(root, routes) == []
        of_devise = {target for target in routes if target.startswith("devise/")}
        assert of_devise == {
            f"devise/{name}#{action}"
            for name in ("sessions", "passwords", "registrations", "confirmations", "unlocks")
            for action in read_routes(str(root)).of(f"Devise::{name.capitalize()}Controller")
        }


@pytest.mark.needs("ruby-rspec-rails", "ruby-devise")
@pytest.mark.parametrize("strategy", ["time", "email"])
def test_the_settings_of_devise_count(tmp_path: Path, strategy: str) -> None:
    settings = f"config.sign_out_via = :get\n  config.unlock_strategy = :{strategy}"
    root = _devise_project(tmp_path, "devise_for :users", f"Devise.setup do |config|\n  {settings}\nend\n")
    (drawn,) = _drawn_by_rails([root], "-r", str(HERE / "with_devise.rb"))
    assert drawn["devise/sessions#destroy"] == ("get", "destroy_user_session_path")
    assert ("devise/unlocks#show" in drawn) == (strategy == "email")
    assert _differences(root, drawn) == []
    assert ("show" in read_routes(str(root)).of("Devise::UnlocksController")) == (strategy == "email")


@pytest.mark.parametrize(
    "routes",
    [
        "devise_for :strangers",
        "devise_for NAME",
        "devise_for :users, controllers: { sessions: NAME }",
        "devise_for :users, path: NAME",
        "devise_for :users, path_names: NAMES",
        "devise_for :users, skip: NAMES",
        "devise_for :users, class_name: 'Visitor'",
        "devise_for :users, sign_out_via: %i[get delete]",
        "devise_for :users, path_names: { sign_in: %q(a'b) }",
        "resources :shops do\n devise_for :users\nend",
    ],
)
def test_what_is_not_certain_of_devise_has_no_route(tmp_path: Path, routes: str) -> None:
    root = _devise_project(tmp_path, routes)
    assert read_routes(str(root)).of("Devise::SessionsController") == {}


@pytest.mark.parametrize(
    "text",
    [
        "localized do\n resources :posts\nend",
        "concern :commentable do\n resources :posts\nend",
        "resources name",
        "scope(module: NAME) { resources :posts }",
        "scope(name) { resources :posts }",
        "resources :users, path: PATH do\n resources :posts\nend",
        "resources :posts, **options",
        "resources :posts, as: 'x; exit'",
        "get 'a b', to: 'posts#show'",
        "resources :posts, only: ACTIONS",
        "resources :posts, only: []",
        "get path, to: 'posts#show'",
        "get 'posts', to: target",
        "get ':id/:id', to: 'posts#show'",
        "mount Engine => '/posts'",
        "if x\n get 'a', to: 'posts#show'\nelse\n get 'b', to: 'posts#show'\nend",
        "each { resources :posts }",
        "def draw\n resources :posts\nend",
        "]]] resources",
        "",
    ],
)
def test_what_is_not_certain_has_no_route(tmp_path: Path, text: str) -> None:
    _project(tmp_path, f"Rails.application.routes.draw do\n{text}\nend\n")
    assert read_routes(str(tmp_path)).of("PostsController") == {}


def test_computed_actions_leave_what_is_in_the_block(tmp_path: Path) -> None:
    text = "resources :users, only: ACTIONS do\n resources :posts, only: :index\nend"
    _project(tmp_path, f"Rails.application.routes.draw do\n{text}\nend\n")
    assert read_routes(str(tmp_path)).of("UsersController") == {}
    assert read_routes(str(tmp_path)).of("PostsController")["index"].path_code == "user_posts_path(user_id)"


def test_a_route_that_may_be_left_out_gives_way_to_one_that_is_always_there(tmp_path: Path) -> None:
    text = "get('a', to: 'posts#show') if x\nget 'b', to: 'posts#show'"
    _project(tmp_path, f"Rails.application.routes.draw do\n{text}\nend\n")
    assert read_routes(str(tmp_path)).of("PostsController")["show"].path_code == "b_path"


def test_the_routes_of_an_engine_are_not_those_of_the_application(tmp_path: Path) -> None:
    _project(tmp_path, "Blog::Engine.routes.draw do\n resources :posts\nend\n")
    assert read_routes(str(tmp_path)).of("PostsController") == {}


def test_only_an_api_has_no_forms(tmp_path: Path) -> None:
    _project(tmp_path, "Rails.application.routes.draw do\n resources :posts\nend\n")
    assert "new" in read_routes(str(tmp_path)).of("PostsController")
    (tmp_path / "config" / "application.rb").write_text("module Shop\n  config.api_only = true\nend\n")
    assert sorted(read_routes(str(tmp_path)).of("PostsController")) == [
        "create",
        "destroy",
        "index",
        "show",
        "update",
    ]


def test_a_project_without_routes(tmp_path: Path) -> None:
    assert read_routes(str(tmp_path)).of("PostsController") == {}


def test_blocks_in_blocks_without_end(tmp_path: Path) -> None:
    depth = 3_000
    _project(tmp_path, "scope 'a' do\n" * depth + "resources :posts\n" + "end\n" * depth)
    assert read_routes(str(tmp_path)).of("PostsController") == {}
    text = "concern(:a) { concerns :a }\nresources :posts, concerns: :a"
    _project(tmp_path / "b", f"Rails.application.routes.draw do\n{text}\nend\n")
    assert "show" in read_routes(str(tmp_path / "b")).of("PostsController")
