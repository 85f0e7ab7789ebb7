"""`runcard ls --text WORDS --transcripts`: lines of the output of commands and agents, by an index that holds words only."""

import json
import os
import random
import re
import shutil
import sqlite3
from contextlib import closing
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO

import pytest

import runcard
from conftest import Cli
from runcard.catalog import transcript_index
from runcard.catalog.database import CatalogDatabase
from runcard.catalog.postgres_tables import SCHEMA
from runcard.catalog.transcript_index import candidates, update_index
from runcard.catalog.transcript_text import PART, TranscriptPart, WordsToFind, parts_at, parts_of
from runcard.errors import UsageError
from runcard.operations.amendments.amend import amend
from runcard.operations.amendments.redact import redact
from runcard.operations.archives.archive import archive
from runcard.operations.catalog.open import catalog_path
from sessions.build import CODER, make_session

SOME = b"starting\n\x1b[31mError\x1b[0m: rate limit, see src/app.py and do_the_thing()\nPermission denied\r\nthe end\n"


def record_output(data: bytes, **options: Any) -> Path:
    """A run with this output."""
    with runcard.record("outputs", strict=True, **options) as run:
        (run.path / "output.log").write_bytes(data)
    return run.path


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def hits(cli: Cli, words: str, *arguments: str, code: int = 0) -> list[dict[str, Any]]:
    done = cli("ls", *arguments, "--text", words, "--transcripts", "--json")
    assert done.code == code, done.err
    found: list[dict[str, Any]] = json.loads(done.out)["hits"]
    return found


def lines(cli: Cli, words: str, *arguments: str) -> list[int]:
    return [hit["line"] for hit in hits(cli, words, *arguments)]


def instances_of(session: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((session / "metadata.json").read_bytes())["instances"]
    return found


def tables() -> set[str]:
    with CatalogDatabase(catalog_path()) as database:
        return database.engine.names("table")


def size_of_catalog() -> int:
    with CatalogDatabase(catalog_path()) as database:
        if database.host:
            sql = "SELECT sum(pg_total_relation_size(oid)) FROM pg_class WHERE relnamespace = ?::regnamespace AND relkind = 'r'"
            return int(database.query(sql, (SCHEMA,)).fetchone()[0])
        database.query("PRAGMA wal_checkpoint(TRUNCATE)")
    return os.path.getsize(catalog_path())


def is_indexed(word: str) -> bool:
    """Whether the index has a part with this word."""
    with CatalogDatabase(catalog_path()) as database:
        sql, parameters = database.engine.parts_with_words([word])
        return database.query(sql, parameters).fetchone() is not None


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The sizes of the parts that were added to the index."""
    sizes: list[int] = []

    def counted(file: BinaryIO) -> Any:
        for part in parts_of(file):
            sizes.append(len(part.data))
            yield part

    monkeypatch.setattr(transcript_index, "parts_of", counted)
    return sizes


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("rate limit", [2]),
        ("LIMIT rate", [2]),
        ("src/app.py", [2]),
        ("app.py", [2]),
        ("do_the_thing", [2]),
        ("do_the", [2]),
        ("thing()", [2]),
        ("error", [2]),
        ("denied", [3]),
        ("end", [4]),
        ("rat limit", []),  # only the last word may go on
        ("rate denied", []),  # not on one line
        ("src.app.py", []),
        ("31merror", []),  # the code of a color
    ],
)
def test_words_are_found_as_they_are_written(cli: Cli, words: str, found: list[int]) -> None:
    record_output(SOME)
    assert lines(cli, words) == found


@pytest.mark.usefixtures("here")
def test_a_hit_says_where(cli: Cli) -> None:
    run = record_output(SOME, experiment="x")
    session = make_session(Path("artifacts").resolve())
    assert hits(cli, "Permission denied") == [
        {
            "id": json.loads((run / "metadata.json").read_bytes())["generation"]["run_id"],
            "kind": "run",
            "path": str(run),
            "agent": None,
            "agent_id": None,
            "file": "output.log",
            "line": 3,
            "text": "Permission denied",
        }
    ]
    log = (session / "instances" / CODER / "output.log").read_text()
    word = max(re.findall(r"\w+", log), key=len)
    found = [hit for hit in hits(cli, word) if hit["agent_id"] == CODER]
    assert found
    (name,) = (row["name"] for row in instances_of(session) if row["instance_id"] == CODER)
    assert {hit["agent"] for hit in found} == {name} != {CODER}
    assert all(log.split("\n")[hit["line"] - 1] == hit["text"] for hit in found)
    assert {hit["file"] for hit in found} == {f"instances/{CODER}/output.log"}
    assert [hit["id"] for hit in hits(cli, word, "instances", "--where", f"id = '{CODER}'")] == [CODER] * len(
        found
    )
    assert hits(cli, word, "runs") == []
    assert hits(cli, "denied", "--experiment", "y") == []
    assert len(hits(cli, "denied", "--experiment", "x", "--where", "status = completed")) == 1


@pytest.mark.usefixtures("here")
def test_lines_for_people_and_for_programs(cli: Cli) -> None:
    record_output(b"=evil \x07 word\x1b]0;title\x07 here\n" * 3, config={"t": 1})
    table = cli("ls", "--text", "evil word", "--transcripts", "--limit", "2")
    heading, *rows, more = table.out.splitlines()
    assert heading.split() == ["id", "line", "text"]
    assert [row.split("  ", 1)[1].strip() for row in rows] == [
        rf"   {n}  =evil \x07 word here".strip() for n in (1, 2)
    ]
    assert more == "… there are more: pass a larger --limit"
    asked = ("--text", "evil", "--transcripts", "--columns", "config.t,line,text", "--csv")
    assert cli("ls", *asked).out.splitlines()[:2] == ["config.t,line,text", r"1,1,'=evil \x07 word here"]
    assert cli("ls", "--text", "absent", "--transcripts").err == "nothing found\n"
    assert "--transcripts needs words" in cli("ls", "--transcripts").err
    assert "nothing to search for" in cli("ls", "--transcripts", "--text", "-> !").err
    assert "there is no column" in cli("ls", "--transcripts", "--text", "a", "--columns", "nothing").err


@pytest.mark.usefixtures("here")
def test_the_index_is_made_by_the_first_search_and_reads_only_what_is_new(cli: Cli, reads: list[int]) -> None:
    first = record_output(SOME)
    assert cli("ls", "--text", "denied").code == 0
    assert not any(name.startswith("transcript") for name in tables())
    assert lines(cli, "denied") == [3]
    assert reads == [len(SOME)]
    record_output(b"also denied\n")
    assert sorted(lines(cli, "denied")) == [1, 3]
    assert reads == [len(SOME), 12]
    amend(first, "tag", "best")
    archive(first)
    assert lines(cli, "denied", "--tag", "best") == [3]
    assert reads == [len(SOME), 12]


@pytest.mark.usefixtures("here")
def test_archived_transcripts_are_found_without_unpacking(cli: Cli) -> None:
    data = b"".join(b"line %d of many words\n" % number for number in range(20_000))
    run, session = record_output(data), make_session(Path("artifacts").resolve())
    numbers = ("1 of", "9999 of", "19999 of")
    before = [hits(cli, f"line {number} many") for number in numbers]
    assert [hit["line"] for (hit,) in before] == [2, 10_000, 20_000]
    archive(run)
    archive(session)
    shutil.rmtree(run, ignore_errors=True)
    with_index = [hits(cli, f"line {number} many") for number in numbers]
    assert [hit["path"].endswith(".tar.gz") for (hit,) in with_index] == [True] * 3
    assert cli("index", "--rebuild").code == 0
    from_archives = [hits(cli, f"line {number} many") for number in numbers]
    for found in (with_index, from_archives):
        assert [hit | {"path": ""} for (hit,) in found] == [hit | {"path": ""} for (hit,) in before]


@pytest.mark.usefixtures("here")
def test_the_words_of_a_redacted_transcript_leave_the_index(cli: Cli) -> None:
    run, other = record_output(b"call hunter2secretword\n"), record_output(b"another transcript\n")
    assert lines(cli, "hunter2secretword") == [1]
    redact(run, files=["output.log"], reason="test")
    assert lines(cli, "hunter2secretword") == []
    assert [hit["path"] for hit in hits(cli, "another")] == [str(other)]
    assert is_indexed("another")
    assert not is_indexed("hunter2secretword")


@pytest.mark.usefixtures("here")
def test_what_changes_or_vanishes_after_it_was_read(cli: Cli) -> None:
    changed, gone, removed = (record_output(SOME) for _ in range(3))
    assert lines(cli, "denied") == [3, 3, 3]
    (changed / "output.log").write_bytes(b"one more\n" + SOME)
    (gone / "output.log").unlink()
    assert sorted(lines(cli, "denied")) == [3, 4]
    shutil.rmtree(removed)
    assert lines(cli, "denied") == [4]


@pytest.mark.usefixtures("here")
def test_new_words_in_an_edited_transcript_are_found_after_the_next_index(cli: Cli) -> None:
    edited, other = record_output(SOME), record_output(SOME)
    assert lines(cli, "denied") == [3, 3]
    (edited / "output.log").write_bytes(SOME + b"a zebra\n")
    assert cli("index").code == 0
    assert lines(cli, "zebra") == [5]
    assert lines(cli, "denied") == [3, 3]
    (other / "output.log").unlink()
    assert cli("index").code == 0
    assert lines(cli, "denied") == [3]


@pytest.mark.parametrize("name", [b"caf\xe9", b"back\\slash \xff\\xfe", b"plain\\xff", "é".encode()])
def test_a_record_whose_name_is_not_utf_8_is_searched(here: Path, cli: Cli, name: bytes) -> None:
    run = record_output(SOME)
    os.rename(os.fsencode(run), os.path.join(os.fsencode(here / "outputs"), name))
    assert lines(cli, "denied") == [3]
    assert lines(cli, "denied") == [3]
    with CatalogDatabase(catalog_path()) as database:  # it was read once, into the index
        assert database.rows("SELECT is_complete FROM transcript_records WHERE name != ?", (run.name,)) == [
            (1,)
        ]


@pytest.mark.usefixtures("here")
def test_the_output_of_a_running_run_is_found_as_it_is_now(cli: Cli) -> None:
    with runcard.record("outputs", strict=True) as run:
        (run.path / "output.log").write_bytes(b"first word\n")
        assert lines(cli, "word") == [1]
        (run.path / "output.log").write_bytes(b"first word\nsecond word\n")
        assert lines(cli, "word") == [1, 2]
    assert lines(cli, "word") == [1, 2]


@pytest.mark.usefixtures("here")
def test_what_cannot_be_read_is_named(cli: Cli) -> None:
    record_output(SOME)
    run = record_output(os.urandom(100_000).hex().encode() + b"\nPermission denied\n")
    packed = archive(run).archive
    shutil.rmtree(run, ignore_errors=True)
    data = bytearray(packed.read_bytes())
    data[len(data) // 2 : len(data) // 2 + 100] = bytes(100)
    packed.write_bytes(data)
    for _ in range(2):
        done = cli("ls", "--text", "denied", "--transcripts")
        assert done.code == 2
        assert f"Warning: {packed} was not searched: " in done.err
        assert "Permission denied" in done.out


@pytest.mark.usefixtures("here")
def test_a_killed_build_goes_on(cli: Cli, reads: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(12):
        record_output(b"transcript number%d\n" % number)
    cli("ls")
    monkeypatch.setattr(transcript_index, "_BATCH", 2)
    if (child := os.fork()) == 0:

        def killed(file: BinaryIO) -> Any:
            if len(reads) == 9:
                os._exit(9)
            reads.append(1)
            yield from parts_of(file)

        monkeypatch.setattr(transcript_index, "parts_of", killed)
        with CatalogDatabase(catalog_path()) as database:
            update_index(database)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    assert len(hits(cli, "transcript")) == 12
    assert 0 < len(reads) < 12
    assert lines(cli, "number7") == [1]


@pytest.mark.usefixtures("here")
@pytest.mark.file_only
def test_without_an_index_the_transcripts_are_read(cli: Cli) -> None:
    record_output(SOME)
    assert lines(cli, "denied") == [3]
    with closing(sqlite3.connect(catalog_path())) as connection, connection:
        connection.execute("DROP TABLE transcript_words")
        connection.execute("CREATE VIEW transcript_words AS SELECT 1")  # cannot be made or asked
    assert lines(cli, "denied") == [3]
    cli("index", "--rebuild")
    assert lines(cli, "denied") == [3]
    assert "transcript_words" in tables()


@pytest.mark.usefixtures("here")
def test_the_index_starts_anew_when_most_of_it_is_gone(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transcript_index, "_SMALL", 2)
    old = [record_output(b"old word\n") for _ in range(3)]
    assert len(lines(cli, "word")) == 3
    for run in old[:2]:
        shutil.rmtree(run)
    record_output(b"new word\n")
    assert len(lines(cli, "word")) == 2
    with CatalogDatabase(catalog_path()) as database:
        assert database.query("SELECT count(*), max(id) FROM transcript_parts").fetchone() == (2, 2)


@pytest.mark.usefixtures("here")
def test_the_index_takes_less_than_a_third_of_the_text(cli: Cli) -> None:
    words = re.findall(
        r"[a-z_]{3,}", Path(__file__).read_text() + Path(transcript_index.__file__).read_text()
    )
    chance = random.Random(1)  # noqa: S311 - a test
    log = "".join(
        f"2026-11-16T18:{number % 60:02}:07.{chance.randrange(1000):03}Z INFO req_{chance.getrandbits(64):016x} "
        f"{' '.join(chance.choices(words, k=9))} took {chance.random():.3f}s\n"
        for number in range(50_000)
    ).encode()
    run = record_output(log)
    cli("ls")
    before = size_of_catalog()
    with CatalogDatabase(catalog_path()) as database:
        update_index(database)
        found = candidates(database, WordsToFind("took 18"))
    assert len(found.parts[str(run)]["output.log"]) == -(-len(log) // PART)
    assert size_of_catalog() - before < 0.3 * len(log)


def test_the_index_loses_nothing(tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is found by the index is what is found by reading everything."""
    monkeypatch.chdir(tmp_path)
    pieces = [
        "snake_case",
        "src/app.py",
        "Éa",
        "e\u0301a",
        "日本語",
        "ΑΣ",
        "x²",
        "\x1b[1mbold",
        "a-b",
        "\0",
        "\ud7a3",
        "١٢",
        "ﬁn",
        "İ",
    ]
    chance = random.Random(7)  # noqa: S311
    texts = [
        "\n".join(" ".join(chance.choices(pieces, k=4)) for _ in range(30)).encode() + b"\xff\xfe tail\n"
        for _ in range(4)
    ]
    for text in texts:
        record_output(text)
    for asked in [*pieces, "case", "app", "SNAKE_CASE src", "日本", "tail", "bol", "fin", "b"]:
        if not any(character.isalnum() for character in asked) or "\x1b" in asked:
            continue
        words = WordsToFind(asked)
        expected = sorted(
            (line.number, line.text)
            for text in texts
            for part in parts_of(BytesIO(text))
            for line in words.lines(part)
        )
        assert sorted((hit["line"], hit["text"]) for hit in hits(cli, asked)) == expected, asked


def test_parts_are_whole_lines_and_long_lines_are_cut_between_words() -> None:
    data = b"".join(b"%d %s\n" % (number, b"x" * (number % 300)) for number in range(2000))
    data += b"word " * PART + b"\n" + b"y" * (2 * PART + 5) + b"\nlast"
    parts = list(parts_of(BytesIO(data)))
    assert b"".join(part.data for part in parts) == data
    assert max(len(part.data) for part in parts) <= PART
    for part in parts:
        assert part.start == data.index(part.data, part.start)
        assert part.line == 1 + data.count(b"\n", 0, part.start)
    assert not any(part.data.endswith(b"wor") for part in parts)
    chosen = parts[1:3] + parts[-2:]
    places = [(part.start, part.line) for part in chosen]
    assert list(parts_at(BytesIO(data), places)) == chosen

    class Stream(BytesIO):
        def seekable(self) -> bool:
            return False

    assert list(parts_at(Stream(data), places)) == chosen
    assert list(parts_at(Stream(b"short"), places)) == []
    assert [line.number for line in WordsToFind("last").lines(parts[-1])] == [2003]
    with pytest.raises(UsageError):
        WordsToFind(" ")
    assert TranscriptPart(0, 1, b"\x1b[1;31ma\x1b]8;;http://x\x1b\\b").text == "ab"


@pytest.mark.usefixtures("here")
def test_a_catalog_that_cannot_be_used_is_no_obstacle(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    record_output(SOME)
    monkeypatch.setenv("RUNCARD_CATALOG", "/dev/null/catalog.db")
    done = cli("ls", "--text", "denied", "--transcripts")
    assert done.code == 2
    assert "Permission denied" in done.out
    assert "all records were read instead" in done.err


@pytest.mark.usefixtures("here")
@pytest.mark.file_only
def test_a_damaged_index_is_built_anew(cli: Cli) -> None:
    record_output(SOME)
    assert lines(cli, "denied") == [3]
    with closing(sqlite3.connect(catalog_path())) as connection, connection:
        connection.execute("UPDATE transcript_words_data SET block = x'ffffffffff' WHERE id > 1")
    first = cli("ls", "--text", "denied", "--transcripts")
    assert "Permission denied" in first.out or "ask again" in first.err
    assert lines(cli, "denied") == [3]
