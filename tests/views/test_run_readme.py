"""README.md of a run: what it says, and that no name can break it."""

import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from runcard.files import printable
from runcard.views import formats, markdown, run_readme
from views.samples import run

GOLDEN = Path(__file__).with_name("readme.md")
FILES = [("notes.txt", 12), ("personas/1.json", 2048)]
EVIL = [
    "a|b",
    "`code`",
    "``",
    "`",
    "\\|",
    "\\",
    "new\nline",
    "\r\n# heading",
    "\x1b[31mred",
    "\u202egnp.exe",
    "<script>alert(1)</script>",
    "</td></tr>",
    "[link](http://example.org)",
    "![image](x)",
    "*bold* _soft_ ~gone~",
    "&lt;b&gt;",
    "$x$",
    "<!-- comment",
    "-->",
    "```",
    "~~~",
    "\u2028separator",
    "name ",
    " ",
    "caf\udce9",
]


def test_the_id_of_a_run_without_an_experiment_is_there_once() -> None:
    text = run_readme.readme(run(generation={"experiment_name": None}), FILES)
    visible = text.split("\n", 1)[1]  # without the marker
    assert visible.count("run-01jcqz8v4n6q8s0t") == 1
    assert visible.startswith("# run-01jcqz8v4n6q8s0t\n\n**Status** ✅ completed")


def test_the_page_is_as_it_was_agreed() -> None:
    """To change it: look at the difference, and write the new text to the file."""
    assert run_readme.readme(run(), FILES) == GOLDEN.read_text("utf-8")


def test_it_is_the_same_whoever_writes_it() -> None:
    assert run_readme.readme(run(), FILES) == run_readme.readme(run(), FILES)


def test_a_page_is_known_again_by_the_run_it_is_of() -> None:
    page = run_readme.readme(run(), FILES).encode()
    assert run_readme.is_readme_of(page, "run-01jcqz8v4n6q8s0t")
    assert not run_readme.is_readme_of(page, "run-another")
    assert not run_readme.is_readme_of(b"# Mine\n", "run-01jcqz8v4n6q8s0t")


def cells(page: str, heading: str) -> list[list[str]]:
    """The rows of the table below a heading, as a program for Markdown reads them, without their header."""
    tables = MarkdownIt("commonmark").enable("table")
    _, found, section = page.partition(f"## {heading}\n")
    assert found
    rows: list[list[str]] = []
    for token in tables.parse(section.partition("\n## ")[0]):
        if token.type == "tr_open":
            rows.append([])
        elif token.type == "inline" and rows:
            rows[-1].append("".join(child.content for child in token.children or ()))
    return rows[1:]


@pytest.mark.parametrize("evil", EVIL, ids=ascii)
def test_no_name_of_a_file_breaks_the_table(evil: str) -> None:
    page = run_readme.readme(run(), [(evil, 1), ("after.txt", 2)])
    first, second = cells(page, "Files")
    assert second == ["after.txt", "2 B"]
    assert first[1] == "1 B"
    assert first[0].strip() == printable(evil).strip()


@pytest.mark.parametrize("evil", EVIL, ids=ascii)
def test_no_input_setting_or_trouble_breaks_the_page(evil: str) -> None:
    document = run(
        configuration={evil: evil},
        data_sources={"files": [{"path": evil, "bytes": 1, "tokens": 2}]},
        generation={"experiment_name": evil, "command": ["echo", evil]},
        errors=[{"type": evil, "message": evil}],
    )
    page = run_readme.readme(document, [])
    plain, hostile = (
        [line for line in text.splitlines() if line.startswith(("#", "```", "<"))]
        for text in (run_readme.readme(run(), []), page)
    )
    assert hostile[0] == plain[0]
    assert [line for line in hostile if line.startswith("## ")] == [
        line for line in plain if line.startswith("## ")
    ]
    assert hostile.count("```") == plain.count("```")
    assert [row[1:] for row in cells(page, "Inputs")] == [["1 B", "2"]]
    assert all(len(row) == 2 for row in cells(page, "Configuration"))
    page.encode()  # also where a name is not text
    assert not set(page) & set("\x1b\u202e\u2028\r")


printed = st.text(st.characters(exclude_categories=[]), max_size=12)


@given(name=printed)
def test_any_name_in_code_font_stays_in_its_cell(name: str) -> None:
    (row,) = cells(f"## X\n\n| A | B |\n|---|---|\n| {markdown.code(name)} | end |\n", "X")
    assert row[1] == "end"
    assert row[0].strip() == printable(name).strip()


@given(name=printed)
def test_any_text_in_a_sentence_reads_as_it_is(name: str) -> None:
    parser = MarkdownIt("commonmark")
    tokens = parser.parse(f"before {markdown.escape(name)} after")
    (text,) = (token for token in tokens if token.type == "inline")
    assert text.children is not None
    assert {child.type for child in text.children} <= {"text", "text_special", "softbreak"}
    assert "".join(child.content for child in text.children) == f"before {printable(name)} after"


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (None, "unknown"),
        (0, "0 s"),
        (0.0742, "0.0742 s"),
        (59.94, "59.9 s"),
        (60, "1 min 00 s"),
        (135.333, "2 min 15 s"),
        (3599.6, "1 h 00 min"),
        (90000, "25 h 00 min"),
    ],
)
def test_durations_are_said_as_people_say_them(seconds: float | None, said: str) -> None:
    assert formats.duration(seconds) == said


@pytest.mark.parametrize(
    ("count", "said"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1.0 kB"),
        (999_949, "999.9 kB"),
        (999_951, "1.0 MB"),
        (5_400_000_000, "5.4 GB"),
        (10**17, "100000.0 TB"),
    ],
)
def test_sizes_are_said_as_people_say_them(count: int, said: str) -> None:
    assert formats.byte_size(count) == said


@pytest.mark.parametrize(
    ("amount", "said"),
    [
        (None, "unknown"),
        (0, "$0.00"),
        (0.00000015, "less than $0.000001"),
        (0.000045, "$0.000045"),
        (0.1, "$0.10"),
        (0.26694, "$0.26694"),
        (0.9999999, "$1.00"),
        (1234.567, "$1,234.57"),
    ],
)
def test_money_has_as_many_digits_as_it_takes(amount: float | None, said: str) -> None:
    assert formats.money(amount) == said


@pytest.mark.parametrize(
    ("known", "said"),
    [
        (0.00000015, "> $0.00 (a part is unknown)"),
        (0.000029, "≥ $0.000029 (a part is unknown)"),
        (0.0274668, "≥ $0.027466 (a part is unknown)"),
        (0.9999999, "≥ $0.999999 (a part is unknown)"),
        (15.439, "≥ $15.43 (a part is unknown)"),
        (0, "unknown"),
    ],
)
def test_a_known_part_is_rounded_down(known: float, said: str) -> None:
    assert formats.total_or_known(None, known, formats.money) == said


def test_a_run_without_anything_says_so() -> None:
    nothing: dict[str, Any] = dict.fromkeys(("input_tokens", "output_tokens", "total_cost_usd"))
    document = run(
        generation={"experiment_name": None, "command": None, "duration_seconds": None},
        data_sources={"files": None},
        environment={"git": None},
        costs=nothing | {"cost_source": None, "token_source": None, "cache_read_tokens": None},
        token_usage={"breakdown_by_model": []},
        warnings=[],
    )
    page = run_readme.readme(document, [])
    assert page.splitlines()[1] == "# run-01jcqz8v4n6q8s0t"
    for said in ("No files.", "No inputs were recorded.", "**Duration** unknown", "* **Cost**: unknown\n"):
        assert said in page
    for unsaid in ("Problems", "Run again", "git commit", "Token counts"):
        assert unsaid not in page


def test_an_end_that_was_estimated_is_said_to_be() -> None:
    generation = {"status": "interrupted", "estimated": ["/generation/timestamp_end"]}
    page = run_readme.readme(run(generation=generation), [])
    assert "⚠️ interrupted" in page
    assert "**Duration** at least 2 min 15 s (estimated: the end was not observed)" in page


def test_a_cost_that_is_partly_known_is_said_to_be() -> None:
    parts = [{"model": "a", "cost_usd": 0.25}, {"model": "b", "cost_usd": None}]
    document = run(costs={"total_cost_usd": None}, token_usage={"breakdown_by_model": parts})
    page = run_readme.readme(document, [])
    assert "* **Cost**: ≥ $0.25 (a part is unknown)\n" in page
    assert "* **Models**: `a` (cost $0.25), `b` (cost unknown)\n" in page


def test_long_lists_are_cut_and_say_where_the_rest_is() -> None:
    many = [(f"{number}.txt", 1) for number in range(1035)]
    document = run(
        configuration={f"setting {number}": "x" * 500 for number in range(40)},
        data_sources={"files": [{"path": name} for name, _ in many]},
        errors=[{"message": "x" * 500}] * 40,
    )
    page = run_readme.readme(document, many)
    assert "… and 1,005 more; `SHA256SUMS` lists them all." in page
    assert "… and 1,005 more; `metadata.json` lists them all." in page
    assert "… and 16 more; `metadata.json` lists them all." in page  # of the settings
    assert "… and 11 more; `metadata.json` lists them all." in page  # of errors and warnings
    assert max(map(len, page.splitlines())) < 250


def test_a_run_without_calls_has_no_cost() -> None:
    document = run()
    document["costs"] = dict.fromkeys(document["costs"])
    document["token_usage"] = {"breakdown_by_step": [], "breakdown_by_model": []}
    text = run_readme.readme(document, [])
    assert "## Cost\n\nNo model calls recorded.\n" in text
    assert "tokens**" not in text


@pytest.mark.parametrize(
    "word",
    [
        "import sys\nprint('it', \"is\")\n",
        "a\tb",
        r"back\slash" + "\n'quote'",
        "\u202e\U000e0001",
        "$HOME `id`",
    ],
)
def test_the_command_can_be_pasted_into_a_shell(word: str) -> None:
    page = run_readme.readme(run(generation={"command": ["printf", "%s", word]}), [])
    line = page.splitlines()[-2].removeprefix("$ ")
    assert line.isprintable()
    shown = subprocess.run(["bash", "-c", line], env={"LC_ALL": "C.UTF-8"}, capture_output=True, check=True)
    assert shown.stdout.decode() == word


def test_the_page_says_whether_the_command_or_the_whole_program_is_run_again() -> None:
    whole = "It runs the whole program again, with all runs that it records"
    assert whole in run_readme.readme(run(), [])
    page = run_readme.readme(run(trace={"traceparent": None, "passed_on": "00-1-2-01"}), [])
    assert "It runs this command and compares the results" in page
    assert whole not in page
