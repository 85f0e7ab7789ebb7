"""`runcard verify --report FILE`: a table for people who have no runcard, as a web page, Markdown or CSV."""

import csv
import io
import json
import os
from html.parser import HTMLParser
from pathlib import Path

import pytest
import run_vectors

import runcard
from conftest import Cli

VECTORS = Path(run_vectors.__file__).parent
HOSTILE = [
    "=1+1|x.txt",
    "+a",
    "-b",
    "@c",
    "\uff1dd",
    "x;=1+1",
    "a|b",
    "a\nb",
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "[link](https:x)",
    "**bold**",
    "\u202etxt.exe",
    "\x1b[31mred",
]


def vector(name: str) -> Path:
    """The record of a vector."""
    path: str = next(entry["path"] for entry in run_vectors.vectors() if entry["name"] == name)
    return VECTORS / "records" / path


def rows(path: Path) -> list[dict[str, str]]:
    """The rows of a report in CSV."""
    return list(csv.DictReader(io.StringIO(path.read_text("utf-8"), newline="")))


def report(cli: Cli, tmp_path: Path, *arguments: str | Path) -> tuple[int, list[dict[str, str]]]:
    file = tmp_path / "report.csv"
    return cli("verify", "--report", file, *arguments).code, rows(file)


class Page(HTMLParser):
    """The elements of a page, and its text."""

    def __init__(self, data: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(data)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.fixture
def hostile(here: Path) -> Path:
    """A run to which files with hostile names were added after it was closed."""
    with runcard.record(here / "outputs") as run:
        (run.path / "notes.txt").write_text("notes\n")
    for name in HOSTILE:
        (run.path / name.replace("/", "\u2215")).write_text("x")
    return Path(run.path)


@pytest.mark.parametrize(
    ("name", "options", "code", "state", "verdict", "vouched", "existed", "missing"),
    [
        ("good", "", 0, "good", "unchanged since it was closed, and complete", "nobody", "not proven", ""),
        ("trusted", "s", 0, "good", "unchanged since it was closed, and complete", "alice@example.org, author (SHA256:", "not proven", ""),
        ("trusted", "", 0, "good", "unchanged", "nobody whom you named: signed by an unknown key (SHA256:", "not proven", ""),
        ("untrusted-stranger", "s", 1, "bad", "complete; not signed as required", "nobody whom you named: ", "not proven", "no signature is by"),
        ("untrusted-expired", "s", 1, "bad", "not signed as required", "nobody whom you named: signed by erin@example.org", "", "no signature is by"),
        ("good", "s", 1, "bad", "not signed as required", "nobody", "", "it is not signed"),
        ("signed-then-amended-required", "s", 1, "bad", "signed before 1 change that nobody signed", "nobody as it is now: alice@", "", "withheld"),
        ("signed-then-amended", "", 2, "warning", "except for 1 withheld part; signed before 1 change", "nobody as it is now: an unknown", "", "withheld"),
        ("signed-file-changed", "s", 1, "bad", "changed", "nobody as it is now: signed by alice@", "", "notes.txt: the file was changed"),
        ("signed-file-missing", "", 1, "bad", "incomplete", "nobody as it is now: signed by an unknown", "", "notes.txt: the file is missing"),
        ("signature-flipped-bit", "", 1, "bad", "changed", "nobody: a signature is wrong", "", "metadata.json.sig: "),
        ("timestamp-good", "", 0, "good", "complete", "nobody", "not proven: 2026-", ""),
        ("timestamp-trusted", "t", 0, "good", "complete", "nobody", "2026-", ""),
        ("timestamp-stranger", "t", 1, "bad", "not time-stamped as required", "nobody", "not proven: ", "authority"),
        ("open-run", "", 2, "warning", "not closed: nothing protects it yet", "nobody", "not proven", "not closed"),
        ("archive-good", "", 0, "good", "complete", "nobody", "not proven", ""),
        ("archive-file-missing", "", 1, "bad", "incomplete", "nobody", "not proven", "missing"),
        ("session-good", "", 0, "good", "complete", "nobody", "not proven", ""),
    ],
)  # fmt: skip
def test_a_row_for_a_record(  # noqa: PLR0917
    cli: Cli,
    tmp_path: Path,
    name: str,
    options: str,
    code: int,
    state: str,
    verdict: str,
    vouched: str,
    existed: str,
    missing: str,
) -> None:
    signers, authorities = VECTORS / "signers", VECTORS / "authorities.pem"
    trust: dict[str, list[str | Path]] = {
        "s": ["--signers", signers],
        "t": ["--tsa-certs", authorities],
        "": [],
    }
    found, (row,) = report(cli, tmp_path, *trust[options], vector(name))
    assert (found, row["state"], row["record"]) == (code, state, str(vector(name)))
    assert verdict in row["verdict"]
    assert row["vouched_for_by"].startswith(vouched)
    assert row["existed_by"].startswith(existed)
    assert missing in row["missing_or_wrong"] if missing else row["missing_or_wrong"] == ""
    assert row["not_proven"].startswith("that the content is true; that there were no other records")
    assert ("who made it" in row["not_proven"]) == (not vouched.startswith("alice"))


def test_a_store_from_which_a_record_was_removed(cli: Cli, tmp_path: Path) -> None:
    store = vector("store-record-removed")
    code, found = report(cli, tmp_path, store)
    whole = next(row for row in found if row["record"] == f"{store} (the store as a whole)")
    assert (code, whole["state"], whole["verdict"]) == (1, "bad", "records are missing")
    assert "it was removed" in whole["missing_or_wrong"]


def test_many_records_and_what_is_not_there(cli: Cli, tmp_path: Path) -> None:
    code, found = report(cli, tmp_path, vector("good"), tmp_path / "nowhere", vector("file-changed"))
    assert (code, [row["state"] for row in found]) == (1, ["good", "bad", "bad"])
    assert found[1]["verdict"] == "no record is there"
    assert "does not exist" in found[1]["missing_or_wrong"]


def test_hostile_names_on_the_page(cli: Cli, tmp_path: Path, hostile: Path) -> None:
    file = tmp_path / "report.html"
    assert cli("verify", "--report", file, hostile).code == 1
    text = file.read_text("utf-8")
    page = Page(text)
    allowed = {
        "html",
        "head",
        "meta",
        "title",
        "style",
        "body",
        "main",
        "h1",
        "h2",
        "p",
        "table",
        "thead",
        "tr",
        "th",
        "tbody",
    }
    allowed |= {"td", "span", "b", "ul", "li", "section", "pre"}
    assert {tag for tag, _ in page.elements} == allowed
    names = {name for _, attributes in page.elements for name in attributes}
    assert names == {"lang", "charset", "http-equiv", "content", "name", "scope", "class", "data-label"}
    assert "default-src 'none'" in text
    assert "<script>alert(1)<\u2215script>" in page.text
    assert not [mark for mark in ("\x1b", "\u202e", "http:", "https://", "url(", "@import") if mark in text]


def test_hostile_names_in_a_table_of_markdown(cli: Cli, tmp_path: Path, hostile: Path) -> None:
    file = tmp_path / "report.md"
    assert cli("verify", "--report", file, hostile).code == 1
    lines = file.read_text("utf-8").split("\n")
    table = [line for line in lines if line.startswith("|")]
    assert len(table) == 3
    assert {line.replace("\\\\", "").replace("\\|", "").count("|") for line in table} == {6}
    assert "\\<script\\>" in table[2]
    assert "\\[link\\](" in table[2]
    assert "\\*\\*bold\\*\\*" in table[2]
    assert "## What this does not prove" in lines


def test_hostile_names_in_a_spreadsheet(cli: Cli, tmp_path: Path, hostile: Path) -> None:
    file = tmp_path / "report.csv"
    for name in ("=2+5", "+x", "-y", "@z", "\uff1dq", "a;=1+1"):
        os.rename(hostile, hostile.with_name(name))
        cli("verify", "--report", file, "--", os.path.join(hostile.parent, name))
        (row,) = rows(file)
        hostile = hostile.with_name(name)
        assert row["record"].endswith(name)
    text = file.read_text("utf-8")
    for line in text.splitlines():
        assert line.startswith('"')
        assert line.endswith('"')
    cells = [cell for line in csv.reader(io.StringIO(text)) for cell in line]
    assert not [
        cell
        for cell in cells
        if cell.startswith(("=", "+", "-", "@", "\t", "\r", "\uff1d", "\uff0b", "\uff0d", "\uff20"))
    ]


def test_names_in_relative_paths_begin_no_formula(cli: Cli, here: Path, hostile: Path) -> None:
    os.rename(hostile, here / "=cmd")
    cli("verify", "--report", "report.csv", "=cmd")
    (row,) = rows(here / "report.csv")
    assert row["record"] == "'=cmd"


@pytest.mark.parametrize("name", ["report.pdf", "report", "html", "report.html.txt", ".md"])
def test_an_unknown_suffix_is_wrong_usage(cli: Cli, tmp_path: Path, name: str) -> None:
    outcome = cli("verify", "--report", tmp_path / name, vector("good"))
    assert (outcome.code, outcome.out) == (64, "")
    assert all(suffix in outcome.err for suffix in (".html", ".csv", ".md"))
    assert not (tmp_path / name).exists()


@pytest.mark.parametrize("suffix", [".html", ".csv", ".md", ".HTML"])
def test_only_a_report_is_replaced(cli: Cli, tmp_path: Path, suffix: str) -> None:
    file = tmp_path / f"notes{suffix}"
    file.write_text("my own notes\n")
    outcome = cli("verify", "--report", file, vector("good"))
    assert (outcome.code, outcome.out, file.read_text()) == (1, "", "my own notes\n")
    assert "exists and is no report" in outcome.err
    file.unlink()
    assert cli("verify", "--report", file, vector("file-changed")).code == 1
    first = file.read_bytes()
    assert cli("verify", "--report", file, vector("good")).code == 0
    assert file.read_bytes() != first
    assert [path.name for path in tmp_path.iterdir()] == [file.name]


@pytest.mark.parametrize("kind", ["folder", "fifo", "link"])
def test_other_things_are_not_replaced(cli: Cli, tmp_path: Path, kind: str) -> None:
    file = tmp_path / "report.html"
    (tmp_path / "notes").write_text("my own notes\n")
    if kind == "folder":
        file.mkdir()
    elif kind == "fifo":
        os.mkfifo(file)
    else:
        file.symlink_to("notes")
    assert cli("verify", "--report", file, vector("good")).code == 1
    assert (tmp_path / "notes").read_text() == "my own notes\n"


def test_a_record_is_not_changed_by_its_report(cli: Cli, here: Path) -> None:
    with runcard.record(here / "outputs") as run:
        (run.path / "pages").mkdir()
    for place in (run.path, run.path / "pages"):
        outcome = cli("verify", "--report", place / "report.html", run.path)
        assert (outcome.code, "would be a file in a record" in outcome.err) == (1, True)
    assert cli("verify", run.path).code == 0
    assert cli("verify", "--report", here / "outputs" / "report.html", here / "outputs").code == 0
    assert cli("verify", here / "outputs").code == 0


def test_a_report_beside_json(cli: Cli, tmp_path: Path) -> None:
    outcome = cli("verify", "--json", "--report", tmp_path / "report.md", vector("good"))
    assert json.loads(outcome.out)["intact"] is True
    assert (tmp_path / "report.md").read_text().startswith("# Verification report\n\n1 record: 1 good.\n")


def test_the_command_that_makes_a_report_again(cli: Cli, tmp_path: Path) -> None:
    signers = tmp_path / "my signers"
    signers.write_bytes((VECTORS / "signers").read_bytes())
    file = tmp_path / "report.md"
    assert cli("verify", "--report", file, "--signers", signers, vector("trusted")).code == 0
    assert f"`runcard verify --signers '{signers}' {vector('trusted')}`" in file.read_text()


def test_a_folder_that_is_not_there(cli: Cli, tmp_path: Path) -> None:
    outcome = cli("verify", "--report", tmp_path / "reports" / "report.html", vector("good"))
    assert (outcome.code, outcome.out, "mkdir -p" in outcome.err) == (1, "", True)
