"""Sessions and runs as runcard wrote them before instance documents had `format_version`.

Then an instance document of 2.0.0 said so in `version`, and a session that was recorded while it worked had the time of its start.
"""

import json
import tarfile
from pathlib import Path
from typing import Any

import pytest

from conftest import Cli

RECORDS = Path(__file__).parent / "data" / "records-before-format-version.tar.gz"
NEWER, OLDER, RUNS = "artifacts-2.0.0", "artifacts-1.0.0", "outputs"


@pytest.fixture(autouse=True)
def records(here: Path) -> Path:
    with tarfile.open(RECORDS) as packed:
        packed.extractall(here, filter="fully_trusted")  # noqa: S202 - it is our own
    return here


def named(store: str, end: str) -> Path:
    (path,) = Path(store).glob(f"2*{end}")
    return path


def documents(path: Path) -> list[dict[str, Any]]:
    return [json.loads(file.read_bytes()) for file in sorted(path.glob("instances/*/metadata.json"))]


@pytest.mark.parametrize(("store", "code", "count"), [(NEWER, 2, 5), (OLDER, 0, 3), (RUNS, 0, 2)])
def test_they_are_verified_and_validated(cli: Cli, store: str, code: int, count: int) -> None:
    done = cli("verify", store, "--json")
    report = json.loads(done.out)
    assert (done.code, report["intact"], len(report["records"])) == (code, True, count)
    assert {finding["kind"] for finding in report["findings"]} <= {"open", "limits"}
    # Without known costs, a summary of 1.0.0 has no totals: a warning.
    assert cli("validate", store).code == (2 if store == OLDER else 0)


def test_they_are_listed(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARTIFACTS_DIR", NEWER)
    listed = json.loads(cli("ls", "--json").out)
    assert listed["total"] == 7
    assert {record["kind"] for record in listed["records"]} == {"run", "session"}
    totals = json.loads(cli("costs", "--json").out)["totals"]
    assert totals["known_cost_usd"] > 0.32


def test_an_instance_of_the_earlier_shape_is_of_2_0_0(cli: Cli) -> None:
    path = named(NEWER, "team-1") / "instances/lead-1/metadata.json"
    assert cli("validate", path).out == f"{path}: valid instance 2.0.0\n"
    data = json.loads(path.read_bytes())
    assert (data["version"], "format_version" in data) == ("2.0.0", False)
    assert "team-1" in cli("show", named(NEWER, "team-1")).out


@pytest.mark.parametrize("end", ["team-1", "live-1", "00000a"])
def test_a_session_goes_down_and_up_again(cli: Cli, end: str) -> None:
    path = named(NEWER, end)
    assert cli("migrate", path, "--to", "1.0.0").code == 2  # what 1.0.0 has no room for is dropped, and said
    assert {document["version"] for document in documents(path)} == {"1.0.0"}
    assert not any("format_version" in document or "tokens" in document for document in documents(path))
    assert cli("verify", path).code == 0
    assert cli("migrate", path, "--to", "2.0.0").code == 0
    assert {(each["version"], each["format_version"]) for each in documents(path)} == {("1.0.0", "2.0.0")}
    assert cli("verify", path).code == 0


def test_the_earlier_shape_of_2_0_0_is_migrated_to_the_present_one(cli: Cli) -> None:
    path = named(NEWER, "team-1")
    before = documents(path)
    assert cli("migrate", path, "--to", "2.0.0").code == 0
    for old, new in zip(before, documents(path), strict=True):
        assert new.pop("origin")["version"] == "2.0.0"
        assert new == old | {"version": "1.0.0", "format_version": "2.0.0"}
    report = json.loads(cli("verify", path, "--json").out)
    assert {finding["kind"] for finding in report["findings"]} == {"amended"}
    written = [file.read_bytes() for file in path.glob("**/metadata.json")]
    assert cli("migrate", path).code == 0  # once is enough
    assert [file.read_bytes() for file in path.glob("**/metadata.json")] == written


@pytest.mark.parametrize(("store", "end"), [(NEWER, "team-2"), (OLDER, "team-2"), (NEWER, "live-1")])
def test_a_session_is_amended_redacted_archived_and_restored(cli: Cli, store: str, end: str) -> None:
    path = named(store, end)
    assert cli("amend", path, "note", "checked").code == 0
    log = next(path.glob("instances/*/output.log")).relative_to(path)
    assert cli("redact", path, "--file", str(log), "--reason", "private", "--yes").code == 0
    assert cli("verify", path).code == 0
    assert cli("archive", path).code == 0
    assert not path.exists()
    (archive,) = Path(store).glob(f"archive/*/*{end}.tar.gz")
    assert cli("verify", archive).code == 0
    assert cli("restore", archive).code == 0
    assert cli("verify", path).code == 0
    assert cli("validate", path).code in {0, 2}


def test_an_open_session_is_continued_and_closed(cli: Cli) -> None:
    options = ("--session", "open-1", "--artifacts", NEWER)
    assert cli("session", "usage", '{"input_tokens": 1000, "output_tokens": 200}', *options).code == 0
    assert cli("session", "finish", *options).code == 0
    path = named(NEWER, "open-1")
    document = json.loads((path / "metadata.json").read_bytes())
    assert document["execution_summary"]["total_tokens"] == 2400
    assert document["created_at"] > document["execution_summary"]["execution_start"]
    assert path.name[:10] == document["created_at"][:10]
    assert cli("verify", path).code == 0
