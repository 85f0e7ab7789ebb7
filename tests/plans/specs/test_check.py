"""`runcard plan check`: the states of changed methods that their specs do not cover."""

import json
from pathlib import Path

import pytest

from conftest import Cli
from plans.projects import git

SOURCE = """\
class Order
  def total
    return 0 if empty?

    sum
  end

  def pay(user)
    check(user)
    user.active? ? 1 : 2
  end

  private

  def check(user)
    raise "no" if user.blocked?
  end
end
"""
SPEC = """\
RSpec.describe Order do
  describe '#total' do
    context 'when empty' do
      it('is nothing') { expect(1).to eq(1) }
    end

    it('is the sum') { expect(1).to eq(1) }
  end
end
"""
FILE = "app/models/order.rb"


def commit(root: Path) -> None:
    git("add", "-A", cwd=root)
    who = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    git(*who, "commit", "-qm", "x", cwd=root)


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("GITHUB_BASE_REF", raising=False)
    root = tmp_path / "shop"
    for file, text in {"Gemfile": "", FILE: SOURCE, "spec/models/order_spec.rb": SPEC}.items():
        (root / file).parent.mkdir(parents=True, exist_ok=True)
        (root / file).write_text(text)
    git("init", "-qb", "main", cwd=root)
    return root


def edit(root: Path, old: str, new: str, file: str = FILE) -> None:
    text = (root / file).read_text()
    assert old in text
    (root / file).write_text(text.replace(old, new))


def checked(cli: Cli, root: Path, *arguments: str) -> list[str]:
    done = cli("plan", "check", "--root", root, "--json", *(arguments or ("--changed",)))
    return [json.loads(line)["target"]["method"] for line in done.out.splitlines()]


def test_the_repository_around_the_current_directory_is_the_default(
    cli: Cli, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit(shop)
    edit(shop, "return 0 if empty?", "return 1 if empty?")
    for directory in (shop, shop / "app/models"):
        monkeypatch.chdir(directory)
        done = cli("plan", "check", "--changed")
        assert (done.code, done.err) == (0, "")
        assert done.out == f"{FILE}:2: Order#total: 2 of 2 states are covered\n"


def test_contexts_of_another_method_cover_nothing(cli: Cli, shop: Path) -> None:
    commit(shop)
    edit(shop, "? 1 : 2", "? 1 : 3")
    inner = "context 'when the user is active' do\n it('x') { expect(1).to eq(1) }\n end\n"
    for group in ("describe 'total' do", "describe :total do", "describe Other do", "describe 'GET /a' do"):
        text = f"RSpec.describe Order do\n {group}\n {inner} end\nend\n"
        (shop / "spec/models/order_spec.rb").write_text(text)
        done = cli("plan", "check", "--changed", "--root", shop)
        assert done.code == 2
        assert f"{FILE}:8: Order#pay: 0 of " in done.out
        assert "the spec has no group for the method" in done.err


def test_only_methods_that_changed_since_the_main_branch_are_checked(cli: Cli, shop: Path) -> None:
    commit(shop)
    assert checked(cli, shop) == []
    git("checkout", "-qb", "topic", cwd=shop)
    edit(shop, "return 0 if empty?", "return 1 if empty?")
    commit(shop)
    done = cli("plan", "check", "--changed", "--root", shop)
    assert (done.code, done.err) == (0, "")
    assert done.out == f"{FILE}:2: Order#total: 2 of 2 states are covered\n"
    edit(shop, "1 : 2", "1 : 3")
    done = cli("plan", "check", "--changed", "--root", shop)
    assert done.code == 2
    assert f"{FILE}:8: Order#pay: 0 of 4 states are covered" in done.out
    assert f"Warning: {FILE}: Order#pay: unknown: user_active: active" in done.err
    assert checked(cli, shop, "--changed", "HEAD") == ["pay"]


def test_a_private_method_that_changed_is_checked_through_its_callers(cli: Cli, shop: Path) -> None:
    commit(shop)
    edit(shop, 'raise "no"', 'raise "never"')
    assert checked(cli, shop) == ["pay"]


def test_moving_renaming_and_deleting_change_no_method(cli: Cli, shop: Path) -> None:
    commit(shop)
    git("mv", FILE, "app/models/purchase.rb", cwd=shop)
    edit(shop, "class Order\n", "class Order\n  # a comment\n\n", "app/models/purchase.rb")
    assert checked(cli, shop) == []
    edit(shop, "1 : 2", "2 : 1", "app/models/purchase.rb")
    assert checked(cli, shop) == ["pay"]
    edit(
        shop,
        "  def pay(user)\n    check(user)\n    user.active? ? 2 : 1\n  end\n",
        "",
        "app/models/purchase.rb",
    )
    assert checked(cli, shop) == []
    git("rm", "-qf", "app/models/purchase.rb", cwd=shop)
    assert checked(cli, shop) == []


def test_without_a_commit_everything_is_new(cli: Cli, shop: Path) -> None:
    assert checked(cli, shop) == ["total", "pay"]
    assert checked(cli, shop, "--staged") == []
    git("add", FILE, cwd=shop)
    assert checked(cli, shop, "--staged") == ["total", "pay"]


def test_the_default_is_the_repository_of_the_current_directory(
    cli: Cli, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit(shop)
    edit(shop, "1 : 2", "2 : 1")
    monkeypatch.chdir(shop / "app")
    assert "Order#pay" in cli("plan", "check", "--changed").out


def test_staged_changes_are_those_of_the_next_commit(cli: Cli, shop: Path) -> None:
    commit(shop)
    edit(shop, "1 : 2", "2 : 1")
    assert checked(cli, shop, "--staged") == []
    git("add", FILE, cwd=shop)
    assert checked(cli, shop, "--staged") == ["pay"]


def test_a_new_file_and_a_file_without_a_spec(cli: Cli, shop: Path) -> None:
    commit(shop)
    (shop / "app/models/cart.rb").write_text("class Cart\n  def call(a)\n    a ? 1 : 2\n  end\nend\n")
    (shop / "spec/models/other_spec.rb").write_text("x ? 1 : 2\n")
    done = cli("plan", "check", "--changed", "--root", shop)
    assert done.code == 2
    assert "Cart#call: no spec for its 2 states: spec/models/cart_spec.rb" in done.err


def test_a_shallow_clone_is_compared_with_the_branch_itself(cli: Cli, shop: Path, tmp_path: Path) -> None:
    commit(shop)
    git("checkout", "-qb", "topic", cwd=shop)
    edit(shop, "1 : 2", "2 : 1")
    commit(shop)
    git("checkout", "-q", "main", cwd=shop)
    edit(shop, "  def total", "  # more\n  def total")
    commit(shop)
    clone = tmp_path / "clone"
    options = ("--depth", "1", "--branch", "topic", "--no-single-branch")
    git("clone", "-q", *options, f"file://{shop}", clone, cwd=tmp_path)
    done = cli("plan", "check", "--changed", "--root", clone)
    assert done.code == 2
    assert "no common commit with origin/" in done.err
    assert "Order#pay" in done.out
    assert "Order#total" not in done.out
    done = cli("plan", "check", "--changed", "v1.0", "--root", clone)
    assert (done.code, done.out) == (1, "")
    assert "the revision v1.0 does not exist here" in done.err


def test_annotations_are_workflow_commands(cli: Cli, shop: Path) -> None:
    commit(shop)
    edit(shop, "1 : 2", "2 : 1")
    done = cli("plan", "check", "--changed", "--annotations", "github", "--root", shop)
    assert done.code == 2
    assert done.out.splitlines()[0].startswith(f"::warning file={FILE},line=9::Order#pay: unknown: ")
    assert "Order#pay: 4 of 4 states are not covered, or not known to be\n" in done.err
    assert "unknown" not in done.err  # what is annotated is not written twice


def test_no_repository_and_no_option_are_errors(cli: Cli, tmp_path: Path) -> None:
    assert cli("plan", "check", "--root", tmp_path).code == 64
    done = cli("plan", "check", "--changed", "--root", tmp_path)
    assert (done.code, done.out) == (1, "")
    assert "is not in a git repository" in done.err
