"""The chain of a journal: by the published vectors, by its laws, and by programs that know nothing of runcard."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import runcard
from docs.pages import ROOT, blocks, code, rows
from runcard.documents import chain
from runcard.encoding import COMPACT, encode_json
from runs.runs import USAGE, record_one

RECORD = "run-01jcqz8v4n6q8s0t"
PAGE = ROOT / "docs" / "hashing.md"


def published() -> list[dict[str, Any]]:
    """The journal that the documentation shows, with fixed salts."""
    (block,) = [block for block in blocks(PAGE, "text") if block.words == ("experiment.jsonl",)]
    return [json.loads(line) for line in block.text.splitlines()]


def test_the_published_lines_are_those_that_runcard_makes() -> None:
    prev = chain.first_link(RECORD, "w-5f2c")
    for line in published():
        fields = {
            key: line[key] for key in line.keys() - {"payload", "salt", "hash", "prev", "payload_sha256"}
        }
        assert chain.make_line(fields, line["payload"], line["salt"], prev) == line
        prev = line["hash"]


def test_the_published_steps_are_those_of_runcard() -> None:
    table = rows(PAGE, "value", "hashed bytes", "SHA-256")
    digests = {row["value"]: code(row["SHA-256"]) for row in table}
    lines = published()
    assert digests["the first `prev`"] == chain.first_link(RECORD, lines[0]["writer"])
    for number, line in enumerate(lines, 1):
        digest = chain.payload_digest(line["salt"], line["payload"])
        assert digests[f"`payload_sha256` of line {number}"] == digest
        assert digests[f"`hash` of line {number}"] == chain.line_hash(line)


# Texts and numbers of which no two spellings mean the same, so that a changed byte is changed data.
scalars = st.none() | st.booleans() | st.integers(-9999, 9999) | st.text("abc XYZ'\"\\:,{}[]éλ🙂", max_size=8)
payloads = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text("abcd", max_size=3), inner, max_size=3)
    ),
    max_leaves=6,
)
salts = st.text("0123456789abcdef", min_size=32, max_size=32)
WRITERS = ("w-00000001", "w-00000002", "w-00000003")


def written(lines: list[dict[str, Any]]) -> bytes:
    return b"".join(encode_json(line, COMPACT) for line in lines)


@st.composite
def chains(draw: st.DrawFn, *, least: int = 1, writer: str = WRITERS[0]) -> list[dict[str, Any]]:
    """The lines of one writer, with times that never go back."""
    lines: list[dict[str, Any]] = []
    prev, second = chain.first_link(RECORD, writer), 0
    for seq in range(1, draw(st.integers(least, 4)) + 1):
        second += draw(st.integers(0, 3))
        fields = {
            "seq": seq,
            "timestamp": f"2026-11-15T10:00:{second:02}.000Z",
            "event": "page.read",
            "writer": writer,
        }
        lines.append(chain.make_line(fields, draw(payloads), draw(salts), prev))
        prev = lines[-1]["hash"]
    return lines


@given(lines=chains())
def test_a_chain_that_nobody_touched_holds(lines: list[dict[str, Any]]) -> None:
    journal = chain.parse(written(lines))
    checked = chain.check(journal, RECORD)
    assert (checked.faults, checked.withheld, journal.torn, journal.damaged) == ((), (), b"", ())
    assert checked.heads == (chain.Head(WRITERS[0], len(lines), lines[-1]["hash"]),)
    assert checked.heads == chain.heads(entry.line for entry in journal.entries)
    assert checked.heads[0].to_dict() == {
        "writer": WRITERS[0],
        "count": len(lines),
        "head": lines[-1]["hash"],
    }


@given(lines=chains(), data=st.data())
def test_any_flipped_bit_in_a_line_is_a_fault(lines: list[dict[str, Any]], data: st.DataObject) -> None:
    text = bytearray(written(lines))
    places = [place for place, byte in enumerate(text) if byte != ord("\n")]
    text[data.draw(st.sampled_from(places))] ^= 1 << data.draw(st.integers(0, 7))
    assert chain.check(chain.parse(bytes(text)), RECORD).faults


@given(lines=chains(least=2), data=st.data())
def test_a_line_taken_out_or_moved_is_a_fault(lines: list[dict[str, Any]], data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(lines) - 2))
    without = lines[:place] + lines[place + 1 :]
    swapped = [*lines[:place], lines[place + 1], lines[place], *lines[place + 2 :]]
    for changed in (without, swapped):
        assert chain.check(chain.parse(written(changed)), RECORD).faults


@given(lines=chains(least=2), data=st.data())
def test_a_cut_tail_is_seen_by_the_head_alone(lines: list[dict[str, Any]], data: st.DataObject) -> None:
    left = data.draw(st.integers(1, len(lines) - 1))
    checked = chain.check(chain.parse(written(lines[:left])), RECORD)
    assert checked.faults == ()
    assert checked.heads[0].count == left


@given(lines=chains(), data=st.data())
def test_a_payload_taken_out_with_its_salt_keeps_the_chain_and_shows(
    lines: list[dict[str, Any]], data: st.DataObject
) -> None:
    before = chain.check(chain.parse(written(lines)), RECORD)
    taken = data.draw(st.sets(st.integers(0, len(lines) - 1), min_size=1))
    for place in taken:
        del lines[place]["payload"], lines[place]["salt"]
    after = chain.check(chain.parse(written(lines)), RECORD)
    assert (after.heads, after.faults) == (before.heads, ())
    assert {entry.line["seq"] - 1 for entry in after.withheld} == taken


@pytest.mark.parametrize("kept", ["payload", "salt"])
def test_a_payload_and_its_salt_go_together(kept: str) -> None:
    lines = published()
    del lines[1]["salt" if kept == "payload" else "payload"]
    (fault,) = chain.check(chain.parse(written(lines)), RECORD).faults
    assert (fault.number, fault.writer, fault.seq) == (2, "w-5f2c", 2)
    assert fault.reason == "a payload without its salt, or a salt without its payload"


def test_the_chain_of_another_record_or_another_writer_is_a_fault() -> None:
    journal = chain.parse(written(published()))
    assert [fault.number for fault in chain.check(journal, "run-another").faults] == [1]
    moved = [line | {"writer": "w-0000"} for line in published()]
    assert len(chain.check(chain.parse(written(moved)), RECORD).faults) == 4


def test_a_chain_may_begin_with_a_digest_of_its_own() -> None:
    first = "ab" * 32
    line = chain.make_line({"seq": 1, "writer": "w-1"}, {}, "0" * 32, first)
    assert chain.check(chain.parse(written([line])), "", first=first).faults == ()
    assert chain.check(chain.parse(written([line])), "").faults


@pytest.mark.parametrize(
    "bad",
    [
        b"",
        b"{",
        b"[]",
        b"{}",
        b"\xff",
        b'{"seq":"1","writer":"w","prev":"","payload_sha256":"","hash":""}',
        b'{"seq":true,"writer":"w","prev":"","payload_sha256":"","hash":""}',
        b'{"seq":1,"writer":null,"prev":"","payload_sha256":"","hash":""}',
    ],
)
def test_a_line_that_is_none_is_damaged_and_the_others_are_read(bad: bytes) -> None:
    first, *rest = (encode_json(line, COMPACT) for line in published())
    journal = chain.parse(first + bad + b"\n" + b"".join(rest))
    assert (journal.damaged, [entry.number for entry in journal.entries]) == ((2,), [1, 3, 4])
    (fault,) = chain.check(journal, RECORD).faults
    assert (fault.number, fault.reason) == (2, "the line cannot be parsed")


@pytest.mark.parametrize("whole", [0, 1, 3])
def test_a_last_line_without_its_end_is_torn(whole: int) -> None:
    text = written(published()[:whole])
    journal = chain.parse(text + b'{"seq": 4, "wri')
    assert journal.torn == b'{"seq": 4, "wri'
    assert len(journal.entries) == whole
    assert chain.parse(text).torn == b""


@given(data=st.data(), size=st.integers(1, 40))
def test_a_journal_is_the_same_however_its_blocks_are_cut(data: st.DataObject, size: int) -> None:
    text = written(data.draw(chains())) + data.draw(
        st.sampled_from([b"", b"\n", b"{}\n", b'{"seq": 4, "wri', b"\r\n"])
    )
    stream = chain.JournalStream(lambda: [text[at : at + size] for at in range(0, len(text), size)])
    for _ in range(2):
        assert chain.Journal(list(stream), stream.torn, tuple(stream.damaged)) == chain.parse(text)
    assert [entry.line for entry in stream] == list(stream.lines) == list(stream.lines)
    for entry in stream:
        assert text[stream.offset :].startswith(entry.raw + b"\n")


@given(data=st.data(), writers=st.integers(1, 3))
def test_merging_keeps_each_writers_order_and_sorts_by_time(data: st.DataObject, writers: int) -> None:
    streams = [data.draw(chains(writer=name)) for name in WRITERS[:writers]]
    journals = [chain.parse(written(lines)).entries for lines in streams]
    merged = list(chain.merge(journals))
    assert merged == list(chain.merge(journals[::-1]))
    for lines in streams:
        assert [entry.line for entry in merged if entry.line["writer"] == lines[0]["writer"]] == lines
    times = [entry.line["timestamp"] for entry in merged]
    assert times == sorted(times)
    assert len(merged) == sum(map(len, streams))
    assert chain.check(chain.Journal(merged), RECORD).faults == ()


CHECKERS = {
    "python": [sys.executable, str(ROOT / "examples" / "check_journal.py")],
    "node": ["node", str(ROOT / "examples" / "check_journal.mjs")],
}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run whose journal has what is hard to write canonically: tiny and whole numbers, and other alphabets."""
    outputs = tmp_path_factory.mktemp("chain") / "outputs"
    path = record_one(outputs)
    assert json.loads((path / "metadata.json").read_bytes())["costs"]["total_cost_usd"]
    with runcard.record(outputs, config={"ключ": "значение", "λ": [1.5e-9, 2.5, -0.5]}) as run:
        run.add_usage(USAGE, cost=0.000045)
        run.log(
            "numbers",
            tiny=4.5e-5,
            smaller=1.25e-7,
            small=0.25,
            whole=3.0,
            large=1.5e15,
            text="a\u2028b\n\x1f",
        )
    return run.path


def check(checker: str, path: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*CHECKERS[checker], path], capture_output=True, text=True, check=False, timeout=60)


@pytest.mark.parametrize("checker", ["python", pytest.param("node", marks=pytest.mark.needs("npm"))])
def test_a_program_without_runcard_finds_the_chains_whole(run: Path, checker: str) -> None:
    done = check(checker, run)
    count = len((run / "experiment.jsonl").read_bytes().splitlines())
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{count} events: the chains hold\n", "")


@pytest.mark.parametrize("checker", ["python", pytest.param("node", marks=pytest.mark.needs("npm"))])
@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (b'"small":0.25', b'"small":0.35', "the payload was changed"),
        (b'"event":"numbers"', b'"event":"nombers"', "it was changed, or does not follow the one before"),
        (b"", b"", "the journal does not end where metadata.json says"),
    ],
)
def test_a_program_without_runcard_finds_the_damage(
    run: Path, tmp_path: Path, checker: str, old: bytes, new: bytes, said: str
) -> None:
    copied = Path(shutil.copytree(run, tmp_path / "run", symlinks=True))
    journal = (copied / "experiment.jsonl").read_bytes()
    damaged = journal.replace(old, new) if old else b"".join(journal.splitlines(keepends=True)[:-1])
    (copied / "experiment.jsonl").write_bytes(damaged)
    done = check(checker, copied)
    assert done.returncode == 1
    assert said in done.stderr
