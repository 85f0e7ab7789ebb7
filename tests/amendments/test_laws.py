"""Laws: after amendments, any flipped bit is found; and however a record is amended, it verifies and its chain holds."""

import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amendments.records import lines
from runcard.documents import chain
from runcard.operations.amendments.amend import amend
from runcard.operations.amendments.redact import redact
from runs.runs import verdict


@pytest.fixture(scope="module")
def amended(made_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that was amended in every way."""
    store = tmp_path_factory.mktemp("laws") / "outputs"
    run = Path(shutil.copytree(made_run.parent, store, symlinks=True)) / made_run.name
    redact(run, files=["notes.txt"], reason="law")
    redact(run, events=["2"], reason="law")
    redact(run, rules=["anthropic-key"], reason="law")
    amend(run, "note", "checked")
    amend(run, "evaluation", "accuracy=0.93")
    assert verdict(store)["intact"]
    return run


@settings(max_examples=60)
@given(data=st.data())
def test_a_flipped_bit_anywhere_is_found(amended: Path, data: st.DataObject) -> None:
    files = sorted(path for path in amended.rglob("*") if path.is_file() and not path.is_symlink())
    path = data.draw(st.sampled_from(files))
    old = path.read_bytes()
    at = data.draw(st.integers(0, len(old) - 1))
    new = bytearray(old)
    new[at] ^= 1 << data.draw(st.integers(0, 7))
    try:
        path.write_bytes(new)
        said = verdict(amended)
    finally:
        path.write_bytes(old)
    assert not (said["intact"] and said["complete"]), (path.name, at)
    relevant = {path.name, "metadata.json", "amendments.jsonl", "SHA256SUMS"}
    assert {found["path"].split("/")[-1] for found in said["findings"]} & relevant


WORK = st.lists(
    st.one_of(
        st.tuples(st.just("file"), st.sampled_from(["notes.txt", "deep", "*.txt", "**/*.md", "picture.png"])),
        st.tuples(st.just("event"), st.integers(1, 5).map(str)),
        st.tuples(st.just("rule"), st.sampled_from(["anthropic-key", "github-token", "jwt"])),
        st.tuples(st.just("note"), st.text(st.characters(codec="utf-8"), min_size=1).filter(str.strip)),
    ),
    max_size=6,
)


@settings(max_examples=25)
@given(work=WORK)
def test_however_a_record_is_amended_it_verifies(made_run: Path, work: list[tuple[str, str]]) -> None:
    with TemporaryDirectory() as folder:
        store = Path(shutil.copytree(made_run.parent, Path(folder) / "outputs", symlinks=True))
        run = store / made_run.name
        for kind, what in work:
            if kind == "note":
                amend(run, "note", what)
            else:
                redact(run, reason="law", **{f"{kind}s": [what]})  # type: ignore[arg-type]
        said = verdict(store)
        assert (said["intact"], said["complete"]) == (True, True), said["findings"]
        assert {found["kind"] for found in said["findings"]} <= {"amended", "withheld", "limits"}
        if (run / "amendments.jsonl").exists():
            journal = chain.parse((run / "amendments.jsonl").read_bytes())
            first = lines(run / "amendments.jsonl")[0]["prev"]
            assert chain.check(journal, "", first=first).faults == ()
