"""`runcard plan targets` and `runcard plan factories`: output and exit codes."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from acceptance.command import runcard
from conftest import Cli
from plans.ruby.ruby_tools import SHOP
from plans.ruby.samples import written

ORDER = "class Order\n  def total; end\n  def self.build; end\nend\n"
BROKEN = "class A\n  def x(\n  end\nend\n"


def test_targets_are_listed_with_their_places(cli: Cli, tmp_path: Path) -> None:
    file = written(tmp_path, ORDER, "order.rb")
    done = cli("plan", "targets", file)
    assert (done.code, done.err) == (0, "")
    assert done.out == f"{file}:2: Order#total\n{file}:3: Order.build\n"


def test_a_file_without_methods_says_so(cli: Cli, tmp_path: Path) -> None:
    file = written(tmp_path, "class A; end")
    assert cli("plan", "targets", file).out == f"{file}: no methods\n"


def test_targets_as_json_are_a_line_for_each_file_in_their_order(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "Gemfile").touch()
    broken, good = written(tmp_path, BROKEN, "lib/broken.rb"), written(tmp_path, ORDER, "lib/order.rb")
    done = cli("plan", "targets", broken, tmp_path / "none.rb", good, "--json")
    assert done.code == 1
    first, second, third = map(json.loads, done.out.splitlines())
    assert (first["source"], first["file"]) == (str(broken), "lib/broken.rb")
    assert [warning["line"] for warning in first["warnings"]] == [2]
    assert second == {
        "source": str(tmp_path / "none.rb"),
        "error": f"{tmp_path}/none.rb does not exist",
        "hint": "check the path",
    }
    assert third == {
        "source": str(good),
        "file": "lib/order.rb",
        "classes": ["Order"],
        "targets": [
            {
                "class": "Order",
                "method": "total",
                "method_type": "instance",
                "line": 2,
                "visibility": "public",
            },
            {"class": "Order", "method": "build", "method_type": "class", "line": 3, "visibility": "public"},
        ],
        "warnings": [],
    }
    error, _, warning = done.err.splitlines()
    assert error == f"Error: {tmp_path}/none.rb does not exist"
    assert warning.startswith(f"Warning: {broken}: line 2: cannot be parsed")


def test_a_part_that_cannot_be_read_is_exit_2(cli: Cli, tmp_path: Path) -> None:
    file = written(tmp_path, BROKEN)
    done = cli("plan", "targets", file)
    assert (done.code, done.out) == (2, f"{file}:2: A#x\n")
    assert done.err.startswith("Warning: ")


def test_a_file_that_cannot_be_read_is_exit_1_and_nothing_on_stdout(cli: Cli, tmp_path: Path) -> None:
    done = cli("plan", "targets", written(tmp_path, b"\0"))
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("Error: ")


def test_a_file_outside_the_root_is_refused(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    done = cli("plan", "targets", written(tmp_path, ORDER), "--root", tmp_path / "project")
    assert (done.code, done.out) == (1, "")
    assert "is not a file below the root" in done.err


def test_the_file_is_named_from_the_root_that_is_given(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "engine" / "Gemfile").parent.mkdir()
    (tmp_path / "engine" / "Gemfile").touch()
    file = written(tmp_path, ORDER, "engine/lib/a.rb")
    assert json.loads(cli("plan", "targets", file, "--json").out)["file"] == "lib/a.rb"
    done = cli("plan", "targets", file, "--root", tmp_path, "--json")
    assert json.loads(done.out)["file"] == "engine/lib/a.rb"


def test_a_name_from_a_file_does_no_harm_on_a_terminal(cli: Cli, tmp_path: Path) -> None:
    done = cli("plan", "targets", written(tmp_path, 'class A\n  define_method(:"\x1b[31m\u202e") { }\nend'))
    assert "\x1b" not in done.out
    assert "\u202e" not in done.out
    assert r"A#\x1b[31m\u202e" in done.out


def test_factories_are_listed_for_people(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "Gemfile").touch()
    text = "FactoryBot.define do\n  trait :old\n  factory :user, aliases: [:owner] do\n    trait :x\n    trait :y\n"
    written(tmp_path, text + "    factory :administrator\n  end\nend\n", "spec/factories.rb")
    done = cli("plan", "factories", tmp_path)
    assert (done.code, done.err) == (0, "")
    assert done.out == "user           spec/factories.rb  x, y\nadministrator  spec/factories.rb\n"
    assert cli("plan", "factories", tmp_path, "--all").out == (
        "user           spec/factories.rb  x, y\n"
        "  class: User\n"
        "  aliases: owner\n"
        "administrator  spec/factories.rb\n"
        "  parent: user\n"
        "  class: User\n"
        "  inherited traits: x, y\n"
        "traits of all factories: old\n"
    )


def test_factories_as_json_are_an_object_by_name_for_each_directory(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "Gemfile").touch()
    for engine in "ab":
        written(
            tmp_path,
            f"FactoryBot.define {{ factory(:{engine}) {{ trait :x }} }}",
            f"{engine}/spec/factories.rb",
        )
    done = cli("plan", "factories", tmp_path / "b", tmp_path / "none", tmp_path / "a", "--json")
    assert done.code == 1
    assert [json.loads(line) for line in done.out.splitlines()] == [
        {"b": {"file": "b/spec/factories.rb", "traits": ["x"]}},
        {},
        {"a": {"file": "a/spec/factories.rb", "traits": ["x"]}},
    ]
    assert done.err.splitlines()[0] == f"Error: {tmp_path}/none does not exist"


def test_no_factories_are_an_empty_object_and_exit_2(cli: Cli, tmp_path: Path) -> None:
    done = cli("plan", "factories", tmp_path, "--json")
    assert (done.code, done.out) == (2, "{}\n")
    assert done.err.startswith(f"Warning: {tmp_path}: no factories found in ")


def test_nothing_that_could_be_read_is_exit_1(cli: Cli, tmp_path: Path) -> None:
    written(tmp_path, b"\0", "spec/factories.rb")
    done = cli("plan", "factories", tmp_path)
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("Error: no factory could be read in ")
    assert cli("plan", "factories", tmp_path, "--json").out == "{}\n"


def test_the_project_of_the_current_directory_is_read_when_none_is_named(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "Gemfile").touch()
    (tmp_path / "app" / "models").mkdir(parents=True)
    written(tmp_path, "FactoryBot.define { factory :a }", "spec/factories/a.rb")
    wanted = {"a": {"file": "spec/factories/a.rb", "traits": []}}
    monkeypatch.chdir(tmp_path / "app" / "models")
    assert json.loads(cli("plan", "factories", "--json").out) == wanted
    monkeypatch.chdir("/")
    assert json.loads(cli("plan", "factories", "--root", tmp_path, "--json").out) == wanted


@pytest.mark.parametrize(
    "arguments", [["targets"], ["targets", "--bogus"], ["factories", "--bogus"]], ids=" ".join
)
def test_wrong_usage_is_64(cli: Cli, arguments: list[str]) -> None:
    done = cli("plan", *arguments)
    assert (done.code, done.out) == (64, "")
    assert done.err.startswith("Error: ")


def test_names_of_files_that_are_not_utf_8_are_shown_escaped(tmp_path: Path) -> None:
    folder = os.fsencode(tmp_path) + b"/spec/factories"
    os.makedirs(folder)
    with open(folder + b"/caf\xe9.rb", "wb") as file:
        file.write(b"FactoryBot.define { factory :a }")
    done = runcard("plan", "factories", tmp_path, "--json")
    assert (done.code, done.messages) == (0, "")
    assert json.loads(done.text) == {"a": {"file": r"spec/factories/caf\xe9.rb", "traits": []}}


def test_the_whole_shop_as_a_process_of_its_own() -> None:
    done = runcard("plan", "factories", SHOP, "--root", SHOP, "--json", measured=True)
    assert (done.code, done.messages) == (0, "")
    assert json.loads(done.text)["team"] == {"file": "spec/factories/users.rb", "traits": ["renamed"]}


def test_a_reader_that_leaves_is_no_error_of_ours(tmp_path: Path) -> None:
    files = [str(written(tmp_path, ORDER, f"{at}.rb")) for at in range(200)]
    shell = 'set -o pipefail; python -m runcard plan targets "$@" | head -n 1'
    done = subprocess.run(
        ["bash", "-c", shell, "bash", *files], capture_output=True, text=True, timeout=60, check=False
    )
    assert "Traceback" not in done.stderr
