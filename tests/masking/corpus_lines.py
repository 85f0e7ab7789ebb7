"""The labelled corpus: lines with their secrets marked `«…»`, and `{{a:36}}` where a test makes up random characters.

No complete key is written down, so no scanner of leaked keys finds one here; a fixed seed makes the same ones each time.
"""

import json
import re
import string
from pathlib import Path
from random import Random
from typing import NamedTuple

HERE = Path(__file__).parent / "corpus"
_ALPHABETS = {
    "a": string.ascii_letters + string.digits,
    "b": string.ascii_letters + string.digits + "+/",
    "C": string.ascii_uppercase + string.digits,
    "d": string.digits,
    "h": "0123456789abcdef",
    "l": string.ascii_lowercase + string.digits,
    "U": string.ascii_uppercase + "234567",
    "W": string.ascii_letters + string.digits + "_-",
}


class Line(NamedTuple):
    """One line of the corpus, filled in."""

    text: str
    secrets: list[str]
    expected: str  # what masking is to make of it
    rule: str | None
    note: str


def read(name: str, seed: int = 1) -> list[Line]:
    random = Random(seed)  # noqa: S311
    rows = (json.loads(row) for row in (HERE / f"{name}.jsonl").read_text(encoding="utf-8").splitlines())
    return [_line(row, random) for row in rows]


def _line(row: dict[str, str], random: Random) -> Line:
    filled = fill_in(row["text"], random)
    return Line(
        text=re.sub("[«»]", "", filled),
        secrets=re.findall("«(.*?)»", filled, re.DOTALL),
        expected=re.sub("«.*?»", f"[masked:{row['rule']}]", filled, flags=re.DOTALL),
        rule=row["rule"],
        note=row["note"],
    )


def fill_in(text: str, random: Random) -> str:
    """`text` with random characters in place of `{{a:36}}`."""
    return re.sub(r"\{\{(\w):(\d+)\}\}", lambda part: _made_up(part[1], int(part[2]), random), text)


def _made_up(alphabet: str, length: int, random: Random) -> str:
    return "".join(random.choices(_ALPHABETS[alphabet], k=length))
