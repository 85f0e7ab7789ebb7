"""The page about masking says what the code does."""

import re
from pathlib import Path

from runcard.masking import RULES, mask_text
from runcard.masking.private_keys import WINDOW
from runcard.masking.rules import KEY_PREFIXES

PAGE = (Path(__file__).parents[2] / "docs" / "masking.md").read_text("utf-8")


def test_the_table_of_rules_is_that_of_the_code() -> None:
    table = PAGE.partition("| rule | masks |")[2].partition("\n\n")[0]
    told = dict(re.findall(r"^\| `([a-z0-9-]+)` \| (.*) \|$", table, re.MULTILINE))
    assert list(told.items()) == list(RULES.items())


def test_every_prefix_has_a_rule() -> None:
    assert {prefix.rule for prefix in KEY_PREFIXES} <= set(RULES)


def test_the_page_says_how_long_a_key_is_waited_for() -> None:
    assert f"at most {WINDOW // 1024} KiB." in PAGE


def test_the_placeholders_that_the_page_names_stay() -> None:
    placeholders = re.search(r"Placeholders stay everywhere: (.*?)\. So do", PAGE, re.DOTALL)
    assert placeholders
    named = [word.strip(" `\n") for word in placeholders[1].split(",")[1:]]
    assert len(named) > 10
    for word in named:
        assert mask_text(f'"password": "{word}"').counts == {}, word
