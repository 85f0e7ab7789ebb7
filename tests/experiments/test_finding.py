"""What runs take from the experiment that they belong to: its id, its configuration, its inputs, its place."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import runcard
from conftest import Cli
from experiments.folders import config_of, metadata, record
from runcard.errors import DocumentError, RuncardWarning, StoreError
from runcard.operations.experiments.find import find
from runcard.store.experiments import id_from_name


def written(text: str, name: str = "x") -> Path:
    folder = Path("experiments", name)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.yaml").write_text(text)
    return folder


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "runcard", "run", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def only_run(store: str) -> Path:
    (found,) = (path for path in Path(store).iterdir() if path.name != ".runcard")
    return found


def test_without_a_folder_the_id_follows_from_the_name() -> None:
    assert find("x") is None
    generation = metadata(record("x", "outputs"))["generation"]
    assert (generation["experiment_id"], generation["experiment_name"]) == (id_from_name("x"), "x")
    assert not Path("experiments").exists()


def test_runs_have_the_id_that_the_folder_keeps() -> None:
    written("experiment_id: exp-mine\nmodel: m\n")
    assert metadata(record("x", "outputs"))["generation"]["experiment_id"] == "exp-mine"
    recorder = runcard.MetadataRecorder()
    recorder.start(experiment="x")
    recorder.finish()
    recorder.save("one.json")
    assert runcard.load("one.json").to_dict()["generation"]["experiment_id"] == "exp-mine"


def test_an_id_is_made_once_and_written_into_the_users_file() -> None:
    folder = written("# mine\nmodel: m  # small\n")
    first = metadata(record("x"))["generation"]["experiment_id"]
    assert metadata(record("x"))["generation"]["experiment_id"] == first
    text = (folder / "config.yaml").read_text()
    assert text == f"# mine\nexperiment_id: {first}\nmodel: m  # small\n"


def test_a_bare_folder_gets_a_config_of_its_own() -> None:
    Path("experiments/x").mkdir(parents=True)
    first = metadata(record("x", "outputs"))["generation"]["experiment_id"]
    assert config_of("x") == {"experiment_id": first}


def test_many_at_once_agree_on_the_id() -> None:
    Path("experiments/x").mkdir(parents=True)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: find("x"), range(16)))
    assert len({one.experiment_id for one in found if one}) == 1
    assert None not in found


def test_a_run_reads_config_and_data_and_goes_below_the_folder() -> None:
    folder = written("experiment_id: exp-mine\ndescription: d\nmodel: m\nnested: {a: 1, b: 2}\n")
    (folder / "data" / "deep").mkdir(parents=True)
    (folder / "data" / "a.txt").write_text("a")
    (folder / "data" / "deep" / "b.txt").write_text("b")
    Path("more.txt").write_text("m")
    done = run("--experiment", "x", "--set", "nested.b=3", "--input", "more.txt", "--", "true")
    assert (done.returncode, done.stdout) == (0, "")
    document = metadata(only_run("experiments/x/outputs"))
    assert document["configuration"] == {"model": "m", "provider": None, "nested": {"a": 1, "b": 3}}
    assert [file["path"] for file in document["data_sources"]["files"]] == [
        "experiments/x/data/a.txt",
        "experiments/x/data/deep/b.txt",
        "more.txt",
    ]
    assert document["generation"]["experiment_name"] == "x"
    assert document["generation"]["experiment_id"] == "exp-mine"
    assert document["warnings"] == []


def test_without_data_there_is_nothing_to_warn_of(cli: Cli) -> None:
    cli("experiment", "create", "x")
    assert run("--experiment", "x", "--", "true").returncode == 0
    assert metadata(only_run("experiments/x/outputs"))["warnings"] == []


def test_outputs_that_are_named_go_before_the_folder() -> None:
    written("model: m\n")
    assert run("--experiment", "x", "--outputs", "mine", "--", "true").returncode == 0
    assert metadata(only_run("mine"))["configuration"]["model"] == "m"


def test_a_name_alone_is_a_name_alone() -> None:
    assert run("--experiment", "x", "--", "true").returncode == 0
    assert metadata(only_run("outputs"))["generation"]["experiment_name"] == "x"


BROKEN = {
    "a: 1\nb: [\n": "config.yaml:3:1: ",
    "a: 1\na: 2\n": "config.yaml:2:1: the key 'a' occurs twice",
    "a: !ruby/object:Foo {}\n": "config.yaml:1:4: the tag '!ruby/object:Foo'",
    "a: &a [*a]\n": "config.yaml:1:8: &a contains itself",
    "1: x\n": "config.yaml:1:1: a key must be text",
    "- a\n": "config.yaml: expected an object, found a list",
    "a: .nan\n": "config.yaml:1:4: ",
    "a: \x00\n": "config.yaml:1:4: control character",
    "x: 1\nexperiment_id: ../../etc\n": "config.yaml:2:16: experiment_id must be an id",
    "experiment_id: 7\n": "config.yaml:1:16: experiment_id must be a text",
    "model: m\ndescription: [a]\n": "config.yaml:2:14: description must be a text",
    "a: " + "[" * 100_000: "nested deeper than 1,000 levels",
}


@pytest.mark.parametrize("text", BROKEN, ids=lambda text: text[:30])
def test_a_broken_config_is_an_error_that_says_where(cli: Cli, text: str) -> None:
    folder = written(text)
    with pytest.raises(DocumentError) as refused:
        find("x")
    assert BROKEN[text] in refused.value.message
    assert refused.value.message.startswith("experiments/x/config.yaml")
    assert refused.value.hint
    assert cli("experiment", "show", "x").code == 1
    assert (folder / "config.yaml").read_text() == text


def test_a_command_is_not_run_when_the_config_is_broken() -> None:
    written("a: [\n")
    done = run("--experiment", "x", "--", "touch", "ran")
    assert done.returncode == 125
    assert done.stderr.startswith("Error: experiments/x/config.yaml:2:1: ")
    assert not Path("ran").exists()


def test_a_recording_goes_on_without_the_id() -> None:
    """The record of a run is worth more than the id of its experiment."""
    written("a: [\n")
    with (
        pytest.warns(RuncardWarning, match=r"config\.yaml:2:1"),
        runcard.record("outputs", experiment="x") as going,
    ):
        pass
    generation = metadata(going.path)["generation"]
    assert (generation["experiment_id"], generation["experiment_name"]) == (None, "x")
    assert generation["status"] == "completed"
    assert runcard.load(going.path / "metadata.json").kind.name == "generation"
    with pytest.raises(DocumentError), runcard.record("outputs", experiment="x", strict=True):
        pass


@pytest.mark.parametrize("kind", ["fifo", "folder", "dangling"])
def test_what_is_no_file_is_not_waited_for(kind: str) -> None:
    Path("experiments/x").mkdir(parents=True)
    path = Path("experiments/x/config.yaml")
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    else:
        path.symlink_to("nowhere")
    with pytest.raises(StoreError, match="is not a file"):
        find("x")


def test_no_file_is_changed_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "shared.yaml").write_text("model: m\n")
    Path("experiments/x").mkdir(parents=True)
    Path("experiments/x/config.yaml").symlink_to(tmp_path / "shared.yaml")
    with pytest.raises(StoreError, match="is a link"):
        find("x")
    assert (tmp_path / "shared.yaml").read_text() == "model: m\n"
    (tmp_path / "shared.yaml").write_text("model: m\nexperiment_id: exp-shared\n")
    found = find("x")
    assert found is not None
    assert (found.experiment_id, found.config) == ("exp-shared", {"model": "m"})


def test_secrets_of_the_config_are_masked_in_the_record(cli: Cli) -> None:
    written("experiment_id: exp-mine\napi_key: sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789\n")
    assert run("--experiment", "x", "--", "true").returncode == 0
    assert b"abcdefghijklmnop" not in (only_run("experiments/x/outputs") / "metadata.json").read_bytes()
    assert (
        "abcdefghijklmnop"
        not in cli("experiment", "show", "x").out + cli("experiment", "show", "x", "--json").out
    )
