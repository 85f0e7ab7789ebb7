"""`runcard experiment create`: the folder, its files, and what is never touched."""

import json
import os
from pathlib import Path

import pytest

from conftest import Cli
from experiments.folders import config_of, metadata, record

NAMES = ["..", ".hidden", "a/b", "/etc", "", "a b", "a\nb", "-x", "é", "x" * 129, "a\0b"]


def test_an_experiment_gets_a_folder_with_everything_in_it(cli: Cli) -> None:
    done = cli("experiment", "create", "personas", "--description", "Five personas: spring")
    assert (done.code, done.out, done.err) == (0, "experiments/personas\n", "")
    folder = Path("experiments/personas")
    assert sorted(path.name for path in folder.iterdir()) == ["README.md", "config.yaml", "data", "outputs"]
    config = config_of("personas")
    assert config["experiment_id"].startswith("exp-")
    assert config["description"] == "Five personas: spring"
    assert config["created_at"].endswith("Z")
    text = (folder / "config.yaml").read_text()
    assert text.startswith("# The experiment personas.")
    readme = (folder / "README.md").read_text()
    assert readme.startswith("# personas\n\nFive personas: spring\n")
    assert config["experiment_id"] in readme
    assert "runcard run --experiment personas -- COMMAND" in readme


def test_the_readme_of_a_hostile_description_breaks_nothing(cli: Cli) -> None:
    assert cli("experiment", "create", "x", "--description", "a|b\n# c <script> \x1b[31m").code == 0
    readme = Path("experiments/x/README.md").read_text()
    assert "\x1b" not in readme
    assert "\n# c" not in readme
    assert "<script>" not in readme.replace("\\<script\\>", "")
    assert config_of("x")["description"] == "a|b\n# c <script> \x1b[31m"


def test_the_configuration_is_taken_from_a_file_with_its_comments(cli: Cli) -> None:
    Path("mine.yaml").write_text("# the small one\nmodel: m-1 # cheap\nseed: 7\n")
    assert cli("experiment", "create", "x", "--config", "mine.yaml").code == 0
    text = Path("experiments/x/config.yaml").read_text()
    assert text.endswith("# the small one\nmodel: m-1 # cheap\nseed: 7\n")
    assert (config_of("x")["model"], config_of("x")["seed"]) == ("m-1", 7)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("mine.json", '{"model": "m-1", "experiment_id": "exp-other", "deep": {"on": "yes"}}'),
        ("mine.toml", 'model = "m-1"\ndescription = "told"\n[deep]\non = "yes"\n'),
        ("mine.yaml", "{model: m-1, experiment_id: exp-other, deep: {'on': 'yes'}}"),
    ],
)
def test_other_files_will_do_and_never_bring_an_id(cli: Cli, name: str, text: str) -> None:
    Path(name).write_text(text)
    assert cli("experiment", "create", "x", "--config", name).code == 0
    config = config_of("x")
    assert config["model"] == "m-1"
    assert config["deep"] == {"on": "yes"}
    assert config["experiment_id"] not in {"exp-other", None}
    assert config.get("description") == ("told" if name == "mine.toml" else None)


def test_a_broken_configuration_makes_nothing(cli: Cli) -> None:
    Path("mine.yaml").write_text("a: [1,\n")
    done = cli("experiment", "create", "x", "--config", "mine.yaml")
    assert done.code == 1
    assert done.err.startswith("Error: mine.yaml:2:1: ")
    assert not Path("experiments").exists()


def test_one_that_exists_is_never_touched(cli: Cli) -> None:
    cli("experiment", "create", "x")
    before = Path("experiments/x/config.yaml").read_bytes()
    done = cli("experiment", "create", "x", "--description", "other")
    assert done.code == 1
    assert "exists already" in done.err
    assert Path("experiments/x/config.yaml").read_bytes() == before


def test_a_folder_made_by_hand_gets_what_it_lacks(cli: Cli) -> None:
    os.makedirs("experiments/x/data")
    Path("experiments/x/README.md").write_text("mine\n")
    assert cli("experiment", "create", "x").code == 0
    assert Path("experiments/x/README.md").read_text() == "mine\n"
    assert config_of("x")["experiment_id"]


@pytest.mark.parametrize("name", [name for name in NAMES if "\0" not in name])
@pytest.mark.parametrize("command", ["create", "show", "delete"])
def test_hostile_names_are_refused(cli: Cli, command: str, name: str) -> None:
    done = cli("experiment", command, "--", name)
    assert done.code == 64
    assert "is not a valid name" in done.err
    assert not Path("experiments").exists()


@pytest.mark.parametrize("command", ["create", "show", "delete"])
def test_a_link_in_the_place_of_an_experiment_is_refused(cli: Cli, command: str, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    Path("experiments").mkdir()
    Path("experiments/x").symlink_to(tmp_path / "elsewhere")
    done = cli("experiment", command, "x")
    assert done.code == 1
    assert "is a link" in done.err
    assert list((tmp_path / "elsewhere").iterdir()) == []


@pytest.mark.parametrize("arguments", [["create", "x"], ["list"], ["show", "x"], ["delete", "x", "--yes"]])
def test_a_file_in_the_place_of_all_experiments(cli: Cli, arguments: list[str]) -> None:
    Path("experiments").write_text("mine\n")
    done = cli("experiment", *arguments)
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("Error: ")
    assert Path("experiments").read_text() == "mine\n"


def test_json(cli: Cli) -> None:
    said = json.loads(cli("experiment", "create", "x", "--json").out)
    assert said == {
        "name": "x",
        "path": "experiments/x",
        "experiment_id": config_of("x")["experiment_id"],
    }
    assert metadata(record("x"))["generation"]["experiment_id"] == said["experiment_id"]
