"""The page that greets whoever opens a run's directory, as closing writes it."""

import os
from pathlib import Path

import pytest

import runcard
from runcard.views.run_readme import is_readme_of, readme
from runs.runs import USAGE, read, record_one, verdict


@pytest.fixture
def outputs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path / "outputs"


def test_a_closed_run_has_a_page_about_itself(outputs: Path) -> None:
    run = record_one(outputs)
    page = (run / "README.md").read_text()
    document = read(run)
    assert is_readme_of(page.encode(), document["generation"]["run_id"])
    assert page == readme(document, [("notes.txt", 10), ("personas/1.json", 16)])
    for said in (
        "# personas",
        "✅ completed",
        "| `notes.txt` | 10 B |",
        "* **Cost**: $0.26694 (by the price table)",
    ):
        assert said in page
    assert "README.md" in (run / "SHA256SUMS").read_text()


def test_while_a_run_is_open_it_has_no_page(outputs: Path) -> None:
    with runcard.record(outputs, strict=True) as run:
        assert not (run.path / "README.md").exists()


def test_a_page_of_the_users_own_is_kept_and_ours_has_another_name(outputs: Path) -> None:
    with runcard.record(outputs, strict=True) as run:
        (run.path / "README.md").write_text("# My results\n")
    assert (run.path / "README.md").read_text() == "# My results\n"
    page = (run.path / "RUNCARD.md").read_bytes()
    assert is_readme_of(page, run.id)
    assert b"| `README.md` | 13 B |" in page
    assert read(run.path)["warnings"] == []
    assert verdict(run.path)["findings"] == []


def test_a_page_of_the_users_own_under_both_names_is_kept_as_well(outputs: Path) -> None:
    with runcard.record(outputs, strict=True) as run:
        (run.path / "README.md").write_text("# My results\n")
        (run.path / "RUNCARD.md").write_text("# Mine, too\n")
    assert (run.path / "README.md").read_text() == "# My results\n"
    assert (run.path / "user" / "RUNCARD.md").read_text() == "# Mine, too\n"
    assert is_readme_of((run.path / "RUNCARD.md").read_bytes(), run.id)
    assert [said["type"] for said in read(run.path)["warnings"]] == ["name-taken"]
    assert verdict(run.path)["findings"] == []


def test_no_name_breaks_the_page_or_the_record(outputs: Path, tmp_path: Path) -> None:
    names = [
        b"a|b.md",
        b"`tick`.md",
        b"new\nline.md",
        b"\x1b[31mred.md",
        "\u202egnp.exe".encode(),
        b"caf\xe9.md",
        b"back\\slash.md",
        b"<script>.md",
    ]
    (tmp_path / "in").mkdir()
    with runcard.record(outputs, config={"a|`b`\n": "c|`d`\n"}, strict=True) as run:
        for name in names:
            for folder in (run.path, tmp_path / "in"):
                Path(os.fsdecode(os.path.join(os.fsencode(folder), name))).write_text("x")
        run.add_input("in")
        run.add_usage(USAGE, step="a|`b`\n")
        run.add_error("| ` \n# heading", type="a|b")
    page = (run.path / "README.md").read_text()
    rows = [line for line in page.splitlines() if line.endswith(("| 1 B |", "| 1 B | 1 |"))]
    assert len(rows) == 2 * len(names)
    assert not set(page) & {"\x1b", "\u202e", "\r"}
    assert [line for line in page.splitlines() if line.startswith("# ")] == [f"# {run.id}"]
    assert verdict(run.path)["findings"] == []
    assert len(read(run.path)["data_sources"]["files"]) == len(names)
