"""The published vectors: they are what the script writes, and runcard finds what their manifest says."""

import json
from pathlib import Path

import make_vectors
import pytest
import run_vectors
from run_vectors import Fields

from conftest import Cli

FOLDER = Path(run_vectors.__file__).parent


def content(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_the_script_writes_the_same_bytes_again(tmp_path: Path) -> None:
    make_vectors.write_vectors(tmp_path)
    written, published = content(tmp_path), content(FOLDER)
    assert {name for name in written if written[name] != published.get(name)} == set()
    assert {name for name in published if name.startswith("records/")} <= set(written)


def test_each_vector_has_a_name_and_a_record_of_its_own() -> None:
    entries = run_vectors.vectors()
    names = [entry["name"] for entry in entries]
    assert len(set(names)) == len(names) >= 60
    assert {path.name for path in (FOLDER / "records").iterdir()} == set(names)


def test_the_vectors_are_small() -> None:
    assert sum(map(len, content(FOLDER).values())) < 3_000_000


@pytest.mark.parametrize("kind", ["run", "session", "archive", "store"])
def test_runcard_finds_what_the_manifest_says(cli: Cli, kind: str) -> None:
    def verify(vector: Fields, record: Path) -> Fields:
        outcome = cli("verify", *run_vectors.verify_options(vector), record)
        return run_vectors.verdict(json.loads(outcome.out), outcome.code)

    assert list(run_vectors.differences(verify, kind)) == []


def test_a_wrong_verdict_is_reported() -> None:
    """A verifier that trusts everything fails for every vector with a problem."""

    def verify(_: Fields, __: Path) -> Fields:
        return {"intact": True, "complete": True, "signed": None, "timestamped": None}

    good = [
        v
        for v in run_vectors.vectors("run")
        if (v["intact"], v["complete"], v["signed"], v["timestamped"]) == (True, True, None, None)
    ]
    assert len(list(run_vectors.differences(verify, "run"))) == len(run_vectors.vectors("run")) - len(good)


def test_the_verdicts_of_format_1_that_changed_are_about_signatures() -> None:
    """The records are the same; a signature no longer stands for what was changed after it, or for a key nobody trusts."""
    first = json.loads((FOLDER / "manifest-1.json").read_text())["vectors"]
    now = {vector["name"]: vector for vector in run_vectors.vectors()}
    differing = {}
    for old in first:
        new = now[old["name"]]
        if fields := {name for name in old if old[name] != new[name]}:
            differing[old["name"]] = fields
            assert (old["signed"], new["signed"]) == (True, False)
    unsigned = {"signed", "findings", "exit_code"}
    assert {name for name, fields in differing.items() if fields - {"signed"}} == {"signed-then-amended"}
    assert differing["signed-then-amended"] == unsigned
    assert len(differing) == 8
