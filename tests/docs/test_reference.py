"""The reference is complete: rules, commands, options, exit codes, names of the library, migrations, limits."""

import inspect
import re

import pytest
import update_commands

import runcard
from cli.commands import EVERY_COMMAND
from docs.pages import ROOT, blocks, code, headings, links, prose, rows
from runcard import errors
from runcard.cli.command_groups import COMMANDS
from runcard.cli.exit_codes import ExitCode, code_for_severity
from runcard.documents.findings import COMPLETE, INTACT, RECORD_RULES, RULES
from runcard.documents.migrations import STEPS
from runcard.documents.session.roles import ROLES, SYNONYMS
from runcard.errors import RuncardError

DOCS = ROOT / "docs"
OVERVIEW = DOCS / "command-line.md"
LIBRARY = DOCS / "library.md"


def test_the_table_of_rules_is_that_of_the_code() -> None:
    told = {
        code(row["rule"]): (row["severity"], row["meaning"])
        for row in rows(DOCS / "rules.md", "rule", "severity")
    }
    known = {rule: (str(severity), meaning) for rule, (severity, meaning) in RULES.items()}
    wanted = "\n".join(
        f"| `{rule}` | {severity} | {meaning} |" for rule, (severity, meaning) in known.items()
    )
    assert told == known, f"docs/rules.md should have these rows:\n{wanted}"


def test_there_is_a_page_for_every_command_and_no_other() -> None:
    pages = {page.stem for page in (DOCS / "commands").glob("*.md")}
    assert pages == {command.replace(" ", "-") for command in EVERY_COMMAND}


@pytest.mark.parametrize("command", EVERY_COMMAND)
def test_the_page_of_a_command_begins_with_its_help(command: str) -> None:
    """If not: python scripts/update_commands.py. The help itself is a sample, and compared as all others are."""
    page = update_commands.page_of(command)
    text = page.read_text("utf-8")
    typed, _, shown = blocks(page)[0].text.partition("\n")
    assert typed == f"$ runcard {command} --help"
    assert update_commands.replaced(text, update_commands.generated_page(command, shown)) == text


@pytest.mark.parametrize("command", EVERY_COMMAND)
def test_the_page_of_a_command_leads_to_an_explanation(command: str) -> None:
    (see_also,) = re.findall(r"^See also: .*", prose(update_commands.page_of(command)), re.MULTILINE)
    assert "](../" in see_also


def test_the_overview_lists_the_commands_of_the_root_help() -> None:
    """If not: python scripts/update_commands.py"""
    text = OVERVIEW.read_text("utf-8")
    assert update_commands.replaced(text, update_commands.generated_list()) == text
    assert all(f"commands/{command}.md" in links(OVERVIEW) for command in COMMANDS)


def test_what_is_written_by_hand_is_kept() -> None:
    page = f"above\n{update_commands.BEGIN}old\n{update_commands.END}below\n"
    new = update_commands.replaced(page, "new\n")
    assert new == f"above\n{update_commands.BEGIN}\nnew\n\n{update_commands.END}below\n"


def test_no_page_shows_a_command_that_does_not_exist() -> None:
    for page in [*ROOT.glob("*.md"), *DOCS.glob("**/*.md")]:
        text = prose(page) + "".join(f"`{block.text}" for block in blocks(page, "console"))
        for command in re.findall(r"(?:`|\$ |\| )runcard ([a-z][a-z-]*)", text):
            assert command in COMMANDS, f"{page}: runcard {command}"


@pytest.mark.parametrize(
    "page", ["command-line.md", "validation.md", "verifying.md", "adr/0006-exit-codes-and-streams.md"]
)
def test_the_exit_codes_are_those_of_the_code(page: str) -> None:
    told = {int(row["code"]) for row in rows(DOCS / page, "code", "meaning")}
    assert set(ExitCode) <= told
    assert told - set(ExitCode) <= {130, 141}


def test_the_findings_of_verify_are_those_of_the_code() -> None:
    """Those about ledgers and anchors have no verdict of their own: it depends on what was found."""
    words = {INTACT: "not intact", COMPLETE: "not complete", None: ""}
    told = [
        (code(row["kind"]), row["verdict"], int(row["exit code"]))
        for row in rows(DOCS / "verifying.md", "kind", "means")
    ]
    ledger = {
        ("ledger", words[INTACT], ExitCode.FAILED),
        ("ledger", words[COMPLETE], ExitCode.FAILED),
        ("ledger", "", ExitCode.WARNINGS),
    }
    anchor = {
        ("anchor", words[INTACT], ExitCode.FAILED),
        ("anchor", words[COMPLETE], ExitCode.FAILED),
        ("anchor", "", ExitCode.WARNINGS),
        ("anchor", "", ExitCode.OK),
    }
    unsigned = ("signer", "", ExitCode.WARNINGS)  # where no file of signers says that a signature is required
    unchecked = ("limits", "", ExitCode.WARNINGS)  # without the package that checks it
    rules = {(kind, words[broken], code_for_severity(bad)) for kind, (bad, broken) in RECORD_RULES.items()}
    assert set(told) == ledger | anchor | rules | {unsigned, unchecked}
    assert len(told) == len(set(told))


def test_the_verbs_of_a_run_and_of_a_recorder_are_explained() -> None:
    text = (DOCS / "recording.md").read_text("utf-8")
    for owner in (runcard.Run, runcard.MetadataRecorder):
        for name in dir(owner):
            if not name.startswith("_"):
                assert re.search(rf"`(run\.)?{name}\b", text), f"{owner.__name__}.{name}"


def test_every_name_of_the_library_is_explained() -> None:
    text = LIBRARY.read_text("utf-8")
    for name in runcard.__all__:
        assert re.search(rf"`(?:runcard\.)?{name}\b|runcard\.{name}\b", text), name


def test_the_arguments_of_record_are_those_of_the_code() -> None:
    table = rows(DOCS / "recording.md", "argument", "is", "default")
    documented = [name for row in table for name in re.findall("`([a-z_]+)`", row["argument"])]
    assert sorted(documented) == sorted(inspect.signature(runcard.record).parameters)
    assert documented[0] == "outputs"


def test_every_class_of_errors_is_explained() -> None:
    told = {code(row["class"]) for row in rows(LIBRARY, "class", "problem")}
    assert told == {
        branch.__name__ for branch in RuncardError.__subclasses__() if branch.__module__ == errors.__name__
    }


def test_every_migration_is_listed() -> None:
    told = {
        (row["kind"], row["from"], row["to"]) for row in rows(DOCS / "migrating.md", "kind", "from", "to")
    }
    words = {
        ("generation", None): "the flat shape without a version",
        ("generation", "0.1.0"): "the flat shape 0.1.0",
    }
    assert told == {(kind, words.get((kind, begin), begin), end) for kind, begin, end in STEPS}


def test_the_limits_are_those_of_the_code() -> None:
    told = {row["limit"]: row["value"] for row in rows(DOCS / "validation.md", "limit", "value")}
    limits = runcard.Limits()
    numbers = [f"{number:,}" for number in (limits.depth, limits.digits, limits.expansion)]
    assert list(told.values()) == [f"{limits.size // 2**20} MiB", *numbers]


def test_roles_and_their_synonyms_are_those_of_the_code() -> None:
    page = DOCS / "formats" / "index.md"
    words = {
        code(word): code(row["role"])
        for row in rows(page, "word", "role")
        for word in row["word"].split(", ")
    }
    assert words == SYNONYMS
    listed = prose(page).partition("### Roles")[2].partition(".")[0]
    assert tuple(re.findall(r"`(\w+)`", listed)) == ROLES


def test_the_glossary_is_in_order_and_says_each_word_once() -> None:
    terms = [
        row["term"].removesuffix(" ◦").strip("`@") for row in rows(DOCS / "glossary.md", "term", "meaning")
    ]
    assert terms == sorted(set(terms), key=str.casefold)


def test_the_changelog_has_the_current_version() -> None:
    assert any(runcard.__version__ in heading for heading in headings(ROOT / "CHANGELOG.md"))


def test_the_decisions_are_numbered_and_listed() -> None:
    pages = sorted(page.name for page in (DOCS / "adr").glob("0*.md"))
    assert [page[:4] for page in pages] == [f"{number:04}" for number in range(1, len(pages) + 1)]
    listed = re.findall(r"\((0[^)]+\.md)\)", (DOCS / "adr" / "index.md").read_text("utf-8"))
    assert listed == pages
    for page in pages:
        (title, *_) = headings(DOCS / "adr" / page)
        assert title.startswith(page[:4])
        assert title[5:] in prose(DOCS / "adr" / "index.md")
