"""The routes to the actions of controllers; Rails itself draws the same file."""

import subprocess
from pathlib import Path

import pytest

from plans.ruby.ruby_tools import HERE
from runcard.plans.ruby.rails import camelize
from runcard.plans.ruby.routes import routes_of

ROUTES = """\
Rails.application.routes.draw do
  root 'pages#home'
  get 'about', to: 'pages#about'
  get '/old-page' => 'pages#old'
  get 'photos/list'
  get 'items/:id/preview', to: 'items#preview'
  post 'login', to: 'sessions#create', as: :sign_in
  resources :users do
    member do
      post :block
    end
    get :search, on: :collection
    get :avatar, on: :member
    resources :posts, only: %i[index show]
    resource :address, only: :show
  end
  resources :news, only: [:index, :show]
  resources :people, except: [:destroy], param: :slug
  resource :profile, only: [:show, :update]
  resources :books, path: 'library', controller: 'shelf/books', as: 'volumes', only: [:index, :edit]
  namespace :api do
    namespace :v1 do
      resources :orders, only: [:index, :create] do
        collection { get :export }
      end
      get 'status', to: 'health#show'
    end
  end
  scope '/admin', module: 'admin', as: 'admin' do
    resources :categories, only: :index
  end
  scope :staff do
    resources :tickets, only: :index
  end
  controller :carts do
    get 'cart' => :show
    post 'cart/add', action: :add
  end
  authenticate :user do
    resources :reports, only: :index
  end
  constraints(subdomain: 'x') { resources :boxes, only: :show }
end
"""


def _project(root: Path, text: str) -> Path:
    path = root / "config" / "routes.rb"
    path.parent.mkdir()
    path.write_text(text)
    return path


@pytest.mark.needs("ruby-rspec-rails")
def test_the_routes_are_those_of_rails(tmp_path: Path) -> None:
    path = _project(tmp_path, ROUTES)
    command = ["ruby", str(HERE / "routes.rb"), str(path)]
    drawn = subprocess.run(
        command, capture_output=True, text=True, timeout=120, check=True
    ).stdout.splitlines()
    assert len(drawn) > 40
    for line in drawn:
        target, verb, code = line.split(" ", 2)
        controller, action = target.split("#")
        route = routes_of(str(tmp_path), f"{camelize(controller)}Controller").get(action)
        assert route is not None, line
        written = route.path_code.strip("'\"").replace("#{", ":").replace("}", "")
        assert (route.verb, written) == (verb, code)
        assert all(name in code for name in route.parameters)


@pytest.mark.parametrize(
    "text",
    [
        "resources :users, shallow: true do\n resources :posts\nend",
        "concern :commentable do\n resources :posts\nend",
        "resources name",
        "resources :posts, as: 'x; exit'",
        "get 'a b', to: 'posts#show'",
        "resources :posts, only: ACTIONS",
        "resources :posts, only: []",
        "get path, to: 'posts#show'",
        "mount Engine => '/posts'",
        "]]] resources",
        "",
    ],
)
def test_what_is_not_certain_has_no_route(tmp_path: Path, text: str) -> None:
    _project(tmp_path, f"Rails.application.routes.draw do\n{text}\nend\n")
    assert routes_of(str(tmp_path), "PostsController") == {}


def test_a_project_without_routes(tmp_path: Path) -> None:
    assert routes_of(str(tmp_path), "PostsController") == {}
