"""Records of other folders are found by their ids and names, and a shell completes them."""

import json
from pathlib import Path

import pytest

from acceptance.command import runcard
from conftest import Cli
from runcard.operations.catalog.names import complete_record
from runs.runs import record_one


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run in a folder, and another folder to work in."""
    run = record_one(tmp_path / "outputs")
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return run


def run_id(run: Path) -> str:
    own: str = json.loads((run / "metadata.json").read_bytes())["generation"]["run_id"]
    return own


def test_ids_names_prefixes_and_latest_are_found_in_all_stores(cli: Cli, elsewhere: Path) -> None:
    own = run_id(elsewhere)
    for word in (own, own[:20], elsewhere.name, "@latest"):
        assert json.loads(cli("show", word, "--json").out)["path"] == str(elsewhere)
    assert cli("verify", own).code == 0
    assert cli("log", "nothing-like-this").code == 1


def test_a_store_at_hand_comes_first(cli: Cli, elsewhere: Path) -> None:
    own = record_one(Path("outputs"))
    assert Path(json.loads(cli("show", "@latest", "--json").out)["path"]).resolve() == own.resolve()
    assert json.loads(cli("show", run_id(elsewhere), "--json").out)["path"] == str(elsewhere)
    outcome = cli("show", "@latest~1")
    assert outcome.code == 1
    assert "only one record" in outcome.err


def test_two_matches_elsewhere_are_listed(cli: Cli, tmp_path: Path, elsewhere: Path) -> None:
    other = record_one(tmp_path / "more")
    common = Path(run_id(elsewhere))
    prefix = next(
        run_id(other)[:n] for n in range(len(str(common)), 3, -1) if run_id(other)[:n] == str(common)[:n]
    )
    outcome = cli("show", prefix)
    assert outcome.code == 1
    assert str(elsewhere) in outcome.err
    assert str(other) in outcome.err


def test_names_are_completed(elsewhere: Path) -> None:
    own = run_id(elsewhere)
    assert [name for name, _ in complete_record("")] == ["@latest", own]
    assert [name for name, _ in complete_record(own[:10])] == [own]
    assert [name for name, _ in complete_record(elsewhere.name[:6])] == [elsewhere.name]
    assert complete_record("@la") == [("@latest", "the newest record")]
    assert complete_record("./x") == complete_record("outputs/2") == []
    assert complete_record("run-%_'") == []


@pytest.mark.file_only
def test_completion_never_fails_and_never_reads_all_records(elsewhere: Path, home: Path) -> None:
    (home / ".local" / "share").mkdir(parents=True)
    (home / ".local" / "share" / "runcard").write_text("not a folder")
    assert complete_record(run_id(elsewhere)[:8]) == []


def test_the_shell_asks_for_records(elsewhere: Path) -> None:
    own = run_id(elsewhere)
    words = f"runcard show {own[:12]}"
    done = runcard(env={"_RUNCARD_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": "2"})
    assert f"plain,{own}" in done.text.splitlines()
