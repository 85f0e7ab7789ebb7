"""What the user may not read or write, as an ordinary user: root may do everything."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from acceptance.command import runcard_as_user
from checks import samples
from files.unprivileged import everybodys_directory


@pytest.fixture
def public() -> Iterator[Path]:
    with everybodys_directory() as folder:
        folder.chmod(0o755)
        yield folder
        for path in folder.rglob("*"):
            path.chmod(0o755)


def _put(path: Path, content: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(samples.written(content))
    return path


def test_a_file_that_may_not_be_read_is_an_error_with_a_way_out(public: Path) -> None:
    path = _put(public / "x.json", samples.team())
    path.chmod(0)
    done = runcard_as_user("validate", path)
    assert (done.code, done.text) == (1, "")
    assert done.messages == (
        f"Error: {path}: it cannot be read: Permission denied [file.unreadable]\n"
        "  hint: change its permissions, or run the command as its owner\n"
    )


def test_a_folder_that_may_not_be_read_is_an_error(public: Path) -> None:
    folder = _put(public / "in" / "x.json", samples.team()).parent
    folder.chmod(0)
    done = runcard_as_user("validate", folder)
    assert (done.code, done.text) == (1, "")
    assert done.messages.startswith(f"Error: {folder}: it cannot be read: Permission denied ")


def test_what_may_not_be_read_inside_a_folder_is_reported_and_the_rest_is_checked(public: Path) -> None:
    good = _put(public / "a.json", samples.team())
    secret = _put(public / "b.json", samples.team())
    closed = _put(public / "c" / "x.json", samples.team()).parent
    unlisted = _put(public / "d" / "metadata.json", samples.team()).parent
    secret.chmod(0)
    closed.chmod(0)
    unlisted.chmod(0o444)
    done = runcard_as_user("validate", "--json", public)
    report = json.loads(done.text)
    assert done.code == 1
    assert {document["path"]: document["valid"] for document in report["documents"]} == {
        str(good): True,
        str(secret): False,
        str(closed): False,
        f"{unlisted}/metadata.json": False,
    }


def test_an_instance_that_may_not_be_read_is_reported(public: Path) -> None:
    session = _put(public / "s" / "metadata.json", samples.team()).parent
    _put(session / "instances" / "lead" / "metadata.json", samples.instance())
    closed = _put(session / "instances" / "writer" / "metadata.json", samples.instance()).parent
    closed.chmod(0)
    done = runcard_as_user("validate", session)
    assert done.code == 1
    assert f"Error: {closed}/metadata.json: it cannot be read: Permission denied " in done.messages


def test_a_folder_of_instances_that_may_not_be_read_is_reported(public: Path) -> None:
    session = _put(public / "s" / "metadata.json", samples.team()).parent
    instances = _put(session / "instances" / "writer" / "metadata.json", samples.instance()).parents[1]
    instances.chmod(0)
    done = runcard_as_user("validate", session)
    assert done.code == 1
    assert done.text == f"{session}/metadata.json: valid team 1.0.0\n"
    assert done.messages.startswith(f"Error: {instances}: it cannot be read: Permission denied ")


def test_a_document_in_a_folder_that_may_not_be_written_is_not_migrated(public: Path) -> None:
    path = _put(public / "in" / "x.json", samples.team())
    path.parent.chmod(0o555)
    done = runcard_as_user("migrate", path, "--to", "2.0.0")
    assert (done.code, done.text) == (1, "")
    assert done.messages.startswith(f"Error: cannot rewrite {path}: Permission denied\n")
    assert path.read_bytes() == samples.written(samples.team())
    assert [file.name for file in path.parent.iterdir()] == ["x.json"]


def test_a_document_that_may_not_be_read_is_not_migrated(public: Path) -> None:
    path = _put(public / "x.json", samples.team())
    path.chmod(0)
    done = runcard_as_user("migrate", path, "--to", "2.0.0", "--output", "-")
    assert (done.code, done.text) == (1, "")
    assert done.messages.startswith(f"Error: cannot read {path}: Permission denied\n")
