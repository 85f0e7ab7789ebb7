"""runcard schema"""

import json
from pathlib import Path

import pytest

import runcard.documents
from acceptance.command import runcard as acceptance_runcard
from conftest import Cli
from runcard.documents.kinds import PUBLISHED

_FOLDER = Path(runcard.documents.__path__[0]) / "schemas"
_PUBLISHED = [(kind.name, version) for kind in PUBLISHED.values() for version in kind.schemas]


@pytest.mark.parametrize(("kind", "version"), _PUBLISHED)
def test_a_published_schema_is_printed_as_it_was_published(cli: Cli, kind: str, version: str) -> None:
    done = cli("schema", kind, "--version", version)
    assert (done.code, done.err) == (0, "")
    assert done.out.encode() == (_FOLDER / f"{kind}-{version}.json").read_bytes()
    assert json.loads(done.out)["$schema"] == "http://json-schema.org/draft-07/schema#"


def test_every_file_among_the_schemas_can_be_printed() -> None:
    assert {file.stem for file in _FOLDER.iterdir()} == {f"{kind}-{version}" for kind, version in _PUBLISHED}


@pytest.mark.parametrize("kind", PUBLISHED)
def test_the_latest_version_is_printed_unless_one_is_named(cli: Cli, kind: str) -> None:
    latest = PUBLISHED[kind].schemas[-1]
    assert cli("schema", kind).out == cli("schema", kind, "--version", latest).out


def test_a_kind_that_does_not_exist_is_wrong_usage_and_the_known_ones_are_listed(cli: Cli) -> None:
    done = cli("schema", "teem")
    assert (done.code, done.out) == (64, "")
    assert done.err.startswith("Error: ")
    assert all(f"'{kind}'" in done.err for kind in PUBLISHED)


def test_a_version_that_was_never_published_is_wrong_usage_and_the_published_are_listed(cli: Cli) -> None:
    done = cli("schema", "team", "--version", "3.0.0")
    assert (done.code, done.out) == (64, "")
    assert done.err == "Error: no team schema has version 3.0.0\n  hint: published: 1.0.0, 2.0.0\n"


def test_the_real_command_prints_the_bytes_of_the_file() -> None:
    done = acceptance_runcard("schema", "generation")
    assert (done.code, done.out, done.err) == (0, (_FOLDER / "generation-1.0.json").read_bytes(), b"")


def test_a_damaged_installation_is_an_error_that_names_the_file(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("runcard.documents.schema._FOLDER", tmp_path)
    done = cli("schema", "team")
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith(f"Error: cannot use {tmp_path}/team-2.0.0.json: No such file or directory\n")
