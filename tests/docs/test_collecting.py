"""The page about collecting names exactly the patterns that the code has."""

import re

from docs.pages import ROOT, rows
from runcard.store.default_excludes import CONFIGURATIONS, CREDENTIALS, GENERATED
from runcard.store.sessions.copying import MAX_FILE_SIZE, MAX_SIZE
from runcard.store.sessions.copying.copy_rules import size_text

PAGE = ROOT / "docs" / "collecting.md"


def test_the_patterns_are_those_of_the_code() -> None:
    documented = [
        tuple(re.findall("`([^`]+)`", row["patterns, at any depth"]))
        for row in rows(PAGE, "excluded", "patterns, at any depth")
    ]
    assert documented == [GENERATED, CREDENTIALS]


def test_the_configurations_are_those_of_the_code() -> None:
    names = "names that are masked, at any depth, in upper or lower case"
    documented = [
        name for row in rows(PAGE, "configuration of", names) for name in re.findall("`([^`]+)`", row[names])
    ]
    assert tuple(documented) == CONFIGURATIONS


def test_the_limits_are_those_of_the_code() -> None:
    text = " ".join(PAGE.read_text("utf-8").split())
    assert f"more than {size_text(MAX_FILE_SIZE)}" in text
    assert f"within {size_text(MAX_SIZE)} in all" in text
